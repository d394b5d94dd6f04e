package merge

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
)

// Text is a value as JSON, with keys and sets sorted. Empty values (null, false, 0, "", [] and {}) are null,
// because clouds leave them out of their answers.
type Text string

// Null is the Text of an empty or missing value.
const Null Text = "null"

// text returns the Text of a value of this field.
func (f *Field) text(value any) Text { return textOf(f.canonical(value)) }

func textOf(canonical any) Text {
	text, err := json.Marshal(canonical)
	if err != nil {
		// Values come from JSON, so they can be encoded.
		panic(err)
	}
	return Text(text)
}

func (t Text) value() any {
	var v any
	if err := json.Unmarshal([]byte(t), &v); err != nil {
		return nil
	}
	return canonical(v)
}

// canonical returns the normalised value, or nil if it is empty.
func (f *Field) canonical(value any) any {
	value = f.normalize(value)
	if f.Shape != Set {
		return canonical(value)
	}
	list, _ := value.([]any)
	items := slices.Clone(list)
	slices.SortFunc(items, func(a, b any) int { return strings.Compare(string(textOf(a)), string(textOf(b))) })
	items = slices.CompactFunc(items, func(a, b any) bool { return textOf(a) == textOf(b) })
	return canonical(items)
}

func (f *Field) normalize(value any) any {
	if f.Normalize == nil || value == nil {
		return value
	}
	list, ok := value.([]any)
	if f.Shape != Set || !ok {
		return f.Normalize(value)
	}
	items := make([]any, len(list))
	for i, item := range list {
		items[i] = f.Normalize(item)
	}
	return items
}

func canonical(value any) any {
	switch v := value.(type) {
	case nil:
		return nil
	case bool:
		if !v {
			return nil
		}
	case string:
		if v == "" {
			return nil
		}
	case int:
		return canonical(float64(v))
	case int32:
		return canonical(float64(v))
	case int64:
		return canonical(float64(v))
	case float64:
		if v == 0 {
			return nil
		}
	case []any:
		return canonicalList(v)
	case map[string]any:
		return canonicalMap(v)
	}
	return value
}

// canonicalList keeps empty items, because they have a position in the list.
func canonicalList(list []any) any {
	if len(list) == 0 {
		return nil
	}
	out := make([]any, len(list))
	for i, item := range list {
		out[i] = canonical(item)
	}
	return out
}

func canonicalMap(m map[string]any) any {
	out := map[string]any{}
	for k, item := range m {
		if c := canonical(item); c != nil {
			out[k] = c
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// zero returns the empty value of the same type.
func zero(value any) any {
	switch value.(type) {
	case bool:
		return false
	case string:
		return ""
	case []any:
		return []any{}
	case map[string]any:
		return map[string]any{}
	default:
		return int64(0)
	}
}

// digest returns a short hash of the parts.
func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(textOf(parts)))
	return hex.EncodeToString(sum[:8])
}
