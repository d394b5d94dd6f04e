package admission

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

const (
	marking = `{"metadata":{"labels":{"synced-to.spillway.io/eu":"true"},"annotations":{"remote.spillway.io/eu":"a/x,b/x"},"finalizers":["sync.spillway.io/eu"]}}`
	release = `{"metadata":{"labels":{"synced-to.spillway.io/us":null},"annotations":{"remote.spillway.io/us":null},"$deleteFromPrimitiveList/finalizers":["sync.spillway.io/us"]}}`
)

// unselect makes the scheduler choose a node for a claim again.
const unselect = `{"metadata":{"annotations":{"volume.kubernetes.io/selected-node":null}}}`

// TestManagerObjects tests the objects that are sent to providers.
func TestManagerObjects(t *testing.T) {
	manager := inConsumer(t)
	namespace := namespaceOf(t, nil)
	meta := metav1.ObjectMeta{
		Namespace: namespace, Name: "object",
		Labels:      map[string]string{"team": "a", v1alpha1.LabelSyncedTo + "us": "true"},
		Annotations: map[string]string{v1alpha1.LabelSync: v1alpha1.SyncNever, v1alpha1.AnnotationRemote + "us": "a/x", field.AnnotationSelectedNode: "spillway-us"},
		Finalizers:  []string{"example.com/mine", v1alpha1.FinalizerSync + "us"},
	}
	settings := &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"a": "1"}}
	password := &corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"a": []byte("1")}, Type: corev1.SecretTypeOpaque}
	claim := claimOf(meta, "")
	volumeMeta := *meta.DeepCopy()
	volumeMeta.Namespace, volumeMeta.Name = "", namespace
	volume := volumeOf(volumeMeta)
	for _, object := range []client.Object{settings, password, claim, volume} {
		temporary(t, object)
		tries := map[string]try{
			"marks it":         {patching(manager, object, marking), ""},
			"takes a mark off": {patching(manager, object, release), ""},
			"marks, and takes another mark off, of a version": {
				patching(manager, object, fmt.Sprintf(`{"metadata":{"uid":%q,"labels":{"synced-to.spillway.io/eu":"true","synced-to.spillway.io/us":null}}}`, object.GetUID())), ""},
			"another label":           {patching(manager, object, `{"metadata":{"labels":{"team":"b"}}}`), "metadata.labels[team] must not change"},
			"one label less":          {patching(manager, object, `{"metadata":{"labels":{"team":null}}}`), "metadata.labels[team] must not change"},
			"what holds it back":      {patching(manager, object, `{"metadata":{"annotations":{"spillway.io/sync":null}}}`), "metadata.annotations[spillway.io/sync] must not change"},
			"an annotation, marking":  {patching(manager, object, `{"metadata":{"labels":{"synced-to.spillway.io/eu":"true"},"annotations":{"a":"b"}}}`), "metadata.annotations[a] must not change"},
			"the finalizer of others": {patching(manager, object, `{"metadata":{"$deleteFromPrimitiveList/finalizers":["example.com/mine"]}}`), "metadata.finalizers[example.com/mine] must not change"},
			"an owner that is not there": {patching(manager, object,
				`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"gone","uid":"gone"}]}}`), "metadata.ownerReferences must not change"},
			"delete it": {deleting(manager, object), "cannot delete resource"},
		}
		for name, patch := range map[string]string{
			"data":       `{"data":{"a":"Mg=="}}`,
			"one more":   `{"data":{"b":"Mg=="}}`,
			"immutable":  `{"immutable":true}`,
			"text":       `{"stringData":{"a":"2"}}`,
			"binaryData": `{"binaryData":{"b":"Mg=="}}`,
		} {
			if object == client.Object(password) && name != "binaryData" || object == client.Object(settings) && name != "text" {
				tries["its content: "+name] = try{patching(manager, object, patch), "must not change: in objects that it sends"}
			}
		}
		switch object.(type) {
		case *corev1.PersistentVolumeClaim:
			local := claimOf(*meta.DeepCopy(), "")
			local.Name, local.Annotations[field.AnnotationSelectedNode] = "local", "worker-1"
			temporary(t, local)
			tries["the virtual node chosen for it"] = try{patching(manager, object, unselect), ""}
			tries["another node for it"] = try{patching(manager, object, `{"metadata":{"annotations":{"volume.kubernetes.io/selected-node":"spillway-eu"}}}`), "metadata.annotations[volume.kubernetes.io/selected-node] must not change"}
			tries["the local node chosen for another"] = try{patching(manager, local, unselect), "metadata.annotations[volume.kubernetes.io/selected-node] must not change"}
			tries["its volume"] = try{patching(manager, object, `{"spec":{"volumeName":"another"}}`), "spec must not change"}
		case *corev1.PersistentVolume:
			tries["delete it"] = try{deleting(manager, object), "the manager may create and delete no other"}
			tries["its capacity"] = try{patching(manager, object, `{"spec":{"capacity":{"storage":"2Gi"}}}`), "spec must not change"}
			tries["such an annotation"] = try{patching(manager, object, unselect), "metadata.annotations[volume.kubernetes.io/selected-node] must not change"}
			tries["its claim"] = try{patching(manager, object, `{"spec":{"claimRef":{"name":"another"}}}`), "spec must not change"}
			tries["what becomes of it"] = try{patching(manager, object, `{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}`), "spec must not change"}
		}
		t.Run(fmt.Sprintf("%T", object), func(t *testing.T) { attempt(t, tries) })
	}
}

// TestManagerObjectsOfOthers: the policy restricts only the manager.
func TestManagerObjectsOfOthers(t *testing.T) {
	inConsumer(t)
	settings := temporary(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespaceOf(t, nil), Name: "settings"}, Data: map[string]string{"a": "1"}})
	refused(t, patching(server(t), settings, `{"data":{"a":"2"}}`)(t.Context()), "")
}
