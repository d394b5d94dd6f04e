package ui

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/spillway-io/spillway/api/v1alpha1"
	cloud "github.com/spillway-io/spillway/hosted/api/v1alpha1"
)

// TestBrowser looks at the map, at a pod that waits, and resolves a conflict of a hosted cluster with the mouse.
func TestBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-long PART=ui runs it")
	}
	b := newBrowser(t)
	prepare(t)
	url := serve(t, "--kubeconfig", kubeconfig(t, "admin", "default", "system:masters"))
	b.do(step{Do: "size", Width: 1280, Height: 860})
	b.do(step{Do: "open", At: url})
	b.see("#connection", "live")
	b.maps()
	b.waits()
	b.resolves()
	if problems := b.do(step{Do: "problems"}); problems != "" {
		t.Errorf("the page complains: %s", problems)
	}
	// The URL has worked once.
	b.do(step{Do: "value", Text: "sessionStorage.clear(), ''"})
	b.do(step{Do: "open", At: "about:blank"})
	b.do(step{Do: "open", At: url})
	b.see("#failure", "this URL was used already")
}

func prepare(t *testing.T) {
	t.Helper()
	provider(t, "eu", condition("Ready", "True", "Ready", ""))
	provider(t, "us", condition("Ready", "False", "Unreachable", "Get https://us.example.com:6443/readyz: i/o timeout"))
	for _, name := range []string{"shop", "batch"} {
		namespace(t, name)
	}
	offloading(t, "shop", true, "eu", "us")
	offloading(t, "batch", false, "eu")
	pods(t, "shop", "local", "worker-1", 6)
	pods(t, "shop", "web", v1alpha1.VirtualNodePrefix+"eu", 3)
	pods(t, "shop", "us", v1alpha1.VirtualNodePrefix+"us", 3)
	pods(t, "batch", "job", v1alpha1.VirtualNodePrefix+"eu", 4)
	pods(t, "shop", "stuck", "", 2, func(pod *corev1.Pod) {
		pod.Annotations = map[string]string{v1alpha1.AnnotationOverflow: "1=" + time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)}
	})
	conflict(t)
}

// maps sees the map, and what changes while it looks.
func (b *browser) maps() {
	b.see("#providers", "spillway-eu")
	b.see("#providers", "Unreachable: Get https://us.example.com:6443/readyz: i/o timeout")
	b.see("#providers", "4900m of 16")
	b.see("#ns-eu-shop", "3 run")
	b.see("#ns-here-shop", "6 run")
	b.see("#ns-none-shop", "2 wait")
	for _, more := range []struct{ name, shows string }{{"more", "6 run"}, {"yet", "9 run"}, {"last", "12 run"}} {
		pods(b.T, "shop", more.name, v1alpha1.VirtualNodePrefix+"eu", 3)
		b.see("#ns-eu-shop", more.shows)
	}
	b.see(".legend", "this cluster: 6")
	b.picture("map")
	b.do(step{Do: "dark"})
	b.picture("dark")
	b.do(step{Do: "dark", Text: "light"})
	b.click("#provider-us")
	b.see("#details", "i/o timeout")
	b.click("#details .close")
	b.gone("#details", "i/o timeout")
	// Another namespace is no longer there.
	b.click("#ns-eu-batch")
	b.gone("#map", "shop")
	b.see("#rows", "job-00")
	b.click("#clear")
	b.see("#map", "shop")
}

// waits sees why a pod waits, and which tiers were tried.
func (b *browser) waits() {
	b.see("#pods-count", "2 waiting pods")
	b.see("#rows", noRoom)
	b.see("#rows", "tier 0 (this cluster): open from the beginning")
	b.see("#rows", "tier 1 (eu): opened at")
	b.see("#rows", "tier 2 (us): opens at ")
	b.click("#ns-none-shop")
	b.see(".legend", "tier 1: eu: 12")
	b.do(step{Do: "value", Text: "document.getElementById('time').scrollIntoView(), ''"})
	b.picture("waits")
	b.click("#rows button")
	b.see("#details", "new pods use the tiers of spec.overflow in order")
	b.see("#details", noRoom)
	b.picture("pod", "#details")
	b.click("#details .close")
	b.click("#clear")
}

