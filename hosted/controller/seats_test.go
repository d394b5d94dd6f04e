package controller

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// TestSeats: an account has its seats and no more, other accounts do not notice, and each cluster that waits is
// called once, in its order.
func TestSeats(t *testing.T) {
	of := func(name string) reconcile.Request {
		return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
	}
	called := ""
	s := &seats{call: func(r reconcile.Request) { called += r.Name }}
	steps := []struct {
		take, leave, gone string
		hung              bool
		// seats has, for each cluster of take, whether it gets a seat.
		seats, calls string
		account      string
	}{
		{take: "0123456", seats: "++++---"},
		{take: "4", seats: "-"},
		{take: "9", seats: "+", account: "another"},
		{leave: "0", calls: "4"},
		{take: "74", seats: "-+"},
		// The cloud hangs: one seat is left.
		{leave: "123", hung: true},
		{leave: "4", hung: true, calls: "5"},
		{take: "85", seats: "-+"},
		// It answers again.
		{leave: "5", calls: "678"},
		{gone: "6"},
		{take: "78", seats: "++"},
		{take: "abcd", seats: "++--"},
		// While it waited, the object has got other credentials.
		{leave: "7", calls: "c"},
		{take: "c", seats: "+", account: "another", calls: "d"},
		{take: "d", seats: "+"},
		{leave: "8abd"},
		{leave: "9c", account: "another"},
		// A cluster waits in two rooms, and is called from both before it comes.
		{take: "0123x", seats: "++++-"},
		{take: "4567x", seats: "++++-", account: "another"},
		{leave: "0", calls: "x"},
		{leave: "4", account: "another"},
		{take: "x", seats: "+", account: "another"},
		{leave: "123"},
		{leave: "567x", account: "another"},
	}
	for i, step := range steps {
		account, got := "one", ""
		if step.account != "" {
			account = step.account
		}
		called = ""
		for _, name := range step.take {
			got += map[bool]string{true: "+", false: "-"}[s.take(of(string(name)), account)]
		}
		for range step.leave {
			s.heard(account, step.hung, time.Time{})
			s.leave(account)
		}
		if step.gone != "" {
			s.gone(of(step.gone))
		}
		if diff := cmp.Diff([]string{step.seats, step.calls}, []string{got, called}); diff != "" {
			t.Fatal(fmt.Sprintf("step %d, %+v: ", i, step), diff)
		}
	}
	if len(s.rooms)+len(s.called) > 0 {
		t.Errorf("left: %v, %v", s.rooms, s.called)
	}
}

// TestMayRead: while a cloud is hung, only one cluster is read, and another one if that one does not come. A read that
// hangs takes longer than that.
func TestMayRead(t *testing.T) {
	s, now := &seats{call: func(reconcile.Request) {}}, time.Unix(1_800_000_000, 0)
	visit := func(name string, after time.Duration, hung, want bool) {
		t.Helper()
		now = now.Add(after)
		of := reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
		if !s.take(of, "one") {
			t.Fatal("no seat")
		}
		if _, got := s.mayRead(of, "one", now); got != want {
			t.Errorf("%s may be read: %v, want %v", name, got, want)
		}
		if want {
			now = now.Add(map[bool]time.Duration{true: 3 * time.Minute}[hung])
			s.heard("one", hung, now)
		}
		s.leave("one")
	}
	visit("a", 0, false, true)
	visit("b", 0, true, true)
	visit("a", 0, true, false)
	visit("a", time.Minute, true, false)
	visit("b", time.Second, true, true)
	visit("a", time.Minute, true, false)
	visit("a", time.Minute, true, true)
	visit("b", 0, true, false)
	visit("a", 0, false, true)
	visit("b", 0, false, true)
}
