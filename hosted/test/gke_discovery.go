package hosted

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// discovery is the part of Google's description of an API that this package needs.
type discovery struct {
	Schemas   map[string]*property `json:"schemas"`
	Resources map[string]resource  `json:"resources"`

	methods []method
}

type resource struct {
	Methods   map[string]method   `json:"methods"`
	Resources map[string]resource `json:"resources"`
}

type method struct {
	ID       string     `json:"id"`
	Verb     string     `json:"httpMethod"`
	FlatPath string     `json:"flatPath"`
	Request  *reference `json:"request"`
	Response *reference `json:"response"`

	pattern *regexp.Regexp
}

type reference struct {
	Ref string `json:"$ref"`
}

type property struct {
	Ref        string               `json:"$ref"`
	Type       string               `json:"type"`
	Format     string               `json:"format"`
	Enum       []string             `json:"enum"`
	Items      *property            `json:"items"`
	Additional *property            `json:"additionalProperties"`
	Properties map[string]*property `json:"properties"`
}

var placeholder = regexp.MustCompile(`\{\w+\}`)

// newDiscovery reads container-api.json of Google's library.
func newDiscovery(text []byte) (*discovery, error) {
	d := &discovery{}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("reading the description of the API: %w", err)
	}
	d.collect(d.Resources)
	if len(d.methods) == 0 {
		return nil, fmt.Errorf("the description of the API has no methods")
	}
	return d, nil
}

func (d *discovery) collect(resources map[string]resource) {
	for _, r := range resources {
		for _, m := range r.Methods {
			m.pattern = regexp.MustCompile("^/" + placeholder.ReplaceAllString(m.FlatPath, `([^/:]+)`) + "$")
			d.methods = append(d.methods, m)
		}
		d.collect(r.Resources)
	}
}

// find returns the method of a request, and the names in its path.
func (d *discovery) find(r *http.Request) (*method, []string) {
	for i, m := range d.methods {
		if found := m.pattern.FindStringSubmatch(r.URL.Path); found != nil && m.Verb == r.Method && strings.Contains(m.ID, ".locations.") {
			return &d.methods[i], found[1:]
		}
	}
	return nil, nil
}

// check returns an error for what a value has but the schema does not.
func (d *discovery) check(at string, value any, want *property) error {
	if want.Ref != "" {
		want = d.Schemas[want.Ref]
	}
	switch v := value.(type) {
	case nil:
		return nil
	case map[string]any:
		return d.checkObject(at, v, want)
	case []any:
		if want.Type != "array" {
			return wrong(at, value)
		}
		for i, item := range v {
			if err := d.check(fmt.Sprintf("%s[%d]", at, i), item, want.Items); err != nil {
				return err
			}
		}
		return nil
	case bool:
		return d.scalar(at, value, want.Type == "boolean")
	case float64:
		whole := want.Type == "integer" || want.Type == "string" && want.Format == "int64"
		return d.scalar(at, value, want.Type == "number" || whole && v == float64(int64(v)))
	case string:
		_, err := strconv.ParseInt(v, 10, 64)
		return d.scalar(at, value, want.Type == "string" && (want.Format != "int64" || err == nil) && (len(want.Enum) == 0 || slices.Contains(want.Enum, v)))
	default:
		return wrong(at, value)
	}
}

func (d *discovery) checkObject(at string, object map[string]any, want *property) error {
	if want.Type != "object" {
		return wrong(at, object)
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		of := want.Properties[name]
		if of == nil {
			of = want.Additional
		}
		if of == nil {
			return fmt.Errorf("unknown name %q at '%s': cannot find field", name, at)
		}
		if err := d.check(strings.TrimPrefix(at+"."+name, "."), object[name], of); err != nil {
			return err
		}
	}
	return nil
}

func (d *discovery) scalar(at string, value any, ok bool) error {
	if !ok {
		return wrong(at, value)
	}
	return nil
}

func wrong(at string, value any) error {
	return fmt.Errorf("invalid value at '%s', %v", at, value)
}
