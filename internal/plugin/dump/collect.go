package dump

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/install"
)

// collector reads objects of one cluster into the archive.
type collector struct {
	*archive
	cluster *cli.Cluster
	// namespace is the only namespace to read; "" for all that are offloaded.
	namespace string
	// below is the folder in the archive.
	below string
}

// ofTeams are the kinds in offloaded namespaces that say why a pod does not run. No Secret and no ConfigMap is among them.
var ofTeams = []schema.GroupVersionKind{
	{Version: "v1", Kind: "Pod"}, {Version: "v1", Kind: "Event"}, {Version: "v1", Kind: "Service"}, {Version: "v1", Kind: "PersistentVolumeClaim"},
	{Version: "v1", Kind: "ResourceQuota"}, {Version: "v1", Kind: "LimitRange"}, {Group: "apps", Version: "v1", Kind: "ReplicaSet"}, {Group: "apps", Version: "v1", Kind: "StatefulSet"},
	{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"}, {Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
	{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"}, {Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"},
}

// ofCluster are the kinds without a namespace.
var ofCluster = []schema.GroupVersionKind{
	{Version: "v1", Kind: "Node"}, {Version: "v1", Kind: "PersistentVolume"},
	{Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass"}, {Group: "storage.k8s.io", Version: "v1", Kind: "CSIDriver"},
}

// ofManager are the kinds in the manager's namespace.
var ofManager = []schema.GroupVersionKind{
	{Group: "apps", Version: "v1", Kind: "Deployment"}, {Version: "v1", Kind: "Pod"}, {Version: "v1", Kind: "Event"}, {Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"},
}

// consumer reads Spillway's objects, and all that is offloaded.
func (c *collector) consumer(ctx context.Context) {
	if c.namespace != "" {
		c.list(ctx, v1alpha1.GroupVersion.WithKind("NamespaceOffloading"), false, client.InNamespace(c.namespace))
		c.team(ctx, c.namespace)
		return
	}
	c.definitions(ctx)
	for _, kind := range ofCluster {
		c.list(ctx, kind, false)
	}
	for _, kind := range ofManager {
		c.list(ctx, kind, true, client.InNamespace(config.Namespace))
	}
	c.list(ctx, schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}, false, client.InNamespace(corev1.NamespaceNodeLease))
	offloadings := &v1alpha1.NamespaceOffloadingList{}
	if err := c.cluster.List(ctx, offloadings); err != nil {
		c.problem("which namespaces are offloaded: " + err.Error())
	}
	for i := range offloadings.Items {
		c.team(ctx, offloadings.Items[i].Namespace)
	}
	// Events about objects without a namespace are in this one.
	c.list(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Event"}, false, client.InNamespace(corev1.NamespaceDefault))
}

// provider reads what belongs to a consumer in a provider, and what all consumers share there.
func (c *collector) provider(ctx context.Context, origin string) {
	for _, kind := range ofCluster {
		c.list(ctx, kind, false)
	}
	for _, kind := range []schema.GroupVersionKind{
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"}, {Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"},
	} {
		c.list(ctx, kind, true, client.InNamespace(config.ProviderNamespace))
	}
	c.list(ctx, schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, true, client.InNamespace(config.ProviderNamespace), client.MatchingFields{"metadata.name": config.Limits})
	namespaces := &corev1.NamespaceList{}
	if err := c.cluster.List(ctx, namespaces, client.MatchingLabels{v1alpha1.LabelOrigin: origin}); err != nil {
		c.problem("namespaces of Spillway in the provider: " + err.Error())
	}
	for i := range namespaces.Items {
		if c.namespace == "" || provenance.LocalOf(&namespaces.Items[i]).Namespace == c.namespace {
			c.team(ctx, namespaces.Items[i].Name)
		}
	}
}

func (c *collector) team(ctx context.Context, namespace string) {
	c.list(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, false, client.MatchingFields{"metadata.name": namespace})
	for _, kind := range ofTeams {
		c.list(ctx, kind, false, client.InNamespace(namespace))
	}
}

// definitions reads the objects of all of Spillway's kinds, and which versions of them are served.
func (c *collector) definitions(ctx context.Context) {
	all := &apiextensionsv1.CustomResourceDefinitionList{}
	if err := c.cluster.List(ctx, all); err != nil {
		c.problem("CustomResourceDefinitions: " + err.Error())
		return
	}
	var served strings.Builder
	for i := range all.Items {
		crd := &all.Items[i]
		if crd.Spec.Group != v1alpha1.Domain && !strings.HasSuffix(crd.Spec.Group, "."+v1alpha1.Domain) {
			continue
		}
		served.WriteString(crd.Name + ": stored " + strings.Join(crd.Status.StoredVersions, ", ") + "\n")
		for _, version := range crd.Spec.Versions {
			if version.Storage {
				c.list(ctx, schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}, false)
			}
		}
	}
	c.add(c.below+"definitions.txt", served.String())
}

// list adds the objects of a kind, in a file of their own.
func (c *collector) list(ctx context.Context, kind schema.GroupVersionKind, ours bool, options ...client.ListOption) {
	asked := (&client.ListOptions{}).ApplyOptions(options)
	where := cmp.Or(asked.Namespace, "cluster")
	found := &unstructured.UnstructuredList{}
	found.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := c.cluster.List(ctx, found, options...); err != nil {
		if !meta.IsNoMatchError(err) {
			c.problem(c.below + kind.Kind + " in " + where + ": " + err.Error())
		}
		return
	}
	var text strings.Builder
	for i := range found.Items {
		strip(&found.Items[i], ours)
		content, err := yaml.Marshal(found.Items[i].Object)
		if err != nil {
			c.problem(err.Error())
			continue
		}
		text.WriteString("---\n" + string(content))
	}
	name := strings.ToLower(kind.Kind)
	if field := asked.FieldSelector; field != nil && asked.Namespace == "" {
		where, name = "namespaces", strings.TrimPrefix(field.String(), "metadata.name=")
	}
	c.add(c.below+where+"/"+name+".yaml", text.String())
}

// logs adds what the containers of the manager have written, and those before a restart.
func (c *collector) logs(ctx context.Context) {
	if c.namespace != "" {
		return
	}
	pods := &corev1.PodList{}
	if err := c.cluster.List(ctx, pods, client.InNamespace(config.Namespace)); err != nil {
		c.problem("the manager's logs: " + err.Error())
		return
	}
	clients, err := kubernetes.NewForConfig(c.cluster.Config)
	if err != nil {
		c.problem("the manager's logs: " + err.Error())
		return
	}
	if outside, err := install.Outside(ctx, c.cluster); err == nil && outside != "" {
		c.problem("the manager's log and version: it runs outside of this cluster, as " + outside + ": add its log, and what its program says with --version")
	}
	for i := range pods.Items {
		for _, status := range slices.Concat(pods.Items[i].Status.InitContainerStatuses, pods.Items[i].Status.ContainerStatuses) {
			c.log(ctx, clients, &pods.Items[i], status.Name, false)
			if status.RestartCount > 0 {
				c.log(ctx, clients, &pods.Items[i], status.Name, true)
			}
		}
	}
}

// The most that is taken of one log.
const (
	mostLines = 20_000
	mostBytes = 8 << 20
)

func (c *collector) log(ctx context.Context, clients kubernetes.Interface, pod *corev1.Pod, container string, before bool) {
	name := "logs/" + pod.Name + "/" + container
	if before {
		name += ".before"
	}
	stream, err := clients.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
		Container: container, Previous: before, Timestamps: true, TailLines: ptr.To[int64](mostLines), LimitBytes: ptr.To[int64](mostBytes),
	}).Stream(ctx)
	if err != nil {
		c.problem(name + ": " + err.Error())
		return
	}
	defer func() { _ = stream.Close() }()
	content, err := io.ReadAll(io.LimitReader(stream, mostBytes))
	if err != nil {
		c.problem(name + ": " + err.Error())
	}
	c.add(name+".log", string(content))
}
