package pod

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/accept"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
	"github.com/spillway-io/spillway/internal/testing/fields"
)

const running = `
metadata: {labels: {app: web}}
spec:
  activeDeadlineSeconds: 100
  tolerations: [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 10}]
  initContainers:
  - {name: init, image: "init:1", resources: {requests: {cpu: 1}}}
  - {name: proxy, image: "proxy:1", restartPolicy: Always, resources: {requests: {cpu: 1}}}
  containers:
  - {name: web, image: "web:1", resources: {requests: {cpu: 1, memory: 1Gi}}}
  - {name: log, image: "log:1"}`

// admitted makes changes that a provider's admission may make to a pod. None of them is reverted.
func admitted(p *corev1.Pod) {
	p.Labels["provider"] = "x"
	p.Spec.NodeName, p.Spec.ServiceAccountName = "node", "default"
	p.Spec.Containers[0].Image = "mirror/web:1"
	p.Spec.Containers[1].Image = "mirror/log:1"
	cpu(&p.Spec.InitContainers[1], "5")
	p.Spec.Tolerations[0].TolerationSeconds = ptr.To[int64](99)
	p.Spec.Containers[1].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m")}
	p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: "provider", Operator: corev1.TolerationOpExists})
	p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "mesh", Image: "mesh:1"})
}

func ephemeral(name string) corev1.EphemeralContainer {
	return corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: name, Image: "debug:1"}}
}

func cpu(c *corev1.Container, quantity string) {
	c.Resources.Requests = c.Resources.Requests.DeepCopy()
	if c.Resources.Requests == nil {
		c.Resources.Requests = corev1.ResourceList{}
	}
	c.Resources.Requests[corev1.ResourceCPU] = resource.MustParse(quantity)
}

func memory(list *corev1.ResourceList, quantity string) {
	*list = list.DeepCopy()
	if *list == nil {
		*list = corev1.ResourceList{}
	}
	(*list)[corev1.ResourceMemory] = resource.MustParse(quantity)
}

func podResources(cpus string) *corev1.ResourceRequirements {
	return &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpus)}}
}

