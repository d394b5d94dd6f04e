package kubeconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
)

func parse(data []byte) (*clientcmdv1.Config, error) {
	root, err := parseYAML(data)
	if err != nil {
		return nil, err
	}
	if err := checkPlain(root); err != nil {
		return nil, err
	}
	doc := &clientcmdv1.Config{}
	if err := decode(root, doc); err != nil {
		return nil, err
	}
	if doc.Kind != "" && doc.Kind != "Config" {
		return nil, invalid("kind", "must be Config")
	}
	if doc.APIVersion != "" && doc.APIVersion != "v1" {
		return nil, invalid("apiVersion", "must be v1")
	}
	return doc, nil
}

// parseYAML returns the root node of the single document in data. It drops the YAML
// parser's errors, which quote the document.
func parseYAML(data []byte) (*yaml.Node, error) {
	switch {
	case len(data) > MaxSize:
		return nil, invalid("", "the kubeconfig is larger than 1 MiB")
	case bytes.IndexByte(data, 0) >= 0:
		return nil, invalid("", "the kubeconfig has a NUL byte; it must be a YAML document")
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var doc, next yaml.Node
	switch err := decoder.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, invalid("", "the kubeconfig is empty")
	case err != nil:
		return nil, invalid("", "the kubeconfig is not valid YAML")
	}
	if err := decoder.Decode(&next); !errors.Is(err, io.EOF) {
		return nil, invalid("", "the kubeconfig must be a single YAML document")
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, invalid("", "the kubeconfig must be a YAML mapping with clusters, users and contexts")
	}
	return doc.Content[0], nil
}

// checkPlain refuses everything in YAML beyond nested mappings, lists and values:
// aliases, which can make a small document huge and hide where a value comes from, and
// tags, which change what a value is. The parser limits the depth of the recursion to
// 10000 levels.
func checkPlain(node *yaml.Node) error {
	switch {
	case node.Kind == yaml.AliasNode || node.Anchor != "":
		return invalid("", fmt.Sprintf("line %d: YAML anchors and aliases are not allowed", node.Line))
	case node.Style&yaml.TaggedStyle != 0:
		return invalid("", fmt.Sprintf("line %d: YAML tags are not allowed", node.Line))
	}
	for _, child := range node.Content {
		if err := checkPlain(child); err != nil {
			return err
		}
	}
	return nil
}
