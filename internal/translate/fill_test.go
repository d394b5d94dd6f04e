package translate

import (
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/spillway-io/spillway/internal/field/provenance"
)

var (
	mark   = provenance.Mark{Origin: "origin", ClusterID: "eu"}
	mapped = Target{Mark: mark, Namespace: "team-eu"}
	shared = Target{Mark: mark, Namespace: "mount", Hashed: true}
)

// podOf returns the pod team/web from YAML.
func podOf(t testing.TB, manifest string) *corev1.Pod {
	t.Helper()
	pod := parse[corev1.Pod](t, manifest)
	pod.Namespace, pod.UID = "team", "uid"
	if pod.Name == "" {
		pod.Name = "web"
	}
	return pod
}

func parse[T any](t testing.TB, manifest string) *T {
	t.Helper()
	obj := new(T)
	if err := yaml.UnmarshalStrict([]byte(manifest), obj); err != nil {
		t.Fatalf("%v in:\n%s", err, manifest)
	}
	return obj
}

// sentPod returns the remote pod of local, which must not be refused.
func sentPod(t testing.TB, local *corev1.Pod, target Target) *corev1.Pod {
	t.Helper()
	remote, refusal := Pod(local, target, generous, classes)
	if refusal != nil {
		t.Fatal(refusal)
	}
	return remote
}

// harmless are values that fill uses instead of the obvious ones, because pod security baseline allows
// them.
var harmless = map[reflect.Type]any{
	reflect.TypeFor[resource.Quantity]():                    resource.MustParse("1"),
	reflect.TypeFor[metav1.Time]():                          metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)),
	reflect.TypeFor[intstr.IntOrString]():                   intstr.FromInt32(1),
	reflect.TypeFor[corev1.SELinuxOptions]():                corev1.SELinuxOptions{Level: "s0", Type: "container_t"},
	reflect.TypeFor[corev1.WindowsSecurityContextOptions](): corev1.WindowsSecurityContextOptions{RunAsUserName: ptr.To("x")},
	reflect.TypeFor[corev1.SeccompProfile]():                corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	reflect.TypeFor[corev1.AppArmorProfile]():               corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeRuntimeDefault},
	reflect.TypeFor[corev1.Sysctl]():                        corev1.Sysctl{Name: "net.ipv4.tcp_rmem", Value: "1"},
	reflect.TypeFor[corev1.Capability]():                    corev1.Capability("CHOWN"),
	reflect.TypeFor[corev1.ProcMountType]():                 corev1.DefaultProcMount,
	reflect.TypeFor[corev1.HTTPGetAction]():                 corev1.HTTPGetAction{Path: "/"},
	reflect.TypeFor[corev1.TCPSocketAction]():               corev1.TCPSocketAction{Port: intstr.FromInt32(1)},
	reflect.TypeFor[corev1.ContainerPort]():                 corev1.ContainerPort{ContainerPort: 80},
	reflect.TypeFor[corev1.VolumeNodeAffinity](): corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone"}}}}}},
}

// filler sets everything in a value, usually to something plain.
type filler struct {
	text    func() string
	number  func() int64
	elems   int // of lists and maps
	special map[reflect.Type]any
}

var plain = filler{text: func() string { return "x" }, number: func() int64 { return 1 }, elems: 1, special: harmless}

func (f filler) fill(v reflect.Value) {
	if value, found := f.special[v.Type()]; found {
		v.Set(reflect.ValueOf(value))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() {
				f.fill(field)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), f.elems, f.elems))
		for i := range f.elems {
			f.fill(v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range f.elems {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(key)
			f.fill(value)
			v.SetMapIndex(key, value)
		}
	case reflect.String:
		v.SetString(f.text())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(f.number())
	case reflect.Uint8, reflect.Uint16:
		v.SetUint(1)
	default:
		panic("cannot fill " + v.Type().String())
	}
}

// merged applies more YAML to an object.
func merged(t testing.TB, obj any, more string) {
	t.Helper()
	if more == "" {
		return
	}
	if err := yaml.Unmarshal([]byte(more), obj); err != nil {
		t.Fatalf("%v in:\n%s", err, more)
	}
}