func TestPodUpdate(t *testing.T) {
	tests := map[string]struct {
		// was changes the local pod before it is sent. there changes the remote pod, and user changes
		// the local pod afterwards. main, ephemeral and resize say how the patches differ from the
		// remote pod. If one is nil, that patch is not sent.
		was, there, user, main, ephemeral, resize func(*corev1.Pod)
	}{
		"nothing": {user: func(*corev1.Pod) {}},
		"label": {
			user: func(p *corev1.Pod) { p.Labels = map[string]string{"tier": "1"} },
			main: func(p *corev1.Pod) {
				delete(p.Labels, "app")
				p.Labels["tier"], p.Annotations[v1alpha1.AnnotationCopied] = "1", "tier;"
			},
		},
		"a label without its alias, of an earlier manager": {
			was:   func(p *corev1.Pod) { p.Labels["example.com/a"] = "1" },
			there: func(p *corev1.Pod) { delete(p.Labels, "label.example.com.spillway.io/a") },
			user:  func(*corev1.Pod) {},
			main:  func(p *corev1.Pod) { p.Labels["label.example.com.spillway.io/a"] = "1" },
		},
		"value of a label": {
			user: func(p *corev1.Pod) { p.Labels = map[string]string{"app": "other"} },
			main: func(p *corev1.Pod) { p.Labels["app"] = "other" },
		},
		"annotation": {
			user: func(p *corev1.Pod) { p.Annotations = map[string]string{"note": "1"} },
			main: func(p *corev1.Pod) { p.Annotations["note"], p.Annotations[v1alpha1.AnnotationCopied] = "1", "app;note" },
		},
		"image of one container": {
			user: func(p *corev1.Pod) { p.Spec.Containers[0].Image = "web:2" },
			main: func(p *corev1.Pod) { p.Spec.Containers[0].Image = "web:2" },
		},
		"image of an init container": {
			user: func(p *corev1.Pod) { p.Spec.InitContainers[0].Image = "init:2" },
			main: func(p *corev1.Pod) { p.Spec.InitContainers[0].Image = "init:2" },
		},
		"shorter deadline": {
			user: func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = ptr.To[int64](50) },
			main: func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = ptr.To[int64](50) },
		},
		"longer deadline, which the provider would refuse": {
			user: func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = ptr.To[int64](500) },
			main: func(*corev1.Pod) {},
		},
		"no deadline, which the provider would refuse": {
			user: func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = nil },
			main: func(*corev1.Pod) {},
		},
		"added toleration": {
			user: func(p *corev1.Pod) { p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: "b"}) },
			main: func(p *corev1.Pod) {
				p.Spec.Tolerations[0].TolerationSeconds = ptr.To[int64](10)
				p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: "b"})
			},
		},
		"added toleration of virtual nodes": {
			user: func(p *corev1.Pod) {
				p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: v1alpha1.TaintVirtualNode})
			},
		},
		"seconds of a toleration": {
			user: func(p *corev1.Pod) { p.Spec.Tolerations[0].TolerationSeconds = ptr.To[int64](20) },
			main: func(p *corev1.Pod) { p.Spec.Tolerations[0].TolerationSeconds = ptr.To[int64](20) },
		},
		"ephemeral container": {
			user:      func(p *corev1.Pod) { p.Spec.EphemeralContainers = []corev1.EphemeralContainer{ephemeral("debug")} },
			ephemeral: func(p *corev1.Pod) { p.Spec.EphemeralContainers = []corev1.EphemeralContainer{ephemeral("debug")} },
			main:      func(*corev1.Pod) {},
		},
		"refused ephemeral container": {
			user: func(p *corev1.Pod) {
				c := ephemeral("root")
				c.SecurityContext = &corev1.SecurityContext{Privileged: ptr.To(true)}
				p.Spec.EphemeralContainers = []corev1.EphemeralContainer{c}
			},
		},
		"more CPU": {
			user:   func(p *corev1.Pod) { cpu(&p.Spec.Containers[0], "2") },
			resize: func(p *corev1.Pod) { cpu(&p.Spec.Containers[0], "2") },
			main:   func(*corev1.Pod) {},
		},
		"more CPU for a sidecar": {
			user:   func(p *corev1.Pod) { cpu(&p.Spec.InitContainers[1], "2") },
			resize: func(p *corev1.Pod) { cpu(&p.Spec.InitContainers[1], "2") },
			main:   func(*corev1.Pod) {},
		},
		"more CPU for an init container, which cannot be": {
			user: func(p *corev1.Pod) { cpu(&p.Spec.InitContainers[0], "2") },
		},
		"CPU where there was a default of the provider's": {
			user:   func(p *corev1.Pod) { cpu(&p.Spec.Containers[1], "2") },
			resize: func(p *corev1.Pod) { cpu(&p.Spec.Containers[1], "2") },
			main:   func(*corev1.Pod) {},
		},
		"CPU spelt otherwise": {
			user: func(p *corev1.Pod) { cpu(&p.Spec.Containers[0], "1000m") },
		},
		"second ephemeral container": {
			was:   func(p *corev1.Pod) { p.Spec.EphemeralContainers = []corev1.EphemeralContainer{ephemeral("debug")} },
			there: func(p *corev1.Pod) { p.Spec.EphemeralContainers = []corev1.EphemeralContainer{ephemeral("debug")} },
			user: func(p *corev1.Pod) {
				p.Spec.EphemeralContainers = append(p.Spec.EphemeralContainers, ephemeral("again"))
			},
			ephemeral: func(p *corev1.Pod) {
				p.Spec.EphemeralContainers = append(p.Spec.EphemeralContainers, ephemeral("again"))
			},
			main: func(*corev1.Pod) {},
		},
		"image that is cleared": {
			user: func(p *corev1.Pod) { p.Spec.Containers[0].Image = "" },
			main: func(*corev1.Pod) {},
		},
		"deadline where there was none": {
			was:  func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = nil },
			user: func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = ptr.To[int64](50) },
			main: func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = ptr.To[int64](50) },
		},
		"deadline of the provider's, which is the same": {
			there: func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = ptr.To[int64](50) },
			user:  func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = ptr.To[int64](50) },
			main:  func(*corev1.Pod) {},
		},
		"containers that the provider does not have": {
			there: func(p *corev1.Pod) { p.Spec.InitContainers, p.Spec.Containers = nil, p.Spec.Containers[:1] },
			user: func(p *corev1.Pod) {
				p.Spec.InitContainers[1].Image, p.Spec.Containers[1].Image = "proxy:2", "log:2"
				cpu(&p.Spec.InitContainers[1], "2")
				cpu(&p.Spec.Containers[1], "2")
			},
			main: func(*corev1.Pod) {},
		},
		"more CPU for the first of two sidecars": {
			was: func(p *corev1.Pod) {
				second := *p.Spec.InitContainers[1].DeepCopy()
				second.Name = "mesh"
				p.Spec.InitContainers = append(p.Spec.InitContainers, second)
			},
			user:   func(p *corev1.Pod) { cpu(&p.Spec.InitContainers[1], "2") },
			resize: func(p *corev1.Pod) { cpu(&p.Spec.InitContainers[1], "2") },
			main:   func(*corev1.Pod) {},
		},
		"more memory": {
			user:   func(p *corev1.Pod) { memory(&p.Spec.Containers[0].Resources.Requests, "2Gi") },
			resize: func(p *corev1.Pod) { memory(&p.Spec.Containers[0].Resources.Requests, "2Gi") },
			main:   func(*corev1.Pod) {},
		},
		"limit where there was none": {
			user:   func(p *corev1.Pod) { memory(&p.Spec.Containers[0].Resources.Limits, "2Gi") },
			resize: func(p *corev1.Pod) { memory(&p.Spec.Containers[0].Resources.Limits, "2Gi") },
			main:   func(*corev1.Pod) {},
		},
		"request that is removed, which the provider would refuse": {
			user: func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests = nil },
			main: func(*corev1.Pod) {},
		},
		"quantity that would cost too much to read back": {
			user: func(p *corev1.Pod) {
				cpu(&p.Spec.Containers[0], "2")
				memory(&p.Spec.Containers[0].Resources.Requests, strings.Repeat("1", 100))
			},
			resize: func(p *corev1.Pod) { cpu(&p.Spec.Containers[0], "2") },
			main:   func(*corev1.Pod) {},
		},
		"resources of the pod, which the provider's has none of": {
			user: func(p *corev1.Pod) { p.Spec.Resources = podResources("2") },
			main: func(*corev1.Pod) {},
		},
		"no resources of the pod any more": {
			was:    func(p *corev1.Pod) { p.Spec.Resources = podResources("2") },
			user:   func(p *corev1.Pod) { p.Spec.Resources = nil; cpu(&p.Spec.Containers[0], "2") },
			resize: func(p *corev1.Pod) { cpu(&p.Spec.Containers[0], "2") },
			main:   func(*corev1.Pod) {},
		},
		"resources of the pod, and others of it as they were": {
			was:    func(p *corev1.Pod) { p.Spec.Resources = podResources("4") },
			user:   func(p *corev1.Pod) { p.Spec.Resources = podResources("6") },
			resize: func(p *corev1.Pod) { p.Spec.Resources = podResources("6") },
			main:   func(*corev1.Pod) {},
		},
		"a limit of nothing, where there was none": {
			user:   func(p *corev1.Pod) { memory(&p.Spec.Containers[0].Resources.Limits, "0") },
			resize: func(p *corev1.Pod) { memory(&p.Spec.Containers[0].Resources.Limits, "0") },
			main:   func(*corev1.Pod) {},
		},
		"CPU, where the provider has changed the pod's": {
			was:    func(p *corev1.Pod) { p.Spec.Resources = podResources("4") },
			there:  func(p *corev1.Pod) { p.Spec.Resources = podResources("5") },
			user:   func(p *corev1.Pod) { cpu(&p.Spec.Containers[0], "2") },
			resize: func(p *corev1.Pod) { cpu(&p.Spec.Containers[0], "2") },
			main:   func(*corev1.Pod) {},
		},
		"label, where the provider has changed the deadline": {
			there: func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = ptr.To[int64](500) },
			user:  func(p *corev1.Pod) { p.Labels = map[string]string{"app": "other"} },
			main:  func(p *corev1.Pod) { p.Labels["app"] = "other" },
		},
		"all at once": {
			user: func(p *corev1.Pod) {
				p.Spec.Containers[0].Image = "web:2"
				cpu(&p.Spec.Containers[0], "2")
				p.Spec.EphemeralContainers = []corev1.EphemeralContainer{ephemeral("debug")}
			},
			main:      func(p *corev1.Pod) { p.Spec.Containers[0].Image = "web:2" },
			resize:    func(p *corev1.Pod) { cpu(&p.Spec.Containers[0], "2") },
			ephemeral: func(p *corev1.Pod) { p.Spec.EphemeralContainers = []corev1.EphemeralContainer{ephemeral("debug")} },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			local := fieldtest.PodOf(t, running)
			if test.was != nil {
				test.was(local)
			}
			remote := sentPod(t, local, fieldtest.Mapped)
			admitted(remote)
			if test.there != nil {
				test.there(remote)
			}
			before := remote.DeepCopy()
			test.user(local)

			changes := Update(local, remote, fieldtest.Mapped, fieldtest.Generous)
			hash := specHash(local, accept.AllowedEphemeralContainers(local, nil), allowedTolerations(&local.Spec, nil, fieldtest.Generous))
			want := Changes{Ephemeral: patched(remote, test.ephemeral), Resize: patched(remote, test.resize), Main: patched(remote, test.main)}
			if want.Main != nil {
				want.Main.Annotations[v1alpha1.AnnotationSpecHash] = hash
			}
			if diff := cmp.Diff(want, changes); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, remote); diff != "" {
				t.Errorf("the remote pod was changed: %s", diff)
			}
			checkConverges(t, local, remote, changes)
		})
	}
}

