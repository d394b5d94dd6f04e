package importedcapacity

import (
	"fmt"
	"strings"
	"testing"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// mapping is a binding that maps the StorageClass fast. room is what its provider reports, if it imports that.
func mapping(clusterID string, imports bool, room string) v1alpha1.ClusterBinding {
	binding := *builder.Binding(clusterID).Obj()
	binding.Spec.Import.CSI = imports
	binding.Spec.Classes = []v1alpha1.ClassMapping{{Kind: v1alpha1.ClassStorage, Name: "fast", RemoteName: "ssd"}, {Kind: v1alpha1.ClassPriority, Name: "fast", RemoteName: "ssd"}}
	status := v1alpha1.ClassStatus{Kind: v1alpha1.ClassStorage, RemoteName: "ssd"}
	if room != "" {
		status.Capacity, status.MaximumVolumeSize = ptr.To(resource.MustParse(room)), ptr.To(resource.MustParse("1Gi"))
	}
	binding.Status.Classes = []v1alpha1.ClassStatus{status}
	return binding
}

// inWords says what a plan does, in order.
func inWords(p plan) string {
	var words []string
	say := func(verb string, c *storagev1.CSIStorageCapacity) {
		size := c.Capacity.String()
		if c.Capacity.Cmp(*unlimited()) == 0 {
			size = "enough"
		}
		words = append(words, fmt.Sprintf("%s %s of %s in %s", verb, size, c.StorageClassName, c.NodeTopology.MatchLabels[v1alpha1.LabelCluster]))
	}
	if p.silence != nil {
		words = append(words, fmt.Sprint("ask ", *p.silence.Spec.StorageCapacity))
	}
	for _, c := range p.create {
		say("create", c)
	}
	for _, c := range p.change {
		say("change", c.after)
	}
	if p.ask != nil {
		words = append(words, fmt.Sprint("ask ", *p.ask.Spec.StorageCapacity))
	}
	for _, c := range p.delete {
		say("delete", c)
	}
	if p.lacking != nil {
		words = append(words, "lacking")
	}
	return strings.Join(words, ", ")
}

func TestDecide(t *testing.T) {
	type bindings = []v1alpha1.ClusterBinding
	eu, us := mapping("eu", true, "10Gi"), mapping("us", false, "5Gi")
	made := func(all ...v1alpha1.ClusterBinding) (found []storagev1.CSIStorageCapacity) {
		for _, c := range decide(snapshot{bindings: all}).create {
			found = append(found, *c)
		}
		return found
	}
	shipped, asks := &storagev1.CSIDriver{}, asking(&storagev1.CSIDriver{}, true)
	elsewhere := made(eu)
	elsewhere[0].NodeTopology.MatchLabels[v1alpha1.LabelCluster] = "asia"
	for name, test := range map[string]struct {
		bindings bindings
		driver   *storagev1.CSIDriver
		found    []storagev1.CSIStorageCapacity
		want     string
	}{
		"nobody imports it":                   {bindings{us}, shipped, nil, ""},
		"one imports it":                      {bindings{eu}, shipped, nil, "create 10Gi of fast in eu, ask true"},
		"the other one has enough":            {bindings{eu, us}, shipped, nil, "create 10Gi of fast in eu, create enough of fast in us, ask true"},
		"its driver reports nothing":          {bindings{mapping("eu", true, "")}, shipped, nil, "create enough of fast in eu, ask true"},
		"all is there":                        {bindings{eu, us}, asks, made(eu, us), ""},
		"somebody has reset the driver":       {bindings{eu, us}, shipped, made(eu, us), "ask true"},
		"it has less now":                     {bindings{mapping("eu", true, "9Gi")}, asks, made(eu), "change 9Gi of fast in eu"},
		"another one comes":                   {bindings{eu, us}, asks, made(eu), "create enough of fast in us"},
		"another one goes":                    {bindings{eu}, asks, made(eu, us), "delete enough of fast in us"},
		"the last one goes":                   {bindings{us}, asks, made(eu, us), "ask false, delete 10Gi of fast in eu, delete enough of fast in us"},
		"the last one has gone, halfway":      {nil, shipped, made(eu), "delete 10Gi of fast in eu"},
		"the driver is missing":               {bindings{eu}, nil, nil, "create 10Gi of fast in eu, lacking"},
		"the driver is missing, for nobody":   {nil, nil, nil, ""},
		"somebody has changed where it is":    {bindings{eu}, asks, elsewhere, "delete 10Gi of fast in asia"},
		"the class is not mapped any more":    {bindings{func() v1alpha1.ClusterBinding { b := mapping("eu", true, "10Gi"); b.Spec.Classes = nil; return b }()}, asks, made(eu), "delete 10Gi of fast in eu"},
		"it stays imported, without capacity": {bindings{mapping("eu", true, "")}, asks, made(eu), "change enough of fast in eu"},
	} {
		t.Run(name, func(t *testing.T) {
			p := decide(snapshot{bindings: test.bindings, namespace: "spillway-system", driver: test.driver, found: test.found})
			if got := inWords(p); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if p.again != (name == "somebody has changed where it is") {
				t.Errorf("again: %t", p.again)
			}
		})
	}
}
