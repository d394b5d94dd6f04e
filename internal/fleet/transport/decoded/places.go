package decoded

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// place is where a JSON value can stand, if quantities can be below it. JSON may state
// the kind of an answer at its end, or not at all, so a place covers all kinds that a
// client may decode.
type place struct {
	amount   bool              // A quantity stands here.
	fields   map[string]*place // Of a struct.
	values   *place            // Of a map, for any key.
	elements *place            // Of a list.
}

// of returns the place of a field; nil: no quantity is below it.
func (p *place) of(key string) *place {
	if p == nil {
		return nil
	}
	if field, ok := p.fields[key]; ok {
		return field
	}
	return p.values
}

// in returns the place of a list's elements.
func (p *place) in() *place {
	if p == nil {
		return nil
	}
	return p.elements
}

// outermost is the place of an answer, and so of an event of a watch, which contains an
// object. No other field with an object of any kind is decoded.
var outermost = sync.OnceValue(func() *place {
	types := slices.Collect(maps.Values(kinds))
	b := &builder{leads: map[reflect.Type]bool{quantityType: true}, made: map[string]*place{}}
	for before := 0; before != len(b.leads); { // Types may contain each other.
		before = len(b.leads)
		seen := map[reflect.Type]bool{}
		for _, t := range types {
			b.look(t, seen)
		}
	}
	p := b.place(types)
	p.fields["object"] = p
	return p
})

// builder makes the places, one for each set of types.
type builder struct {
	leads map[reflect.Type]bool // The types with a quantity below them.
	made  map[string]*place
}

// look adds to leads.
func (b *builder) look(t reflect.Type, seen map[reflect.Type]bool) {
	if seen[t] {
		return
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		b.look(t.Elem(), seen)
		if b.leads[t.Elem()] {
			b.leads[t] = true
		}
	case reflect.Struct:
		for i := range t.NumField() {
			b.look(t.Field(i).Type, seen)
			if b.leads[t.Field(i).Type] {
				b.leads[t] = true
			}
		}
	}
}

// place returns the place of these types; nil if none leads to a quantity.
func (b *builder) place(types []reflect.Type) *place {
	byName := map[string]reflect.Type{}
	for _, t := range types {
		if b.leads[t] {
			byName[fmt.Sprintf("%p", t)] = t // Names of types are not unique.
		}
	}
	if len(byName) == 0 {
		return nil
	}
	key := strings.Join(slices.Sorted(maps.Keys(byName)), " ")
	if made, ok := b.made[key]; ok {
		return made
	}
	p := &place{fields: map[string]*place{}}
	b.made[key] = p // First, since a place below may be the same.
	b.fill(p, maps.Values(byName))
	return p
}

func (b *builder) fill(p *place, types iter.Seq[reflect.Type]) {
	var values, elements []reflect.Type
	fields := map[string][]reflect.Type{}
	for t := range types {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch {
		case t == quantityType:
			p.amount = true
		case t.Kind() == reflect.Map:
			values = append(values, t.Elem())
		case t.Kind() == reflect.Slice:
			elements = append(elements, t.Elem())
		default:
			fieldsOf(t, fields)
		}
	}
	p.values, p.elements = b.place(values), b.place(elements)
	for name, types := range fields {
		p.fields[name] = b.place(append(types, values...))
	}
}

// fieldsOf adds the types of a struct's fields, by their JSON names.
func fieldsOf(t reflect.Type, fields map[string][]reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct {
			fieldsOf(f.Type, fields)
			continue
		}
		if f.IsExported() && name != "-" {
			name = cmp.Or(name, f.Name)
			fields[name] = append(fields[name], f.Type)
		}
	}
}
