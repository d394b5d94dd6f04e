package install

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/objects"
)

const clusterIDFlag = "--cluster-id="

// settings are the user's choices for the manager.
type settings struct {
	// image is the manager's image; "" for the shipped one.
	image string
	// clusterID names the consumer; "" for the default.
	clusterID string
}

// check refuses settings with which the manager would never run. there may be nil.
func (s settings) check(there *appsv1.Deployment) error {
	if problems := validation.IsDNS1123Label(s.clusterID); s.clusterID != "" && (len(problems) > 0 || len(s.clusterID) > longestID) {
		return fmt.Errorf("--cluster-id %s: it must be a DNS label of at most %d characters: lower-case letters, digits and '-'", s.clusterID, longestID)
	}
	if strings.ContainsFunc(s.image, unicode.IsSpace) {
		return fmt.Errorf("--image %q: it contains a space", s.image)
	}
	if s.image == "" && there == nil && strings.HasSuffix(config.Image, unpublished) {
		return fmt.Errorf("which image? Set --image: this build's default, %s, is not published; docs/getting-started.md says how to build one", config.Image)
	}
	return nil
}

const (
	// longestID is how long the name of a consumer may be.
	longestID = 24
	// unpublished is the tag of an image that is in no registry.
	unpublished = ":dev"
)

// keep copies from the existing Deployment what the user has not chosen now. That is the clusterID, which is
// in the names of remote namespaces, and an image that is not exactly the shipped one. there may be nil. It
// also returns what it has kept, in words.
func (s settings) keep(there *appsv1.Deployment) (settings, []string) {
	if there == nil || len(there.Spec.Template.Spec.Containers) == 0 {
		return s, nil
	}
	var kept []string
	container := there.Spec.Template.Spec.Containers[0]
	if s.image == "" && container.Image != config.Image {
		s.image = container.Image
		kept = append(kept, "the image "+s.image)
	}
	if s.clusterID == "" {
		if id := clusterID(there); id != "" {
			s.clusterID = id
			kept = append(kept, "the argument "+clusterIDFlag+id)
		}
	}
	return s, kept
}

// clusterID returns the value of --cluster-id in the arguments of the manager; "" if they lack it. there may
// be nil.
func clusterID(there *appsv1.Deployment) string {
	if there == nil || len(there.Spec.Template.Spec.Containers) == 0 {
		return ""
	}
	container, id := there.Spec.Template.Spec.Containers[0], ""
	next := false // The last argument was --cluster-id; the next one is its value.
	for _, arg := range slices.Concat(container.Command, container.Args) {
		name, value, given := strings.Cut(arg, "=")
		flag := name == "--cluster-id" || name == "-cluster-id"
		switch {
		case next:
			id = arg
		case flag && given:
			id = value
		}
		next = flag && !given && !next
	}
	return id
}

// rename returns an error if the names of remote namespaces would change while there are bindings. there may
// be nil: then the former name is not known. unnamed is the name that a manager without the argument uses.
func (s settings) rename(there *appsv1.Deployment, unnamed string, bindings []string) error {
	before := cmp.Or(clusterID(there), unnamed)
	if there == nil || s.clusterID == "" || s.clusterID == before || len(bindings) == 0 {
		return nil
	}
	return fmt.Errorf("--cluster-id %s: the installed manager has %s, which names remote namespaces, and the providers %s are bound: omit it, or unbind them first",
		s.clusterID, before, strings.Join(bindings, ", "))
}

// apply sets these in the Deployment among objects.
func (s settings) apply(objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		if !isManager(object) {
			continue
		}
		containers, _, err := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
		if err != nil || len(containers) == 0 {
			return fmt.Errorf("the shipped Deployment %s has no containers: %w", config.Manager, err)
		}
		container, _ := containers[0].(map[string]any)
		if s.image != "" {
			container["image"] = s.image
		}
		if s.clusterID != "" {
			args, _, err := unstructured.NestedStringSlice(container, "args")
			if err != nil {
				return err
			}
			if err := unstructured.SetNestedStringSlice(container, append(args, clusterIDFlag+s.clusterID), "args"); err != nil {
				return err
			}
		}
		return unstructured.SetNestedSlice(object.Object, containers, "spec", "template", "spec", "containers")
	}
	return fmt.Errorf("the manifests contain no Deployment %s", config.Manager)
}

func isManager(object *unstructured.Unstructured) bool {
	return object.GetKind() == "Deployment" && object.GetName() == config.Manager
}

func isCRD(object *unstructured.Unstructured) bool {
	return object.GetKind() == "CustomResourceDefinition"
}

// Directories of config/ for a consumer. A policy prepares the pods of offloaded namespaces; if the API
// server does not serve its kind, a webhook of the manager does.
const (
	WithPolicy  = "default"
	WithWebhook = "webhook"
)

// PodsPolicy is the kind of the policy. Kubernetes serves it since 1.36.
var PodsPolicy = schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingAdmissionPolicy"}

// Shipped returns what a consumer needs, and the directory of config/ that has it.
func Shipped(consumer *cli.Cluster) (all []*unstructured.Unstructured, directory string, err error) {
	served, err := consumer.Serves(PodsPolicy)
	if err != nil {
		return nil, "", err
	}
	directory = WithPolicy
	if !served {
		directory = WithWebhook
	}
	all, err = config.Objects(directory)
	return all, directory, err
}

// Ever returns everything that may have been installed in a consumer, whatever it served then.
func Ever() ([]*unstructured.Unstructured, error) {
	all, err := config.Objects(WithPolicy)
	if err != nil {
		return nil, err
	}
	more, err := config.Objects(WithWebhook)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, object := range all {
		known[objects.Name(object)+" "+object.GetNamespace()] = true
	}
	for _, object := range more {
		if !known[objects.Name(object)+" "+object.GetNamespace()] {
			all = append(all, object)
		}
	}
	return all, nil
}

// inOrder sorts the objects: the CustomResourceDefinitions first, because others need them, and the manager
// last.
func inOrder(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	rank := func(object *unstructured.Unstructured) int {
		switch {
		case isCRD(object):
			return 0
		case isManager(object):
			return 2
		default:
			return 1
		}
	}
	objects = slices.Clone(objects)
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return rank(a) - rank(b) })
	return objects
}
