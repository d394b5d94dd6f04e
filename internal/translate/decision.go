package translate

import (
	"reflect"
	"strings"

	"github.com/spillway-io/spillway/internal/field"
)

// verdict is what happens to a field on its way to the provider.
type verdict int

const (
	undecided verdict = iota
	sent              // as it is
	changed           // sent, and changed on the way
	dropped           // not sent
	refused           // the object is not sent if the field is set
	limited           // sent as it is if the limits grant pod security privileged, otherwise refused
)

// decision is a verdict and its reason.
type decision struct {
	verdict verdict
	reason  string // of the field.Problem
	why     string
}

func send() decision                     { return decision{verdict: sent} }
func change(why string) decision         { return decision{verdict: changed, why: why} }
func drop(why string) decision           { return decision{verdict: dropped, why: why} }
func refuse(reason, why string) decision { return decision{refused, reason, why} }
func privileged(why string) decision     { return decision{limited, ReasonPodSecurity, why} }

// decisions are the decisions about the fields of one type, by the name of the field in Go.
type decisions map[string]decision

// and adds the same decision for several fields.
func (all decisions) and(d decision, fields ...string) decisions {
	for _, field := range fields {
		all[field] = d
	}
	return all
}

// plan carries out the decisions about T. It looks up the fields only once, which is fast enough to use
// for every pod.
type plan[T any] struct {
	sent    []int
	refused []refusedField
}

type refusedField struct {
	index       int
	name        string // as in YAML
	reason, why string
	limited     bool
}

// planFor compiles the decisions. A field without a decision is not sent.
func planFor[T any](table decisions) plan[T] {
	var p plan[T]
	for field := range reflect.TypeFor[T]().Fields() {
		d := table[field.Name]
		if d.verdict == sent || d.verdict == changed || d.verdict == limited {
			p.sent = append(p.sent, field.Index[0])
		}
		if d.verdict == refused || d.verdict == limited {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			p.refused = append(p.refused, refusedField{field.Index[0], name, d.reason, d.why, d.verdict == limited})
		}
	}
	return p
}

// allowed returns a copy of obj with only the fields that may be sent. It shares memory with obj, so
// deep-copy it before you change anything inside it.
func (p plan[T]) allowed(obj *T) T {
	var to T
	from, target := reflect.ValueOf(obj).Elem(), reflect.ValueOf(&to).Elem()
	for _, i := range p.sent {
		target.Field(i).Set(from.Field(i))
	}
	return to
}

// violation returns the first field of obj that is set although the pod security standard forbids it,
// or nil.
func (p plan[T]) violation(obj *T, under standard) *refusedField {
	value := reflect.ValueOf(obj).Elem()
	for i := range p.refused {
		if (!p.refused[i].limited || under != PodSecurityPrivileged) && isSet(value.Field(p.refused[i].index)) {
			return &p.refused[i]
		}
	}
	return nil
}

// refusal returns a problem that says that the field at this path is set.
func (f *refusedField) refusal(path string) *field.Problem {
	return field.Refuse(f.reason, "%s.%s is set: %s", path, f.name, f.why)
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
