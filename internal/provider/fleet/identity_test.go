package fleet

import (
	"strings"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"github.com/spillway-io/spillway/internal/provider/connection"
)

func TestCleanVersion(t *testing.T) {
	for said, want := range map[string]string{
		"v1.36.3":                 "v1.36.3",
		"v1.35.0-rc.1+k3s1":       "v1.35.0-rc.1+k3s1",
		"v1.34.2-eks-a1b2c3":      "v1.34.2-eks-a1b2c3",
		"":                        "",
		"v1\x1b[31m.36 \n\u202ex": "v131m.36x",
		strings.Repeat("v", 99):   strings.Repeat("v", 64),
	} {
		if got := cleanVersion(said); got != want {
			t.Errorf("%q is told as %q, want %q", said, got, want)
		}
	}
}

// TestClocksAreCompared when a provider is connected: here ours is an hour slow.
func TestClocksAreCompared(t *testing.T) {
	f, _, _ := startManagerBy(t, testclock.NewFakeClock(time.Now().Add(-time.Hour)), "slow")
	f.Connect(target("eu", "1", providerUID))
	state := eventually(t, f, "eu", "is connected", connected)
	if state.Skew() != connection.Ahead || state.ClockSkew < time.Hour-time.Second {
		t.Errorf("the provider's clock is %s ahead", state.ClockSkew)
	}
}
