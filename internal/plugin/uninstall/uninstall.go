// Package uninstall is kubectl spillway uninstall: it removes Spillway from the consumer, in an order in
// which nothing is left.
package uninstall

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/install"
	"github.com/spillway-io/spillway/internal/plugin/objects"
	"github.com/spillway-io/spillway/internal/plugin/offload"
	"github.com/spillway-io/spillway/internal/plugin/unbind"
)

type options struct {
	cli.Run
	all, yes bool
}

// Command returns the command uninstall.
func Command(f *cli.Factory) *cobra.Command {
	o := &options{Run: cli.Run{Timeout: 15 * time.Minute}}
	command := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove Spillway from this cluster",
		Long: `Removes Spillway from this cluster, in this order:
1. all NamespaceOffloadings, and all ClusterBindings with their virtual nodes; both need a running manager;
2. the Deployment of the manager;
3. Spillway's MutatingAdmissionPolicy and ValidatingAdmissionPolicies, the MutatingWebhookConfiguration, ClusterRoles and Roles, the
   bindings of all these, the FlowSchema and PriorityLevelConfiguration spillway-heartbeats, and the CSIDriver csi.spillway.io;
   also the StorageClasses, IngressClasses and other classes that the manager has imported from providers;
4. the CustomResourceDefinitions of ClusterBinding, NamespaceOffloading and NamespaceMap;
5. the namespace spillway-system, with everything in it, such as the Secrets with the credentials of providers.

It says what it waits for, such as a provider that is down, and which pods stay Pending without virtual nodes.

On a terminal it asks, and names the cluster, unless you give --yes. Without one, it refuses while there are offloadings or bindings, unless you give --all.
Bindings of hosted clusters belong to their operator: first remove spec.binding of each HostedCluster. What bind created in providers
stays; kubectl spillway unbind NAME --provider-context CONTEXT removes it, before or afterwards. Afterwards it asks, or needs --yes.`,
		Example: `  kubectl spillway uninstall --dry-run
  kubectl spillway uninstall --all`,
		Args: cobra.NoArgs,
	}
	command.RunE = o.RunE(f, func(ctx context.Context, consumer *cli.Cluster, output *cli.Output, _ []string) error {
		return o.run(ctx, f, consumer, output)
	})
	o.AddTo(command.Flags())
	command.Flags().BoolVar(&o.all, "all", false, "also delete all offloadings and bindings, with everything in their remote namespaces")
	cli.AddYes(command.Flags(), &o.yes)
	return command
}

func (o *options) run(ctx context.Context, f *cli.Factory, consumer *cli.Cluster, output *cli.Output) error {
	namespaces, bindings, err := used(ctx, consumer)
	if err != nil {
		return err
	}
	if len(namespaces)+len(bindings) > 0 {
		unbind.WarnOfEnd(ctx, consumer, output, namespaces)
	}
	if !o.DryRun {
		if err := agreed(stillUsed(namespaces, bindings), f.Where(consumer), o.all, f.Asker(o.yes)); err != nil {
			return err
		}
	}
	if len(namespaces)+len(bindings) > 0 && !o.DryRun {
		warn(ctx, consumer, output)
	}
	shipped, err := install.Ever()
	if err != nil {
		return err
	}
	writer := &objects.Writer{Cluster: consumer, Side: "consumer", Output: output, DryRun: o.DryRun}
	if err := writer.MayDelete(ctx, shipped); err != nil {
		return err
	}
	if err := o.release(ctx, consumer, output, namespaces, bindings); err != nil {
		return err
	}
	classes, err := imported(ctx, consumer)
	if err != nil {
		return err
	}
	kept, err := grants(ctx, consumer, shipped)
	if err != nil {
		return err
	}
	if err := writer.Delete(ctx, inOrder(append(shipped, classes...))); err != nil {
		return err
	}
	for _, step := range kept {
		output.Did(step)
	}
	return nil
}

// imported returns the classes that bindings have imported. The manager deletes them with the last binding,
// but it may have stopped before.
func imported(ctx context.Context, consumer *cli.Cluster) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, gvk := range []schema.GroupVersionKind{
		networkingv1.SchemeGroupVersion.WithKind("IngressClassList"), nodev1.SchemeGroupVersion.WithKind("RuntimeClassList"), schedulingv1.SchemeGroupVersion.WithKind("PriorityClassList"),
		storagev1.SchemeGroupVersion.WithKind("StorageClassList"), storagev1.SchemeGroupVersion.WithKind("VolumeAttributesClassList"),
	} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk)
		if err := consumer.List(ctx, list, client.MatchingLabels{v1alpha1.LabelManagedBy: v1alpha1.ManagedBySpillway}); err != nil {
			return nil, fmt.Errorf("reading the imported classes: %w", err)
		}
		for i := range list.Items {
			if _, imported := list.Items[i].GetAnnotations()[v1alpha1.AnnotationImportedFrom]; imported {
				all = append(all, &list.Items[i])
			}
		}
	}
	return all, nil
}

