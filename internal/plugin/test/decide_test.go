package test

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/kubelet/kubeletapi"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/doctor"
)

func TestDiagnose(t *testing.T) {
	eu := func(change func(*v1alpha1.ClusterBinding)) *v1alpha1.ClusterBinding {
		b := &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "eu"}, Spec: v1alpha1.ClusterBindingSpec{ClusterID: "eu"}}
		if change != nil {
			change(b)
		}
		return b
	}
	says := func(kind, reason, message string) *corev1.Pod {
		return &corev1.Pod{Spec: corev1.PodSpec{NodeName: "spillway-eu"}, Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodConditionType(kind), Status: corev1.ConditionFalse, Reason: reason, Message: message},
		}}}
	}
	waiting := func(reason string) *corev1.Pod {
		return &corev1.Pod{Spec: corev1.PodSpec{NodeName: "spillway-eu"}, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
			{Image: "busybox", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}},
		}}}
	}
	placeless := func(reason string) *corev1.Pod {
		pod := says(string(v1alpha1.PodOffloaded), reason, "1 Insufficient cpu")
		pod.Annotations = map[string]string{v1alpha1.AnnotationRemoteUID: "r"}
		return pod
	}
	grows := eu(func(b *v1alpha1.ClusterBinding) { b.Spec.VirtualNode.Elastic = &v1alpha1.Elastic{} })
	routed := eu(func(b *v1alpha1.ClusterBinding) {
		b.Spec.Network = v1alpha1.ProviderNetwork{Mode: v1alpha1.NetworkRouted, PodCIDRs: []v1alpha1.PodCIDR{"10.9.0.0/16"}}
	})
	away := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.AnnotationRemoteIP: "10.0.0.7"}}}
	for name, test := range map[string]struct {
		seen              Seen
		err               error
		said, cause, mend string
	}{
		"quota": {Seen{Step: "pod", Remote: "ns-home", Pod: says(string(v1alpha1.PodOffloaded), "Rejected", "exceeded quota: few")}, errRefused,
			"it is refused: Rejected: exceeded quota: few", "a ResourceQuota in the provider is exhausted", "kubectl describe resourcequota -n ns-home"},
		"limits": {Seen{Step: "pod", Pod: says(string(v1alpha1.PodOffloaded), "Rejected", "ValidatingAdmissionPolicy 'spillway-consumers-pods' denied")}, errRefused,
			"denied", "the provider's limits refuse it", "ConfigMap spillway-provider/limits"},
		"no limits": {Seen{Step: "pod", Pod: says(string(v1alpha1.PodOffloaded), "Rejected", "ValidatingAdmissionPolicy 'spillway-consumers-pods': no params found for policy binding")}, errRefused,
			"", "the provider has no limits", "kubectl spillway bind eu"},
		"right": {Seen{Step: "pod", Pod: says(string(v1alpha1.PodOffloaded), "RightsMissing", "the provider does not let Spillway list configmaps")}, errRefused,
			"", "lacks a right in the provider", "kubectl spillway bind eu"},
		"reason": {Seen{Step: "pod", Pod: says(string(v1alpha1.PodOffloaded), "ProviderAway", "it is away")}, cli.ErrTime,
			"--timeout has passed: ProviderAway", "the pod is not in the provider: ProviderAway", "docs/troubleshooting.md, pods, reason ProviderAway"},
		"no node":       {Seen{Step: "pod", Pod: &corev1.Pod{}}, cli.ErrTime, "", "places no pod on the virtual node", "kubectl describe node -l spillway.io/cluster=eu"},
		"no node there": {Seen{Step: "pod", Pod: placeless(v1alpha1.ReasonTooBig), Binding: grows}, cli.ErrTime, "", "the provider has no node for the pod: TooBig", "pods, reason TooBig"},
		"no node yet":   {Seen{Step: "pod", Pod: placeless(v1alpha1.ReasonUnschedulable), Binding: grows}, cli.ErrTime, "", "its autoscaler may be starting one", "--timeout 15m"},
		"a quota here":  {Seen{Step: "pod", Pod: says(string(v1alpha1.PodOffloaded), v1alpha1.ReasonQuotaExceeded, "quota a of ClusterBinding eu")}, errRefused, "it is refused", "QuotaExceeded", "raise spec.quota of ClusterBinding eu"},
		"image":         {Seen{Step: "pod", Pod: waiting("ImagePullBackOff")}, cli.ErrTime, "", "cannot pull the image busybox", "--image"},
		"pending":       {Seen{Step: "pod", Remote: "ns-home", Pod: waiting("CreateContainerError")}, cli.ErrTime, "", "does not start the pod", "kubectl describe pod -n ns-home"},
		"slow":          {Seen{Step: "claim", Pod: waiting("ContainerCreating")}, cli.ErrTime, "", "still pulling the image, or attaching a volume", "--timeout 10m"},
		"too slow":      {Seen{Step: "pod", Remote: "ns-home", Pod: waiting("CreateContainerError")}, stalled(moment), "40s have passed: CreateContainerError", "does not start the pod", "ns-home"},
		"OpenShift": {Seen{Step: "pod", Pod: says(string(v1alpha1.PodOffloaded), "Rejected", "unable to validate against any security context constraint: runAsUser: Invalid value: 65534")}, errRefused,
			"Rejected", "the provider is OpenShift", "--run-as-user=-1"},
		"to the manager": {Seen{Step: "log", Address: "10.1.1.1:10250"}, errors.New("Get https://10.1.1.1:10250/x: dial tcp 10.1.1.1:10250: connection refused"),
			"", "from the consumer's API server to the manager's kubelet API at 10.1.1.1:10250", "--kubelet-address"},
		"to the node": {Seen{Step: "log", Address: "10.1.1.1:10250"}, errors.New("dial tcp 10.2.2.2:10250: connection refused"),
			"", "from the provider's API server to the kubelet", "the provider's administrator"},
		"a stranger":    {Seen{Step: "log"}, errors.New("the server has asked for the client to provide credentials ( pods/log web)"), "", "does not know the consumer's API server", "--kubelet-client-certificate"},
		"a stranger in": {Seen{Step: "exec"}, errors.New("unable to upgrade connection: " + kubeletapi.WhoAsks), "", "no client certificate", "restart it"},
		"silence":       {Seen{Step: "log", Address: "10.1.1.1:10250"}, fmt.Errorf("%w: timeout", errSilent), "no answer within 10s", "packets get lost: from the consumer's API server to the manager's kubelet API at 10.1.1.1:10250, or", "--kubelet-address"},
		"a full stream": {Seen{Step: "exec"}, errors.New("exit code 1"), "exit code 1", "", "run the test again with --keep"},
		"CIDR":          {Seen{Step: "status", Binding: routed, Pod: away}, errors.New("no address"), "", "10.0.0.7, is in no range of spec.network.podCIDRs of the binding: 10.9.0.0/16", "of ClusterBinding eu"},
		"overlap": {Seen{Step: "status", Pod: away, Binding: eu(func(b *v1alpha1.ClusterBinding) {
			b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.BindingNetwork, Status: "False", Reason: v1alpha1.ReasonCIDROverlap, Message: "podCIDR a overlaps b"}}
		})}, errors.New("no address"), "", "podCIDR a overlaps b", "correct spec.network.podCIDRs of eu"},
		"admission": {Seen{Step: "admission", Finding: doctor.Finding{Mend: "wait"}}, errors.New("missed"), "missed", "does not prepare", "wait"},
		"events":    {Seen{Step: "service", Warnings: []string{"RightsMissing: the provider does not let Spillway create services"}}, errors.New("it is not there"), "", "lacks a right", "bind eu"},
		"no right to volumes": {Seen{Step: "claim", Pod: &corev1.Pod{}, Warnings: []string{"ClaimNotBound: it waits", "RightsMissing: " + noRight}}, errRefused,
			"it is refused: ClaimNotBound: it waits; RightsMissing", "RBAC of the consumer does not let the manager create PersistentVolumes", doctor.BindVolumes},
		"a policy against volumes": {Seen{Step: "claim", Pod: &corev1.Pod{}, Warnings: []string{"ForbiddenInConsumer: PersistentVolume v cannot be created: ValidatingAdmissionPolicy 'p' denied request"}}, errRefused,
			"", "a policy or a webhook of the consumer", "exempt ServiceAccount spillway-manager"},
		"no right in the consumer": {Seen{Step: "service"}, errors.New(`x is forbidden: User "` + manager + `" cannot patch`), "", "the manager lacks a right in the consumer", "kubectl spillway install"},
		"deletion": {Seen{Step: deletion, Blocker: "NamespaceDeletionDiscoveryFailure: metrics.k8s.io/v1beta1: stale"}, cli.ErrTime,
			"--timeout has passed: NamespaceDeletionDiscoveryFailure", "while a registered API does not answer", "kubectl get apiservices"},
		"the binding": {Seen{Step: "log", Binding: eu(func(b *v1alpha1.ClusterBinding) {
			b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.BindingReady, Status: "False", Reason: v1alpha1.ReasonUnauthorized, Message: "401"}}
		})}, errors.New("no"), "no", "not Ready any more: Unauthorized: 401", "kubectl spillway bind eu"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.seen.Binding == nil {
				test.seen.Binding = eu(nil)
			}
			said, cause, mend := diagnose(test.seen, test.err)
			if !strings.Contains(said, test.said) || !strings.Contains(cause, test.cause) || test.cause == "" && cause != "" || !strings.Contains(mend, test.mend) || strings.Contains(mend, "%") {
				t.Errorf("got %q\ncause: %s\nfix: %s", said, cause, mend)
			}
		})
	}
}

