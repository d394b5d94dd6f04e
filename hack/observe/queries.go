// Package observe checks the Grafana dashboards and the alerts of the chart with Prometheus' own code, and
// draws the dashboards as Prometheus answers their queries over sample series. It is a module of its own, so
// that Prometheus is no dependency of the product. make alerts runs it.
package observe

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/rulefmt"
	"go.yaml.in/yaml/v3"
)

// chart is where the chart has dashboards and rules.
const chart = "../../charts/spillway"

// dashboard is the part of a Grafana dashboard that is read here.
type dashboard struct {
	Title      string  `json:"title"`
	Panels     []panel `json:"panels"`
	Templating struct {
		List []struct {
			Name string `json:"name"`
			Type string `json:"type"`
			// Query is a text or an object, as the type of the variable wants it.
			Query json.RawMessage `json:"query"`
		} `json:"list"`
	} `json:"templating"`
}

type panel struct {
	Title       string `json:"title"`
	Type        string `json:"type"`
	FieldConfig struct {
		Defaults struct {
			Unit string `json:"unit"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
	Targets []target `json:"targets"`
}

type target struct {
	Expr   string `json:"expr"`
	Legend string `json:"legendFormat"`
}

// dashboards returns the dashboards of the chart by file name.
func dashboards() (map[string]dashboard, error) {
	files, err := filepath.Glob(filepath.Join(chart, "dashboards", "*.json"))
	if err != nil {
		return nil, err
	}
	all := map[string]dashboard{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var d dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".json")] = d
	}
	return all, nil
}

// expand replaces the variables of Grafana, as Grafana does it for all providers and one job.
func expand(expr, job string) string {
	return strings.NewReplacer("$__rate_interval", "5m", "$job", job, "$cluster", ".*").Replace(expr)
}

var labelValues = regexp.MustCompile(`^label_values\((.*), ([a-z_]+)\)$`)

// source is a query with the place that it is from, and with further labels that it uses.
type source struct {
	place, expr string
	labels      []string
}

var inLegend = regexp.MustCompile(`{{ *(?:\$labels\.)?([a-z_]+) *}}`)

// named returns the labels that a legend or an annotation names.
func named(text string) []string {
	var labels []string
	for _, match := range inLegend.FindAllStringSubmatch(text, -1) {
		labels = append(labels, match[1])
	}
	return labels
}

// sources returns all queries: of the panels, of the variables, and of the alerts.
func sources() ([]source, error) {
	all, err := dashboards()
	if err != nil {
		return nil, err
	}
	var found []source
	for name, d := range all {
		for _, p := range d.Panels {
			for _, t := range p.Targets {
				found = append(found, source{name + ": " + p.Title, expand(t.Expr, "spillway"), named(t.Legend)})
			}
		}
		for _, v := range d.Templating.List {
			var query struct {
				Query string `json:"query"`
			}
			if v.Type != "query" {
				continue
			}
			if err := json.Unmarshal(v.Query, &query); err != nil {
				return nil, fmt.Errorf("%s: variable %s: %w", name, v.Name, err)
			}
			match := labelValues.FindStringSubmatch(query.Query)
			if match == nil {
				return nil, fmt.Errorf("%s: variable %s has the query %q", name, v.Name, query.Query)
			}
			found = append(found, source{name + ": variable " + v.Name, expand(match[1], "spillway"), match[2:]})
		}
	}
	groups, err := rules()
	if err != nil {
		return nil, err
	}
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			labels := named(rule.Annotations["summary"])
			found = append(found, source{"alert " + rule.Alert, rule.Expr, slices.DeleteFunc(labels, func(l string) bool { return l == "value" })})
		}
	}
	return found, nil
}

// rules returns the alerts of the chart.
func rules() (*rulefmt.RuleGroups, error) {
	text, err := os.ReadFile(filepath.Join(chart, "rules", "spillway.yaml"))
	if err != nil {
		return nil, err
	}
	var groups rulefmt.RuleGroups
	return &groups, yaml.Unmarshal(text, &groups)
}
