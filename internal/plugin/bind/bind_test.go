package bind

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"encoding/pem"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/account"
	"github.com/spillway-io/spillway/internal/conditions"
)

func binding(name, id, uid string) v1alpha1.ClusterBinding {
	b := v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: name}}
	b.Spec.ClusterID, b.Status.RemoteClusterUID = id, uid
	return b
}

func TestCheck(t *testing.T) {
	deleting := binding("eu", "eu", "there")
	deleting.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "eu-kubeconfig", Namespace: "spillway-system"}}
	mine := foreign.DeepCopy()
	mine.Labels = map[string]string{"app.kubernetes.io/managed-by": "kubectl-spillway"}
	all := func(bindings ...v1alpha1.ClusterBinding) []v1alpha1.ClusterBinding { return bindings }
	tests := map[string]struct {
		wanted   Wanted
		provider string
		bindings []v1alpha1.ClusterBinding
		secret   *corev1.Secret
		want     string
	}{
		"nothing is there":               {Wanted{Name: "eu"}, "there", nil, nil, ""},
		"it is there":                    {Wanted{Name: "eu"}, "there", all(binding("eu", "eu", "there")), foreign, ""},
		"it was never connected":         {Wanted{Name: "eu"}, "there", all(binding("eu", "eu", "")), nil, ""},
		"it keeps its clusterID":         {Wanted{Name: "eu"}, "there", all(binding("eu", "europe", "there")), nil, ""},
		"only its Secret is there":       {Wanted{Name: "eu"}, "there", nil, mine, ""},
		"the consumer itself":            {Wanted{Name: "eu"}, "here", nil, nil, "is the consumer itself"},
		"it is being deleted":            {Wanted{Name: "eu"}, "there", all(deleting), nil, "is being deleted"},
		"another cluster":                {Wanted{Name: "eu"}, "there", all(binding("eu", "eu", "elsewhere")), nil, "is for a cluster other than"},
		"another clusterID":              {Wanted{Name: "eu", ClusterID: "x"}, "there", all(binding("eu", "eu", "there")), nil, "is immutable"},
		"the clusterID of another one":   {Wanted{Name: "eu"}, "there", all(binding("us", "eu", "us")), nil, "already has the clusterID eu"},
		"a Secret that is somebody's":    {Wanted{Name: "eu"}, "there", nil, foreign, "was not created by kubectl spillway"},
		"another binding of the cluster": {Wanted{Name: "eu"}, "there", all(binding("second", "second", "there")), nil, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := Check(Seen{Wanted: test.wanted, Consumer: "here", Provider: test.provider, Bindings: test.bindings, Secret: test.secret, Context: "the provider"})
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
	if got := Shared(Seen{Wanted: Wanted{Name: "eu"}, Provider: "there", Bindings: all(binding("eu", "eu", "there"), binding("second", "x", "there"), binding("us", "us", "us"))}); len(got) != 1 || got[0] != "second" {
		t.Errorf("the provider is shared with %v", got)
	}
}

func TestWantedBinding(t *testing.T) {
	made := Wanted{Name: "eu", Labels: map[string]string{"a": "b"}, Capacity: map[string]string{"cpu": "50%"}}.binding(nil)
	if made.Spec.ClusterID != "eu" || made.Spec.KubeconfigSecretRef.Name != "eu-kubeconfig" || made.Spec.KubeconfigSecretRef.Key != "kubeconfig" ||
		made.Spec.VirtualNode.Labels["a"] != "b" || made.Spec.VirtualNode.Capacity["cpu"] != intstr.FromString("50%") {
		t.Errorf("made %v", made.Spec)
	}
	there := binding("eu", "europe", "")
	there.Spec.VirtualNode.Labels = map[string]v1alpha1.LabelValue{"c": "d"}
	there.Spec.KubeconfigSecretRef.Name, there.Spec.Paused = "other", true
	changed := Wanted{Name: "eu", Labels: map[string]string{"a": "b"}}.binding(&there)
	if changed.Spec.ClusterID != "europe" || changed.Spec.KubeconfigSecretRef.Name != "other" || !changed.Spec.Paused || len(changed.Spec.VirtualNode.Labels) != 2 {
		t.Errorf("changed to %v", changed.Spec)
	}
	if len(there.Spec.VirtualNode.Labels) != 1 {
		t.Error("what was read is changed")
	}
}

func TestProgress(t *testing.T) {
	b := binding("eu", "eu", "")
	b.Generation = 2
	state := func(generation int64, status metav1.ConditionStatus, message string) {
		b.Status.Conditions = nil
		conditions.Set(&b.Status.Conditions, generation, conditions.New("Ready", status, "Reason", message))
	}
	tests := map[string]struct {
		set   func()
		ready bool
		want  string
	}{
		"no condition":       {func() {}, false, "has not seen it"},
		"of an earlier spec": {func() { state(1, metav1.ConditionTrue, "") }, false, "has not seen it"},
		"ready":              {func() { state(2, metav1.ConditionTrue, "") }, true, ""},
		"not ready":          {func() { state(2, metav1.ConditionFalse, "because") }, false, "Reason: because"},
		"without a message":  {func() { state(2, metav1.ConditionUnknown, "") }, false, "Reason"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b.Status.Conditions = nil
			test.set()
			if ready, waits := Progress(&b); ready != test.ready || !strings.Contains(waits, test.want) {
				t.Errorf("got %v, %q", ready, waits)
			}
		})
	}
}