// TestUnable: without these rights the steps would only wait for each other.
func TestUnable(t *testing.T) {
	eu := &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "eu"}}
	eu.Status.Conditions = []metav1.Condition{{Type: v1alpha1.BindingReady, Status: metav1.ConditionTrue}}
	for lacking, want := range map[string]bool{
		"create namespaces": true, "get secrets,create pods,list pods": true, "create pods/exec,get namespaces": false,
	} {
		f := doctor.Finding{Level: doctor.Error, Check: "rights", Object: "eu", Missing: strings.Split(lacking, ",")}
		if why := unable(eu, []doctor.Finding{f}); (why != "") != want {
			t.Errorf("%s: got %q", lacking, why)
		}
		if f.Object = ""; unable(eu, []doctor.Finding{f}) != "" {
			t.Errorf("%s: the manager's rights in the consumer count", lacking)
		}
	}
}

// TestSkipAll: people read the reason once, and programs find it at each step.
func TestSkipAll(t *testing.T) {
	var text strings.Builder
	r := &tester{binding: &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "eu"}}, printer: &printer{to: &text}}
	r.skipAll("the binding is not Ready: Unreachable")
	if want := "– eu: not run: 13 steps: the binding is not Ready: Unreachable\n"; text.String() != want {
		t.Errorf("got\n%s", text.String())
	}
	if last := r.report.Steps[len(r.report.Steps)-1]; len(r.report.Steps) != 13 || last.Name != deletion || last.Message != "the binding is not Ready: Unreachable" {
		t.Errorf("got %+v", r.report.Steps)
	}
}

