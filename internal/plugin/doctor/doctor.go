// Package doctor is kubectl spillway doctor: it finds what is wrong, and says how to fix it.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/check"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/status"
)

// Command returns the command doctor.
func Command(f *cli.Factory) *cobra.Command {
	var format string
	var all bool
	command := &cobra.Command{
		Use:   "doctor",
		Short: "Find what is wrong, and say how to fix it",
		Long: `Checks versions, the installation, the manager's rights in the consumer and in each provider, bindings, credentials,
clocks, whether the API server reaches virtual nodes, pods that should be in a provider and are not, and DaemonSets. It
creates a pod in an offloaded namespace in a dry run, to see whether it could run in a provider. It checks all namespaces, also with -n. It changes nothing. It connects to providers from here, with the
manager's credentials, if you may read them. The exit code is 1 if something does not work; a warning alone is no failure.`,
		Example: `  kubectl spillway doctor
  kubectl spillway doctor -o json | jq '.[] | select(.level == "error")'`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := cli.CheckFormat(format); err != nil {
				return err
			}
			consumer, err := f.Consumer()
			if err != nil {
				return err
			}
			if err := status.Known(command.Context(), consumer, ptr.Deref(f.Namespace, "")); err != nil {
				return err
			}
			findings, err := Examine(command.Context(), consumer)
			if err != nil {
				return err
			}
			if format != "" {
				err = cli.Print(f.Out, format, findings)
			} else {
				_, err = fmt.Fprint(f.Out, Text(findings, all))
			}
			if Worst(findings) == Error {
				err = errors.Join(err, errors.New("something does not work; see above"))
			}
			return err
		},
	}
	cli.AddFormat(command.Flags(), &format)
	command.Flags().BoolVar(&all, "all", false, "show checks that passed, too")
	return command
}

// exam is one run.
type exam struct {
	consumer *cli.Cluster
	findings []Finding
	shipped  []*unstructured.Unstructured
	seen     status.Seen
	// nodes are the virtual nodes.
	nodes []corev1.Node
}

func (e *exam) found(f Finding) { e.findings = append(e.findings, f) }

// Examine runs all checks. It returns an error only if the other checks would mean nothing.
func Examine(ctx context.Context, consumer *cli.Cluster) ([]Finding, error) {
	e := &exam{consumer: consumer}
	if err := e.version(); err != nil {
		return nil, err
	}
	if err := e.expect(ctx); err != nil {
		return nil, err
	}
	installed, err := e.installed(ctx)
	if err != nil || !installed {
		return e.findings, err
	}
	if e.seen, err = status.Read(ctx, consumer, ""); err != nil {
		return nil, err
	}
	e.nodes = e.seen.Nodes
	e.manager()
	e.managerRights(ctx)
	e.bindings(ctx)
	e.admission(ctx)
	e.strays()
	e.stranded()
	e.daemonSets(ctx)
	return e.findings, nil
}

func (e *exam) version() error {
	found, err := e.consumer.Version()
	if err != nil {
		return err
	}
	e.found(ofVersion(found))
	return nil
}

func (e *exam) manager() {
	if e.seen.Hides(status.ManagerParts) {
		e.found(Finding{Level: Warning, Check: "manager", Message: "its availability is unknown: you may not read " + status.ManagerParts, Mend: "run doctor as a cluster administrator"})
		return
	}
	if e.seen.Outside != "" {
		e.found(Finding{Level: OK, Check: "manager", Message: "it runs outside of this cluster, as " + e.seen.Outside + ", which holds the Lease " + config.Namespace + "/" + check.LeaseName})
		return
	}
	if e.seen.Available {
		e.found(Finding{Level: OK, Check: "manager", Message: "it is available"})
		return
	}
	e.found(Finding{Level: Error, Check: "manager", Message: "it is not available: " + e.seen.Waits, Mend: "kubectl describe pods -n " + config.Namespace + "; kubectl spillway install --image IMAGE, if the image is wrong; kubectl scale deployment " + config.Manager + " -n " + config.Namespace + " --replicas=2, if it has none"})
}

