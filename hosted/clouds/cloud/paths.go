package cloud

import "strings"

// Get returns the value at a path, such as properties.mode, of an object as the cloud sent it.
func Get(object map[string]any, path string) any {
	name, rest, more := strings.Cut(path, ".")
	if !more {
		return object[name]
	}
	next, _ := object[name].(map[string]any)
	return Get(next, rest)
}

// Text returns the text at a path; empty if there is none.
func Text(object map[string]any, path string) string {
	text, _ := Get(object, path).(string)
	return text
}

// Put returns a copy of the object with the value at the path. It does not change the object.
func Put(object map[string]any, path string, value any) map[string]any {
	out := make(map[string]any, len(object)+1)
	for k, v := range object {
		out[k] = v
	}
	name, rest, more := strings.Cut(path, ".")
	if more {
		next, _ := object[name].(map[string]any)
		value = Put(next, rest, value)
	}
	out[name] = value
	return out
}

// Set returns the configuration without null values. Null deletes a key of a map, and a new cluster has nothing
// to delete.
func Set(config map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range config {
		if value != nil {
			out[name] = set(value)
		}
	}
	return out
}

func set(value any) any {
	switch v := value.(type) {
	case map[string]any:
		return Set(v)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = set(item)
		}
		return out
	default:
		return value
	}
}
