package enginetest

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/engine/decide"
)

// Server is an API server of ConfigMaps that records its requests. Some caches show at once what it stores.
type Server struct {
	client.Client
	Name string
	// Shows has the caches, with what each shows.
	Shows map[*Cache]func(*corev1.ConfigMap) bool
	// Refuses, if set, returns the error for a request, which is then not carried out.
	Refuses func(verb string, m *corev1.ConfigMap) error
	// Requests has one line per request to any server of one test.
	Requests *[]string

	stored  []*corev1.ConfigMap
	version int
}

// Put stores an object without a request.
func (s *Server) Put(m *corev1.ConfigMap) {
	s.drop(m)
	s.stored = append(s.stored, m)
	for cache, shows := range s.Shows {
		if shows(m) {
			cache.Has = append(cache.Has, m)
		}
	}
}

func (s *Server) drop(m *corev1.ConfigMap) {
	key := client.ObjectKeyFromObject(m)
	s.stored = slices.DeleteFunc(s.stored, func(other *corev1.ConfigMap) bool { return client.ObjectKeyFromObject(other) == key })
	for cache := range s.Shows {
		cache.Has = slices.DeleteFunc(cache.Has, func(other client.Object) bool { return client.ObjectKeyFromObject(other) == key })
	}
}

func (s *Server) ask(verb string, obj client.Object) (*corev1.ConfigMap, error) {
	m, ok := obj.(*corev1.ConfigMap)
	if !ok {
		return nil, fmt.Errorf("%T is no ConfigMap", obj)
	}
	line := fmt.Sprintf("%s: %s %s", s.Name, verb, client.ObjectKeyFromObject(obj))
	if s.Refuses != nil {
		if err := s.Refuses(verb, m); err != nil {
			*s.Requests = append(*s.Requests, line+": "+string(apierrors.ReasonForError(err)))
			return nil, err
		}
	}
	*s.Requests = append(*s.Requests, line)
	s.version++
	return m, nil
}

func (s *Server) find(key client.ObjectKey) (*corev1.ConfigMap, error) {
	for _, m := range s.stored {
		if client.ObjectKeyFromObject(m) == key {
			return m, nil
		}
	}
	return nil, apierrors.NewNotFound(Resource, key.Name)
}

// store creates a new version of an object, and answers with it.
func (s *Server) store(m, answer *corev1.ConfigMap) {
	m.ResourceVersion = strconv.Itoa(100 + s.version)
	s.Put(m)
	m.DeepCopyInto(answer)
}

// Get implements client.Reader.
func (s *Server) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	asked := &corev1.ConfigMap{}
	asked.Namespace, asked.Name = key.Namespace, key.Name
	if _, err := s.ask("get", asked); err != nil {
		return err
	}
	found, err := s.find(key)
	if err == nil {
		copyInto(into, found)
	}
	return err
}

// Create implements client.Writer.
func (s *Server) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	m, err := s.ask("create", obj)
	if err != nil {
		return err
	}
	if _, err := s.find(client.ObjectKeyFromObject(m)); err == nil {
		return apierrors.NewAlreadyExists(Resource, m.Name)
	}
	made := m.DeepCopy()
	made.UID = types.UID("made-" + strconv.Itoa(s.version))
	s.store(made, m)
	return nil
}

// Patch implements client.Writer. It stores the object as given. Without data, it stores the metadata only.
func (s *Server) Patch(_ context.Context, obj client.Object, _ client.Patch, _ ...client.PatchOption) error {
	m, err := s.ask("patch", obj)
	if err != nil {
		return err
	}
	before, err := s.find(client.ObjectKeyFromObject(m))
	if err != nil {
		return err
	}
	if before.UID != m.UID {
		return apierrors.NewConflict(Resource, m.Name, fmt.Errorf("UID %s is not %s", before.UID, m.UID))
	}
	after := before.DeepCopy()
	decide.CopyMetadata(after, m)
	if m.Data != nil {
		after.Data = m.Data
	}
	s.store(after, m)
	return nil
}

// Delete implements client.Writer. Finalizers delay nothing.
func (s *Server) Delete(_ context.Context, obj client.Object, options ...client.DeleteOption) error {
	m, err := s.ask("delete", obj)
	if err != nil {
		return err
	}
	found, err := s.find(client.ObjectKeyFromObject(m))
	if err != nil {
		return err
	}
	var asked client.DeleteOptions
	asked.ApplyOptions(options)
	if asked.Preconditions == nil || asked.Preconditions.UID == nil || *asked.Preconditions.UID != found.UID {
		return apierrors.NewConflict(Resource, m.Name, fmt.Errorf("the UID %s is not named", found.UID))
	}
	s.drop(found)
	return nil
}