func TestUsable(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	at := clientcmdapi.Cluster{Server: "https://eu:6443", CertificateAuthorityData: ca}
	token := func(from, until int64) string {
		return "e30." + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"iat":%d,"exp":%d}`, from, until)) + ".c2ln"
	}
	secret := func(token string) *corev1.Secret {
		document, err := account.Kubeconfig("provider", at, clientcmdapi.AuthInfo{Token: token})
		if err != nil {
			t.Fatal(err)
		}
		return &corev1.Secret{Data: map[string][]byte{"kubeconfig": document}}
	}
	other := at
	other.Server = "https://us:6443"
	tests := map[string]struct {
		secret *corev1.Secret
		at     clientcmdapi.Cluster
		now    int64
		want   bool
	}{
		"more than half is left":  {secret(token(0, 100)), at, 49, true},
		"half is left":            {secret(token(0, 100)), at, 50, false},
		"it has expired":          {secret(token(0, 100)), at, 101, false},
		"it does not say":         {secret("abc"), at, 1, false},
		"another address":         {secret(token(0, 100)), other, 1, false},
		"no kubeconfig":           {&corev1.Secret{}, at, 1, false},
		"another authority":       {secret(token(0, 100)), clientcmdapi.Cluster{Server: at.Server, CertificateAuthorityData: []byte("x")}, 1, false},
		"whose authority is open": {secret(token(0, 100)), clientcmdapi.Cluster{Server: at.Server}, 1, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, got := usable(test.secret, "kubeconfig", test.at, time.Unix(test.now, 0)); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// TestCredentials: what happens to an existing Secret, and to the address in it.
func TestCredentials(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	inside := clientcmdapi.Cluster{Server: "https://10.0.0.5:6443", CertificateAuthorityData: ca, TLSServerName: "eu"}
	yours := clientcmdapi.Cluster{Server: "https://eu:6443", CertificateAuthorityData: []byte("another authority")}
	alike := clientcmdapi.Cluster{Server: yours.Server, CertificateAuthorityData: ca}
	of := func(subject string) *corev1.Secret {
		claims := fmt.Appendf(nil, `{"iat":0,"exp":100,"sub":%q}`, subject)
		document, err := account.Kubeconfig("provider", inside, clientcmdapi.AuthInfo{Token: "e30." + base64.RawURLEncoding.EncodeToString(claims) + ".c2ln"})
		if err != nil {
			t.Fatal(err)
		}
		return &corev1.Secret{Data: map[string][]byte{"kubeconfig": document}}
	}
	consumer := of("system:serviceaccount:spillway-provider:spillway-consumer")
	connected := []v1alpha1.ClusterBinding{binding("eu", "eu", "there")}
	tests := map[string]struct {
		bindings []v1alpha1.ClusterBinding
		secret   *corev1.Secret
		at       clientcmdapi.Cluster
		server   string
		now      int64
		want     string
		keep     bool
	}{
		"nothing is there":                   {nil, nil, yours, "", 1, yours.Server, false},
		"nothing is there, another address":  {nil, nil, yours, "https://us:6443", 1, "https://us:6443", false},
		"the address in the Secret stays":    {connected, consumer, yours, "", 1, inside.Server, true},
		"also with a token that is old":      {connected, consumer, yours, "", 60, inside.Server, false},
		"the authority is the same":          {nil, consumer, alike, "", 1, inside.Server, true},
		"a Secret of another cluster":        {nil, consumer, yours, "", 1, yours.Server, false},
		"another address is given":           {connected, consumer, alike, "https://us:6443", 1, "https://us:6443", false},
		"a Secret without a kubeconfig":      {connected, &corev1.Secret{}, yours, "", 1, yours.Server, false},
		"a binding that was never connected": {[]v1alpha1.ClusterBinding{binding("eu", "eu", "")}, consumer, yours, "", 1, yours.Server, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := Seen{Wanted: Wanted{Name: "eu"}, Provider: "there", Bindings: test.bindings, Secret: test.secret}
			p := s.credentials("kubeconfig", test.at, test.server, time.Unix(test.now, 0))
			if p.at.Server != test.want || p.keep != test.keep || (p.at.TLSServerName == "eu") != (test.want == inside.Server) {
				t.Errorf("got %+v", p)
			}
			if err := s.mayWrite(p); (err != nil) != (test.secret != nil && !test.keep) {
				t.Errorf("somebody else's Secret: %v", err)
			}
			if test.secret != nil {
				s.Secret = test.secret.DeepCopy()
				s.Secret.Labels = map[string]string{"app.kubernetes.io/managed-by": "kubectl-spillway"}
			}
			if err := s.mayWrite(p); err != nil {
				t.Errorf("our own Secret: %v", err)
			}
		})
	}
	ours := &corev1.Secret{}
	ours.Labels = map[string]string{"app.kubernetes.io/managed-by": "kubectl-spillway"}
	for want, secret := range map[string]*corev1.Secret{
		"spillway-consumer": consumer, "second": of("system:serviceaccount:spillway-provider:second"),
		"which is no ServiceAccount in namespace spillway-provider": of("system:serviceaccount:kube-system:admin"), "cannot renew": {},
	} {
		got, err := Account(secret, "kubeconfig")
		if err != nil && !strings.Contains(err.Error(), want) || err == nil && got != want {
			t.Errorf("got %q, %v, want %s", got, err, want)
		}
	}
	if got, err := Account(ours, "kubeconfig"); err != nil || got != "spillway-consumer" {
		t.Errorf("an empty Secret of ours: got %q, %v", got, err)
	}
}

func TestManifests(t *testing.T) {
	if objects, err := Manifests(DefaultProfile); err != nil || len(objects) == 0 {
		t.Errorf("got %d objects, %v", len(objects), err)
	}
	if _, err := Manifests("none"); err == nil || !strings.Contains(err.Error(), "confined") {
		t.Errorf("got %v", err)
	}
}

func TestPairs(t *testing.T) {
	if got, err := pairs("label", []string{"a=b=c", "d="}); err != nil || got["a"] != "b=c" || len(got) != 2 {
		t.Errorf("got %v, %v", got, err)
	}
	for _, wrong := range []string{"a", "=b"} {
		if _, err := pairs("label", []string{wrong}); err == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
}
