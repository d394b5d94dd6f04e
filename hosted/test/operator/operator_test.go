package operator_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	controllerconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/operator"
	"github.com/spillway-io/spillway/internal/conditions"
)

// TestOperator runs the whole operator. It notices a new object, a changed Secret, a changed spec and a
// deletion before the next refresh, which is five minutes later. It also notices the end of another object
// for the same cluster.
func TestOperator(t *testing.T) {
	r := newRig(t)
	cluster := r.clouds.addAKS(t, "whole")
	ctx, cancel := context.WithCancel(t.Context())
	mgr, err := operator.New(config, operator.Options{Namespace: "default", Clouds: r.clouds.dialer(), Manager: ctrl.Options{
		Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0", Logger: logr.Discard(),
		Controller: controllerconfig.Controller{SkipNameValidation: ptr.To(true)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	name := "whole"
	until := func(what string, is func(h *v1alpha1.HostedCluster) bool) {
		t.Helper()
		err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			h := &v1alpha1.HostedCluster{}
			err := server.Get(ctx, keyOf(name), h)
			return err == nil && is(h), err
		})
		if err != nil {
			t.Fatalf("waiting until %s: %v", what, err)
		}
	}
	credentials := func(reason string) func(h *v1alpha1.HostedCluster) bool {
		return func(h *v1alpha1.HostedCluster) bool {
			return conditions.Reason(h.Status.Conditions, v1alpha1.HostedCredentialsValid) == reason
		}
	}
	r.cluster("whole", "aksConfig: {resourceGroup: rg, clusterName: whole, resourceLocation: westeurope}")
	until("it is imported", credentials(v1alpha1.ReasonAccepted))

	secret := r.secret("whole")
	right := secret.Data["clientSecret"]
	secret.Data["clientSecret"] = []byte("wrong")
	if err := server.Update(ctx, secret); err != nil {
		t.Fatal(err)
	}
	until("a wrong Secret is noticed", credentials(v1alpha1.ReasonRejected))
	secret.Data["clientSecret"] = right
	if err := server.Update(ctx, secret); err != nil {
		t.Fatal(err)
	}
	until("a right one is noticed", credentials(v1alpha1.ReasonAccepted))

	h := r.get("whole")
	h.Spec.AKSConfig.Tags = map[string]*string{"owner": ptr.To("us")}
	if err := server.Update(ctx, h); err != nil {
		t.Fatal(err)
	}
	until("the edit is sent", func(*v1alpha1.HostedCluster) bool { return len(cluster.Changes()) == 1 })
	ready := func(reason string) func(h *v1alpha1.HostedCluster) bool {
		return func(h *v1alpha1.HostedCluster) bool {
			return conditions.Reason(h.Status.Conditions, v1alpha1.HostedReady) == reason
		}
	}
	name = "whole-too"
	second := &v1alpha1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: h.Spec}
	if err := server.Create(ctx, second); err != nil {
		t.Fatal(err)
	}
	until("a second one is refused", ready(v1alpha1.ReasonDuplicate))
	for _, object := range []*v1alpha1.HostedCluster{h, second} {
		if err := server.Delete(ctx, object); err != nil {
			t.Fatal(err)
		}
		if object == h {
			until("the second one goes on", ready(v1alpha1.ReasonRuns))
		}
		if err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			return server.Get(ctx, keyOf(object.Name), &v1alpha1.HostedCluster{}) != nil, nil
		}); err != nil {
			t.Errorf("%s stays", object.Name)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestHangingCloud: a cloud does not answer for one account, which has more clusters than the operator works on
// at a time. All other clusters are read nevertheless, also those with the same credentials in another region.
func TestHangingCloud(t *testing.T) {
	r := newRig(t)
	answer := make(chan struct{})
	t.Cleanup(func() { close(answer) }) // Before the server closes.
	r.clouds.before = func(q *http.Request, _, _ string) string {
		if strings.Contains(q.Header.Get("Authorization"), "/hangs/") {
			select {
			case <-answer:
			case <-q.Context().Done():
			}
		}
		return ""
	}
	cluster := func(name, region, secret string) {
		r.clouds.addEKS(t, name)
		r.cluster(name, fmt.Sprintf("credentials: {secretRef: {name: %s}}\neksConfig: {displayName: %s, region: %s}", secret, name, region))
	}
	for i := range 70 {
		cluster(fmt.Sprintf("hangs-%d", i), "hangs", "hangs-0")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	mgr, err := operator.New(config, operator.Options{Namespace: "default", Clouds: r.clouds.dialer(), Manager: ctrl.Options{
		Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0", Logger: logr.Discard(),
		Controller: controllerconfig.Controller{SkipNameValidation: ptr.To(true)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	until := func(what string, is func() bool) {
		t.Helper()
		if wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return is(), nil }) != nil {
			t.Fatal("waiting until", what)
		}
	}
	until("as many requests hang as may", func() bool { requests, _ := r.clouds.counts(); return requests >= 4 })
	cluster("other", "r", "other")
	cluster("region", "r", "hangs-0")
	for _, name := range []string{"other", "region"} {
		until(name+" is read", func() bool {
			return conditions.Reason(r.get(name).Status.Conditions, v1alpha1.HostedReady) == v1alpha1.ReasonRuns
		})
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