// warn says if there is no manager, inside of the cluster or outside.
func warn(ctx context.Context, consumer *cli.Cluster, output *cli.Output) {
	available, waits, err := install.Manager(ctx, consumer)
	if err != nil || available {
		return
	}
	if outside, err := install.Outside(ctx, consumer); err == nil && outside == "" {
		output.Warn("the manager, which must delete offloadings and bindings, is not available: %s", waits)
	}
}

// release takes back all namespaces and unbinds all providers, until there are none. Somebody may create
// others meanwhile, which would stay for ever without a manager.
func (o *options) release(ctx context.Context, consumer *cli.Cluster, output *cli.Output, namespaces, bindings []string) error {
	for len(namespaces)+len(bindings) > 0 {
		err := o.round(ctx, consumer, output, namespaces, bindings)
		if err != nil || o.DryRun {
			return err
		}
		if namespaces, bindings, err = used(ctx, consumer); err != nil {
			return err
		}
	}
	return nil
}

func (o *options) round(ctx context.Context, consumer *cli.Cluster, output *cli.Output, namespaces, bindings []string) error {
	for _, namespace := range namespaces {
		if err := offload.Undo(ctx, consumer, output, namespace, o.DryRun); err != nil {
			return err
		}
	}
	for _, binding := range bindings {
		if o.DryRun {
			if err := unbind.Tell(ctx, consumer, output, binding); err != nil {
				return err
			}
			continue
		}
		if err := unbind.Binding(ctx, consumer, output, binding, ""); err != nil {
			return err
		}
	}
	return nil
}

// inOrder sorts the objects for deletion, which begins at the end. The manager comes first, then its policies
// and roles, then the CustomResourceDefinitions, then the namespace with the credentials.
func inOrder(shipped []*unstructured.Unstructured) []*unstructured.Unstructured {
	rank := map[string]int{"Namespace": 0, "CustomResourceDefinition": 1, "Deployment": 3}
	of := func(object *unstructured.Unstructured) int {
		if r, ok := rank[object.GetKind()]; ok {
			return r
		}
		return 2
	}
	shipped = slices.Clone(shipped)
	slices.SortStableFunc(shipped, func(a, b *unstructured.Unstructured) int { return of(a) - of(b) })
	return shipped
}

// used returns the namespaces that are offloaded, and the bindings. If the kinds do not exist, there are
// none. It fails if a binding would be recreated.
func used(ctx context.Context, consumer *cli.Cluster) (namespaces, bindings []string, err error) {
	offloadings, all := &v1alpha1.NamespaceOffloadingList{}, &v1alpha1.ClusterBindingList{}
	labelled := &corev1.NamespaceList{}
	for _, list := range []client.ObjectList{offloadings, all} {
		if err := consumer.List(ctx, list); err != nil && !meta.IsNoMatchError(err) {
			return nil, nil, fmt.Errorf("reading offloadings and bindings: %w", err)
		}
	}
	if err := consumer.List(ctx, labelled, client.HasLabels{v1alpha1.LabelOffload}); err != nil {
		return nil, nil, fmt.Errorf("reading namespaces: %w", err)
	}
	for i := range offloadings.Items {
		namespaces = append(namespaces, offloadings.Items[i].Namespace)
	}
	for i := range labelled.Items {
		namespaces = append(namespaces, labelled.Items[i].Name)
	}
	for i := range all.Items {
		if err := unbind.Hosted(&all.Items[i]); err != nil {
			return nil, nil, err
		}
		bindings = append(bindings, all.Items[i].Name)
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces), bindings, nil
}

func stillUsed(namespaces, bindings []string) string {
	var parts []string
	if len(namespaces) > 0 {
		parts = append(parts, "the namespaces "+strings.Join(namespaces, ", ")+" are offloaded")
	}
	if len(bindings) > 0 {
		parts = append(parts, "the providers "+strings.Join(bindings, ", ")+" are bound")
	}
	return strings.Join(parts, ", and ")
}

// agreed returns an error if the user does not agree. ask is nil without a terminal.
func agreed(used, where string, all bool, ask func(question string) bool) error {
	switch {
	case ask == nil && used != "" && !all:
		return fmt.Errorf("%s, in %s; --all deletes them, with everything in their remote namespaces", used, where)
	case ask == nil:
		return nil
	case !ask(question(used, where)):
		return fmt.Errorf("nothing was changed in %s: you did not type yes", where)
	default:
		return nil
	}
}

func question(used, where string) string {
	text := "Remove Spillway from " + where + "?"
	if used != "" {
		text = "In " + where + ", " + used + ". Delete them, with everything in their remote namespaces, and remove Spillway?"
	}
	return text + " Type yes: "
}
