package persistentvolume

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/persistentvolumeclaim"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

// volumeOf returns the volume disk, bound to the claim team/data, with more YAML applied.
func volumeOf(t testing.TB, more string) *corev1.PersistentVolume {
	t.Helper()
	pv := fieldtest.Parse[corev1.PersistentVolume](t, `
metadata: {name: disk, uid: disk-uid, annotations: {pv.kubernetes.io/provisioned-by: csi.example.org}}
spec: {storageClassName: fast, claimRef: {namespace: team, name: data, uid: claim-uid}}`)
	fieldtest.Merged(t, pv, more)
	return pv
}

const csiVolume = `
spec:
  persistentVolumeReclaimPolicy: Delete
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a]}]}]}}
  csi:
    driver: csi.example.org
    volumeHandle: "1"
    nodePublishSecretRef: {namespace: team, name: own}
    nodeStageSecretRef: {namespace: storage, name: admin}
    controllerExpandSecretRef: {namespace: storage, name: admin}
    controllerPublishSecretRef: {namespace: storage}`

// places returns the target of any namespace.
func places(namespace string) field.Target {
	return field.Target{Mark: fieldtest.Mark, Namespace: namespace + "-eu"}
}

// around returns what a volume depends on in a provider with some Secrets of drivers.
func around(of func(string) field.Target, secretsIn ...string) decide.Inputs {
	return decide.Inputs{TargetFor: of, Limits: &field.Limits{CSISecretNamespaces: secretsIn}}
}

func secretAt(place string) *corev1.SecretReference {
	namespace, name, _ := strings.Cut(place, "/")
	return &corev1.SecretReference{Namespace: namespace, Name: name}
}

func TestPersistentVolumeAndClaim(t *testing.T) {
	name := fieldtest.Mapped.ClusterScopedName("disk")
	tests := map[string]struct {
		target    field.Target
		places    func(string) field.Target
		claim     string
		class     string
		claimName string
		// own and admin are the remote Secrets, as namespace/name.
		own, admin string
	}{
		"mapped": {target: fieldtest.Mapped, class: "fast", claimName: "data", places: places, own: "team-eu/own", admin: "storage/admin"},
		"shared": {target: fieldtest.Shared, class: "fast", claimName: fieldtest.Shared.Name("team", "data"),
			places: func(string) field.Target { return fieldtest.Shared }, own: "mount/" + fieldtest.Shared.Name("team", "own"), admin: "mount/" + fieldtest.Shared.Name("storage", "admin")},
		"the class of old": {target: fieldtest.Mapped, claim: `{metadata: {annotations: {volume.beta.kubernetes.io/storage-class: old}}}`,
			class: "old", claimName: "data", places: places, own: "team-eu/own", admin: "storage/admin"},
		"no class": {target: fieldtest.Mapped, claim: `{spec: {storageClassName: ""}}`,
			class: "", claimName: "data", places: places, own: "team-eu/own", admin: "storage/admin"},
	}
	for title, test := range tests {
		t.Run(title, func(t *testing.T) {
			localClaim, localVolume := fieldtest.ClaimOf(t, test.claim), volumeOf(t, csiVolume)
			claim, refusal := persistentvolumeclaim.ToRemote(localClaim, test.target)
			if refusal != nil {
				t.Fatal(refusal)
			}
			pv, refusal := toRemote(localVolume, localClaim, test.target, around(test.places, "storage"))
			if refusal != nil {
				t.Fatal(refusal)
			}
			wantClaim := corev1.PersistentVolumeClaimSpec{VolumeName: name, StorageClassName: &test.class}
			if diff := cmp.Diff(wantClaim, claim.Spec); diff != "" {
				t.Error(diff)
			}
			if claim.Name != test.claimName || claim.Namespace != test.target.Namespace || pv.Name != name || pv.Namespace != "" {
				t.Errorf("got claim %s/%s of volume %s/%s", claim.Namespace, claim.Name, pv.Namespace, pv.Name)
			}
			want := fieldtest.Parse[corev1.PersistentVolume](t, csiVolume).Spec
			want.PersistentVolumeReclaimPolicy, want.StorageClassName = corev1.PersistentVolumeReclaimRetain, test.class
			want.ClaimRef = &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: test.target.Namespace, Name: test.claimName}
			want.CSI.NodePublishSecretRef = secretAt(test.own)
			want.CSI.NodeStageSecretRef = secretAt(test.admin)
			want.CSI.ControllerExpandSecretRef = want.CSI.NodeStageSecretRef
			if diff := cmp.Diff(want, pv.Spec); diff != "" {
				t.Error(diff)
			}
			for key := range claim.Annotations {
				if strings.Contains(key, "kubernetes.io/") {
					t.Errorf("annotation %s would make the new claim Lost", key)
				}
			}
		})
	}
}

