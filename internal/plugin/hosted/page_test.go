package hosted

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/plugin/cli"
)

const conflicting = `
spec:
  credentials: {secretRef: {name: a}}
  aksConfig: {resourceGroup: rg, clusterName: shop, resourceLocation: west, tags: {owner: shop, cost: "7", team: a}}
status:
  observedGeneration: 1
  base:
  - {path: 'tags["owner"]', spec: '"platform"', upstream: '"platform"'}
  - {path: 'tags["cost"]', spec: '"7"', upstream: '"7"'}
  - {path: 'tags["team"]', spec: '"a"', upstream: '"b"'}
  upstreamSpec:
    aksConfig: {resourceGroup: rg, clusterName: shop, resourceLocation: west, tags: {owner: console, cost: "7", team: b}}
`

func conflicted(t *testing.T) *v1alpha1.HostedCluster {
	t.Helper()
	h := &v1alpha1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop", UID: "u", Generation: 1}}
	if err := yaml.UnmarshalStrict([]byte(conflicting), h); err != nil {
		t.Fatal(err)
	}
	return h
}

func TestPageOf(t *testing.T) {
	h := conflicted(t)
	page := PageOf(h, time.Now())
	got := map[string]string{}
	shown := map[string]bool{}
	for _, row := range page.Fields {
		got[row.Path] = strings.Join([]string{row.Before, row.Spec, row.Cloud, row.State, strings.Join(row.Takes, " or ")}, "; ")
		shown[row.Shown] = true
	}
	want := map[string]string{`tags["owner"]`: `"platform"; "shop"; "console"; Conflict; spec or cloud`, `tags["team"]`: `"b"; "a"; "b"; Superseded; spec or cloud`}
	for path, row := range want {
		if got[path] != row {
			t.Errorf("%s: %s, want %s", path, got[path], row)
		}
	}
	if len(page.Fields) != len(want) || len(shown) != len(want) || page.Agree == 0 || page.Error != "" {
		t.Errorf("the page is %+v", page)
	}
	// What the user has seen is no longer there once a value changes.
	h.Status.UpstreamSpec.AKSConfig.Tags["owner"] = new(string)
	if again := PageOf(h, time.Now()); again.Fields[0].Shown == page.Fields[0].Shown && again.Fields[1].Shown == page.Fields[1].Shown {
		t.Error("another value has the same digest")
	}
	if page := PageOf(&v1alpha1.HostedCluster{}, time.Now()); page.Error == "" || page.Fields == nil {
		t.Errorf("without a cloud: %+v", page)
	}
}

func TestDecideWhat(t *testing.T) {
	if err := Decide(t.Context(), nil, &cli.Output{}, Choice{Take: "both"}); err == nil {
		t.Error("both sides are taken")
	}
}
