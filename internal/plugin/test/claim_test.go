package test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

const noRight = `PersistentVolume v cannot be created: persistentvolumes is forbidden: User "` + manager + `" cannot create resource "persistentvolumes"; the manager needs the ClusterRole spillway-volumes, which a platform engineer must bind`

// TestNoVolume: only what refuses the PersistentVolume ends the wait.
func TestNoVolume(t *testing.T) {
	for warning, want := range map[string]bool{
		"RightsMissing: " + noRight: true, "ForbiddenInConsumer: PersistentVolume v cannot be created: no": true,
		"ClaimNotBound: it waits": false, "RightsMissing: the provider does not let Spillway list persistentvolumeclaims": false,
	} {
		if got := noVolume(warning); got != want {
			t.Errorf("%s: got %v", warning, got)
		}
	}
}

// TestAdd: the answer of a kubelet ends in line breaks, and the step has one line.
func TestAdd(t *testing.T) {
	var text strings.Builder
	r := &tester{binding: &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "eu"}}, printer: &printer{to: &text}}
	r.add(Step{Name: "log", Result: Skipped, Message: "no logs found\nfor it\n\n"})
	if want := "– eu: log: no logs found for it\n"; text.String() != want || r.report.Steps[0].Message != "no logs found for it" {
		t.Errorf("got\n%q", text.String())
	}
}
