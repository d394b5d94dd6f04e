package ownwrites

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestVersions(t *testing.T) {
	at := func(name, version string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, ResourceVersion: version}}
	}
	var versions Versions
	if versions.IsStale(at("a", "1")) {
		t.Error("behind, though nothing was written")
	}
	versions.Forget(client.ObjectKeyFromObject(at("a", "")))
	versions.Expect(at("a", "10"))
	for cached, want := range map[*corev1.ConfigMap]bool{
		at("a", "9"): true, at("a", "10"): false, at("a", "11"): false, at("a", "none"): false, at("b", "9"): false,
	} {
		if got := versions.IsStale(cached); got != want {
			t.Errorf("%s at %s is behind: %v", cached.Name, cached.ResourceVersion, got)
		}
	}
	for obj, want := range map[*corev1.ConfigMap]bool{at("a", "10"): true, at("a", "9"): false, at("a", "11"): false, at("b", "10"): false, at("b", ""): false} {
		if got := versions.IsLast(obj); got != want {
			t.Errorf("%s at %s is what was written last: %v", obj.Name, obj.ResourceVersion, got)
		}
	}
	versions.Expect(at("c", "5"))
	if !versions.IsStale(at("a", "9")) {
		t.Error("a write of another one has it forgotten")
	}
	versions.Forget(client.ObjectKeyFromObject(at("c", "")))
	versions.Expect(at("a", "12"))
	if !versions.IsStale(at("a", "11")) {
		t.Error("not behind the second write")
	}
	synctest.Test(t, func(t *testing.T) {
		versions := Versions{}
		versions.Expect(at("a", "10"))
		time.Sleep(30 * time.Second)
		if !versions.IsStale(at("a", "9")) {
			t.Error("it is forgotten too soon")
		}
		time.Sleep(time.Nanosecond)
		if versions.IsStale(at("a", "9")) {
			t.Error("a version that never comes is waited for")
		}
	})
	versions.Forget(client.ObjectKeyFromObject(at("a", "")))
	if _, remembered := versions.last(at("a", "")); remembered {
		t.Error("it is not forgotten")
	}
}
