package admission

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

func TestConsumerSecretsAndClaims(t *testing.T) {
	consumer := inProvider(t)
	meta := metav1.ObjectMeta{Namespace: namespaceOf(t, held(mark())), Name: "object", Labels: mark()}
	for name, test := range map[string]struct {
		object client.Object
		want   string // Part of the refusal; empty: allowed.
	}{
		"Secret for a registry": {secretWith(meta, corev1.SecretTypeDockerConfigJson, ".dockerconfigjson", "{}"), ""},
		// A Secret for a token of the provider has an annotation that the shipped limits forbid: see
		// TestConsumerUnderOtherLimits.
		"Secret to join nodes":                     {secretOf(meta, "bootstrap.kubernetes.io/token"), "type must not be kubernetes.io/service-account-token or bootstrap.kubernetes.io/token"},
		"claim of a volume":                        {claimOf(meta, volumeName), ""},
		"claim of any volume":                      {claimOf(meta, ""), "spec.volumeName must name the consumer's volume"},
		"claim of a free volume of the provider's": {claimOf(meta, "pvc-6fb5c2be-9dd8-4ee0-9f31-bf0f4a1f8a01"), "spec.volumeName must name the consumer's volume, and end in a hash"},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, consumer.Create(t.Context(), test.object, client.DryRunAll), test.want)
		})
	}
}

