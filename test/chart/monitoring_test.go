package chart

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestMonitoring: the values bring what Prometheus and Grafana read, and a manager that serves it. By default
// there is nothing of it, as TestSameObjects shows.
func TestMonitoring(t *testing.T) {
	objects := byName(rendered(t, "spillway", "--namespace", "elsewhere", "--set", "monitoring.dashboards=true,monitoring.rules=true,monitoring.serviceMonitor=true,monitoring.labels.release=prometheus"))
	part := func(name string, path ...string) any {
		t.Helper()
		object, ok := objects[name].(map[string]any)
		if !ok {
			t.Fatalf("there is no %s", name)
		}
		value, found, err := unstructured.NestedFieldNoCopy(object, path...)
		if err != nil || !found {
			t.Fatalf("%s has no %s", name, strings.Join(path, "."))
		}
		return value
	}
	dashboards := part("ConfigMap elsewhere/spillway-dashboards", "data").(map[string]any)
	for _, name := range []string{"spillway.json", "hosted.json"} {
		var dashboard struct {
			Panels []any `json:"panels"`
		}
		if err := json.Unmarshal([]byte(dashboards[name].(string)), &dashboard); err != nil || len(dashboard.Panels) < 5 {
			t.Errorf("%s has %d panels (%v)", name, len(dashboard.Panels), err)
		}
	}
	if labels := part("ConfigMap elsewhere/spillway-dashboards", "metadata", "labels").(map[string]any); labels["grafana_dashboard"] != "1" {
		t.Errorf("the labels of the dashboards are %v", labels)
	}
	groups := part("PrometheusRule elsewhere/spillway", "spec", "groups").([]any)
	rules := groups[0].(map[string]any)["rules"].([]any)
	if first := rules[2].(map[string]any)["annotations"].(map[string]any)["summary"]; len(rules) < 10 || first != "ClusterBinding {{ $labels.binding }} is not Ready." {
		t.Errorf("there are %d alerts, of which one says %v", len(rules), first)
	}
	for _, name := range []string{"PrometheusRule elsewhere/spillway", "ServiceMonitor elsewhere/spillway"} {
		if labels := part(name, "metadata", "labels").(map[string]any); labels["release"] != "prometheus" {
			t.Errorf("the labels of %s are %v", name, labels)
		}
	}
	monitor, err := json.Marshal(part("ServiceMonitor elsewhere/spillway", "spec"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"credentials":{"key":"token","name":"spillway-metrics"}`, `"scheme":"https"`, `"jobLabel":"app.kubernetes.io/name"`} {
		if !strings.Contains(string(monitor), want) {
			t.Errorf("the ServiceMonitor has no %s: %s", want, monitor)
		}
	}
	containers := part("Deployment elsewhere/spillway-manager", "spec", "template", "spec", "containers").([]any)
	if args, _ := json.Marshal(containers[0].(map[string]any)["args"]); !strings.Contains(string(args), `"--metrics-secure"`) {
		t.Errorf("the manager serves its metrics openly: %s", args)
	}
	part("Secret elsewhere/spillway-metrics", "metadata", "annotations")
	part("Service elsewhere/spillway-metrics", "spec", "selector")
}

// TestJobOfRules: alerts look for the job of the scrape that there is. Without one, the critical alert would fire for ever.
func TestJobOfRules(t *testing.T) {
	const rules = "PrometheusRule elsewhere/spillway"
	for job, values := range map[string]string{"monitoring/spillway": "monitoring.job=monitoring/spillway", "spillway": "monitoring.serviceMonitor=true"} {
		objects := byName(rendered(t, "spillway", "--namespace", "elsewhere", "--set", "monitoring.rules=true,"+values))
		text, err := json.Marshal(objects[rules])
		if err != nil {
			t.Fatal(err)
		}
		const alerts, both = 15, 2
		got, of := strings.Count(string(text), `job=\"`+job+`\"`), strings.Count(string(text), `job=~\"`+job+`|spillway-hosted\"`)
		if got < alerts-both || of != both || job != "spillway" && strings.Contains(string(text), `\"spillway\"`) {
			t.Errorf("of job %s there are %d queries, and %d with that of hosted clusters", job, got, of)
		}
	}
	if _, err := helm(t.Context(), t, "template", "test", "charts/spillway", "--set", "monitoring.rules=true"); err == nil || !strings.Contains(err.Error(), "monitoring.job") {
		t.Errorf("rules without a job are rendered: %v", err)
	}
}
