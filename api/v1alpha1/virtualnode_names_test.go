package v1alpha1

import "testing"

func TestClusterIDOf(t *testing.T) {
	eu := &ClusterBinding{Spec: ClusterBindingSpec{ClusterID: "eu"}}
	for name, want := range map[string]string{
		eu.VirtualNodeName(): "eu", eu.GroupNodeName("a-12345678"): "eu", "spillway-eu-a-12345678": "eu-a-12345678", "worker.example.com": "", "": "",
	} {
		if got := ClusterIDOf(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
		if got := SameProvider(name, "spillway-eu"); got != (want == "eu") {
			t.Errorf("%q is of eu: %t", name, got)
		}
	}
}
