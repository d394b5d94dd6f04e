package kubeletapi

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/provider/connection"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// remote returns the remote pod that represents team/web.
func remote(changes ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team-home", Name: "web", UID: "remote-1", Labels: provenance.Mark{Origin: "home", ClusterID: "eu"}.Labels(),
			Annotations: map[string]string{
				v1alpha1.AnnotationLocalNamespace: "team", v1alpha1.AnnotationLocalName: "web", v1alpha1.AnnotationLocalUID: "local-1",
			},
		},
		Spec: corev1.PodSpec{
			NodeName: "node-1", Containers: []corev1.Container{{Name: "app"}}, InitContainers: []corev1.Container{{Name: "init"}},
			EphemeralContainers: []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug"}}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	for _, change := range changes {
		change(pod)
	}
	return pod
}

// running returns what the caches show of team/web, with these remote pods.
func running(remotes ...*corev1.Pod) Snapshot {
	return Snapshot{
		Local: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", UID: "local-1"}, Spec: corev1.PodSpec{
			NodeName: "eu", Containers: []corev1.Container{{Name: "app"}, {Name: "unsent"}}, InitContainers: remote().Spec.InitContainers, EphemeralContainers: remote().Spec.EphemeralContainers,
		}},
		Binding: builder.Binding("eu").Obj(), Provider: connection.State{Phase: connection.Connected}, Origin: "home", Remotes: remotes,
	}
}

func label(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels[key] = value }
}

func annotation(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations[key] = value }
}

