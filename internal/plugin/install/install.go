// Package install is kubectl spillway install: it applies what a consumer needs, and waits until the manager
// runs.
package install

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/check"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/follow"
	"github.com/spillway-io/spillway/internal/plugin/objects"
)

type options struct {
	cli.Run
	settings settings
	force    bool
	wait     bool
}

// Command returns the command install.
func Command(f *cli.Factory) *cobra.Command {
	o := options{Run: cli.Run{Timeout: 5 * time.Minute}}
	command := &cobra.Command{
		Use:   "install",
		Short: "Install Spillway in this cluster, the consumer",
		Long: `Applies what Spillway needs in this cluster, the consumer: CustomResourceDefinitions, roles, policies,
and the manager in namespace spillway-system; then waits until the manager is available. It can be
run again at any time, also to upgrade: unchanged objects are not written.

An existing image and cluster ID are kept, unless you give others.`,
		Example: `  # Install, with an image of your own
  kubectl spillway install --image registry.example.com/spillway:v1

  # Show what would change
  kubectl spillway install --dry-run

  # Without waiting for the manager, such as if it runs outside of the cluster
  kubectl spillway install --wait=false`,
		Args: cobra.NoArgs,
	}
	command.RunE = o.RunE(f, func(ctx context.Context, consumer *cli.Cluster, output *cli.Output, _ []string) error {
		return o.run(ctx, consumer, output)
	})
	flags := command.Flags()
	o.AddTo(flags)
	flags.StringVar(&o.settings.image, "image", "", "the manager's image; needed the first time (default: the current one)")
	flags.StringVar(&o.settings.clusterID, "cluster-id", "", "name of this cluster in the names of remote namespaces (default: from its UID); do not change it later")
	flags.BoolVar(&o.force, "force-conflicts", false, "take over fields of other field managers, such as kubectl")
	flags.BoolVar(&o.wait, "wait", true, "wait until the manager is available")
	return command
}

func (o *options) run(ctx context.Context, consumer *cli.Cluster, output *cli.Output) error {
	if err := o.mayRename(ctx, consumer); err != nil {
		return err
	}
	all, err := o.objects(ctx, consumer, output)
	if err != nil {
		return err
	}
	writer := &objects.Writer{Cluster: consumer, Side: "consumer", Output: output, DryRun: o.DryRun, Force: o.force}
	established := false
	for _, object := range all {
		if !isCRD(object) && !established && !o.DryRun {
			if err := o.establish(ctx, consumer, output, all); err != nil {
				return err
			}
			established = true
		}
		if err := writer.Apply(ctx, object); err != nil {
			return err
		}
	}
	if o.DryRun || !o.wait {
		return nil
	}
	if err := await(ctx, consumer, output); err != nil {
		return err
	}
	output.Say("Spillway is installed. Next: kubectl spillway bind NAME --provider-context CONTEXT")
	return nil
}

// objects returns the objects to apply, in order, after checking that they may be applied.
func (o *options) objects(ctx context.Context, consumer *cli.Cluster, output *cli.Output) ([]*unstructured.Unstructured, error) {
	shipped, directory, err := Shipped(consumer)
	if err != nil {
		return nil, err
	}
	if directory == WithWebhook {
		output.Say("the API server does not serve MutatingAdmissionPolicy v1 (from Kubernetes 1.36): a webhook of the manager prepares the pods of offloaded namespaces")
	}
	all := inOrder(shipped)
	asked := make([]client.Object, len(all))
	for i, object := range all {
		asked[i] = object
	}
	if err := consumer.Require(ctx, consumer.ToApply(asked...)); err != nil {
		return nil, err
	}
	there := &appsv1.Deployment{}
	err = consumer.Get(ctx, client.ObjectKey{Namespace: config.Namespace, Name: config.Manager}, there)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading Deployment %s in %s: %w", config.Manager, consumer.Name, err)
	}
	if err != nil {
		there = nil
	}
	if err := o.settings.check(there); err != nil {
		return nil, err
	}
	chosen, kept := o.settings.keep(there)
	if len(kept) > 0 {
		output.Say("kept from the existing Deployment: %s", strings.Join(kept, ", "))
	}
	return all, chosen.apply(all)
}

