package admission

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/importedclass"
)

// TestManagerClasses: the manager creates only classes that bindings import.
func TestManagerClasses(t *testing.T) {
	needsNoManager(t)
	manager := inConsumer(t)
	// imported is a class as the manager creates it, after a change.
	imported := func(kind v1alpha1.ClassKind, name string, change func(client.Object)) client.Object {
		binding := v1alpha1.ClusterBinding{}
		binding.Spec.ClusterID = "eu"
		binding.Spec.Classes = []v1alpha1.ClassMapping{{Kind: kind, Name: name, RemoteName: "x", Import: true}}
		binding.Status.Classes = []v1alpha1.ClassStatus{{Kind: kind, RemoteName: "x", Value: ptr.To[int32](2000)}}
		class := importedclass.Decide(kind, name, []v1alpha1.ClusterBinding{binding}, nil).Create
		if change != nil {
			change(class)
		}
		return class
	}
	ingress := func(change func(*networkingv1.IngressClass)) func(client.Object) {
		return func(o client.Object) { change(o.(*networkingv1.IngressClass)) }
	}
	runtime := func(change func(*nodev1.RuntimeClass)) func(client.Object) {
		return func(o client.Object) { change(o.(*nodev1.RuntimeClass)) }
	}
	priority := func(change func(*schedulingv1.PriorityClass)) func(client.Object) {
		return func(o client.Object) { change(o.(*schedulingv1.PriorityClass)) }
	}
	storage := func(change func(*storagev1.StorageClass)) func(client.Object) {
		return func(o client.Object) { change(o.(*storagev1.StorageClass)) }
	}
	attributes := func(change func(*storagev1.VolumeAttributesClass)) func(client.Object) {
		return func(o client.Object) { change(o.(*storagev1.VolumeAttributesClass)) }
	}
	unlabelled := func(o client.Object) { o.SetLabels(nil) }
	unexplained := func(o client.Object) { o.SetAnnotations(nil) }
	const ofI, ofR, ofP, ofS, ofA = v1alpha1.ClassIngress, v1alpha1.ClassRuntime, v1alpha1.ClassPriority, v1alpha1.ClassStorage, v1alpha1.ClassVolumeAttributes
	const created, driven = "no volume of an imported StorageClass is created for a local node", "no driver of the consumer serves an imported VolumeAttributesClass"
	const unmarked, served, runs, urgent = "the manager may write no other class", "no controller of the consumer serves an imported IngressClass", "no local node supports an imported RuntimeClass", "an imported PriorityClass must have little effect in the consumer"
	elsewhere := corev1.TopologySelectorTerm{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: corev1.LabelHostname, Values: []string{"own"}}}}
	tries := map[string]try{}
	for name, test := range map[string]struct {
		kind   v1alpha1.ClassKind
		change func(client.Object)
		want   string
	}{
		"an IngressClass":                 {ofI, nil, ""},
		"a RuntimeClass":                  {ofR, nil, ""},
		"a PriorityClass":                 {ofP, nil, ""},
		"an IngressClass without label":   {ofI, unlabelled, unmarked},
		"a RuntimeClass without label":    {ofR, unlabelled, unmarked},
		"a PriorityClass without its why": {ofP, unexplained, unmarked},
		"one that is served":              {ofI, ingress(func(c *networkingv1.IngressClass) { c.Spec.Controller = "k8s.io/ingress-nginx" }), served},
		"one with parameters": {ofI, ingress(func(c *networkingv1.IngressClass) {
			c.Spec.Parameters = &networkingv1.IngressClassParametersReference{Kind: "X", Name: "x", Scope: ptr.To("Cluster")}
		}), served},
		"a default one": {ofI, ingress(func(c *networkingv1.IngressClass) {
			c.Annotations[networkingv1.AnnotationIsDefaultIngressClass] = "true"
		}), served},
		"one that kubelets have": {ofR, runtime(func(c *nodev1.RuntimeClass) { c.Handler = "runc" }), runs},
		"one for all nodes":      {ofR, runtime(func(c *nodev1.RuntimeClass) { c.Scheduling = nil }), runs},
		"one for other nodes":    {ofR, runtime(func(c *nodev1.RuntimeClass) { c.Scheduling.NodeSelector = map[string]string{"a": "b"} }), runs},
		"one that tolerates": {ofR, runtime(func(c *nodev1.RuntimeClass) {
			c.Scheduling.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		}), runs},
		"a high one":        {ofP, priority(func(c *schedulingv1.PriorityClass) { c.Value = 1001 }), urgent},
		"a negative one":    {ofP, priority(func(c *schedulingv1.PriorityClass) { c.Value = -1 }), urgent},
		"one that preempts": {ofP, priority(func(c *schedulingv1.PriorityClass) { c.PreemptionPolicy = nil }), urgent},
		"one for all pods":  {ofP, priority(func(c *schedulingv1.PriorityClass) { c.GlobalDefault = true }), urgent},

		"a StorageClass":                          {ofS, nil, ""},
		"one whose volumes stay":                  {ofS, storage(func(c *storagev1.StorageClass) { c.ReclaimPolicy = ptr.To(corev1.PersistentVolumeReclaimRetain) }), ""},
		"one whose volumes grow":                  {ofS, storage(func(c *storagev1.StorageClass) { c.AllowVolumeExpansion = ptr.To(true) }), ""},
		"a StorageClass without label":            {ofS, unlabelled, unmarked},
		"one that a driver provisions":            {ofS, storage(func(c *storagev1.StorageClass) { c.Provisioner = "csi.example.com" }), created},
		"one that does not wait for a pod":        {ofS, storage(func(c *storagev1.StorageClass) { c.VolumeBindingMode = nil }), created},
		"one whose volumes are for all nodes":     {ofS, storage(func(c *storagev1.StorageClass) { c.AllowedTopologies = nil }), created},
		"one whose volumes are for other nodes":   {ofS, storage(func(c *storagev1.StorageClass) { c.AllowedTopologies[0].MatchLabelExpressions[0].Key = "a" }), created},
		"one whose volumes are for any node, too": {ofS, storage(func(c *storagev1.StorageClass) { c.AllowedTopologies = append(c.AllowedTopologies, elsewhere) }), created},
		"one for a driver with parameters":        {ofS, storage(func(c *storagev1.StorageClass) { c.Parameters = map[string]string{"a": "b"} }), created},
		"one that is mounted otherwise":           {ofS, storage(func(c *storagev1.StorageClass) { c.MountOptions = []string{"suid"} }), created},
		"one for all claims": {ofS, storage(func(c *storagev1.StorageClass) {
			c.Annotations["storageclass.kubernetes.io/is-default-class"] = "true"
		}), created},
		"one for all claims, as in the past": {ofS, storage(func(c *storagev1.StorageClass) {
			c.Annotations["storageclass.beta.kubernetes.io/is-default-class"] = "true"
		}), created},
		"a VolumeAttributesClass":             {ofA, nil, ""},
		"a VolumeAttributesClass without why": {ofA, unexplained, unmarked},
		"one that a driver serves":            {ofA, attributes(func(c *storagev1.VolumeAttributesClass) { c.DriverName = "csi.example.com" }), driven},
		"one that says more":                  {ofA, attributes(func(c *storagev1.VolumeAttributesClass) { c.Parameters["iops"] = "1" }), driven},
	} {
		tries[name] = try{creating(manager, imported(test.kind, "sandbox", test.change)), test.want}
	}
	for name, class := range map[string]client.Object{
		"an IngressClass":         &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "foreign"}, Spec: networkingv1.IngressClassSpec{Controller: v1alpha1.IngressController}},
		"a RuntimeClass":          &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "foreign"}, Handler: "runc"},
		"a PriorityClass":         &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "foreign"}, Value: 7},
		"a StorageClass":          &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "foreign"}, Provisioner: v1alpha1.StorageDriver},
		"a VolumeAttributesClass": &storagev1.VolumeAttributesClass{ObjectMeta: metav1.ObjectMeta{Name: "foreign"}, DriverName: v1alpha1.StorageDriver, Parameters: map[string]string{"class": "foreign"}},
	} {
		tries["the deletion of "+name+" of others"] = try{deleting(manager, temporary(t, class)), unmarked}
	}
	for kind, name := range map[v1alpha1.ClassKind]string{ofI: "ingressclasses", ofR: "runtimeclasses", ofP: "priorityclasses", ofS: "storageclasses", ofA: "volumeattributesclasses"} {
		class := temporary(t, imported(kind, "made", nil))
		tries["the deletion of one of "+name] = try{deleting(manager, class), ""}
		tries["a change of one of "+name] = try{patching(manager, class, `{"metadata":{"labels":{"a":"b"}}}`), `cannot patch resource "` + name + `"`}
	}
	attempt(t, tries)
}
