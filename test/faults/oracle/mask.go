package oracle

import (
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// What differs between runs, anywhere in a string.
var (
	uidPattern   = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	timePattern  = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`)
	addrPattern  = regexp.MustCompile(`\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(:\d+)?\b`)
	tokenPattern = regexp.MustCompile(`kube-api-access-[a-z0-9]{5}`)
)

// masks replaces what differs between runs with what it stands for.
type masks struct {
	uids       map[string]string
	names      *strings.Replacer
	consumerID *regexp.Regexp
}

// newMasks learns from the history which object each UID belongs or belonged to, and which names are hashed.
func newMasks(h *History) *masks {
	m := &masks{
		uids:       map[string]string{},
		consumerID: regexp.MustCompile(`(^|[^A-Za-z0-9])` + regexp.QuoteMeta(h.ConsumerID) + `($|[^A-Za-z0-9])`),
	}
	hashed, gone := map[string]string{}, map[types.UID]bool{}
	for _, e := range h.Events {
		gone[e.Object.GetUID()] = gone[e.Object.GetUID()] || e.Deleted
		if from, to, ok := hashedName(e.Object); ok {
			hashed[from] = to
		}
	}
	var pairs []string
	for from, to := range hashed {
		pairs = append(pairs, from, to)
	}
	m.names = strings.NewReplacer(pairs...)
	for _, e := range h.Events {
		former := ""
		if gone[e.Object.GetUID()] {
			former = "a former "
		}
		m.uids[string(e.Object.GetUID())] = "uid of " + former + m.text(e.Cluster+" "+e.Object.GetKind()+" "+location(e.Object))
	}
	return m
}

// hashedName returns the name of a remote object that differs from the local name, and its replacement.
func hashedName(obj *unstructured.Unstructured) (from, to string, ok bool) {
	local := obj.GetAnnotations()[v1alpha1.AnnotationLocalName]
	if local == "" || local == obj.GetName() || isNamespace(obj) {
		return "", "", false
	}
	return obj.GetName(), "<hashed " + obj.GetAnnotations()[v1alpha1.AnnotationLocalNamespace] + "/" + local + ">", true
}

func location(obj *unstructured.Unstructured) string {
	if obj.GetNamespace() == "" {
		return obj.GetName()
	}
	return obj.GetNamespace() + "/" + obj.GetName()
}

// text masks a string.
func (m *masks) text(s string) string {
	s = uidPattern.ReplaceAllStringFunc(s, func(uid string) string {
		if of, known := m.uids[uid]; known {
			return "<" + of + ">"
		}
		return "<an unknown uid>"
	})
	s = timePattern.ReplaceAllString(s, "<time>")
	s = tokenPattern.ReplaceAllString(s, "kube-api-access-<token>")
	s = addrPattern.ReplaceAllString(s, "<address>")
	s = m.names.Replace(s)
	s = m.consumerID.ReplaceAllString(s, "${1}<consumer>${2}")
	return m.consumerID.ReplaceAllString(s, "${1}<consumer>${2}") // Two of them may share a separator.
}

// value masks all strings of a value.
func (m *masks) value(v any) any {
	switch v := v.(type) {
	case string:
		return m.text(v)
	case map[string]any:
		masked := make(map[string]any, len(v))
		for key, value := range v {
			value := m.value(value)
			if list, ok := value.([]any); ok && unordered[key] != "" {
				sortBy(list, unordered[key])
			}
			masked[m.text(key)] = value
		}
		return masked
	case []any:
		masked := make([]any, len(v))
		for i := range v {
			masked[i] = m.value(v[i])
		}
		return masked
	default:
		return v
	}
}

// unordered are the lists whose order has no meaning, with the field to sort by.
var unordered = map[string]string{
	"conditions": "type", "ownerReferences": "name", "remoteNamespaceConditions": "cluster",
	"currentMapping": "namespace", "desiredMapping": "namespace", "virtualNodes": "name",
}

// sortBy sorts an unordered list of objects by one of their fields.
func sortBy(list []any, field string) {
	key := func(item any) string {
		fields, ok := item.(map[string]any)
		if !ok {
			return ""
		}
		value, ok := fields[field].(string)
		if !ok {
			return "" // An item without the field comes first.
		}
		return value
	}
	slices.SortStableFunc(list, func(a, b any) int { return strings.Compare(key(a), key(b)) })
}
