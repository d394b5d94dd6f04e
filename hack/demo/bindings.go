package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"

	"k8s.io/apimachinery/pkg/api/meta"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	offloadingv1alpha1 "github.com/spillway-io/spillway/api/v1alpha1"
)

const bindingsFile = "manifests/bindings.yaml"

// setBack sets the whole spec of the demo's bindings to its initial value. kubectl apply would keep the
// fields that somebody has added, such as paused.
func (d *demo) setBack(ctx context.Context) error {
	raw, err := samples.ReadFile(bindingsFile)
	if err != nil {
		return err
	}
	shipped, err := bindingsIn(raw)
	if err != nil {
		return fmt.Errorf("hack/demo/%s: %w", bindingsFile, err)
	}
	for i := range shipped {
		name := shipped[i].Name
		err := d.change(ctx, name, func(cb *offloadingv1alpha1.ClusterBinding) bool {
			cb.Spec = shipped[i].Spec
			return true
		})
		if err != nil {
			return fmt.Errorf("setting clusterbinding %s back: %w", name, err)
		}
	}
	return nil
}

// takeOver permits the demo's manager to take over a provider, if the binding asks for this. The only other
// manager there can be is an earlier one of the demo.
func (d *demo) takeOver(ctx context.Context, name string) error {
	err := d.change(ctx, name, func(cb *offloadingv1alpha1.ClusterBinding) bool {
		asked := grantTakeOver(cb)
		if asked {
			d.say("taking over provider %s, where an earlier manager of the demo has worked", name)
		}
		return asked
	})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("taking over provider %s: %w", name, err)
	}
	return nil
}

func (d *demo) change(ctx context.Context, name string, change func(*offloadingv1alpha1.ClusterBinding) bool) error {
	cb := &offloadingv1alpha1.ClusterBinding{}
	if err := d.consumer.Get(ctx, client.ObjectKey{Name: name}, cb); err != nil {
		return err
	}
	before := cb.DeepCopy()
	if !change(cb) {
		return nil
	}
	return d.consumer.Patch(ctx, cb, client.MergeFrom(before))
}

var takeOverCommand = regexp.MustCompile(regexp.QuoteMeta(offloadingv1alpha1.AnnotationTakeOver) + `=([0-9]+)`)

// grantTakeOver sets the annotation that the binding asks for. It reports whether it had to set one.
func grantTakeOver(cb *offloadingv1alpha1.ClusterBinding) bool {
	ready := meta.FindStatusCondition(cb.Status.Conditions, offloadingv1alpha1.BindingReady)
	if ready == nil || ready.Reason != offloadingv1alpha1.ReasonTakeOverNeeded {
		return false
	}
	generation := takeOverCommand.FindStringSubmatch(ready.Message)
	if generation == nil || cb.Annotations[offloadingv1alpha1.AnnotationTakeOver] == generation[1] {
		return false
	}
	if cb.Annotations == nil {
		cb.Annotations = map[string]string{}
	}
	cb.Annotations[offloadingv1alpha1.AnnotationTakeOver] = generation[1]
	return true
}

func bindingsIn(manifests []byte) ([]offloadingv1alpha1.ClusterBinding, error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifests)))
	var found []offloadingv1alpha1.ClusterBinding
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, fmt.Errorf("splitting YAML documents: %w", err)
		}
		var cb offloadingv1alpha1.ClusterBinding
		if err := yaml.UnmarshalStrict(document, &cb); err != nil {
			return nil, fmt.Errorf("parsing a YAML document: %w", err)
		}
		found = append(found, cb)
	}
}
