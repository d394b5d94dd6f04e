package admission

import (
	"testing"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/config"
)

// TestManagerCapacities: the manager writes no driver and no room of the consumer's own nodes.
func TestManagerCapacities(t *testing.T) {
	manager := inConsumer(t)
	ours := map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBySpillway}
	shipped := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.StorageDriver}} // It is installed.
	capacity := func(name string, change func(*storagev1.CSIStorageCapacity)) *storagev1.CSIStorageCapacity {
		c := &storagev1.CSIStorageCapacity{
			ObjectMeta:   metav1.ObjectMeta{Namespace: "spillway-system", Name: name, Labels: ours},
			NodeTopology: &metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.LabelCluster: "eu"}}, StorageClassName: "fast", Capacity: ptr.To(resource.MustParse("1Gi")),
		}
		change(c)
		return c
	}
	const unmarked, only, own = "the manager may write no other CSIStorageCapacity", "the manager may change only spec.storageCapacity", "the room of the consumer's own nodes is for their drivers"
	there := temporary(t, capacity("there", func(*storagev1.CSIStorageCapacity) {}))
	theirs := temporary(t, capacity("theirs", func(c *storagev1.CSIStorageCapacity) { c.Labels = nil }))
	attempt(t, map[string]try{
		"the driver asks":             {patching(manager, shipped, `{"spec":{"storageCapacity":true}}`), ""},
		"the driver gets tokens":      {patching(manager, shipped, `{"spec":{"storageCapacity":true,"tokenRequests":[{"audience":"vault"}]}}`), only},
		"the driver is marked":        {patching(manager, shipped, `{"metadata":{"labels":{"a":"b"}}}`), only},
		"the driver goes":             {deleting(manager, shipped), `cannot delete resource "csidrivers"`},
		"a driver of the consumer's":  {patching(manager, temporary(t, &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "csi.example.com"}}), `{"spec":{"storageCapacity":true}}`), `cannot patch resource "csidrivers"`},
		"a new driver":                {creating(manager, &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "new.example.com"}}), `cannot create resource "csidrivers"`},
		"the room of a provider":      {creating(manager, capacity("new", func(*storagev1.CSIStorageCapacity) {})), ""},
		"the room of other nodes":     {creating(manager, capacity("new", func(c *storagev1.CSIStorageCapacity) { c.NodeTopology.MatchLabels = map[string]string{"a": "b"} })), own},
		"the room of all nodes":       {creating(manager, capacity("new", func(c *storagev1.CSIStorageCapacity) { c.NodeTopology = nil })), own},
		"room without label":          {creating(manager, capacity("new", func(c *storagev1.CSIStorageCapacity) { c.Labels = nil })), unmarked},
		"room in another namespace":   {creating(manager, capacity("new", func(c *storagev1.CSIStorageCapacity) { c.Namespace = "default" })), `cannot create resource "csistoragecapacities"`},
		"a provider with less room":   {patching(manager, there, `{"capacity":"500Mi"}`), ""},
		"it becomes somebody else's":  {patching(manager, there, `{"metadata":{"labels":null}}`), unmarked},
		"the room of somebody else":   {patching(manager, theirs, `{"capacity":"1Mi"}`), unmarked},
		"somebody else's room goes":   {deleting(manager, theirs), unmarked},
		"the room of a provider goes": {deleting(manager, there), ""},
	})
}

// TestDriverInstalledAgain: whoever installs Spillway again, as kubectl spillway install does, leaves alone what the
// manager has set of the driver.
func TestDriverInstalledAgain(t *testing.T) {
	inConsumer(t)
	shipped, err := config.Objects("default")
	if err != nil {
		t.Fatal(err)
	}
	driver := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.StorageDriver}}
	set := func(asks string) error {
		return server(t).Patch(t.Context(), driver.DeepCopy(), merge(`{"spec":{"storageCapacity":`+asks+`}}`), client.FieldOwner("spillway"))
	}
	defer func() {
		if err := set("false"); err != nil {
			t.Error(err)
		}
	}()
	for _, asks := range []string{"false", "true"} {
		if err := set(asks); err != nil {
			t.Fatal(err)
		}
		for _, object := range shipped {
			if object.GetKind() != "CSIDriver" {
				continue
			}
			if err := server(t).Patch(t.Context(), object.DeepCopy(), client.Apply, client.FieldOwner("kubectl-spillway")); err != nil { //nolint:staticcheck // As the command does, of an object that is whole.
				t.Errorf("asks: %s: %v", asks, err)
			}
		}
	}
	if err := server(t).Get(t.Context(), client.ObjectKeyFromObject(driver), driver); err != nil || !ptr.Deref(driver.Spec.StorageCapacity, false) {
		t.Errorf("the scheduler asks: %v, %v", driver.Spec.StorageCapacity, err)
	}
}
