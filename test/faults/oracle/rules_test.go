package oracle

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

func TestViolations(t *testing.T) {
	namespace := object("Namespace", "", "team-a-c0", marked, byUs)
	first := object("Pod", "team-a-c0", "web", marked, byUs, standsFor("local"), uid("first"))
	second := object("Pod", "team-a-c0", "web2", marked, byUs, standsFor("local"), uid("second"))
	secret := object("Secret", "team-a-c0", "password", marked, byUs, standsFor("local-secret"))
	local := object("Pod", "team-a", "web", inPhase("Running"))
	foreign := object("ConfigMap", "team-a-c0", "theirs", by("kubectl"))

	for name, test := range map[string]struct {
		events []Event
		want   []string
	}{
		"all is well": {events: []Event{
			here(local), there(namespace), there(secret), there(first), there(changed(first, inPhase("Running"), by("kubelet"))),
			there(changed(first, inPhase("Succeeded"))), here(changed(local, inPhase("Succeeded"))), here(changed(local, inPhase("Succeeded"), annotated("a", "b"))),
			end(there(first)), end(here(changed(local, inPhase("Succeeded")))), end(there(secret)), end(there(namespace)),
		}},

		"two pods for one": {
			events: []Event{there(namespace), there(first), there(second)},
			want:   []string{"p1: 2 pods stand for one local UID at a time, the last of them Pod team-a-c0/web2"},
		},
		"two, of which one is still going": {
			events: []Event{there(namespace), there(first), there(changed(first, with([]string{"metadata", "deletionTimestamp"}, "2026-01-01T00:00:00Z"))), there(second)},
			want:   []string{"p1: 2 pods stand for one local UID at a time, the last of them Pod team-a-c0/web2"},
		},
		"two, of which one is gone":                     {events: []Event{there(namespace), there(first), end(there(first)), there(second)}},
		"two, of which one has ended":                   {events: []Event{there(namespace), there(changed(first, inPhase("Failed"))), there(second)}},
		"two that stand for two of the same name":       {events: []Event{there(namespace), there(first), there(changed(second, standsFor("made again")))}},
		"what another lane does is no business of ours": {events: []Event{there(object("Pod", "team-a-c1", "a", byUs)), there(object("Pod", "team-a-c1", "b", byUs))}},
		"two one after the other, in two providers": {
			events: []Event{there(namespace), other(namespace), there(first), end(there(first)), other(second)},
			want:   []string{"Pod team-a-c0/web2 stands for a local UID in p2, and one did in p1"},
		},

		"a phase regresses": {
			events: []Event{here(changed(local, inPhase("Succeeded"))), here(local)},
			want:   []string{"Pod team-a/web has ended as Succeeded, and is Running after that"},
		},
		"one end becomes another": {
			events: []Event{here(changed(local, inPhase("Succeeded"))), here(changed(local, inPhase("Failed")))},
			want:   []string{"Pod team-a/web has ended as Succeeded, and is Failed after that"},
		},
		"a pod of the same name begins": {events: []Event{here(changed(local, inPhase("Succeeded"))), end(here(changed(local, inPhase("Succeeded")))), here(changed(local, uid("again")))}},

		"an address of a provider is shown": {
			events: []Event{here(local), here(changed(local, with([]string{"spec", "nodeName"}, "spillway-p1"), with([]string{"status", "podIP"}, "127.0.0.1"), with([]string{"status", "hostIP"}, "10.0.0.1")))},
			want: []string{"Pod team-a/web shows the hostIP 10.0.0.1, which is what a provider says",
				"Pod team-a/web shows the podIP 127.0.0.1, which is what a provider says"},
		},
		"an address of the consumer's own is shown": {
			events: []Event{here(changed(local, with([]string{"spec", "nodeName"}, "node-1"), with([]string{"status", "podIP"}, "10.0.0.1")))},
		},

		"ours is made without the mark": {
			events: []Event{there(namespace), there(object("ConfigMap", "team-a-c0", "settings", byUs, standsFor("x")))},
			want:   []string{"p1: ConfigMap team-a-c0/settings was made without our mark"},
		},
		"theirs is adopted": {
			events: []Event{there(namespace), there(foreign), there(changed(foreign, marked, byUs))},
			want:   []string{"p1: ConfigMap team-a-c0/theirs, which is not ours, was changed by us"},
		},
		"theirs was there before, and is changed": {
			events: []Event{before(there(namespace)), before(there(foreign)), there(changed(foreign, byUs))},
			want:   []string{"p1: ConfigMap team-a-c0/theirs, which is not ours, was changed by us"},
		},
		"theirs is changed by them": {events: []Event{there(namespace), there(foreign), there(changed(foreign, by("kubectl"))), end(there(foreign))}},
		"what was ours is put right": {events: []Event{
			there(namespace), there(secret), there(changed(secret, func(obj *unstructured.Unstructured) { obj.SetLabels(nil) }, by("kubectl"))), there(changed(secret, byUs)),
		}},

		"it is not said what it stands for": {
			events: []Event{there(namespace), there(object("Secret", "team-a-c0", "password", marked, byUs))},
			want:   []string{"p1: Secret team-a-c0/password was made without the UID of what it stands for"},
		},

		"a Secret lands in a foreign namespace": {
			events: []Event{there(object("Namespace", "", "team-a-c0", by("kubectl"))), there(secret)},
			want:   []string{"p1: Secret team-a-c0/password landed in a namespace that is not ours"},
		},
		"a Secret lands in what was made again by others": {
			events: []Event{there(namespace), end(there(namespace)), there(object("Namespace", "", "team-a-c0", by("kubectl"), uid("again"))), there(secret)},
			want:   []string{"p1: Secret team-a-c0/password landed in a namespace that is not ours"},
		},
		"a watch that lags does not decide": {events: func() []Event {
			events := revised([]Event{there(namespace), there(secret)})
			slices.Reverse(events)
			return events
		}()},
		"somebody takes the mark off the namespace": {events: []Event{there(namespace), there(changed(namespace, func(obj *unstructured.Unstructured) { obj.SetLabels(nil) })), there(secret)}},
	} {
		t.Run(name, func(t *testing.T) {
			h := &History{ConsumerID: "c0", Origin: origin, Events: test.events}
			if name != "a watch that lags does not decide" {
				h = history(test.events...)
			}
			if diff := cmp.Diff(test.want, h.Violations()); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDeletedForeign(t *testing.T) {
	h := history(
		there(object("Namespace", "", "team-a-c0", marked, byUs)),
		there(object("ConfigMap", "team-a-c0", "theirs", by("kubectl"), uid("theirs"))),
		there(object("ConfigMap", "team-a-c0", "ours", marked, byUs, standsFor("x"), uid("ours"))),
	)
	h.Deleted["p1"] = []types.UID{"ours"}
	if got := h.Violations(); len(got) != 0 {
		t.Errorf("deleting ours: %v", got)
	}
	h.Deleted["p1"] = []types.UID{"theirs"}
	want := []string{"p1: ConfigMap team-a-c0/theirs, which is not ours, was deleted by us"}
	if diff := cmp.Diff(want, h.Violations()); diff != "" {
		t.Errorf("deleting theirs (-want +got):\n%s", diff)
	}
}