func TestDecide(t *testing.T) {
	leaving := func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: builder.Epoch}; p.Name = "web-old" }
	phase := func(phase corev1.PodPhase) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Status.Phase = phase }
	}
	twin := func(p *corev1.Pod) { p.Namespace, p.UID = "forged", "remote-2" }
	names := func(uid, localUID string) func(*Snapshot) {
		return func(s *Snapshot) {
			s.Local.Annotations = map[string]string{v1alpha1.AnnotationRemoteUID: uid, v1alpha1.AnnotationRemoteFor: localUID}
		}
	}
	tests := map[string]struct {
		action    Action
		container string
		remotes   []*corev1.Pod
		change    func(*Snapshot)
		code      int
		says      string
	}{
		"logs":                    {Logs, "app", []*corev1.Pod{remote()}, nil, 0, ""},
		"exec":                    {Exec, "app", []*corev1.Pod{remote()}, nil, 0, ""},
		"a forward":               {PortForward, "", []*corev1.Pod{remote()}, nil, 0, ""},
		"an init container":       {Logs, "init", []*corev1.Pod{remote()}, nil, 0, ""},
		"an ephemeral container":  {Attach, "debug", []*corev1.Pod{remote()}, nil, 0, ""},
		"one leaves, another one": {Exec, "app", []*corev1.Pod{remote(leaving), remote(), remote(leaving)}, nil, 0, ""},
		"the one that is named":   {Exec, "app", []*corev1.Pod{remote(twin), remote(), remote(twin)}, names("remote-1", "local-1"), 0, ""},
		"named for another":       {Exec, "app", []*corev1.Pod{remote()}, names("remote-0", "local-0"), 0, ""},
		"logs of an ended one":    {Logs, "app", []*corev1.Pod{remote(phase(corev1.PodFailed))}, nil, 0, ""},

		"on no virtual node":             {Logs, "app", []*corev1.Pod{remote()}, func(s *Snapshot) { s.Local = nil }, 400, "pod team/web is not on a virtual node"},
		"not known yet":                  {Logs, "app", nil, func(s *Snapshot) { s.Local, s.Incomplete = nil, true }, 502, "has just started"},
		"the binding is gone":            {Logs, "app", []*corev1.Pod{remote()}, func(s *Snapshot) { s.Binding = nil }, 400, "node eu of pod team/web no longer has a ClusterBinding"},
		"paused":                         {Logs, "app", []*corev1.Pod{remote()}, func(s *Snapshot) { s.Binding.Spec.Paused = true }, 403, "is paused"},
		"the provider is away":           {Exec, "app", []*corev1.Pod{remote()}, func(s *Snapshot) { s.Provider = connection.State{Phase: connection.Disconnected, Message: "no route"} }, 502, "is not connected: no route"},
		"it is being connected":          {Exec, "app", []*corev1.Pod{remote()}, func(s *Snapshot) { s.Provider.Phase = connection.Connecting }, 502, "is being connected"},
		"not sent":                       {Logs, "app", nil, nil, 400, "it has not been sent yet"},
		"not sent, and it says why":      {Logs, "app", nil, func(s *Snapshot) { s.Local.Status.Message = "the namespace is taken" }, 400, "the namespace is taken"},
		"gone there":                     {Logs, "app", nil, func(s *Snapshot) { s.Local.Status.Phase = corev1.PodSucceeded }, 400, "it has ended (Succeeded), and is gone there"},
		"gone here":                      {Logs, "app", nil, func(s *Snapshot) { s.Local.DeletionTimestamp = &metav1.Time{Time: builder.Epoch} }, 400, "it is being deleted"},
		"another UID":                    {Exec, "app", []*corev1.Pod{remote(annotation(v1alpha1.AnnotationLocalUID, "local-0"))}, nil, 400, "has not been sent"},
		"no UID":                         {Exec, "app", []*corev1.Pod{remote(annotation(v1alpha1.AnnotationLocalUID, ""))}, nil, 400, "has not been sent"},
		"of another namespace":           {Exec, "app", []*corev1.Pod{remote(annotation(v1alpha1.AnnotationLocalNamespace, "other"))}, nil, 400, "has not been sent"},
		"of another name":                {Exec, "app", []*corev1.Pod{remote(annotation(v1alpha1.AnnotationLocalName, "other"))}, nil, 400, "has not been sent"},
		"none that is named":             {Exec, "app", []*corev1.Pod{remote(twin)}, names("remote-1", "local-1"), 400, "has not been sent"},
		"a stripped mark":                {Exec, "app", []*corev1.Pod{remote(label(v1alpha1.LabelManagedBy, "helm"))}, nil, 400, "has not been sent"},
		"of another consumer":            {Exec, "app", []*corev1.Pod{remote(label(v1alpha1.LabelOrigin, "other"))}, nil, 400, "has not been sent"},
		"through another binding":        {Exec, "app", []*corev1.Pod{remote(label(v1alpha1.LabelBinding, "us"))}, nil, 400, "has not been sent"},
		"no such container":              {Logs, "other", []*corev1.Pod{remote()}, nil, 400, "has no container other in the provider; it has [app init debug]"},
		"one that only the provider has": {Exec, "injected", []*corev1.Pod{remote(func(p *corev1.Pod) { p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "injected"}) })}, nil, 400, "has no container injected in the provider; it has [app init debug]"},
		"one that is not there":          {Exec, "unsent", []*corev1.Pod{remote()}, nil, 400, "has no container unsent in the provider; it has [app init debug]"},
		"a command in an ended one":      {Exec, "app", []*corev1.Pod{remote(phase(corev1.PodSucceeded))}, nil, 400, "has ended (Succeeded): there is nothing to run a command in"},
		"it waits for a node":            {Attach, "app", []*corev1.Pod{remote(func(p *corev1.Pod) { p.Spec.NodeName = "" })}, nil, 400, "waits for a node of the provider"},
		"a forward to one that waits":    {PortForward, "", []*corev1.Pod{remote(func(p *corev1.Pod) { p.Spec.NodeName = "" })}, nil, 400, "waits for a node"},
	}
	want := Target{Binding: "eu", ClusterID: "eu", LocalUID: "local-1", Remote: types.NamespacedName{Namespace: "team-home", Name: "web"}, RemoteUID: "remote-1"}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			seen := running(test.remotes...)
			if test.change != nil {
				test.change(&seen)
			}
			got, refusal := Decide(Request{Action: test.action, Pod: types.NamespacedName{Namespace: "team", Name: "web"}, Container: test.container}, seen)
			switch {
			case test.code != 0:
				if refusal == nil || refusal.Code != test.code || !strings.Contains(refusal.Message, test.says) {
					t.Errorf("got %v, %+v, want %d: %s", got, refusal, test.code, test.says)
				}
			case refusal != nil:
				t.Error(refusal)
			default:
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestOver(t *testing.T) {
	tests := map[string]struct {
		change func(*Snapshot)
		says   string // Empty: the stream continues.
	}{
		"nothing has changed":     {func(*Snapshot) {}, ""},
		"it ends":                 {func(s *Snapshot) { s.Remotes[0].Status.Phase = corev1.PodSucceeded }, ""},
		"the provider is away":    {func(s *Snapshot) { s.Provider.Phase, s.Remotes = connection.Disconnected, nil }, ""},
		"not known yet":           {func(s *Snapshot) { s.Local, s.Incomplete = nil, true }, ""},
		"gone":                    {func(s *Snapshot) { s.Local = nil }, "pod team/web is gone"},
		"another one of the name": {func(s *Snapshot) { s.Local.UID = "local-2" }, "pod team/web is gone"},
		"gone there":              {func(s *Snapshot) { s.Remotes = nil }, "gone in provider eu"},
		"another one there":       {func(s *Snapshot) { s.Remotes[0].UID = "remote-2" }, "gone in provider eu"},
		"a stripped mark":         {func(s *Snapshot) { s.Remotes[0].Labels = nil }, "gone in provider eu"},
		"the binding is gone":     {func(s *Snapshot) { s.Binding = nil }, "the ClusterBinding of pod team/web is gone"},
		"another binding":         {func(s *Snapshot) { s.Binding.Name = "us" }, "the ClusterBinding of pod team/web is gone"},
		"paused":                  {func(s *Snapshot) { s.Binding.Spec.Paused = true }, "paused"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			seen := running(remote())
			request := Request{Action: Exec, Pod: types.NamespacedName{Namespace: "team", Name: "web"}, Container: "app"}
			target, refusal := Decide(request, seen)
			if refusal != nil {
				t.Fatal(refusal)
			}
			test.change(&seen)
			over := MustEnd(request, target, seen)
			if (over == nil) != (test.says == "") || over != nil && !strings.Contains(over.Message, test.says) {
				t.Errorf("got %v, want: %s", over, test.says)
			}
		})
	}
}
