package bind

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/follow"
	"github.com/spillway-io/spillway/internal/plugin/unbind"
	"github.com/spillway-io/spillway/internal/precondition"
)

// Progress says whether a binding is ready, and if not, what it waits for.
func Progress(binding *v1alpha1.ClusterBinding) (ready bool, waits string) {
	c := meta.FindStatusCondition(binding.Status.Conditions, v1alpha1.BindingReady)
	switch {
	case c == nil || c.ObservedGeneration < binding.Generation:
		return false, "the manager has not taken it up yet; does it run? kubectl get pods -n " + config.Namespace
	case c.Status == metav1.ConditionTrue:
		return true, ""
	case c.Message == "":
		return false, c.Reason
	default:
		return false, c.Reason + ": " + c.Message
	}
}

// Await waits until a binding is Ready.
func Await(ctx context.Context, consumer *cli.Cluster, output *cli.Output, name string) error {
	object := "clusterbinding.offloading.spillway.io/" + name
	waits := ""
	watched := []follow.Watched{{List: &v1alpha1.ClusterBindingList{}, Options: []client.ListOption{client.MatchingFields{"metadata.name": name}}}}
	err := follow.Until(ctx, consumer, watched, func(ctx context.Context) (bool, error) {
		binding := &v1alpha1.ClusterBinding{}
		if err := consumer.Get(ctx, client.ObjectKey{Name: name}, binding); err != nil {
			return false, fmt.Errorf("reading ClusterBinding %s: %w", name, err)
		}
		var ready bool
		if ready, waits = Progress(binding); !ready {
			output.Waiting(object + ": " + waits)
		}
		return ready, nil
	})
	if err != nil {
		return fmt.Errorf("ClusterBinding %s is not Ready: %s: %w; docs/troubleshooting.md says what to do about each reason, and the same command goes on", name, waits, err)
	}
	output.Did(cli.Step{Cluster: "consumer", Object: object, Action: "ready"})
	return nil
}

// undoPatience is how long it may take to take back what was made.
const undoPatience = 2 * time.Minute

// takeBack deletes what this run has made: the binding first, whose end needs the rest. In the
// provider it ends the access; what confines consumers stays, as with unbind.
func (w *work) takeBack(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, undoPatience, cli.ErrTime)
	defer cancel()
	w.output.Say("taking back what was made:")
	if w.seen.there() == nil {
		if err := unbind.Binding(ctx, w.consumer, w.output, w.wanted.Name); err != nil {
			return err
		}
	}
	if w.seen.Secret == nil {
		secret := &corev1.Secret{}
		err := w.consumer.Get(ctx, client.ObjectKey{Namespace: config.Namespace, Name: w.secretName}, secret)
		if err == nil && ours(secret) {
			err = w.consumer.Delete(ctx, secret, precondition.Exactly(secret))
			w.output.Did(cli.Step{Cluster: "consumer", Object: "secret/" + secret.Name, Namespace: secret.Namespace, Action: "deleted"})
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting Secret %s in the consumer: %w", w.secretName, err)
		}
	}
	return w.inProvider.Delete(ctx, unbind.Access(w.inProvider.Created))
}