// establish waits until the API server serves the kinds.
func (o *options) establish(ctx context.Context, consumer *cli.Cluster, output *cli.Output, all []*unstructured.Unstructured) error {
	watched := []follow.Watched{{List: &apiextensionsv1.CustomResourceDefinitionList{}}}
	return follow.Until(ctx, consumer, watched, func(ctx context.Context) (bool, error) {
		for _, object := range all {
			if !isCRD(object) {
				continue
			}
			crd := &apiextensionsv1.CustomResourceDefinition{}
			if err := consumer.Get(ctx, client.ObjectKeyFromObject(object), crd); err != nil {
				return false, fmt.Errorf("reading CustomResourceDefinition %s: %w", object.GetName(), err)
			}
			if !established(crd) {
				output.Waiting("CustomResourceDefinition " + crd.Name + " is not served yet")
				return false, nil
			}
		}
		return true, nil
	})
}

func established(crd *apiextensionsv1.CustomResourceDefinition) bool {
	for _, condition := range crd.Status.Conditions {
		if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
			return true
		}
	}
	return false
}

// await waits until the manager is available.
func await(ctx context.Context, consumer *cli.Cluster, output *cli.Output) error {
	in := []client.ListOption{client.InNamespace(config.Namespace)}
	watched := []follow.Watched{{List: &appsv1.DeploymentList{}, Options: in}, {List: &corev1.PodList{}, Options: in}}
	err := follow.Until(ctx, consumer, watched, func(ctx context.Context) (bool, error) {
		done, waits, err := Manager(ctx, consumer)
		if !done && err == nil {
			output.Waiting(waits)
		}
		return done, err
	})
	if err != nil {
		return cli.GaveUp(err, "the manager is not available", output.Last())
	}
	output.Did(cli.Step{Cluster: "consumer", Object: "deployment.apps/" + config.Manager, Namespace: config.Namespace, Action: "available"})
	return nil
}

// Manager reports whether the manager is available, and if not, why.
func Manager(ctx context.Context, consumer client.Client) (available bool, waits string, err error) {
	deployment := &appsv1.Deployment{}
	err = consumer.Get(ctx, client.ObjectKey{Namespace: config.Namespace, Name: config.Manager}, deployment)
	if apierrors.IsNotFound(err) {
		return false, "there is no Deployment " + config.Manager + " in namespace " + config.Namespace + last(ctx, consumer), nil
	}
	if err != nil {
		return false, "", fmt.Errorf("reading Deployment %s: %w", config.Manager, err)
	}
	selector, err := metav1.LabelSelectorAsSelector(deployment.Spec.Selector)
	if err != nil {
		return false, "", err
	}
	pods := &corev1.PodList{}
	if err := consumer.List(ctx, pods, client.InNamespace(config.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return false, "", fmt.Errorf("reading the pods of the manager: %w", err)
	}
	if available, waits = Available(deployment, pods.Items); desired(deployment) == 0 {
		waits += last(ctx, consumer)
	}
	return available, waits, nil
}

// Outside returns the identity of a manager that works for this cluster from outside of it, as in make demo;
// empty if there is none. In that case, there is no Deployment, or its replicas are 0, and the Lease is held.
func Outside(ctx context.Context, consumer client.Client) (string, error) {
	there := &appsv1.Deployment{}
	err := consumer.Get(ctx, client.ObjectKey{Namespace: config.Namespace, Name: config.Manager}, there)
	if err == nil && desired(there) > 0 {
		return "", nil
	}
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("reading Deployment %s: %w", config.Manager, err)
	}
	holder, err := check.Holder(ctx, consumer, config.Namespace, time.Now())
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading the Lease of the manager: %w", err)
	}
	return holder, nil
}
