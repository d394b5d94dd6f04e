// Package enginetest has what tests of the engine's parts share: a kind of ConfigMaps, and caches that hold what
// a test gives them.
package enginetest

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/cache/ownwrites"
	"github.com/spillway-io/spillway/internal/engine/attempts"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/decide/decidetest"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/engine/mapping"
	"github.com/spillway-io/spillway/internal/engine/objects"
	"github.com/spillway-io/spillway/internal/engine/report"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// ConfigMaps is the kind.
type ConfigMaps = kind.Kind[*corev1.ConfigMap]

// Resource is the resource of ConfigMaps, in errors.
var Resource = schema.GroupResource{Resource: "configmaps"}

// Rig is what the parts of one kind in one connection share.
type Rig struct {
	Kind     *ConfigMaps
	Attempts *attempts.Attempts
	Clock    *testclock.FakeClock
	Reporter *report.Reporter[*corev1.ConfigMap]
	// View and SharedCache are caches of the consumer. Provider is the provider's cache.
	View, SharedCache, Provider *Cache
	Locals                      *objects.Locals[*corev1.ConfigMap]
	Remotes                     *objects.Remotes[*corev1.ConfigMap]
	recorder                    *events.FakeRecorder
}

// New returns the rig of a kind that is copied.
func New() *Rig {
	k := kind.NewCopy[corev1.ConfigMap, corev1.ConfigMapList]("configmap", kind.Referenced, decide.Translation[*corev1.ConfigMap](decidetest.Plain{}))
	clock := testclock.NewFakeClock(builder.Epoch)
	r := &Rig{
		Kind: &k, Clock: clock, Attempts: attempts.New(clock), recorder: events.NewFakeRecorder(10),
		View: &Cache{}, SharedCache: &Cache{}, Provider: &Cache{},
	}
	r.Reporter = &report.Reporter[*corev1.ConfigMap]{Kind: r.Kind, Attempts: r.Attempts, Events: r.recorder}
	r.Locals = &objects.Locals[*corev1.ConfigMap]{
		Kind: r.Kind, ClusterID: "eu", View: r.View, SharedCache: r.SharedCache,
		ViewReader: ownwrites.New(r.View, clock), SharedReader: ownwrites.New(r.SharedCache, clock),
		Metadata: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
	}
	r.Remotes = &objects.Remotes[*corev1.ConfigMap]{
		Kind: r.Kind, ClusterID: "eu", Mark: decidetest.Mark, Cache: r.Provider, CacheReader: ownwrites.New(r.Provider, clock), Live: r.Provider,
	}
	return r
}

// LocalNamespaces returns LocalNamespaces in which each namespace has an offloading, which sends the default
// kinds. It selects no namespace that has no entry yet.
func LocalNamespaces() mapping.LocalNamespaces {
	return mapping.LocalNamespaces{
		Selects:       func(*v1alpha1.ClusterBinding, string) bool { return false },
		Offloading:    func(namespace string) *v1alpha1.NamespaceOffloading { return builder.Offloading(namespace).Obj() },
		IsTerminating: func(string) bool { return false },
		Labels:        func(string) (map[string]string, bool) { return nil, false },
	}
}

// Shares makes all bindings share the cache of the kind, as for kinds that are sent because of their namespace.
func (r *Rig) Shares() {
	r.Kind.Selection, r.Kind.Syncer = kind.InMappedNamespace, decide.NewMapped(decide.Translation[*corev1.ConfigMap](decidetest.Plain{}))
	r.Locals.View, r.Locals.ViewReader = r.SharedCache, r.Locals.SharedReader
	r.Reporter.Reported = &attempts.Reported{}
}

// Refuse makes an action count as refused.
func (r *Rig) Refuse(s decide.ObjectState[*corev1.ConfigMap], a decide.Action, problem field.Problem) {
	r.Reporter.Refused(s, decide.Refused{Verb: a.Verb, Subresource: a.Subresource, In: r.Kind.CopyNamespaceOf(a), Problem: problem})
}

// IsRefused reports whether a request for an object is refused.
func (r *Rig) IsRefused(key types.NamespacedName) bool { return r.Attempts.Get(key).Refusals.Any() }

// Recall adds to an ObjectState what is remembered about its requests.
func (r *Rig) Recall(s *decide.ObjectState[*corev1.ConfigMap]) {
	s.Now = r.Clock.Now()
	attempts.Recall(s, r.Kind, r.Attempts.Get(s.Key).Refusals)
}

// Recorded returns the reasons of the events since its last call.
func (r *Rig) Recorded() []string {
	var all []string
	for len(r.recorder.Events) > 0 {
		reason, _, _ := strings.Cut(strings.TrimPrefix(<-r.recorder.Events, "Warning "), " ")
		all = append(all, reason)
	}
	return all
}

// Cache holds what a test gives it. It has no informers.
type Cache struct {
	cache.Cache
	Has []client.Object
	// Indexes say under which values of a field an object is found.
	Indexes map[string]client.IndexerFunc
	// Err, if set, is the answer to every request.
	Err error
	// Unwatched is true until the kind is watched. Open starts that.
	Unwatched bool
	then      []func()
}

// Need implements informer.Demand's Need.
func (c *Cache) Need(_ context.Context, _ client.Object, _ any, then func()) (bool, error) {
	if c.Unwatched {
		c.then = append(c.then, then)
	}
	return !c.Unwatched, c.Err
}

// Open makes the kind readable, and calls everybody who needs it.
func (c *Cache) Open() {
	c.Unwatched = false
	for _, then := range c.then {
		then()
	}
	c.then = nil
}

// Get implements client.Reader.
func (c *Cache) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if c.Err != nil {
		return c.Err
	}
	for _, obj := range c.Has {
		if client.ObjectKeyFromObject(obj) == key {
			copyInto(into, obj)
			return nil
		}
	}
	return apierrors.NewNotFound(Resource, key.Name)
}

// copyInto copies an object into one of its type, or its metadata.
func copyInto(into, obj client.Object) {
	switch into := into.(type) {
	case *corev1.ConfigMap:
		obj.(*corev1.ConfigMap).DeepCopyInto(into)
	case *metav1.PartialObjectMetadata:
		decide.CopyMetadata(into, obj)
	}
}

// List implements client.Reader.
func (c *Cache) List(_ context.Context, into client.ObjectList, options ...client.ListOption) error {
	if c.Err != nil {
		return c.Err
	}
	var asked client.ListOptions
	asked.ApplyOptions(options)
	if listed, ok := into.(*metav1.PartialObjectMetadataList); ok {
		for _, obj := range c.Has {
			if c.matches(obj, asked) {
				var metadata metav1.PartialObjectMetadata
				copyInto(&metadata, obj)
				listed.Items = append(listed.Items, metadata)
			}
		}
		return nil
	}
	var found []runtime.Object
	for _, obj := range c.Has {
		if c.matches(obj, asked) {
			found = append(found, obj)
		}
	}
	return meta.SetList(into, found)
}

func (c *Cache) matches(obj client.Object, asked client.ListOptions) bool {
	if asked.Namespace != "" && obj.GetNamespace() != asked.Namespace {
		return false
	}
	if asked.FieldSelector == nil {
		return true
	}
	for _, requirement := range asked.FieldSelector.Requirements() {
		for _, value := range c.Indexes[requirement.Field](obj) {
			if value == requirement.Value {
				return true
			}
		}
	}
	return false
}
