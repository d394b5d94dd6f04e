package admission

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	notProvisioned = "storageClasses of ConfigMap spillway-provider/limits must list spec.storageClassName, without spec.volumeName, dataSource, dataSourceRef and selector"
	notGrown       = "spec.resources.requests.storage may grow only if storageClasses of ConfigMap spillway-provider/limits lists spec.storageClassName"
	notAttributes  = "spec.volumeAttributesClassName must be among the volumeAttributesClasses of ConfigMap spillway-provider/limits"
	notDirected    = "metadata.annotations may have no new keys of volume.kubernetes.io"
)

// classed makes a claim one of a class, whose volume the provider creates.
func classed(class string, changes ...func(*corev1.PersistentVolumeClaim)) func(metav1.ObjectMeta) *corev1.PersistentVolumeClaim {
	return func(meta metav1.ObjectMeta) *corev1.PersistentVolumeClaim {
		claim := claimOf(meta, "")
		claim.Spec.StorageClassName = &class
		for _, change := range changes {
			change(claim)
		}
		return claim
	}
}

func annotated(key string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) { c.Annotations = map[string]string{key: "x"} }
}

// TestConsumerClaimsOfListedClasses: the provider creates volumes of the classes that its limits list, and
// nothing but the class is the consumer's choice.
func TestConsumerClaimsOfListedClasses(t *testing.T) {
	limits := changing(t)
	data := maps.Clone(limits.shipped.Data)
	meta := metav1.ObjectMeta{Namespace: namespaceIn(t, spare(t), held(mark())), Name: "data", Labels: mark()}
	becomes(t, limits.consumer, classed("fast")(meta), notProvisioned)
	maps.Copy(data, map[string]string{"storageClasses": "fast, default", "volumeAttributesClasses": "gold", "metadataKeys": "*"})
	limits.become(t, data)
	becomes(t, limits.consumer, classed("fast")(meta), "")

	attributes := func(class string) func(*corev1.PersistentVolumeClaim) {
		return func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeAttributesClassName = &class }
	}
	tries := map[string]try{}
	for name, test := range map[string]struct {
		claim func(metav1.ObjectMeta) *corev1.PersistentVolumeClaim
		want  string
	}{
		"of another class":      {classed("slow"), notProvisioned},
		"of a part of one":      {classed("fas"), notProvisioned},
		"of no class":           {classed(""), notProvisioned},
		"of the default class":  {classed("", func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = nil }), notProvisioned},
		"with attributes":       {classed("fast", attributes("gold")), ""},
		"with other attributes": {classed("fast", attributes("lead")), notAttributes},
		"of the consumer's own volume, with other attributes": {classed("", attributes("lead"), func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = volumeName }), notAttributes},
		"of a volume of the provider's":                       {classed("fast", func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "pvc-6fb5c2be-9dd8-4ee0-9f31-bf0f4a1f8a01" }), notProvisioned},
		"of some volume": {classed("fast", func(c *corev1.PersistentVolumeClaim) {
			c.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		}), notProvisioned},
		"of a snapshot": {classed("fast", func(c *corev1.PersistentVolumeClaim) {
			c.Spec.DataSource = &corev1.TypedLocalObjectReference{APIGroup: ptr.To("snapshot.storage.k8s.io"), Kind: "VolumeSnapshot", Name: "theirs"}
		}), notProvisioned},
		"of another claim's data": {classed("fast", func(c *corev1.PersistentVolumeClaim) {
			c.Spec.DataSourceRef = &corev1.TypedObjectReference{Kind: "PersistentVolumeClaim", Name: "theirs"}
		}), notProvisioned},
		"of another class, as in the past": {classed("fast", annotated("volume.beta.kubernetes.io/storage-class")), notDirected},
		"on a node":                        {classed("fast", annotated("volume.kubernetes.io/selected-node")), notDirected},
		"that says it was bound":           {classed("fast", annotated("pv.kubernetes.io/bind-completed")), notDirected},
		"with anybody's annotation":        {classed("fast", annotated("example.com/a")), ""},
	} {
		tries["a claim "+name] = try{creating(limits.consumer, test.claim(meta)), test.want}
	}
	for lie, fields := range map[string][]metav1.ManagedFieldsEntry{"no entry": {}, "an empty entry": {{}}, "another's": {{
		Manager: "kube-controller-manager", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{".":{}}}}`),
	}}} {
		claim := classed("fast", annotated("volume.kubernetes.io/selected-node"))(meta)
		claim.ManagedFields = fields
		tries["a claim on a node, which says that nobody sent that: "+lie] = try{creating(limits.consumer, claim), notDirected}
	}
	attempt(t, tries)
}

// TestConsumerChangesClaims: a claim whose volume the provider creates grows, and gets other attributes, as the
// limits say. The consumer leaves alone what the provider writes about it.
func TestConsumerChangesClaims(t *testing.T) {
	limits := changing(t)
	data := maps.Clone(limits.shipped.Data)
	// The name matches those for which authorization.yaml lets the consumer patch claims.
	namespace := temporaryIn(t, spare(t), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "claimed-demo", Labels: held(mark())}})
	meta := metav1.ObjectMeta{Namespace: namespace.Name, Labels: mark()}
	bound := func(name string, claim func(metav1.ObjectMeta) *corev1.PersistentVolumeClaim) client.Object {
		named := *meta.DeepCopy()
		named.Name = name
		created := temporaryIn(t, spare(t), claim(named))
		created.Status.Phase, created.Status.Capacity = corev1.ClaimBound, created.Spec.Resources.Requests
		if err := spare(t).Status().Update(t.Context(), created); err != nil {
			t.Fatal(err)
		}
		return created
	}
	chosen := func(c *corev1.PersistentVolumeClaim) {
		c.Spec.VolumeName = "pvc-6fb5c2be-9dd8-4ee0-9f31-bf0f4a1f8a01"
		c.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("2Gi")
		annotated("volume.kubernetes.io/selected-node")(c)
	}
	for _, name := range []string{"fast", "slow"} {
		temporaryIn(t, spare(t), &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "csi.example.com", AllowVolumeExpansion: ptr.To(true)})
	}
	fast, slow, waiting := bound("fast", classed("fast", chosen)), bound("slow", classed("slow", chosen)), temporaryIn(t, spare(t), classed("fast")(metav1.ObjectMeta{Namespace: meta.Namespace, Name: "waiting", Labels: mark()}))
	own := bound("own", classed("slow", func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = volumeName }))
	const grows = `{"spec":{"resources":{"requests":{"storage":"3Gi"}}}}`
	const gold, lead = `{"spec":{"volumeAttributesClassName":"gold"}}`, `{"spec":{"volumeAttributesClassName":"lead"}}`
	maps.Copy(data, map[string]string{"storageClasses": "fast", "volumeAttributesClasses": "gold", "metadataKeys": "*"})
	limits.become(t, data)
	becomes(t, limits.consumer, classed("fast")(metav1.ObjectMeta{Namespace: meta.Namespace, Name: "probe", Labels: mark()}), "")
	attempt(t, map[string]try{
		"it grows":                            {patching(limits.consumer, fast, grows), ""},
		"one of another class grows":          {patching(limits.consumer, slow, grows), notGrown},
		"one of the consumer's own grows":     {patching(limits.consumer, own, grows), notGrown},
		"one of another class stays":          {patching(limits.consumer, slow, `{"metadata":{"annotations":{"a":"b"}}}`), ""},
		"it gets attributes":                  {patching(limits.consumer, fast, gold), ""},
		"it gets other attributes":            {patching(limits.consumer, fast, lead), notAttributes},
		"it waits, and names a volume":        {patching(limits.consumer, waiting, `{"spec":{"volumeName":"`+volumeName+`"}}`), "spec.volumeName must not change"},
		"it waits, and gets a node":           {patching(limits.consumer, waiting, `{"metadata":{"annotations":{"volume.kubernetes.io/selected-node":"x"}}}`), notDirected},
		"it gets a node that nobody has sent": {patching(limits.consumer, waiting, `{"metadata":{"managedFields":[{}],"annotations":{"volume.kubernetes.io/selected-node":"x"}}}`), notDirected},
		"it is moved to another node":         {patching(limits.consumer, fast, `{"metadata":{"annotations":{"volume.kubernetes.io/selected-node":"y"}}}`), notDirected},
	})

	// What is not listed any more stays as it is.
	data["storageClasses"], data["volumeAttributesClasses"] = "", ""
	golden := bound("golden", classed("fast", chosen, func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeAttributesClassName = ptr.To("gold") }))
	limits.become(t, data)
	becomes(t, limits.consumer, classed("fast")(metav1.ObjectMeta{Namespace: meta.Namespace, Name: "probe", Labels: mark()}), notProvisioned)
	attempt(t, map[string]try{
		"it does not grow any more": {patching(limits.consumer, fast, grows), notGrown},
		"it keeps its attributes":   {patching(limits.consumer, golden, `{"metadata":{"annotations":{"a":"b"}}}`), ""},
		"it is deleted":             {deleting(limits.consumer, fast), ""},
	})
}