// TestReport: what a run prints, and what CI systems read.
func TestReport(t *testing.T) {
	steps := ofFindings([]doctor.Finding{
		{Level: doctor.OK, Check: "manager"}, {Level: doctor.Warning, Check: "clock", Object: "eu", Message: "late", Mend: "NTP"}, {Level: doctor.Error, Check: "rights", Message: "none"},
	}, time.Second)
	steps = append(steps, Step{Name: "dns", Result: Skipped, Message: "kwok"})
	var text strings.Builder
	for _, s := range steps {
		text.WriteString(s.text("eu"))
	}
	const want = "✓ eu: doctor (1.0s): 1 check passed\n! eu: doctor, clock eu (1.0s): late\n    fix: NTP\n✗ eu: doctor, rights (1.0s): none\n– eu: dns: kwok\n"
	if text.String() != want {
		t.Errorf("got\n%s", text.String())
	}
	reports := []Report{{"eu", steps}, {"us", []Step{{Name: "pod", Result: Passed}}}}
	if err := verdict(reports); err == nil || err.Error() != "1 of 2 providers failed: eu (doctor, rights)" {
		t.Errorf("got %v", err)
	}
	if err := verdict(reports[1:]); err != nil {
		t.Error(err)
	}
	content, err := junit(reports)
	if err != nil {
		t.Fatal(err)
	}
	var read suites
	if err := xml.Unmarshal(content, &read); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(read.Suites[0].Tests, read.Suites[0].Failures, read.Suites[0].Skipped, len(read.Suites)); got != "4 1 1 2" {
		t.Errorf("got %s in\n%s", got, content)
	}
}

// TestComing: what need not be a fault, however long it takes.
func TestComing(t *testing.T) {
	container := func(reason string) *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}}}}
	}
	placeless := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.AnnotationRemoteUID: "r"}}, Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
		{Type: v1alpha1.PodOffloaded, Status: corev1.ConditionFalse, Reason: v1alpha1.ReasonUnschedulable},
	}}}
	for name, test := range map[string]struct {
		pod     *corev1.Pod
		elastic *v1alpha1.Elastic
		want    string
	}{
		"a pull":                          {container("ContainerCreating"), nil, "pulls the image"},
		"a pull that fails":               {container("ImagePullBackOff"), nil, ""},
		"no node":                         {placeless, nil, ""},
		"no node, and the provider grows": {placeless, &v1alpha1.Elastic{}, "can grow"},
		"nothing yet":                     {&corev1.Pod{}, nil, ""},
	} {
		binding := &v1alpha1.ClusterBinding{}
		binding.Spec.VirtualNode.Elastic = test.elastic
		if got := coming(test.pod, binding); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestPatience: a wait ends if nothing gets on, and not while something does.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, p := newPatience(t.Context(), moment)
		defer p.end()
		p.gets(true)
		time.Sleep(10 * moment)
		if ctx.Err() != nil {
			t.Fatalf("it has ended while a pull was in progress: %v", context.Cause(ctx))
		}
		p.gets(false)
		time.Sleep(moment / 2)
		p.gets(false)
		if synctest.Wait(); ctx.Err() != nil {
			t.Error("it has ended too early")
		}
		time.Sleep(moment)
		if synctest.Wait(); !waited(context.Cause(ctx)) {
			t.Errorf("it ends with %v", context.Cause(ctx))
		}
	})
}