const shop = `
apiVersion: hosted.spillway.io/v1alpha1
kind: HostedCluster
metadata: {name: shop}
spec:
  credentials: {secretRef: {name: shop}}
  aksConfig: {resourceGroup: rg, clusterName: shop, resourceLocation: westeurope, tags: {owner: shop, cost: "7", stage: prod}}
status:
  observedGeneration: 1
  conditions:
  - {type: Ready, status: "True", reason: Runs, message: "", lastTransitionTime: "2026-11-28T10:00:00Z", observedGeneration: 1}
  - {type: InSync, status: "False", reason: Conflict, message: 'tags["owner"] was changed on both sides', lastTransitionTime: "2026-11-28T10:00:00Z", observedGeneration: 1}
  base:
  - {path: 'tags["owner"]', spec: '"platform"', upstream: '"platform"'}
  - {path: 'tags["cost"]', spec: '"7"', upstream: '"7"'}
  - {path: 'tags["stage"]', spec: '"prod"', upstream: '"test"'}
  conflicts:
  - {path: 'tags["owner"]', base: '"platform"', spec: '"shop"', upstream: '"console"', upstreamHash: abc, since: "2026-11-28T10:00:00Z"}
  managed:
  - {path: 'tags["owner"]', state: Conflict}
  upstreamSpec:
    aksConfig: {resourceGroup: rg, clusterName: shop, resourceLocation: westeurope, tags: {owner: console, cost: "7", stage: test}}
`

func conflict(t *testing.T) {
	t.Helper()
	h := &cloud.HostedCluster{}
	if err := yaml.UnmarshalStrict([]byte(shop), h); err != nil {
		t.Fatal(err)
	}
	create(t, h)
}

// resolves decides with the mouse, and plays the operator.
func (b *browser) resolves() {
	const take = `[data-take="spec"]`
	b.do(step{Do: "value", Text: "document.getElementById('hosted').scrollIntoView(), ''"})
	for _, value := range []string{`tags["owner"]`, `"platform"`, `"shop"`, `"console"`, "Conflict"} {
		b.see(".conflict", value)
	}
	b.see("#clusters", "Superseded")
	b.picture("hosted", "#hosted")
	b.click(".conflict " + take)
	b.see("#decide", "is lost")
	b.see("#decide", `"console"`)
	b.picture("resolve", "#decide")
	// The cloud changes while the user reads: nothing is written.
	b.edit(func(h *cloud.HostedCluster) {
		h.Status.UpstreamSpec.AKSConfig.Tags["owner"] = ptrTo("robot")
		h.Status.Conflicts[0].Upstream, h.Status.Conflicts[0].UpstreamHash = `"robot"`, "def"
	})
	b.see(".conflict", `"robot"`)
	b.click("#decide-yes")
	b.see("#decide", "has changed since you looked: nothing is written")
	if h := b.hosted(); len(h.Spec.Sync.Resolutions) > 0 {
		b.Errorf("the spec has %+v", h.Spec.Sync.Resolutions)
	}
	b.click("#decide .close")
	b.click(".conflict " + take)
	b.click("#decide-yes")
	b.see("#decide", "the operator has not processed the spec yet")
	h := b.hosted()
	if want := (cloud.Resolution{Path: `tags["owner"]`, Take: cloud.SideSpec, UpstreamHash: "def"}); len(h.Spec.Sync.Resolutions) != 1 || h.Spec.Sync.Resolutions[0] != want {
		b.Errorf("the spec has %+v", h.Spec.Sync.Resolutions)
	}
	b.edit(func(h *cloud.HostedCluster) {
		h.Status.ObservedGeneration = h.Generation
		h.Status.Conflicts, h.Status.Managed = nil, []cloud.ManagedField{{Path: `tags["owner"]`, State: "Agreed"}}
		h.Status.UpstreamSpec.AKSConfig.Tags["owner"] = ptrTo("shop")
		h.Status.Base[0].Spec, h.Status.Base[0].Upstream = ptrTo(`"shop"`), `"shop"`
	})
	b.see("#decide", "the spec's value holds. Lost is")
	b.see("#decide", "Done.")
	b.click("#decide .close")
	b.gone(".fields", `tags["owner"]`)
}

func ptrTo(text string) *string { return &text }

func (b *browser) hosted() *cloud.HostedCluster {
	b.Helper()
	h := &cloud.HostedCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	if err := server.Get(b.Context(), client.ObjectKeyFromObject(h), h); err != nil {
		b.Fatal(err)
	}
	return h
}

// edit changes the status, as the operator does.
func (b *browser) edit(change func(*cloud.HostedCluster)) {
	b.Helper()
	if err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		h := b.hosted()
		change(h)
		return server.Status().Update(b.Context(), h)
	}); err != nil {
		b.Fatal(err)
	}
}
