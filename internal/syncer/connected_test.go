package syncer

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	testclock "k8s.io/utils/clock/testing"

	"github.com/spillway-io/spillway/internal/provider/rights"
	"github.com/spillway-io/spillway/internal/syncer/synctest"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// TestLacking: users read which right on what is missing.
func TestLacking(t *testing.T) {
	of := rights.New(testclock.NewFakeClock(builder.Epoch), func() {})
	if got := lacking(of, "configmaps"); got != "" {
		t.Errorf("nothing is missing: %q", got)
	}
	of.Note("configmaps", "list", apierrors.NewForbidden(synctest.Resource, "", errors.New("no")))
	of.Settle()
	if got := lacking(of, "configmaps"); got != "list configmaps" {
		t.Errorf("got %q", got)
	}
	if got := lacking(of, "secrets"); got != "" {
		t.Errorf("of Secrets: %q", got)
	}
}
