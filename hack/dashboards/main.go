// Command dashboards writes the Grafana dashboards of the chart from short descriptions. A description has
// what a reader of a dashboard sees: rows, panels, queries and legends. All else is the same for each panel.
// make generate runs this command.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// dashboard is a description.
type dashboard struct {
	Title       string `json:"title"`
	UID         string `json:"uid"`
	Description string `json:"description"`
	// Jobs and Clusters are series whose labels job and cluster the reader can choose from.
	Jobs     string `json:"jobs"`
	Clusters string `json:"clusters,omitempty"`
	Rows     []row  `json:"rows"`
}

type row struct {
	Title  string  `json:"title"`
	Panels []panel `json:"panels"`
}

type panel struct {
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
	// Kind is a kind of panel in Grafana. The default is timeseries.
	Kind    string   `json:"kind,omitempty"`
	Unit    string   `json:"unit,omitempty"`
	Max     *float64 `json:"max,omitempty"`
	Queries []query  `json:"queries"`
}

type query struct {
	Expr   string `json:"expr"`
	Legend string `json:"legend,omitempty"`
}

type object = map[string]any

// The grid of Grafana has 24 columns. A stat takes half the height.
const (
	columns, width, height = 24, 8, 8
	statWidth              = 4
)

func main() {
	if err := generate("hack/dashboards", "charts/spillway/dashboards"); err != nil {
		fmt.Fprintln(os.Stderr, "dashboards:", err)
		os.Exit(1)
	}
}

func generate(from, to string) error {
	descriptions, err := filepath.Glob(filepath.Join(from, "*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range descriptions {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var d dashboard
		if err := yaml.UnmarshalStrict(text, &d); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		out, err := json.MarshalIndent(d.grafana(), "", " ")
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(filepath.Base(file), ".yaml") + ".json"
		if err := os.WriteFile(filepath.Join(to, name), append(out, '\n'), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// grafana returns the dashboard as Grafana reads it.
func (d dashboard) grafana() object {
	variables := []object{
		{"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"},
		variable("job", "Job", d.Jobs, false),
	}
	if d.Clusters != "" {
		variables = append(variables, variable("cluster", "Provider", d.Clusters+`{job="$job"}`, true))
	}
	var panels []object
	id, y := 0, 0
	for _, r := range d.Rows {
		id++
		panels = append(panels, object{"id": id, "type": "row", "title": r.Title, "collapsed": false, "panels": []object{}, "gridPos": object{"x": 0, "y": y, "w": columns, "h": 1}})
		y++
		x := 0
		for _, p := range r.Panels {
			w := width
			if p.Kind == "stat" {
				w = statWidth
			}
			if x+w > columns {
				x, y = 0, y+height
			}
			id++
			panels = append(panels, p.grafana(id, object{"x": x, "y": y, "w": w, "h": height}))
			x += w
		}
		y += height
	}
	return object{
		"title": d.Title, "uid": d.UID, "description": d.Description, "tags": []string{"spillway"},
		"schemaVersion": 39, "editable": true, "refresh": "30s", "timezone": "browser",
		"time":       object{"from": "now-3h", "to": "now"},
		"templating": object{"list": variables}, "panels": panels,
	}
}

// variable is a label whose value the reader chooses, or several values.
func variable(name, label, series string, several bool) object {
	v := object{
		"name": name, "label": label, "type": "query", "datasource": source, "refresh": 2, "sort": 1,
		"query": object{"query": fmt.Sprintf("label_values(%s, %s)", series, name), "refId": name},
	}
	if several {
		v["multi"], v["includeAll"] = true, true
		v["current"] = object{"text": "All", "value": "$__all"}
	}
	return v
}

var source = object{"type": "prometheus", "uid": "${datasource}"}

func (p panel) grafana(id int, at object) object {
	kind, fields := p.Kind, object{"unit": p.Unit, "min": 0}
	if kind == "" {
		kind = "timeseries"
	}
	if p.Unit == "" {
		fields["unit"] = "short"
	}
	if p.Max != nil {
		fields["max"] = *p.Max
	}
	var targets []object
	for i, q := range p.Queries {
		targets = append(targets, object{"refId": string(rune('A' + i)), "datasource": source, "expr": q.Expr, "legendFormat": q.Legend})
	}
	return object{
		"id": id, "type": kind, "title": p.Title, "description": p.Description, "datasource": source,
		"gridPos": at, "fieldConfig": object{"defaults": fields, "overrides": []object{}}, "targets": targets,
	}
}
