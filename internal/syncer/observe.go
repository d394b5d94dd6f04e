package syncer

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/spillway-io/spillway/internal/latest"
	"github.com/spillway-io/spillway/internal/provenance"
	"github.com/spillway-io/spillway/internal/translate"
)

// observe gathers all that a decision about one local object looks at. It reads
// caches only.
func (c *kindController[T]) observe(ctx context.Context, key types.NamespacedName) (Snapshot[T], error) {
	s := Snapshot[T]{
		Key: key, ClusterID: c.clusterID, Now: c.clock.Now(),
		Elsewhere: func(namespace string) translate.Target { return c.place(namespace).Target },
	}
	s.WaitingFor, s.Waiting = c.memory.since(key)
	if err := c.observeLocal(ctx, &s); err != nil {
		return s, err
	}
	if err := c.observeUse(ctx, &s); err != nil {
		return s, err
	}
	if err := c.observeRemote(ctx, &s); err != nil {
		return s, err
	}
	if !present(s.Local) {
		return s, nil
	}
	s.Refused = c.memory.refusal(key, version(s.Local))
	s.Lost = c.memory.isLost(key, s.Local.GetUID())
	if c.Needs == nil || !s.Known || present(s.Remote) {
		return s, nil // What is needed matters when the object is created.
	}
	needs, err := c.needs(ctx, c.Needs(s.Local))
	s.Needs = needs
	return s, err
}

// observeLocal reads the local object: its content if the view has it, else,
// for copied kinds, what the catalogue knows of it.
func (c *kindController[T]) observeLocal(ctx context.Context, s *Snapshot[T]) error {
	content := c.New()
	err := c.local.Get(ctx, s.Key, content)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if !c.Copied {
		if err == nil {
			s.Local, s.Known = content, true
		}
		return nil
	}
	known := err == nil
	metadata, err := c.metadata()
	if err != nil {
		return err
	}
	if err := c.catalogue.Get(ctx, s.Key, metadata); err != nil {
		return client.IgnoreNotFound(err)
	}
	if known && content.GetUID() == metadata.UID && !latest.Older(content, metadata) {
		s.Local, s.Known = content, true
		return nil
	}
	s.Local = c.New()
	if access, err := meta.Accessor(s.Local); err == nil {
		copyMetadata(access, &metadata.ObjectMeta)
	}
	return nil
}

// metadata is how the catalogue is asked for the kind.
func (c *kindController[T]) metadata() (*metav1.PartialObjectMetadata, error) {
	gvk, err := apiutil.GVKForObject(c.New(), c.consumer.Scheme())
	if err != nil {
		return nil, fmt.Errorf("the kind of a %s: %w", c.Name, err)
	}
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(gvk)
	return metadata, nil
}

func copyMetadata(into metav1.Object, from *metav1.ObjectMeta) {
	into.SetNamespace(from.Namespace)
	into.SetName(from.Name)
	into.SetUID(from.UID)
	into.SetResourceVersion(from.ResourceVersion)
	into.SetDeletionTimestamp(from.DeletionTimestamp)
	into.SetLabels(from.Labels)
	into.SetAnnotations(from.Annotations)
	into.SetFinalizers(from.Finalizers)
}

// observeUse finds out whether anything needs the object, and where it goes. An
// object without a namespace goes where the first that needs it goes.
func (c *kindController[T]) observeUse(ctx context.Context, s *Snapshot[T]) error {
	home := s.Key.Namespace
	if c.Copied {
		found, err := c.pair.referers(ctx, Ref{Kind: c.Name, NamespacedName: s.Key})
		if err != nil {
			return err
		}
		s.Wanted = len(found) > 0
		if home == "" {
			home = firstNamespace(found)
		}
	}
	s.Place = c.place(home)
	return nil
}

func firstNamespace(found map[string][]types.NamespacedName) string {
	var namespaces []string
	for _, keys := range found {
		for _, key := range keys {
			namespaces = append(namespaces, key.Namespace)
		}
	}
	if len(namespaces) == 0 {
		return ""
	}
	return slices.Min(namespaces)
}

// observeRemote finds what stands for the local object in the provider: the one
// at its place, and all others.
func (c *kindController[T]) observeRemote(ctx context.Context, s *Snapshot[T]) error {
	list := c.NewList()
	err := c.provider.GetCache().List(ctx, list, client.MatchingFields{fieldLocal: s.Key.String()}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("listing what stands for %s %s in provider %s: %w", c.Name, s.Key, c.clusterID, err)
	}
	place := c.RemoteName(s.Place.Target, s.Key)
	names := []types.NamespacedName{place}
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	for _, item := range items {
		if obj, ok := item.(T); ok && client.ObjectKeyFromObject(obj) != place {
			names = append(names, client.ObjectKeyFromObject(obj))
		}
	}
	for _, name := range names {
		remote := c.New()
		switch err := c.remote.Get(ctx, name, remote); {
		case apierrors.IsNotFound(err):
		case err != nil:
			return err
		default:
			c.sort(s, remote, name == place)
		}
	}
	return nil
}

// sort tells the remote object that is right from the others.
func (c *kindController[T]) sort(s *Snapshot[T], remote T, atPlace bool) {
	if !c.mark.IsOn(remote) || localKey(remote) != s.Key {
		return // Not ours, or somebody else's: creating will tell.
	}
	elsewhere := s.Place.Open && !atPlace
	another := present(s.Local) && provenance.LocalOf(remote).UID != s.Local.GetUID()
	if elsewhere || another || present(s.Remote) {
		s.Strays = append(s.Strays, remote)
		return
	}
	s.Remote = remote
}

// version changes when what a user says about an object does. The generation of
// a pod does; its resourceVersion changes with every status that we write.
func version(obj client.Object) string {
	if generation := obj.GetGeneration(); generation != 0 {
		return string(obj.GetUID()) + "/" + strconv.FormatInt(generation, 10) // Each object begins with the first.
	}
	return obj.GetResourceVersion()
}

// referers implements attached.
func (c *kindController[T]) referers(ctx context.Context, ref Ref) ([]types.NamespacedName, error) {
	if c.Needs == nil {
		return nil, nil
	}
	list := c.NewList()
	if err := c.view.List(ctx, list, client.MatchingFields{fieldNeeds: ref.String()}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	return keysOf(list)
}

func keysOf(list client.ObjectList) ([]types.NamespacedName, error) {
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil, err
	}
	keys := make([]types.NamespacedName, 0, len(items))
	for _, item := range items {
		if obj, ok := item.(client.Object); ok {
			keys = append(keys, client.ObjectKeyFromObject(obj))
		}
	}
	slices.SortFunc(keys, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	return keys, nil
}
