package doctor

import (
	"testing"

	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/status"
)

// TestRefusedWrites: a missing right has another fix than a policy.
func TestRefusedWrites(t *testing.T) {
	const lacks, denied = `x is forbidden: User "m" cannot `, "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"
	const volumes, roles = lacks + `create resource "persistentvolumes" in API group ""`, "kubectl spillway install applies the roles again"
	const policies = "if the message names a policy or webhook of your own, exempt that account there; otherwise kubectl spillway install applies Spillway's policies again"
	for message, want := range map[string]string{
		volumes: BindVolumes, volumes + "; " + denied: BindVolumes + "; " + policies,
		lacks + `create resource "nodes"`: roles, denied: policies, "in other words": policies,
	} {
		wait := status.Wait{Type: "WritesRefused", Reason: "ForbiddenInConsumer", Message: message}
		if got := ofWait(status.Binding{Name: "eu", Ready: true}, wait); got.Mend != want {
			t.Errorf("%s: got %q", message, got.Mend)
		}
	}
}

// TestRepeats: one cause is one finding.
func TestRepeats(t *testing.T) {
	const lacks = `x is forbidden: User "m" cannot `
	p := &providers{run: &run{findings: []Finding{ofVolumes("eu", []cli.Right{{Verb: "create", Resource: "persistentvolumes"}}), ofVolumes("us", nil)}}}
	refused := func(message string) status.Wait { return status.Wait{Type: "WritesRefused", Message: message} }
	for name, test := range map[string]struct {
		binding string
		wait    status.Wait
		want    bool
	}{
		"points to another one": {"us", status.Wait{Type: "Connected", Message: "see the condition CredentialsValid"}, true},
		"its node is not ready": {"us", status.Wait{Type: "VirtualNodeReady", Reason: "NodeNotReady"}, false},
		"points to one unseen":  {"us", status.Wait{Type: "Ready", Message: "see the condition Drained"}, false},
		"volumes":               {"eu", refused(lacks + `create resource "persistentvolumes"`), true},
		"volumes and more":      {"eu", refused(lacks + `create resource "persistentvolumes"; ` + lacks + `create resource "nodes"`), false},
		"volumes, by a policy":  {"eu", refused("ValidatingAdmissionPolicy 'p' denied request"), false},
		"volumes once":          {"us", refused(lacks + `create resource "persistentvolumes"`), false},
	} {
		binding := status.Binding{Name: test.binding, Waits: []status.Wait{{Type: "CredentialsValid", Message: "401"}, test.wait}}
		if got := p.repeats(binding, test.wait); got != test.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
	node := status.Wait{Type: "VirtualNodeReady", Reason: "NodeNotReady"}
	if !p.repeats(status.Binding{Name: "us", Waits: []status.Wait{{Type: "Connected", Reason: "Unreachable"}, node}}, node) {
		t.Error("the node of a provider that is away is a finding of its own")
	}
}
