package hostile

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/testing/builder"
	"github.com/spillway-io/spillway/test/performance/rig"
)

// trapping makes a namespace of the hostile provider claim that it stands for a namespace that never asked
// for it. A finalizer keeps the provider's namespace from being deleted. The offloading must still end.
func (s *setup) trapping(t *testing.T) {
	victim, offloading := rig.Namespace(2), builder.Offloading(rig.Namespace(2).GetName()).Finalizers().
		Selector(builder.Requirement(v1alpha1.LabelCluster, corev1.NodeSelectorOpIn, good)).Obj()
	offloading.ObjectMeta = metav1.ObjectMeta{Namespace: victim.GetName(), Name: v1alpha1.OffloadingName}
	must(t, s.Consumer.Admin.Create(t.Context(), victim), s.Consumer.Admin.Create(t.Context(), offloading))
	s.eventually(t, "the namespace to be offloaded to the good one", func(ctx context.Context) error {
		return s.inPhase(ctx, offloading, v1alpha1.OffloadingPhaseReady)
	})

	origin, err := s.Origin(t.Context())
	must(t, err)
	trap := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "trap", Finalizers: []string{"example.com/trap"},
		Labels:      provenance.Mark{Origin: origin, ClusterID: bad, Account: rig.ProviderServiceAccount}.Labels(),
		Annotations: provenance.NamespaceAnnotations(victim.GetName(), "a guess"),
	}}
	must(t, s.Providers[1].Admin.Create(t.Context(), trap))
	s.eventually(t, "the manager to see the trap", func(ctx context.Context) error {
		err := s.Providers[1].Admin.Get(ctx, client.ObjectKeyFromObject(trap), trap)
		if err == nil && trap.DeletionTimestamp.IsZero() {
			err = errors.New("its deletion was not asked for")
		}
		return err
	})
	must(t, s.Consumer.Admin.Delete(t.Context(), offloading))
	s.eventually(t, "the offloading to end", func(ctx context.Context) error {
		err := s.Consumer.Admin.Get(ctx, client.ObjectKeyFromObject(offloading), offloading)
		if err == nil {
			return errors.New("it is still there")
		}
		if !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	})
	nsm := &v1alpha1.NamespaceMap{}
	must(t, s.Consumer.Admin.Get(t.Context(), client.ObjectKey{Name: bad}, nsm))
	if entry := namespacemap.FindCurrent(nsm.Status.CurrentMapping, victim.GetName()); entry != nil {
		t.Errorf("the map of the hostile provider has %v", entry)
	}
	let := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	must(t, s.Providers[1].Admin.Patch(t.Context(), trap, let))
}
