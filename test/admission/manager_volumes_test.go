package admission

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// volumesGrant gives the manager the rights that only a manager with volumes in providers needs.
func volumesGrant() *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "spillway-volumes"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "spillway-volumes"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "spillway-system", Name: "spillway-manager"}},
	}
}

// standIn is a volume that stands for one in the provider eu, as the manager creates it, for the claim with that UID,
// after changes.
func standIn(claim types.UID, changes ...func(*corev1.PersistentVolume)) *corev1.PersistentVolume {
	volume := volumeOf(metav1.ObjectMeta{
		Name: "spillway-eu-" + string(claim), Labels: map[string]string{v1alpha1.LabelSyncedTo + "eu": "true"},
		Annotations: map[string]string{v1alpha1.AnnotationRemoteClaim: "team-eu/data"},
	}, func(spec *corev1.PersistentVolumeSpec) {
		spec.PersistentVolumeSource = corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: v1alpha1.StorageDriver, VolumeHandle: "remote-uid"}}
		spec.ClaimRef = &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: "team", Name: "data", UID: claim}
		spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: v1alpha1.LabelCluster, Operator: corev1.NodeSelectorOpIn, Values: []string{"eu"}}},
		}}}}
	})
	for _, change := range changes {
		change(volume)
	}
	return volume
}

// TestManagerVolumes: the manager creates only volumes that stand for one in a provider, for one claim that waits for
// it, and changes and deletes no others.
func TestManagerVolumes(t *testing.T) {
	manager := inConsumer(t)
	const other, mounted, notAsked = "the manager may create and delete no other", "nothing in the consumer mounts it", "does not wait for a volume of the provider"
	tries := map[string]try{}
	for name, test := range map[string]struct {
		change func(*corev1.PersistentVolume)
		want   string
	}{
		"for a claim":       {func(*corev1.PersistentVolume) {}, ""},
		"of another driver": {func(v *corev1.PersistentVolume) { v.Spec.CSI.Driver = "csi.example.com" }, other},
		"on the disk of a node": {func(v *corev1.PersistentVolume) {
			v.Spec.CSI, v.Spec.HostPath = nil, &corev1.HostPathVolumeSource{Path: "/"}
		}, other},
		"of another name":                {func(v *corev1.PersistentVolume) { v.Name = "disk" }, other},
		"for any claim":                  {func(v *corev1.PersistentVolume) { v.Spec.ClaimRef = nil }, other},
		"for any claim of that name":     {func(v *corev1.PersistentVolume) { v.Spec.ClaimRef.UID = "" }, other},
		"for another claim of that name": {func(v *corev1.PersistentVolume) { v.Spec.ClaimRef.UID = "another" }, other},
		"for all nodes":                  {func(v *corev1.PersistentVolume) { v.Spec.NodeAffinity = nil }, other},
		"for other nodes": {func(v *corev1.PersistentVolume) {
			v.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Key = "zone"
		}, other},
		"of unknown origin": {func(v *corev1.PersistentVolume) { v.Annotations = nil }, mounted},
		"with a Secret": {func(v *corev1.PersistentVolume) {
			v.Spec.CSI.NodePublishSecretRef = &corev1.SecretReference{Namespace: "kube-system", Name: "any"}
		}, mounted},
	} {
		volume := standIn("to-create", test.change)
		tries[name] = try{creating(manager, volume), test.want}
	}
	ours := temporary(t, standIn("there"))
	tries["it grows"] = try{patching(manager, ours, `{"spec":{"capacity":{"storage":"2Gi"}}}`), ""}
	tries["it is kept"] = try{patching(manager, ours, `{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}`), "spec must not change"}
	tries["it moves"] = try{patching(manager, ours, `{"spec":{"capacity":{"storage":"2Gi"},"storageClassName":"other"}}`), "spec must not change"}
	claim := temporary(t, claimOf(metav1.ObjectMeta{Namespace: namespaceOf(t, nil), Name: "bound"}, "spillway-eu-any"))
	tries["its claim has grown"] = try{patching(manager, claim, `{"status":{"capacity":{"storage":"2Gi"},"conditions":[{"type":"FileSystemResizePending","status":"True"}]}}`, "status"), ""}
	tries["its claim is lost"] = try{patching(manager, claim, `{"status":{"phase":"Lost"}}`, "status"), "status.phase must not change"}
	tries["it marks with the status"] = try{patching(manager, claim, `{"metadata":{"labels":{"a":"b"}},"status":{"capacity":{"storage":"2Gi"}}}`, "status"), "metadata.labels must not change"}
	unbound := temporary(t, claimOf(metav1.ObjectMeta{Namespace: claim.Namespace, Name: "unbound"}, "disk"))
	tries["another claim has grown"] = try{patching(manager, unbound, `{"status":{"capacity":{"storage":"2Gi"}}}`, "status"), "the manager must not write its status"}
	for name, bind := range map[string]struct {
		annotations map[string]string
		want        string
	}{
		"a claim of another driver is bound":                    {nil, notAsked},
		"a claim for another node is bound":                     {map[string]string{field.AnnotationStorageProvisioner: v1alpha1.StorageDriver, field.AnnotationSelectedNode: "spillway-us"}, notAsked},
		"a claim of another driver, for that node, is bound":    {map[string]string{field.AnnotationStorageProvisioner: "csi.example.com", field.AnnotationSelectedNode: "spillway-eu"}, notAsked},
		"a claim that waits for that provider is bound":         {map[string]string{field.AnnotationStorageProvisioner: v1alpha1.StorageDriver, field.AnnotationSelectedNode: "spillway-eu"}, ""},
		"a claim whose owner has chosen that provider is bound": {map[string]string{field.AnnotationStorageProvisioner: v1alpha1.StorageDriver, v1alpha1.AnnotationProvider: "eu"}, ""},
	} {
		waiting := temporary(t, claimOf(metav1.ObjectMeta{Namespace: claim.Namespace, GenerateName: "waits-", Annotations: bind.annotations}, ""))
		tries[name] = try{patching(server(t), waiting, fmt.Sprintf(`{"spec":{"volumeName":"spillway-eu-%s"}}`, waiting.UID)), bind.want} // As Kubernetes does.
	}
	disk := temporary(t, claimOf(metav1.ObjectMeta{Namespace: claim.Namespace, Name: "disk"}, ""))
	tries["a claim is bound to another volume"] = try{patching(server(t), disk, `{"spec":{"volumeName":"spillway-disk"}}`), ""}
	freed := func(v *corev1.PersistentVolume) { v.Spec.ClaimRef.UID = "" } // As Kubernetes does.
	elsewhere := standIn("elsewhere", freed, func(v *corev1.PersistentVolume) { v.Name = "spillway-us-elsewhere" })
	tries["it goes, because its claim is bound elsewhere"] = try{deleting(manager, temporary(t, standIn("freed", freed))), ""}
	tries["it goes, and is of another provider"] = try{deleting(manager, temporary(t, elsewhere)), other}
	tries["it goes"] = try{deleting(manager, standIn("there")), ""}
	attempt(t, tries)
}