func TestVolumeRefusals(t *testing.T) {
	tests := map[string]struct {
		claim, pv string
		want      field.Problem
	}{
		"pending claim":        {claim: `{status: {phase: Pending}}`, want: field.Problem{Reason: field.ReasonClaimNotBound, Message: "PersistentVolumeClaim data is not bound to a volume yet"}},
		"lost claim":           {claim: `{status: {phase: Lost}}`, want: field.Problem{Reason: field.ReasonClaimNotBound, Message: "PersistentVolumeClaim data is not bound to a volume yet"}},
		"no volume name":       {claim: `{spec: {volumeName: ""}}`, want: field.Problem{Reason: field.ReasonClaimNotBound, Message: "PersistentVolumeClaim data is not bound to a volume yet"}},
		"bound to another":     {pv: `{spec: {claimRef: {uid: other}}}`, want: field.Problem{Reason: field.ReasonClaimNotBound, Message: "PersistentVolume disk is not bound to PersistentVolumeClaim data"}},
		"of another name":      {pv: `{metadata: {name: other}}`, want: field.Problem{Reason: field.ReasonClaimNotBound, Message: "PersistentVolume other is not bound to PersistentVolumeClaim data"}},
		"a huge claim":         {claim: `{spec: {resources: {requests: {storage: 1e21}}}}`, want: field.Problem{Reason: field.ReasonQuantity, Message: "PersistentVolumeClaim data: spec.resources.requests.storage has more than 40 characters, or an exponent beyond 18"}},
		"a huge volume":        {pv: `{spec: {capacity: {storage: 1e21}, nfs: {server: s, path: /}}}`, want: field.Problem{Reason: field.ReasonQuantity, Message: "PersistentVolume disk: spec.capacity.storage has more than 40 characters, or an exponent beyond 18"}},
		"claim stays home":     {claim: `{metadata: {labels: {spillway.io/sync: never}}}`, want: field.Problem{Reason: field.ReasonSyncNever, Message: "PersistentVolumeClaim data has spillway.io/sync=never"}},
		"volume stays home":    {pv: `{metadata: {annotations: {spillway.io/sync: never}}}`, want: field.Problem{Reason: field.ReasonSyncNever, Message: "PersistentVolume disk has spillway.io/sync=never"}},
		"hostPath":             {pv: `{spec: {hostPath: {path: /}}}`, want: field.Problem{Reason: field.ReasonVolumeNotPortable, Message: "PersistentVolume disk: spec.hostPath is set: it is on a node"}},
		"local":                {pv: `{spec: {local: {path: /}}}`, want: field.Problem{Reason: field.ReasonVolumeNotPortable, Message: "PersistentVolume disk: spec.local is set: it is on a node"}},
		"bound to a node":      {pv: `{spec: {nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname}]}]}}}}`, want: field.Problem{Reason: field.ReasonVolumeNotPortable, Message: "PersistentVolume disk: spec.nodeAffinity ties it to a node of the consumer by its name"}},
		"bound to a field":     {pv: `{spec: {nodeAffinity: {required: {nodeSelectorTerms: [{matchFields: [{key: metadata.name}]}]}}}}`, want: field.Problem{Reason: field.ReasonVolumeNotPortable, Message: "PersistentVolume disk: spec.nodeAffinity ties it to a node of the consumer by its name"}},
		"of another namespace": {pv: `{spec: {claimRef: {namespace: other}}}`, want: field.Problem{Reason: field.ReasonClaimNotBound, Message: "PersistentVolume disk is not bound to PersistentVolumeClaim data"}},
		"of another claim":     {pv: `{spec: {claimRef: {name: other}}}`, want: field.Problem{Reason: field.ReasonClaimNotBound, Message: "PersistentVolume disk is not bound to PersistentVolumeClaim data"}},
		"of no claim":          {pv: `{spec: {claimRef: null}}`, want: field.Problem{Reason: field.ReasonClaimNotBound, Message: "PersistentVolume disk is not bound to PersistentVolumeClaim data"}},
		"a huge limit":         {claim: `{spec: {resources: {limits: {storage: 1e21}}}}`, want: field.Problem{Reason: field.ReasonQuantity, Message: "PersistentVolumeClaim data: spec.resources.limits.storage has more than 40 characters, or an exponent beyond 18"}},
		"the driver would read a Secret": {pv: `{spec: {csi: {driver: d, volumeHandle: h, volumeAttributes: {share: a, secretName: s}}}}`,
			want: field.Problem{Reason: field.ReasonCredentials, Message: "PersistentVolume disk: spec.csi.volumeAttributes[secretName] is set: the driver would use a Secret of the provider"}},
		"a Secret of another namespace": {pv: `{spec: {csi: {driver: d, volumeHandle: h, nodeStageSecretRef: {namespace: kube-system, name: s}}}}`,
			want: field.Problem{Reason: field.ReasonSecretNotAllowed, Message: "PersistentVolume disk names Secret kube-system/s, which is not in the namespace of its claim, and the provider does not allow volumes to name its own Secrets in namespace kube-system; " +
				"ask the provider's administrator for it (csiSecretNamespaces in ConfigMap spillway-provider/limits)"}},
		"one of them": {pv: `{spec: {csi: {driver: d, volumeHandle: h, nodeStageSecretRef: {namespace: storage, name: s}, controllerPublishSecretRef: {namespace: storages, name: s}}}}`,
			want: field.Problem{Reason: field.ReasonSecretNotAllowed, Message: "PersistentVolume disk names Secret storages/s, which is not in the namespace of its claim, and the provider does not allow volumes to name its own Secrets in namespace storages; " +
				"ask the provider's administrator for it (csiSecretNamespaces in ConfigMap spillway-provider/limits)"}},
		"iSCSI with a Secret of a driver": {pv: `{spec: {iscsi: {targetPortal: t, iqn: i, lun: 1, secretRef: {namespace: storage, name: chap}}}}`,
			want: field.Problem{Reason: field.ReasonSecretNotAllowed, Message: "PersistentVolume disk names Secret storage/chap, which is not in the namespace of its claim"}},
		"affinity of nobody": {pv: `{spec: {nodeAffinity: {}, nfs: {server: s, path: /}}}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			claim := fieldtest.ClaimOf(t, test.claim)
			_, refusal := persistentvolumeclaim.ToRemote(claim, fieldtest.Mapped)
			if refusal == nil {
				_, refusal = toRemote(volumeOf(t, test.pv), claim, fieldtest.Mapped, around(places, "storage"))
			}
			if test.want == (field.Problem{}) {
				if refusal != nil {
					t.Error(refusal)
				}
				return
			}
			if diff := cmp.Diff(&test.want, refusal); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestVolumeOfAnUnboundClaim(t *testing.T) {
	if _, refusal := toRemote(volumeOf(t, csiVolume), fieldtest.ClaimOf(t, `{status: {phase: Pending}}`), fieldtest.Mapped, around(places, "storage")); refusal == nil || refusal.Reason != field.ReasonClaimNotBound {
		t.Errorf("got %v", refusal)
	}
}

func TestVolumeMetadata(t *testing.T) {
	pv, _ := toRemote(volumeOf(t, csiVolume), fieldtest.ClaimOf(t, ""), fieldtest.Mapped, around(places, "storage"))
	want := map[string]string{v1alpha1.AnnotationLocalName: "disk", v1alpha1.AnnotationLocalUID: "disk-uid", v1alpha1.AnnotationCopied: ";"}
	if diff := cmp.Diff(want, pv.Annotations); diff != "" {
		t.Error(diff)
	}
	if !fieldtest.Mark.IsOn(pv) {
		t.Errorf("the mark is missing in %v", pv.Labels)
	}
}

func TestVolumeSecrets(t *testing.T) {
	tests := map[string]struct {
		pv   string
		want []types.NamespacedName
	}{
		"none":  {pv: `{spec: {nfs: {server: s, path: /}}}`},
		"CSI":   {pv: csiVolume, want: []types.NamespacedName{{Namespace: "storage", Name: "admin"}, {Namespace: "team", Name: "own"}}},
		"iSCSI": {pv: `{spec: {iscsi: {targetPortal: t, iqn: i, lun: 1, secretRef: {namespace: storage, name: chap}}}}`, want: []types.NamespacedName{{Namespace: "storage", Name: "chap"}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, volumeSecrets(volumeOf(t, test.pv))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestISCSISecretIsRenamed(t *testing.T) {
	local := volumeOf(t, `{spec: {iscsi: {targetPortal: t, iqn: i, lun: 1, secretRef: {namespace: storage, name: chap}}}}`)
	pv, refusal := toRemote(local, fieldtest.ClaimOf(t, ""), fieldtest.Shared, around(func(string) field.Target { return fieldtest.Shared }))
	if refusal != nil {
		t.Fatal(refusal)
	}
	want := &corev1.SecretReference{Namespace: "mount", Name: fieldtest.Shared.Name("storage", "chap")}
	if diff := cmp.Diff(want, pv.Spec.ISCSI.SecretRef); diff != "" {
		t.Error(diff)
	}
	if local.Spec.ISCSI.SecretRef.Name != "chap" {
		t.Error("the local volume was changed")
	}
}

// TestProvidedSecrets: a Secret that is the provider's own is not sent for the volume.
func TestProvidedSecrets(t *testing.T) {
	shared := func(string) field.Target { return fieldtest.Shared }
	for name, test := range map[string]struct {
		kind, namespace string
		around          decide.Inputs
		want            bool
	}{
		"of a driver":                     {"secret", "storage", around(places, "storage"), true},
		"of a driver, not listed":         {"secret", "storage", around(places, "other"), false},
		"of the claim's namespace":        {"secret", "team", around(places, "team"), false},
		"of one that goes to the same":    {"secret", "storage", around(shared, "storage"), false},
		"something else of the namespace": {"configmap", "storage", around(places, "storage"), false},
		"of a provider without limits":    {"secret", "storage", decide.Inputs{TargetFor: places}, false},
	} {
		of := decide.Key{Kind: test.kind, NamespacedName: types.NamespacedName{Namespace: test.namespace, Name: "admin"}}
		if got := provided(volumeOf(t, csiVolume), of, test.around); got != test.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}
