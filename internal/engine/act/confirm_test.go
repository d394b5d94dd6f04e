package act

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/engine/decide"
	fixture "github.com/spillway-io/spillway/internal/engine/decide/decidetest"
)

// answers is an API server that has one object, or none.
type answers struct {
	client.Client
	uid     types.UID
	version string
	err     error
}

func (answers) Scheme() *runtime.Scheme { return scheme.Scheme }

func (a answers) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	switch {
	case a.err != nil:
		return a.err
	case a.uid == "":
		return apierrors.NewNotFound(corev1.Resource("persistentvolumes"), key.Name)
	}
	into.SetUID(a.uid)
	into.SetResourceVersion(a.version)
	return nil
}

// TestConfirm checks that a deletion waits until the consumer's API server says the same as the caches.
func TestConfirm(t *testing.T) {
	volume := func(uid types.UID, version string) decide.Object {
		return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "data", UID: uid, ResourceVersion: version}}
	}
	for name, test := range map[string]struct {
		seen   decide.Object
		server answers
		want   bool
	}{
		"as it was read":             {volume("a", "1"), answers{uid: "a", version: "1"}, true},
		"changed since":              {volume("a", "1"), answers{uid: "a", version: "2"}, false},
		"replaced since":             {volume("a", "1"), answers{uid: "b", version: "1"}, false},
		"gone since":                 {volume("a", "1"), answers{}, false},
		"none, as it was read":       {volume("", ""), answers{}, true},
		"created since":              {volume("", ""), answers{uid: "a", version: "1"}, false},
		"gone, as it was read":       {volume("a", ""), answers{}, true},
		"gone, and there is another": {volume("a", ""), answers{uid: "b", version: "1"}, true},
		"it is still there":          {volume("a", ""), answers{uid: "a", version: "1"}, false},
		"that is not known":          {volume("", ""), answers{err: errors.New("no answer")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := confirm(t.Context(), test.server, test.server, decide.Action{Verb: decide.Delete, Side: decide.Remote, Object: fixture.Remote(), Confirms: []decide.Object{test.seen}})
			if (err == nil) != test.want {
				t.Errorf("got the error %v", err)
			}
		})
	}
}
