package oracle

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// holdsData reports whether a remote claim is no copy: its volume is created in the provider.
func holdsData(obj *unstructured.Unstructured) bool {
	return obj.GetKind() == "PersistentVolumeClaim" && obj.GetLabels()[v1alpha1.LabelVolume] != ""
}

// isUsed reports whether a claim has a volume, which may have data.
func isUsed(claim *unstructured.Unstructured) bool {
	volume, _, _ := unstructured.NestedString(claim.Object, "spec", "volumeName")
	return volume != ""
}

// dataGivenUp: a remote claim that may have data is deleted only if the consumer's volume for it is released, with the
// policy Delete.
func (b *bench) dataGivenUp(a Ask) ([]string, error) {
	if a.Cluster == Consumer || !a.deletes() || a.Resource != "persistentvolumeclaims" {
		return nil, nil
	}
	uid := a.text("preconditions", "uid")
	remotes, err := b.matching(a.Cluster, "persistentvolumeclaims", func(obj *unstructured.Unstructured) bool {
		return obj.GetUID() == types.UID(uid) && holdsData(obj) && isUsed(obj)
	})
	if err != nil || len(remotes) == 0 {
		return nil, err
	}
	given, err := b.matching(Consumer, "persistentvolumes", func(obj *unstructured.Unstructured) bool {
		handle, _, _ := unstructured.NestedString(obj.Object, "spec", "csi", "volumeHandle")
		policy, _, _ := unstructured.NestedString(obj.Object, "spec", "persistentVolumeReclaimPolicy")
		phase, _, _ := unstructured.NestedString(obj.Object, "status", "phase")
		return handle == uid && policy == "Delete" && phase == "Released"
	})
	if err != nil || len(given) > 0 {
		return nil, err
	}
	return []string{fmt.Sprintf("%s: %s is deleted, and nobody has given up its data", a.Cluster, title(remotes[0]))}, nil
}

// dataInNamespace: a remote namespace is deleted only when no claim in it has data.
func (b *bench) dataInNamespace(a Ask) ([]string, error) {
	if a.Cluster == Consumer || !a.deletes() || a.Resource != "namespaces" {
		return nil, nil
	}
	held, err := b.matching(a.Cluster, "persistentvolumeclaims", func(obj *unstructured.Unstructured) bool {
		return obj.GetNamespace() == a.Name && holdsData(obj) && isUsed(obj)
	})
	var found []string
	for _, claim := range held {
		found = append(found, fmt.Sprintf("%s: namespace %s is deleted with %s", a.Cluster, a.Name, title(claim)))
	}
	return found, err
}
