package dial

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
)

func cluster(uid, name, secret string) *v1alpha1.HostedCluster {
	h := &v1alpha1.HostedCluster{}
	h.UID = types.UID(uid)
	h.Spec.EKSConfig = &v1alpha1.EKSConfig{Region: "r", DisplayName: name}
	h.Spec.Credentials.SecretRef = &v1alpha1.SecretReference{Name: secret}
	return h
}

func secret(name, version string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: version}, Data: map[string][]byte{
		"accessKeyID": []byte("id"), "secretAccessKey": []byte("secret"),
	}}
}

// TestClientIsMadeAnew: a client serves one cluster with one set of credentials. It is kept while neither
// changes.
func TestClientIsMadeAnew(t *testing.T) {
	tests := map[string]struct {
		h    *v1alpha1.HostedCluster
		with *corev1.Secret
		same bool
	}{
		"nothing has changed":                     {cluster("1", "a", "s"), secret("s", "1"), true},
		"the Secret has":                          {cluster("1", "a", "s"), secret("s", "2"), false},
		"another Secret":                          {cluster("1", "a", "t"), secret("t", "1"), false},
		"another cluster in the cloud":            {cluster("1", "b", "s"), secret("s", "1"), false},
		"another object, with all else as it was": {cluster("2", "a", "s"), secret("s", "1"), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := &Dialer{}
			first, err := d.Client(t.Context(), cluster("1", "a", "s"), secret("s", "1"))
			if err != nil {
				t.Fatal(err)
			}
			next, err := d.Client(t.Context(), test.h, test.with)
			if err != nil {
				t.Fatal(err)
			}
			if (first == next) != test.same {
				t.Errorf("it is the same client: %v", first == next)
			}
		})
	}
}

// TestLimitIsOfCredentials: only clusters with the same credentials share a limit.
func TestLimitIsOfCredentials(t *testing.T) {
	role := func(uid, arn string) *v1alpha1.HostedCluster {
		h := cluster(uid, "a", "")
		h.Spec.Credentials = v1alpha1.Credentials{WorkloadIdentity: &v1alpha1.WorkloadIdentity{Identity: arn}}
		return h
	}
	d := &Dialer{}
	if d.limit(cluster("1", "a", "s")) != d.limit(cluster("2", "b", "s")) || d.limit(role("1", "x")) != d.limit(role("2", "x")) {
		t.Error("the same credentials have two limits")
	}
	if d.limit(cluster("1", "a", "s")) == d.limit(cluster("1", "a", "t")) || d.limit(role("1", "x")) == d.limit(role("1", "y")) {
		t.Error("two credentials share a limit")
	}
}
