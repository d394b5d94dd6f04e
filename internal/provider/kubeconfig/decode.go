package kubeconfig

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
)

// decode fills doc from a YAML tree that checkPlain has accepted. Field names are
// case-sensitive, as for kubectl.
func decode(root *yaml.Node, doc *clientcmdv1.Config) error {
	return decodeValue(root, reflect.ValueOf(doc).Elem(), "")
}

// decodeValue fills v, a part of a Config, from node. An explicit null leaves v as it is,
// like a missing field.
func decodeValue(node *yaml.Node, v reflect.Value, path string) error {
	if node.ShortTag() == "!!null" {
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return decodeValue(node, v.Elem(), path)
	case reflect.Struct:
		return decodeStruct(node, v, path)
	case reflect.Map:
		return decodeMap(node, v, path)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return decodeBytes(node, v, path)
		}
		return decodeList(node, v, path)
	default:
		return decodeScalar(node, v, path)
	}
}

func decodeStruct(node *yaml.Node, v reflect.Value, path string) error {
	fields := fieldsByName(v.Type())
	return eachPair(node, path, func(key, value *yaml.Node) error {
		index, known := fields[key.Value]
		switch {
		case !known:
			return malformed(key, path, "unknown field; fields are case-sensitive")
		case key.Value == "extensions" || key.Value == "preferences":
			return nil // Only minikube and kubectl use them.
		}
		return decodeValue(value, v.Field(index), join(path, key.Value))
	})
}

// fieldsByName maps the field names of a struct in a document to their indices.
func fieldsByName(t reflect.Type) map[string]int {
	fields := make(map[string]int, t.NumField())
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		fields[name] = i
	}
	return fields
}

// decodeMap fills a map with string keys. Errors about its values name only the map,
// since its keys are the user's.
func decodeMap(node *yaml.Node, v reflect.Value, path string) error {
	v.Set(reflect.MakeMap(v.Type()))
	return eachPair(node, path, func(key, value *yaml.Node) error {
		element := reflect.New(v.Type().Elem()).Elem()
		if err := decodeValue(value, element, path); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(key.Value), element)
		return nil
	})
}

// eachPair calls f for the pairs of a mapping, in order, and refuses a key that is no
// string or a duplicate.
func eachPair(node *yaml.Node, path string, f func(key, value *yaml.Node) error) error {
	if node.Kind != yaml.MappingNode {
		return malformed(node, path, "must be a mapping")
	}
	seen := make(map[string]bool, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		switch {
		case key.ShortTag() != "!!str":
			return malformed(key, path, "a field's name must be a string")
		case seen[key.Value]:
			return malformed(key, path, "a field is given twice")
		}
		seen[key.Value] = true
		if err := f(key, value); err != nil {
			return err
		}
	}
	return nil
}

func decodeList(node *yaml.Node, v reflect.Value, path string) error {
	if node.Kind != yaml.SequenceNode {
		return malformed(node, path, "must be a list")
	}
	v.Set(reflect.MakeSlice(v.Type(), len(node.Content), len(node.Content)))
	for i, child := range node.Content {
		if err := decodeValue(child, v.Index(i), fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return err
		}
	}
	return nil
}

func decodeBytes(node *yaml.Node, v reflect.Value, path string) error {
	if node.ShortTag() != "!!str" {
		return malformed(node, path, "must be a string of base64")
	}
	decoded, err := base64.StdEncoding.DecodeString(node.Value)
	if err != nil {
		return malformed(node, path, "is not valid base64")
	}
	v.SetBytes(decoded)
	return nil
}

func decodeScalar(node *yaml.Node, v reflect.Value, path string) error {
	switch tag := node.ShortTag(); {
	case v.Kind() == reflect.String && tag == "!!str":
		v.SetString(node.Value)
	case v.Kind() == reflect.Bool && tag == "!!bool":
		v.SetBool(strings.EqualFold(node.Value, "true"))
	case v.Kind() == reflect.Bool:
		return malformed(node, path, "must be true or false")
	default:
		return malformed(node, path, "must be a string; put it in quotes")
	}
	return nil
}

// malformed is an error with the line of a node.
func malformed(node *yaml.Node, path, message string) error {
	return invalid(path, fmt.Sprintf("line %d: %s", node.Line, message))
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