func TestConsumerVolumes(t *testing.T) {
	consumer := inProvider(t)
	const noSource = "spec must have csi, iscsi, nfs or fc as its source"
	const foreignSecret = "spec.csi and spec.iscsi may name only Secrets in the namespace of spec.claimRef"
	own, foreign := &corev1.SecretReference{Namespace: "remote", Name: "secret"}, &corev1.SecretReference{Namespace: "kube-system", Name: "secret"}
	type volumeCase struct {
		change func(*corev1.PersistentVolumeSpec)
		want   string // Part of the refusal; empty: allowed.
	}
	tests := map[string]volumeCase{
		"nfs":        {func(*corev1.PersistentVolumeSpec) {}, ""},
		"fc":         {from(corev1.PersistentVolumeSource{FC: &corev1.FCVolumeSource{WWIDs: []string{"id"}}}), ""},
		"csi":        {from(corev1.PersistentVolumeSource{CSI: csi()}), ""},
		"csi secret": {from(corev1.PersistentVolumeSource{CSI: csi(func(s *corev1.CSIPersistentVolumeSource) { s.NodeStageSecretRef = own })}), ""},
		"iscsi":      {from(corev1.PersistentVolumeSource{ISCSI: iscsi(own)}), ""},
		"hostPath":   {from(corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/tmp"}}), noSource},
		"local": {func(s *corev1.PersistentVolumeSpec) {
			from(corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/tmp"}})(s)
			s.NodeAffinity = &corev1.VolumeNodeAffinity{Required: required(labels(in("node", "n"))).NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution}
		}, noSource},
		"a foreign secret of iscsi":     {from(corev1.PersistentVolumeSource{ISCSI: iscsi(foreign)}), foreignSecret},
		"a Secret among the attributes": {from(corev1.PersistentVolumeSource{CSI: csi(attribute("secretName"))}), "spec.csi.volumeAttributes must not name Secrets"},
		"its namespace among them":      {from(corev1.PersistentVolumeSource{CSI: csi(attribute("nodeStageSecretNamespace"))}), "spec.csi.volumeAttributes must not name Secrets"},
		"written otherwise":             {from(corev1.PersistentVolumeSource{CSI: csi(attribute("secret-name"))}), "spec.csi.volumeAttributes must not name Secrets"},
		"other attributes":              {from(corev1.PersistentVolumeSource{CSI: csi(attribute("shareName"))}), ""},
		"deleted with its claim": {func(s *corev1.PersistentVolumeSpec) {
			s.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimDelete
		}, "spec.persistentVolumeReclaimPolicy must be Retain"},
		"for no claim": {func(s *corev1.PersistentVolumeSpec) { s.ClaimRef = nil }, "spec.claimRef must name a claim and its namespace"},
	}
	for name, set := range map[string]func(*corev1.CSIPersistentVolumeSource){
		"controllerPublishSecretRef": func(s *corev1.CSIPersistentVolumeSource) { s.ControllerPublishSecretRef = foreign },
		"nodeStageSecretRef":         func(s *corev1.CSIPersistentVolumeSource) { s.NodeStageSecretRef = foreign },
		"nodePublishSecretRef":       func(s *corev1.CSIPersistentVolumeSource) { s.NodePublishSecretRef = foreign },
		"controllerExpandSecretRef":  func(s *corev1.CSIPersistentVolumeSource) { s.ControllerExpandSecretRef = foreign },
		"nodeExpandSecretRef":        func(s *corev1.CSIPersistentVolumeSource) { s.NodeExpandSecretRef = foreign },
	} {
		tests["a foreign "+name] = volumeCase{from(corev1.PersistentVolumeSource{CSI: csi(set)}), foreignSecret}
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			volume := volumeOf(metav1.ObjectMeta{Name: volumeName, Labels: mark()}, test.change)
			refused(t, consumer.Create(t.Context(), volume, client.DryRunAll), test.want)
		})
	}
}

// TestConsumerSecretsOfDrivers: the limits list the namespaces with Secrets that CSI volumes may name.
func TestConsumerSecretsOfDrivers(t *testing.T) {
	const foreignSecret = "spec.csi those in csiSecretNamespaces of ConfigMap spillway-provider/limits"
	limits, data := changing(t), map[string]string{}
	maps.Copy(data, limits.shipped.Data)
	data["csiSecretNamespaces"] = "rook-ceph,\n ceph-csi"
	limits.become(t, data)
	naming := func(namespace string) func(*corev1.PersistentVolumeSpec) {
		return from(corev1.PersistentVolumeSource{CSI: csi(func(s *corev1.CSIPersistentVolumeSource) {
			s.NodeStageSecretRef = &corev1.SecretReference{Namespace: namespace, Name: "secret"}
		})})
	}
	meta := metav1.ObjectMeta{Name: volumeName, Labels: mark()}
	becomes(t, limits.consumer, volumeOf(meta, naming("ceph-csi")), "")
	for name, test := range map[string]struct {
		source func(*corev1.PersistentVolumeSpec)
		want   string // Part of the refusal; empty: allowed.
	}{
		"the first of the list": {naming("rook-ceph"), ""},
		"of the claim":          {naming("remote"), ""},
		"of another namespace":  {naming("kube-system"), foreignSecret},
		"the end of a name":     {naming("csi"), foreignSecret},
		"one of two": {from(corev1.PersistentVolumeSource{CSI: csi(func(s *corev1.CSIPersistentVolumeSource) {
			s.NodeStageSecretRef = &corev1.SecretReference{Namespace: "ceph-csi", Name: "secret"}
			s.NodeExpandSecretRef = &corev1.SecretReference{Namespace: "kube-system", Name: "secret"}
		})}), foreignSecret},
		"of iSCSI": {from(corev1.PersistentVolumeSource{ISCSI: iscsi(&corev1.SecretReference{Namespace: "ceph-csi", Name: "secret"})}), foreignSecret},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, limits.consumer.Create(t.Context(), volumeOf(meta, test.source), client.DryRunAll), test.want)
		})
	}
	// What a volume has, it may keep, whatever the limits list by then. It may not get more.
	there := made(t, volumeOf(metav1.ObjectMeta{GenerateName: "volume-", Labels: mark()}, naming("longhorn")))
	attempt(t, map[string]try{
		"grows":          {patching(inProvider(t), there, `{"spec":{"capacity":{"storage":"2Gi"}}}`), ""},
		"another Secret": {patching(inProvider(t), there, `{"spec":{"csi":{"controllerExpandSecretRef":{"namespace":"kube-system","name":"secret"}}}}`), foreignSecret},
	})
}

func TestConsumerNamesOfVolumes(t *testing.T) {
	consumer := inProvider(t)
	for name, want := range map[string]string{
		volumeName: "",
		"pvc-6fb5c2be-9dd8-4ee0-9f31-bf0f4a1f8a01": "metadata.name must end in a hash of 32 digits",
		"volume": "metadata.name must end in a hash of 32 digits",
	} {
		refused(t, consumer.Create(t.Context(), volumeOf(metav1.ObjectMeta{Name: name, Labels: mark()}), client.DryRunAll), want)
	}
	old := made(t, volumeOf(metav1.ObjectMeta{GenerateName: "old-", Labels: mark()}))
	refused(t, consumer.Patch(t.Context(), old, merge(`{"metadata":{"annotations":{"a":"b"}}}`)), "")
	refused(t, consumer.Delete(t.Context(), old), "")
}

