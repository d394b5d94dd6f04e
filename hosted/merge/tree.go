package merge

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Tree returns a typed configuration in its JSON form, as Merge takes it. Nil values are absent; empty ones
// are present.
func Tree(config any) (map[string]any, error) {
	text, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("writing a configuration as JSON: %w", err)
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, fmt.Errorf("reading a configuration as JSON: %w", err)
	}
	return tree, nil
}

// Typed fills a typed configuration. A field that the type lacks is an error, because it would be lost.
func Typed(tree map[string]any, config any) error {
	text, err := json.Marshal(tree)
	if err != nil {
		return fmt.Errorf("writing a configuration as JSON: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(config); err != nil {
		return fmt.Errorf("filling a %T: %w", config, err)
	}
	return nil
}
