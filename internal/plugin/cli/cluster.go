package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	hosted "github.com/spillway-io/spillway/hosted/api/v1alpha1"
)

// Owner is the field manager of all writes of the plugin. It is also the value of the label
// app.kubernetes.io/managed-by on Secrets that the plugin has created.
const Owner = "kubectl-spillway"

// Cluster is a cluster that a command works with, as the user of the kubeconfig.
type Cluster struct {
	client.WithWatch
	// Name is the name in messages, such as "the consumer".
	Name   string
	Config *rest.Config
}

// Connect creates the client of a cluster. It sends no request.
func Connect(config *rest.Config, name, userAgent string) (*Cluster, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.UserAgent = -1, userAgent
	scheme := runtime.NewScheme()
	err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme), hosted.AddToScheme(scheme))
	if err != nil {
		return nil, err
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", name, err)
	}
	return &Cluster{WithWatch: c, Name: name, Config: config}, nil
}

// UID returns the identity of the cluster: the UID of its namespace kube-system.
func (c *Cluster) UID(ctx context.Context) (string, error) {
	namespace := &corev1.Namespace{}
	err := c.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, namespace)
	if apierrors.IsUnauthorized(err) {
		return "", fmt.Errorf("%s does not accept your credentials: they have expired, or $KUBECONFIG has several files with a user of this name, and the first one is used: %w", c.Name, err)
	}
	if err != nil {
		return "", fmt.Errorf("identifying %s (namespace kube-system): %w", c.Name, err)
	}
	return string(namespace.UID), nil
}

// Version returns the version of the API server.
func (c *Cluster) Version() (*version.Version, error) {
	d, err := discovery.NewDiscoveryClientForConfig(c.Config)
	if err != nil {
		return nil, err
	}
	info, err := d.ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("reading the version of %s: %w", c.Name, err)
	}
	return version.ParseGeneric(info.GitVersion)
}

// Serves reports whether the API server serves a kind in that version.
func (c *Cluster) Serves(kind schema.GroupVersionKind) (bool, error) {
	_, err := c.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("checking whether %s serves %s: %w", c.Name, kind.Kind, err)
	}
	return true, nil
}

// Right is a right that a user may need.
type Right struct {
	Verb, Group, Resource, Subresource, Namespace, Name string
}

// String implements fmt.Stringer.
func (r Right) String() string {
	text := r.Verb + " " + r.Resource
	if r.Group != "" {
		text += "." + r.Group
	}
	if r.Subresource != "" {
		text += "/" + r.Subresource
	}
	if r.Name != "" {
		text += " " + r.Name
	}
	if r.Namespace != "" {
		text += " in namespace " + r.Namespace
	}
	return text
}

// Attributes returns the attributes for a review of the right.
func (r Right) Attributes() *authorizationv1.ResourceAttributes {
	return &authorizationv1.ResourceAttributes{
		Verb: r.Verb, Group: r.Group, Resource: r.Resource, Subresource: r.Subresource, Namespace: r.Namespace, Name: r.Name,
	}
}

// Lacks returns the rights that the user does not have.
func (c *Cluster) Lacks(ctx context.Context, rights []Right) ([]Right, error) {
	var missing []Right
	for _, right := range rights {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: right.Attributes()}}
		if err := c.Create(ctx, review); err != nil {
			return nil, fmt.Errorf("reading your rights in %s: %w", c.Name, err)
		}
		if !review.Status.Allowed {
			missing = append(missing, right)
		}
	}
	return missing, nil
}

// Require returns an error that names each right that the user lacks.
func (c *Cluster) Require(ctx context.Context, rights []Right) error {
	missing, err := c.Lacks(ctx, rights)
	if err != nil || len(missing) == 0 {
		return err
	}
	names := make([]string, len(missing))
	for i, right := range missing {
		names[i] = "\n  " + right.String()
	}
	return fmt.Errorf("you lack rights in %s; ask its administrator for these:%s", c.Name, strings.Join(names, ""))
}

// ToApply returns the rights to apply objects. It skips kinds that are not served.
func (c *Cluster) ToApply(objects ...client.Object) []Right {
	return c.to([]string{"get", "create", "patch"}, objects)
}

// ToDelete returns the rights to delete objects, and to see that they are gone.
func (c *Cluster) ToDelete(objects ...client.Object) []Right {
	return c.to([]string{"get", "delete"}, objects)
}

func (c *Cluster) to(verbs []string, objects []client.Object) []Right {
	var rights []Right
	known := map[Right]bool{}
	for _, object := range objects {
		kind := object.GetObjectKind().GroupVersionKind()
		mapping, err := c.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			continue // The request itself will say why.
		}
		for _, verb := range verbs {
			right := Right{Verb: verb, Group: kind.Group, Resource: mapping.Resource.Resource, Namespace: object.GetNamespace()}
			if !known[right] {
				known[right] = true
				rights = append(rights, right)
			}
		}
	}
	return rights
}
