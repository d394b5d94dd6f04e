package objects

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/cache/ownwrites"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// TestForget checks that the writes about an object are forgotten when the cache drops it, unless the cache's
// state is older than the write.
func TestForget(t *testing.T) {
	at := func(version string) client.Object {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "settings", UID: "a", ResourceVersion: version}}
	}
	for name, test := range map[string]struct {
		change informer.Change
		want   bool // It is remembered.
	}{
		"it comes":                            {informer.Change{After: at("8")}, true},
		"it changes":                          {informer.Change{Before: at("7"), After: at("8")}, true},
		"it goes":                             {informer.Change{Before: at("8")}, false},
		"an older one goes":                   {informer.Change{Before: at("6")}, true},
		"a later list lacks it":               {informer.Change{Before: at("6"), Unseen: true, Listed: "9"}, false},
		"an earlier list lacks it":            {informer.Change{Before: at("6"), Unseen: true, Listed: "6"}, true},
		"a list of no version lacks it":       {informer.Change{Before: at("8"), Unseen: true}, false},
		"a list of no version lacks an older": {informer.Change{Before: at("6"), Unseen: true}, true},
		"nothing":                             {informer.Change{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			reader := ownwrites.New(nil, testclock.NewFakePassiveClock(builder.Epoch))
			reader.Expect(at("7"))
			forget(reader, test.change)
			if got := reader.IsStale(at(""), client.ObjectKeyFromObject(at(""))); got != test.want {
				t.Errorf("it is remembered: %t", got)
			}
		})
	}
}