func TestConsumerVolumesOfOthers(t *testing.T) {
	consumer := inProvider(t)
	const unmarked = "lacks the labels of Spillway: a consumer may write only volumes that have them"
	for name, labels := range map[string]map[string]string{
		"without labels":     nil,
		"managed by another": markBut(v1alpha1.LabelManagedBy, "helm"),
		"without origin":     markBut(v1alpha1.LabelOrigin, ""),
		"without binding":    markBut(v1alpha1.LabelBinding, ""),
	} {
		t.Run(name, func(t *testing.T) {
			volume := made(t, volumeOf(metav1.ObjectMeta{GenerateName: "volume-", Labels: labels}))
			created := volumeOf(metav1.ObjectMeta{Name: volumeName, Labels: labels})
			refused(t, consumer.Create(t.Context(), created, client.DryRunAll), unmarked)
			refused(t, consumer.Delete(t.Context(), volume), unmarked)
			refused(t, consumer.Patch(t.Context(), volume, merge(
				`{"metadata":{"labels":{"spillway.io/managed-by":"spillway","spillway.io/origin":"origin","spillway.io/binding":"eu"}}}`)), unmarked)
		})
	}
}

func TestConsumerChangesVolumes(t *testing.T) {
	consumer := inProvider(t)
	for name, test := range map[string]struct{ patch, want string }{
		"an annotation":      {`{"metadata":{"annotations":{"a":"b"}}}`, ""},
		"the origin":         {`{"metadata":{"labels":{"spillway.io/origin":"other"}}}`, "metadata.labels of Spillway must not change"},
		"whose it is":        {`{"metadata":{"labels":{"spillway.io/managed-by":"helm"}}}`, "metadata.labels of Spillway must not change"},
		"the binding":        {`{"metadata":{"labels":{"spillway.io/binding":"us"}}}`, "metadata.labels of Spillway must not change"},
		"to no mark":         {`{"metadata":{"labels":null}}`, "metadata.labels of Spillway must not change"},
		"the reclaim policy": {`{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}`, "spec.persistentVolumeReclaimPolicy must be Retain"},
		"to no claim":        {`{"spec":{"claimRef":null}}`, "spec.claimRef must name a claim and its namespace"},
		"the claim":          {`{"spec":{"claimRef":{"name":"other"}}}`, "spec.claimRef must not change"},
		"the namespace":      {`{"spec":{"claimRef":{"namespace":"other"}}}`, "spec.claimRef must not change"},
	} {
		t.Run(name, func(t *testing.T) {
			volume := made(t, volumeOf(metav1.ObjectMeta{GenerateName: "volume-", Labels: mark()}))
			refused(t, consumer.Patch(t.Context(), volume, merge(test.patch)), test.want)
			refused(t, consumer.Delete(t.Context(), volume), "")
		})
	}
}

func from(source corev1.PersistentVolumeSource) func(*corev1.PersistentVolumeSpec) {
	return func(s *corev1.PersistentVolumeSpec) { s.PersistentVolumeSource = source }
}

func csi(changes ...func(*corev1.CSIPersistentVolumeSource)) *corev1.CSIPersistentVolumeSource {
	source := &corev1.CSIPersistentVolumeSource{Driver: "csi.example.com", VolumeHandle: "handle"}
	for _, change := range changes {
		change(source)
	}
	return source
}

func iscsi(secret *corev1.SecretReference) *corev1.ISCSIPersistentVolumeSource {
	return &corev1.ISCSIPersistentVolumeSource{TargetPortal: "10.0.0.1", IQN: "iqn.2026-11.com.example:storage", SecretRef: secret}
}

func secretWith(meta metav1.ObjectMeta, kind corev1.SecretType, key, value string) *corev1.Secret {
	secret := secretOf(meta, kind)
	secret.Data = map[string][]byte{key: []byte(value)}
	return secret
}

func attribute(key string) func(*corev1.CSIPersistentVolumeSource) {
	return func(s *corev1.CSIPersistentVolumeSource) { s.VolumeAttributes = map[string]string{key: "value"} }
}