func patched(remote *corev1.Pod, change func(*corev1.Pod)) *corev1.Pod {
	if change == nil {
		return nil
	}
	pod := remote.DeepCopy()
	change(pod)
	return pod
}

// checkConverges applies the patches one by one. After each, the next decision sends only the rest, and
// in the end nothing.
func checkConverges(t *testing.T, local, remote *corev1.Pod, changes Changes) {
	t.Helper()
	pod := remote.DeepCopy()
	if changes.Ephemeral != nil {
		pod.Spec.EphemeralContainers = changes.Ephemeral.Spec.EphemeralContainers
		next := Update(local, pod, fieldtest.Mapped, fieldtest.Generous)
		if next.Ephemeral != nil || next.Main == nil || (next.Resize == nil) != (changes.Resize == nil) {
			t.Errorf("after the ephemeral containers: %+v", next)
		}
	}
	if changes.Resize != nil {
		pod.Spec.InitContainers, pod.Spec.Containers = changes.Resize.Spec.InitContainers, changes.Resize.Spec.Containers
		pod.Spec.Resources = changes.Resize.Spec.Resources
		if next := Update(local, pod, fieldtest.Mapped, fieldtest.Generous); next.Resize != nil || next.Ephemeral != nil || next.Main == nil {
			t.Errorf("after the resize: %+v", next)
		}
	}
	if changes.Main != nil {
		pod.Labels, pod.Annotations = changes.Main.Labels, changes.Main.Annotations
		pod.Spec.Tolerations, pod.Spec.ActiveDeadlineSeconds = changes.Main.Spec.Tolerations, changes.Main.Spec.ActiveDeadlineSeconds
		updateImages(pod.Spec.Containers, changes.Main.Spec.Containers, changedParts("", specHash(local, nil, nil)))
		updateImages(pod.Spec.InitContainers, changes.Main.Spec.InitContainers, changedParts("", specHash(local, nil, nil)))
	}
	if diff := cmp.Diff(Changes{}, Update(local, pod, fieldtest.Mapped, fieldtest.Generous)); diff != "" {
		t.Errorf("in the end: %s", diff)
	}
}

