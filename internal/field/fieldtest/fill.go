package fieldtest

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

	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/provenance"
)

// Mark is the mark of the tests' remote objects. Mapped is the target of a mapped namespace, and Shared that of a
// namespace whose objects share one with others.
var (
	Mark   = provenance.Mark{Origin: "origin", ClusterID: "eu"}
	Mapped = field.Target{Mark: Mark, Namespace: "team-eu"}
	Shared = field.Target{Mark: Mark, Namespace: "mount", Hashed: true}
)

// PodOf returns the pod team/web from YAML.
func PodOf(t testing.TB, manifest string) *corev1.Pod {
	t.Helper()
	pod := Parse[corev1.Pod](t, manifest)
	pod.Namespace, pod.UID = "team", "uid"
	if pod.Name == "" {
		pod.Name = "web"
	}
	return pod
}

// Parse returns an object from YAML.
func Parse[T any](t testing.TB, manifest string) *T {
	t.Helper()
	obj := new(T)
	if err := yaml.UnmarshalStrict([]byte(manifest), obj); err != nil {
		t.Fatalf("%v in:\n%s", err, manifest)
	}
	return obj
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

// Filler sets everything in a value, usually to something plain.
type Filler struct {
	Text    func() string
	Number  func() int64
	Elems   int // of lists and maps
	special map[reflect.Type]any
}

// Plain fills values with x, 1, and one element.
var Plain = Filler{Text: func() string { return "x" }, Number: func() int64 { return 1 }, Elems: 1, special: harmless}

// Fill sets everything in v.
func (f Filler) Fill(v reflect.Value) {
	if value, found := f.special[v.Type()]; found {
		v.Set(reflect.ValueOf(value))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.Fill(v.Elem())
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() {
				f.Fill(field)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), f.Elems, f.Elems))
		for i := range f.Elems {
			f.Fill(v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range f.Elems {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.Fill(key)
			f.Fill(value)
			v.SetMapIndex(key, value)
		}
	case reflect.String:
		v.SetString(f.Text())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(f.Number())
	case reflect.Uint8, reflect.Uint16:
		v.SetUint(1)
	default:
		panic("cannot fill " + v.Type().String())
	}
}

// Merged applies more YAML to an object.
func Merged(t testing.TB, obj any, more string) {
	t.Helper()
	if more == "" {
		return
	}
	if err := yaml.Unmarshal([]byte(more), obj); err != nil {
		t.Fatalf("%v in:\n%s", err, more)
	}
}
