package podadmission

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

func handling(t *testing.T, funcs interceptor.Funcs) *preparer {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	offloaded := &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: v1alpha1.OffloadingName},
		Spec: v1alpha1.NamespaceOffloadingSpec{PodOffloadingStrategy: v1alpha1.PodsLocalFirst, ClusterSelector: &v1alpha1.ClusterSelector{}}}
	away := &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{Namespace: "away", Name: v1alpha1.OffloadingName},
		Spec: v1alpha1.NamespaceOffloadingSpec{PodOffloadingStrategy: v1alpha1.PodsRemote}}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(offloaded, away).WithInterceptorFuncs(funcs).Build()
	return &preparer{offloadings: c, decoder: admission.NewDecoder(scheme)}
}

func asked(namespace, pod string) admission.Request {
	return admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Namespace: namespace, Object: runtime.RawExtension{Raw: []byte(pod)}}}
}

// TestPatch applies the answer to the pod as it was sent. Fields that our types do not know stay.
func TestPatch(t *testing.T) {
	const ours, preferred = `{"key":"spillway.io/virtual-node","operator":"Exists","effect":"NoSchedule"}`,
		`{"weight":100,"preference":{"matchExpressions":[{"key":"spillway.io/node-type","operator":"DoesNotExist"}]}}`
	for name, test := range map[string]struct{ namespace, pod, want string }{
		"another namespace": {"other", `{"spec":{}}`, `{"spec":{}}`},
		"an empty pod": {"team", `{"spec":{}}`,
			`{"spec":{"tolerations":[` + ours + `],"affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[` + preferred + `]}}}}`},
		"fields of the future": {"team", `{"spec":{"future":1,"tolerations":[{"key":"gpu","future":2}],"affinity":{"future":3,"nodeAffinity":{"future":4}}}}`,
			`{"spec":{"future":1,"tolerations":[{"key":"gpu","future":2},` + ours + `],"affinity":{"future":3,"nodeAffinity":{"future":4,"preferredDuringSchedulingIgnoredDuringExecution":[` + preferred + `]}}}}`},
		"anti-affinity over hosts": {"away", `{"spec":{"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone"},{"topologyKey":"kubernetes.io/hostname","future":1}]}}}}`,
			`{"spec":{"tolerations":[` + ours + `],"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone"},{"topologyKey":"spillway.io/host","future":1}],"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":100,"podAffinityTerm":{"topologyKey":"kubernetes.io/hostname"}}]},` +
				`"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"spillway.io/node-type","operator":"In","values":["virtual"]}]}]}}}}}`},
		"an empty affinity": {"team", `{"spec":{"tolerations":[],"affinity":{}}}`,
			`{"spec":{"tolerations":[` + ours + `],"affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[` + preferred + `]}}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			response := handling(t, interceptor.Funcs{}).Handle(t.Context(), asked(test.namespace, test.pod))
			raw, err := json.Marshal(response.Patches)
			if err != nil || !response.Allowed {
				t.Fatal(err, response)
			}
			got := []byte(test.pod)
			if len(response.Patches) > 0 {
				patch, err := jsonpatch.DecodePatch(raw)
				if err != nil {
					t.Fatal(err)
				}
				if got, err = patch.Apply(got); err != nil {
					t.Fatal(err)
				}
			}
			if !jsonpatch.Equal(got, []byte(test.want)) {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// TestNeverRefused makes the preparer fail. The pod is created unchanged, and its creator gets a warning.
func TestNeverRefused(t *testing.T) {
	unreadable := interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return errors.New("the cache is stopping")
	}}
	for name, response := range map[string]admission.Response{
		"no cache": handling(t, unreadable).Handle(t.Context(), asked("team", `{}`)),
		"no pod":   handling(t, interceptor.Funcs{}).Handle(t.Context(), asked("team", `[]`)),
	} {
		if !response.Allowed || len(response.Patches) > 0 || len(response.Warnings) != 1 {
			t.Errorf("%s: %+v", name, response)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, mode := range []Mode{Policy, Webhook, Auto} {
		if err := (Options{Mode: mode, Port: DefaultPort}).Validate(); err != nil {
			t.Error(err)
		}
	}
	for want, options := range map[string]Options{
		`--pod-admission must be Policy, Webhook or Auto, and is "webhook"`: {Mode: "webhook", Port: DefaultPort},
		"--webhook-port must be between 1 and 65535, and is 0":              {Mode: Auto},
		"--webhook-port must be between 1 and 65535, and is 70000":          {Mode: Auto, Port: 70000},
	} {
		if err := options.Validate(); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