func (e *exam) bindings(ctx context.Context) {
	if e.seen.Hides(status.Bindings) {
		e.found(Finding{Level: Warning, Check: "binding", Message: "the state of providers is unknown: you may not read " + status.Bindings, Mend: "run doctor as a cluster administrator"})
		return
	}
	for _, binding := range status.Tree(e.seen).Bindings {
		e.binding(ctx, binding)
	}
}

func (e *exam) binding(ctx context.Context, binding status.Binding) {
	if len(binding.Waits) == 0 {
		e.found(Finding{Level: OK, Check: "binding", Object: binding.Name, Message: "it is Ready, with Kubernetes " + binding.Version})
	}
	for _, wait := range binding.Waits {
		e.found(ofWait(binding, wait))
	}
	for _, namespace := range binding.Namespaces {
		for _, wait := range namespace.Waits {
			if !goes(wait) {
				e.found(ofNamespace(binding.Name, namespace, wait))
			}
		}
	}
	for i := range e.seen.Bindings {
		if e.seen.Bindings[i].Name != binding.Name {
			continue
		}
		e.provider(ctx, &e.seen.Bindings[i])
		// While the provider is away nobody gets logs from it, whether or not the API server reaches the
		// manager.
		if binding.Node != nil && meta.IsStatusConditionTrue(e.seen.Bindings[i].Status.Conditions, v1alpha1.BindingConnected) {
			e.logs(ctx, binding.Node.Name)
		}
	}
}

// logs checks whether the API server reaches the virtual node for kubectl logs, if a pod runs there.
func (e *exam) logs(ctx context.Context, node string) {
	at := slices.IndexFunc(e.seen.Pods, func(pod corev1.Pod) bool { return pod.Spec.NodeName == node && pod.Status.Phase == corev1.PodRunning })
	if at < 0 {
		return
	}
	f := Finding{Level: OK, Check: "logs", Object: node, Message: "the API server reaches it, for kubectl logs and exec"}
	err := e.reach(ctx, &e.seen.Pods[at])
	switch {
	case apierrors.IsForbidden(err):
		f.Level, f.Message, f.Mend = Warning, "cannot check whether the API server reaches it: you may not read logs", "run doctor as a cluster administrator"
	case err != nil:
		f.Level, f.Message = Warning, "the API server cannot read logs from it: "+err.Error()
		f.Mend = "check, with docs/kubelet.md, the address in the manager's flag --kubelet-address, its port 10250, who may reach it, and its certificate"
	}
	e.found(f)
}

func (e *exam) daemonSets(ctx context.Context) {
	sets := &appsv1.DaemonSetList{}
	if err := e.consumer.List(ctx, sets); err != nil {
		e.found(Finding{Level: Warning, Check: "daemonsets", Message: "they cannot be read: " + err.Error(), Mend: "run doctor as a cluster administrator"})
		return
	}
	found := false
	for i := range sets.Items {
		var nodes []string
		for j := range e.nodes {
			if waiting(&sets.Items[i], &e.nodes[j]) {
				nodes = append(nodes, e.nodes[j].Name)
			}
		}
		if len(nodes) > 0 {
			found = true
			e.found(ofDaemonSet(&sets.Items[i], nodes))
		}
	}
	if !found {
		e.found(Finding{Level: OK, Check: "daemonsets", Message: "none has a pod for a virtual node"})
	}
}

// patience is how long a provider may take to answer.
const patience = 10 * time.Second

// secretOf reads the kubeconfig of a binding.
func (e *exam) secretOf(ctx context.Context, binding *v1alpha1.ClusterBinding) ([]byte, error) {
	secret := &corev1.Secret{}
	ref := binding.Spec.KubeconfigSecretRef
	if err := e.consumer.Get(ctx, client.ObjectKey{Namespace: config.Namespace, Name: ref.Name}, secret); err != nil {
		return nil, err
	}
	return secret.Data[ref.Key], nil
}
