package bind

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/plugin/cli"
)

// Wanted is what the flags set in a ClusterBinding. Other fields stay as they are.
type Wanted struct {
	Name string
	// ClusterID names the provider. Default: the name of the binding.
	ClusterID string
	// Labels are added to the virtual node.
	Labels map[string]string
	// Capacity limits what the node offers, for example to 50%.
	Capacity map[string]string
}

// binding returns the ClusterBinding, changed only where the flags say so. there may be nil.
func (w Wanted) binding(there *v1alpha1.ClusterBinding) *v1alpha1.ClusterBinding {
	after := &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: w.Name}}
	if there != nil {
		after = there.DeepCopy()
	} else {
		after.Spec.ClusterID = w.Name
		after.Spec.KubeconfigSecretRef = v1alpha1.KubeconfigSecretReference{Name: cli.SecretName(w.Name), Key: v1alpha1.DefaultKubeconfigKey}
	}
	if w.ClusterID != "" {
		after.Spec.ClusterID = w.ClusterID
	}
	node := &after.Spec.VirtualNode
	if len(w.Labels) > 0 && node.Labels == nil {
		node.Labels = map[string]v1alpha1.LabelValue{}
	}
	for key, value := range w.Labels {
		node.Labels[key] = v1alpha1.LabelValue(value)
	}
	if len(w.Capacity) > 0 && node.Capacity == nil {
		node.Capacity = map[corev1.ResourceName]intstr.IntOrString{}
	}
	for name, value := range w.Capacity {
		node.Capacity[corev1.ResourceName(name)] = intstr.FromString(value)
	}
	return after
}

// Seen is what was observed.
type Seen struct {
	Wanted Wanted
	// Consumer and Provider are the UIDs of the clusters.
	Consumer, Provider string
	// Bindings are all ClusterBindings in the consumer.
	Bindings []v1alpha1.ClusterBinding
	// Secret is the Secret of the binding, or nil.
	Secret *corev1.Secret
	// Context is the name of the provider in messages.
	Context string
}

// there returns the existing binding of that name, or nil.
func (s Seen) there() *v1alpha1.ClusterBinding {
	for i := range s.Bindings {
		if s.Bindings[i].Name == s.Wanted.Name {
			return &s.Bindings[i]
		}
	}
	return nil
}

// Check returns an error if the provider cannot be bound. It says why, and what to do instead.
func Check(s Seen) error {
	there := s.there()
	id := s.Wanted.binding(there).Spec.ClusterID
	switch {
	case s.Provider == s.Consumer:
		return fmt.Errorf("%s is the consumer itself: use the context of another cluster", s.Context)
	case there != nil && !there.DeletionTimestamp.IsZero():
		return fmt.Errorf("ClusterBinding %s is being deleted: wait for it with kubectl spillway unbind %s, and bind again", there.Name, there.Name)
	case there != nil && there.Spec.ClusterID != id:
		return fmt.Errorf("ClusterBinding %s has the clusterID %s, which is immutable: omit --cluster-id, or unbind it first", there.Name, there.Spec.ClusterID)
	case there != nil && there.Status.RemoteClusterUID != "" && there.Status.RemoteClusterUID != s.Provider:
		return fmt.Errorf("ClusterBinding %s is for a cluster other than %s: use the context of that cluster, or another name", there.Name, s.Context)
	}
	for i := range s.Bindings {
		if other := &s.Bindings[i]; other.Name != s.Wanted.Name && other.Spec.ClusterID == id {
			return fmt.Errorf("ClusterBinding %s already has the clusterID %s: set another --cluster-id", other.Name, id)
		}
	}
	if s.Secret != nil && there == nil && !cli.Made(s.Secret) {
		return fmt.Errorf("Secret %s in namespace %s already exists, and was not created by kubectl spillway: delete it, or give the binding another name", s.Secret.Name, s.Secret.Namespace)
	}
	return nil
}

// Shared returns the names of the other bindings for the same provider.
func Shared(s Seen) []string {
	var names []string
	for i := range s.Bindings {
		if other := &s.Bindings[i]; other.Name != s.Wanted.Name && other.Status.RemoteClusterUID == s.Provider {
			names = append(names, other.Name)
		}
	}
	return names
}

// pairs parses key=value,key=value.
func pairs(flag string, all []string) (map[string]string, error) {
	found := map[string]string{}
	for _, one := range all {
		key, value, ok := strings.Cut(one, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("--%s %s: it must be KEY=VALUE", flag, one)
		}
		found[key] = value
	}
	return found, nil
}
