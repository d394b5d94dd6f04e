package field_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

func localMeta(labels, annotations map[string]string) *metav1.ObjectMeta {
	return &metav1.ObjectMeta{
		Namespace: "team", Name: "web", UID: "uid", ResourceVersion: "1", Generation: 2, GenerateName: "w", Finalizers: []string{"f"},
		OwnerReferences: []metav1.OwnerReference{{Name: "owner"}}, Labels: labels, Annotations: annotations,
	}
}

// with returns a map with the entries of all maps.
func with(all ...map[string]string) map[string]string {
	result := map[string]string{}
	for _, m := range all {
		maps.Copy(result, m)
	}
	return result
}

func TestMetadata(t *testing.T) {
	tests := map[string]struct {
		local  *metav1.ObjectMeta
		target field.Target
		want   metav1.ObjectMeta
	}{
		"nothing of its own": {localMeta(nil, nil), fieldtest.Mapped,
			metav1.ObjectMeta{Name: "web", Namespace: "team-eu", Labels: fieldtest.Mark.Labels(), Annotations: fieldtest.ProvenanceOf(";")}},
		"hashed": {localMeta(nil, nil), fieldtest.Shared,
			metav1.ObjectMeta{Name: fieldtest.Shared.Name("team", "web"), Namespace: "mount", Labels: fieldtest.Mark.Labels(), Annotations: fieldtest.ProvenanceOf(";")}},
		"copied": {localMeta(map[string]string{"b": "1", "a": "2"}, map[string]string{"d": "3", "c": "4"}), fieldtest.Mapped,
			metav1.ObjectMeta{Name: "web", Namespace: "team-eu",
				Labels:      with(fieldtest.Mark.Labels(), map[string]string{"a": "2", "b": "1"}),
				Annotations: with(fieldtest.ProvenanceOf("a,b;c,d"), map[string]string{"c": "4", "d": "3"})}},
		"left at home": {localMeta(
			map[string]string{
				"spillway.io/origin": "forged", "synced-to.spillway.io/eu": "true",
				"topology.kubernetes.io/region": "eu", "topology.kubernetes.io/zone": "a",
				"kueue.x-k8s.io/queue-name": "jobs", "kueue.x-k8s.io/podset": "main", "kueue.x-k8s.io/managed": "true",
			},
			map[string]string{
				"spillway.io/local-uid": "forged", "remote.spillway.io/eu": "x", "kubectl.kubernetes.io/last-applied-configuration": "{}",
				"kubernetes.io/config.source": "file", "kubernetes.io/config.mirror": "x", "pv.kubernetes.io/bind-completed": "yes",
				"volume.kubernetes.io/selected-node": "n", "volume.beta.kubernetes.io/storage-class": "s",
				"container.apparmor.security.beta.kubernetes.io/web": "unconfined", "kueue.x-k8s.io/workload": "job-a",
			}), fieldtest.Mapped,
			metav1.ObjectMeta{Name: "web", Namespace: "team-eu", Labels: fieldtest.Mark.Labels(), Annotations: fieldtest.ProvenanceOf(";")}},
		"not ours by its looks": {localMeta(map[string]string{"notspillway.io/a": "1"}, map[string]string{"spillway.io": "2"}), fieldtest.Mapped,
			metav1.ObjectMeta{Name: "web", Namespace: "team-eu",
				Labels:      with(fieldtest.Mark.Labels(), map[string]string{"notspillway.io/a": "1"}),
				Annotations: with(fieldtest.ProvenanceOf("notspillway.io/a;spillway.io"), map[string]string{"spillway.io": "2"})}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, field.Metadata(test.local, test.target)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestMergeMetadataKeepsTheAccount: if another account, or none, created an object, the account label
// causes no write.
func TestMergeMetadataKeepsTheAccount(t *testing.T) {
	ours := fieldtest.Mapped
	ours.Mark.Account = "spillway-consumer"
	for name, account := range map[string]string{"none": "", "the same": "spillway-consumer", "another": "other"} {
		t.Run(name, func(t *testing.T) {
			before := fieldtest.Mapped
			before.Mark.Account = account
			remote, desired := field.Metadata(localMeta(nil, nil), before), field.Metadata(localMeta(nil, nil), ours)
			if labels, _ := field.MergeMetadata(&desired, &remote); !maps.Equal(labels, remote.Labels) {
				t.Errorf("the labels become %v, want them as they are: %v", labels, remote.Labels)
			}
		})
	}
}

func TestMergeMetadata(t *testing.T) {
	tests := map[string]struct {
		// was and is are the user's labels and annotations when they were last sent, and now. there
		// changes the remote ones in between.
		wasLabels, isLabels           map[string]string
		wasAnnotations, isAnnotations map[string]string
		there                         func(remote *metav1.ObjectMeta)
		wantLabels, wantAnnotations   map[string]string
	}{
		"nothing": {wantAnnotations: map[string]string{v1alpha1.AnnotationCopied: ";"}},
		"added": {isLabels: map[string]string{"a": "1"}, isAnnotations: map[string]string{"b": "2"},
			wantLabels: map[string]string{"a": "1"}, wantAnnotations: map[string]string{"b": "2", v1alpha1.AnnotationCopied: "a;b"}},
		"changed": {wasLabels: map[string]string{"a": "0"}, isLabels: map[string]string{"a": "1"},
			wantLabels: map[string]string{"a": "1"}, wantAnnotations: map[string]string{v1alpha1.AnnotationCopied: "a;"}},
		"removed": {wasLabels: map[string]string{"a": "1"}, wasAnnotations: map[string]string{"b": "2"},
			wantAnnotations: map[string]string{v1alpha1.AnnotationCopied: ";"}},
		"added by the provider": {wasLabels: map[string]string{"a": "1"},
			there:           func(r *metav1.ObjectMeta) { r.Labels["p"], r.Annotations["q"] = "3", "4" },
			wantLabels:      map[string]string{"p": "3"},
			wantAnnotations: map[string]string{"q": "4", v1alpha1.AnnotationCopied: ";"}},
		"changed by the provider": {wasLabels: map[string]string{"a": "1"}, isLabels: map[string]string{"a": "1"},
			there:      func(r *metav1.ObjectMeta) { r.Labels["a"] = "3" },
			wantLabels: map[string]string{"a": "1"}, wantAnnotations: map[string]string{v1alpha1.AnnotationCopied: "a;"}},
		"the mark stripped": {there: func(r *metav1.ObjectMeta) { r.Labels = nil },
			wantAnnotations: map[string]string{v1alpha1.AnnotationCopied: ";"}},
		"the base lost": {wasLabels: map[string]string{"a": "1"}, there: func(r *metav1.ObjectMeta) { delete(r.Annotations, v1alpha1.AnnotationCopied) },
			wantLabels: map[string]string{"a": "1"}, wantAnnotations: map[string]string{v1alpha1.AnnotationCopied: ";"}},
		"the base spoilt": {there: func(r *metav1.ObjectMeta) {
			r.Annotations[v1alpha1.AnnotationCopied] = "spillway.io/other,,p;;,spillway.io/kept"
			r.Labels["spillway.io/other"], r.Annotations["spillway.io/kept"] = "1", "2"
		},
			wantLabels:      map[string]string{"spillway.io/other": "1"},
			wantAnnotations: map[string]string{"spillway.io/kept": "2", v1alpha1.AnnotationCopied: ";"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			remote := field.Metadata(localMeta(test.wasLabels, test.wasAnnotations), fieldtest.Mapped)
			if test.there != nil {
				test.there(&remote)
			}
			desired := field.Metadata(localMeta(test.isLabels, test.isAnnotations), fieldtest.Mapped)
			labels, annotations := field.MergeMetadata(&desired, &remote)
			if diff := cmp.Diff(with(fieldtest.Mark.Labels(), test.wantLabels), labels); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(with(fieldtest.ProvenanceOf(""), test.wantAnnotations), annotations); diff != "" {
				t.Error(diff)
			}
			remote.Labels, remote.Annotations = labels, annotations
			again, andAgain := field.MergeMetadata(&desired, &remote)
			if !maps.Equal(again, labels) || !maps.Equal(andAgain, annotations) {
				t.Error("merging again changes something again")
			}
		})
	}
}
