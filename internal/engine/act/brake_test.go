package act

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/internal/engine/decide"
	fixture "github.com/spillway-io/spillway/internal/engine/decide/decidetest"
)

// TestBrake checks that objects are held back after a while if the provider ends them, but not if they end by
// themselves.
func TestBrake(t *testing.T) {
	const many = 200
	for name, ended := range map[string]bool{"ended there": true, "ended by itself": false} {
		t.Run(name, func(t *testing.T) {
			c, rig := actor()
			rig.Kind.Ended = func(*corev1.ConfigMap, decide.Action) bool { return ended }
			create := decide.Action{Verb: decide.Create, Side: decide.Remote, Object: fixture.Remote()}
			sent := 0
			for i := range many {
				local := fixture.Local()
				local.Name, local.UID = fmt.Sprintf("settings-%d", i), types.UID(fmt.Sprint(i))
				s := fixture.Observed(local, nil)
				s.Key = decide.KeyOf(local)
				if !c.mayGo(s, create) {
					break
				}
				sent++
				c.noteSent(s, create)
				c.noteSent(s, decide.Action{Verb: decide.PatchStatus, Side: decide.Local, Object: local})
			}
			if held := sent < many; held != ended || sent == 0 {
				t.Errorf("%d of %d were sent", sent, many)
			}
		})
	}
}
