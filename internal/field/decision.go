package field

import (
	"reflect"
	"strings"
)

// Verdict is what happens to a field on its way to the provider.
type Verdict int

// The verdicts.
const (
	Undecided Verdict = iota
	Sent              // as it is
	Changed           // sent, and changed on the way
	Dropped           // not sent
	Refused           // the object is not sent if the field is set
	Limited           // sent as it is if the limits grant pod security privileged, otherwise refused
)

// Decision is a verdict and its reason.
type Decision struct {
	Verdict Verdict
	Reason  string // of the field.Problem
	Why     string
}

// Send sends a field as it is.
func Send() Decision { return Decision{Verdict: Sent} }

// Change sends a field in another form.
func Change(why string) Decision { return Decision{Verdict: Changed, Why: why} }

// ConsumerOnly says why a field with a name of the consumer is not sent.
const ConsumerOnly = "it names an object of the consumer, which the provider does not have"

// Drop leaves a field out.
func Drop(why string) Decision { return Decision{Verdict: Dropped, Why: why} }

// Deny refuses the object if the field is set.
func Deny(reason, why string) Decision { return Decision{Refused, reason, why} }

// Privileged sends a field as it is if the limits grant pod security privileged. Otherwise it refuses the
// object if the field is set.
func Privileged(why string) Decision { return Decision{Limited, ReasonPodSecurity, why} }

// Decisions are the decisions about the fields of one type, by the name of the field in Go.
type Decisions map[string]Decision

// And adds the same decision for several fields.
func (all Decisions) And(d Decision, fields ...string) Decisions {
	for _, field := range fields {
		all[field] = d
	}
	return all
}

// Plan carries out the decisions about T. It looks up the fields only once, which is fast enough to use
// for every pod.
type Plan[T any] struct {
	sent    []int
	Refused []RefusedField
}

// RefusedField is a field that refuses the object if it is set.
type RefusedField struct {
	index       int
	Name        string // as in YAML
	reason, why string
	limited     bool
}

// PlanFor compiles the decisions. A field without a decision is not sent.
func PlanFor[T any](table Decisions) Plan[T] {
	var p Plan[T]
	for field := range reflect.TypeFor[T]().Fields() {
		d := table[field.Name]
		if d.Verdict == Sent || d.Verdict == Changed || d.Verdict == Limited {
			p.sent = append(p.sent, field.Index[0])
		}
		if d.Verdict == Refused || d.Verdict == Limited {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			p.Refused = append(p.Refused, RefusedField{field.Index[0], name, d.Reason, d.Why, d.Verdict == Limited})
		}
	}
	return p
}

// Allowed returns a copy of obj with only the fields that may be sent. It shares memory with obj, so
// deep-copy it before you change anything inside it.
func (p Plan[T]) Allowed(obj *T) T {
	var to T
	from, target := reflect.ValueOf(obj).Elem(), reflect.ValueOf(&to).Elem()
	for _, i := range p.sent {
		target.Field(i).Set(from.Field(i))
	}
	return to
}

// Violation returns the first field of obj that is set although the pod security standard forbids it,
// or nil.
func (p Plan[T]) Violation(obj *T, under Standard) *RefusedField {
	value := reflect.ValueOf(obj).Elem()
	for i := range p.Refused {
		if (!p.Refused[i].limited || under != PodSecurityPrivileged) && isSet(value.Field(p.Refused[i].index)) {
			return &p.Refused[i]
		}
	}
	return nil
}

// Refusal returns a problem that says that the field at this path is set. It returns nil for nil.
func (f *RefusedField) Refusal(path string) *Problem {
	if f == nil {
		return nil
	}
	return Refuse(f.reason, "%s.%s is set: %s", path, f.Name, f.why)
}

// isSet reports whether a field asks for anything. False and an empty list do not.
func isSet(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return false
		}
		return v.Elem().Kind() != reflect.Bool || v.Elem().Bool()
	case reflect.Slice, reflect.Map:
		return v.Len() > 0
	default:
		return !v.IsZero()
	}
}
