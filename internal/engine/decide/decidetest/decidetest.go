// Package decidetest has ConfigMaps, and snapshots of them, for tests of decisions and of the code that
// carries them out.
package decidetest

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// Plain is the simplest Translation: the copy has the data of the local object.
type Plain struct{}

// RemoteName implements decide.Translation.
func (Plain) RemoteName(t field.Target, local types.NamespacedName) types.NamespacedName {
	return types.NamespacedName{Namespace: t.Namespace, Name: t.Name(local.Namespace, local.Name)}
}

// Remote implements decide.Translation. A ConfigMap with the key refuse is not copied.
func (Plain) Remote(local *corev1.ConfigMap, t field.Target, _ decide.Inputs) (*corev1.ConfigMap, *field.Problem) {
	if local.Data["refuse"] != "" {
		return nil, &field.Problem{Reason: "Refused", Message: "it says so"}
	}
	return &corev1.ConfigMap{ObjectMeta: field.Metadata(local, t), Data: local.Data}, nil
}

// Merge implements decide.Translation. A copy with the key frozen is replaced.
func (Plain) Merge(desired, remote *corev1.ConfigMap) (*corev1.ConfigMap, bool) {
	merged := field.Merged(desired, remote)
	merged.Data = field.MergeContent(desired.Data, remote.Data)
	return merged, remote.Data["frozen"] != ""
}

// The owner of the objects, the target of their copies, and the Syncer.
var (
	Mark   = provenance.Mark{Origin: "home", ClusterID: "eu"}
	Target = field.Target{Mark: Mark, Namespace: "team-home"}
	Copies = decide.NewCopies(Plain{}, func() *corev1.ConfigMap { return &corev1.ConfigMap{} })
)

// Option changes a ConfigMap.
type Option = func(*corev1.ConfigMap)

// Local returns a ConfigMap of the consumer.
func Local(options ...Option) *corev1.ConfigMap {
	m := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "settings", UID: "local-1", ResourceVersion: "5"},
		Data:       map[string]string{"a": "1"},
	}
	for _, option := range options {
		option(m)
	}
	return m
}

// Remote returns the copy of that ConfigMap.
func Remote(options ...Option) *corev1.ConfigMap {
	m, _ := Plain{}.Remote(Local(), Target, decide.Inputs{})
	m.UID, m.ResourceVersion = "remote-1", "9"
	for _, option := range options {
		option(m)
	}
	return m
}

// SentTo protects a ConfigMap for a provider.
func SentTo(clusterID, place string) Option {
	return func(m *corev1.ConfigMap) {
		m.Labels = decide.With(m.Labels, v1alpha1.LabelSyncedTo+clusterID, "true")
		m.Annotations = decide.With(m.Annotations, v1alpha1.AnnotationRemote+clusterID, place)
		m.Finalizers = append(m.Finalizers, v1alpha1.FinalizerSync+clusterID)
	}
}

// Sent protects a ConfigMap for the location of Remote.
var Sent = SentTo("eu", "team-home/settings")

// Data replaces the data with pairs of keys and values.
func Data(pairs ...string) Option {
	return func(m *corev1.ConfigMap) {
		m.Data = map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			m.Data[pairs[i]] = pairs[i+1]
		}
	}
}

// Going marks a ConfigMap as being deleted.
func Going(m *corev1.ConfigMap) { m.DeletionTimestamp = &metav1.Time{Time: builder.Epoch} }

// Held returns a ConfigMap as the caches hold it: with a digest instead of its content.
func Held(m *corev1.ConfigMap) *corev1.ConfigMap {
	held, _ := field.WithoutContent(m).(*corev1.ConfigMap)
	return held
}

// KeptHome marks a ConfigMap as never sent.
func KeptHome(m *corev1.ConfigMap) {
	m.Annotations = decide.With(m.Annotations, v1alpha1.LabelSync, "never")
}

// Snapshot is a snapshot of a ConfigMap.
type Snapshot = decide.Snapshot[*corev1.ConfigMap]

// ObjectState is the state of a ConfigMap.
type ObjectState = decide.ObjectState[*corev1.ConfigMap]

// Wanted returns a snapshot of a ConfigMap that a pod in an offloaded namespace needs.
func Wanted(local, remote *corev1.ConfigMap, changes ...func(*Snapshot)) Snapshot {
	s := Snapshot{
		ObjectState: ObjectState{
			Key: types.NamespacedName{Namespace: "team", Name: "settings"}, ClusterID: "eu", Local: local,
			Known: local != nil && local.Labels != nil, Inputs: decide.Inputs{Node: "spillway-eu"},
		},
		RemoteState: decide.RemoteState[*corev1.ConfigMap]{Destination: decide.Destination{Target: Target, Open: true}, Wanted: true, Remote: remote},
	}
	for _, change := range changes {
		change(&s)
	}
	return s
}

// Observed returns the state of a ConfigMap that a pod in an offloaded namespace needs.
func Observed(local, remote *corev1.ConfigMap, changes ...func(*Snapshot)) ObjectState {
	return Of(Wanted(local, remote, changes...))
}

// Of returns the ObjectState of a snapshot. If it has no RemoteStates, it gets the snapshot's.
func Of[T decide.Object](s decide.Snapshot[T]) decide.ObjectState[T] {
	if len(s.RemoteStates) == 0 {
		s.RemoteStates = []decide.RemoteState[T]{s.RemoteState}
	}
	return s.ObjectState
}

// Unwanted makes the ConfigMap unneeded.
func Unwanted(s *Snapshot) { s.Wanted = false }