func TestSpoiltSpecHash(t *testing.T) {
	for name, spoilt := range map[string]string{"gone": "", "nonsense": "a=b;;=;x", "cut": "image.web=", "huge": strings.Repeat("x=y;", 10_000)} {
		t.Run(name, func(t *testing.T) {
			local := fieldtest.PodOf(t, running)
			remote := sentPod(t, local, fieldtest.Mapped)
			want := remote.DeepCopy()
			remote.Annotations[v1alpha1.AnnotationSpecHash] = spoilt
			changes := Update(local, remote, fieldtest.Mapped, fieldtest.Generous)
			if diff := cmp.Diff(Changes{Main: want}, changes); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPodLevelResources(t *testing.T) {
	local := fieldtest.PodOf(t, `{spec: {resources: {requests: {cpu: 1}}, containers: [{name: web}]}}`)
	remote := sentPod(t, local, fieldtest.Mapped)
	local.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
	changes := Update(local, remote, fieldtest.Mapped, fieldtest.Generous)
	if changes.Resize == nil || changes.Resize.Spec.Resources.Requests.Cpu().String() != "2" {
		t.Fatalf("got %+v", changes.Resize)
	}
	checkConverges(t, local, remote, changes)
}

// TestChangesFollow lists what the owner of a pod may change after it was sent.
func TestChangesFollow(t *testing.T) {
	const fixed = "Kubernetes refuses the change of a pod on a node"
	stays := func(all string) map[string]string {
		why := map[string]string{}
		for _, field := range strings.Fields(all) {
			why[field] = fixed
		}
		return why
	}
	web := func(change func(*corev1.Container)) func(*corev1.PodSpec) {
		return func(p *corev1.PodSpec) { change(&p.Containers[0]) }
	}
	sent := func(t *testing.T, change func(*corev1.PodSpec)) (got, want any) {
		t.Helper()
		local := fieldtest.PodOf(t, running)
		local.Spec.Resources = podResources("1")
		remote := sentPod(t, local, fieldtest.Mapped)
		change(&local.Spec)
		changes := Update(local, remote, fieldtest.Mapped, fieldtest.Generous)
		created := sentPod(t, local, fieldtest.Mapped).Spec
		created.EphemeralContainers = local.Spec.EphemeralContainers
		for _, patch := range []*corev1.Pod{changes.Ephemeral, changes.Resize, changes.Main} {
			if patch != nil {
				return patch.Spec, created
			}
		}
		return nil, created
	}
	image := func(c *corev1.Container) { c.Image = "web:2" }
	fields.Changes[corev1.PodSpec]{
		Follow: map[string]func(*corev1.PodSpec){
			"Containers":            web(image),
			"InitContainers":        func(p *corev1.PodSpec) { p.InitContainers[0].Image = "init:2" },
			"EphemeralContainers":   func(p *corev1.PodSpec) { p.EphemeralContainers = append(p.EphemeralContainers, ephemeral("debug")) },
			"ActiveDeadlineSeconds": func(p *corev1.PodSpec) { p.ActiveDeadlineSeconds = ptr.To[int64](50) },
			"Tolerations":           func(p *corev1.PodSpec) { p.Tolerations[0].TolerationSeconds = ptr.To[int64](20) },
			"Resources":             func(p *corev1.PodSpec) { p.Resources = podResources("2") },
		},
		Stay: stays(`Volumes RestartPolicy TerminationGracePeriodSeconds DNSPolicy NodeSelector ServiceAccountName
			DeprecatedServiceAccount AutomountServiceAccountToken NodeName HostNetwork HostPID HostIPC ShareProcessNamespace
			SecurityContext ImagePullSecrets Hostname Subdomain Affinity SchedulerName HostAliases PriorityClassName Priority
			DNSConfig ReadinessGates RuntimeClassName EnableServiceLinks PreemptionPolicy Overhead TopologySpreadConstraints
			SetHostnameAsFQDN OS HostUsers SchedulingGates ResourceClaims HostnameOverride SchedulingGroup`),
	}.Check(t, sent)
	fields.Changes[corev1.Container]{
		Follow: map[string]func(*corev1.Container){
			"Image":     image,
			"Resources": func(c *corev1.Container) { cpu(c, "2") },
		},
		Stay: stays(`Name Command Args WorkingDir Ports EnvFrom Env ResizePolicy RestartPolicy RestartPolicyRules VolumeMounts
			VolumeDevices LivenessProbe ReadinessProbe StartupProbe Lifecycle TerminationMessagePath TerminationMessagePolicy
			ImagePullPolicy SecurityContext Stdin StdinOnce TTY`),
	}.Check(t, func(t *testing.T, change func(*corev1.Container)) (got, want any) {
		t.Helper()
		return sent(t, web(change))
	})
}
