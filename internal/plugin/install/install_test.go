package install

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/config"
)

func deployment(image string, args ...string) *appsv1.Deployment {
	d := &appsv1.Deployment{}
	d.Name, d.Spec.Replicas = config.Manager, ptr.To(int32(2))
	d.Spec.Template.Spec.Containers = []corev1.Container{{Image: image, Args: args}}
	return d
}

func TestKeep(t *testing.T) {
	tests := map[string]struct {
		chosen settings
		there  *appsv1.Deployment
		want   settings
		kept   int
	}{
		"nothing is there":           {settings{}, nil, settings{}, 0},
		"what is shipped":            {settings{}, deployment(config.Image), settings{}, 0},
		"another tag":                {settings{}, deployment("ghcr.io/spillway-io/spillway:v0"), settings{image: "ghcr.io/spillway-io/spillway:v0"}, 1},
		"another image":              {settings{}, deployment("registry:5000/spillway"), settings{image: "registry:5000/spillway"}, 1},
		"by digest":                  {settings{}, deployment("ghcr.io/spillway-io/spillway@sha256:1"), settings{image: "ghcr.io/spillway-io/spillway@sha256:1"}, 1},
		"another one is chosen":      {settings{image: "b:1"}, deployment("a:1"), settings{image: "b:1"}, 0},
		"the name of the consumer":   {settings{}, deployment(config.Image, "--leader-elect", "--cluster-id=demo"), settings{clusterID: "demo"}, 1},
		"in two arguments":           {settings{}, deployment(config.Image, "--cluster-id", "demo"), settings{clusterID: "demo"}, 1},
		"another name is chosen":     {settings{clusterID: "x"}, deployment(config.Image, "--cluster-id=demo"), settings{clusterID: "x"}, 0},
		"a Deployment without a pod": {settings{}, &appsv1.Deployment{}, settings{}, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, kept := test.chosen.keep(test.there)
			if got != test.want || len(kept) != test.kept {
				t.Errorf("got %v, kept %v", got, kept)
			}
		})
	}
}

// TestRefusedSettings: settings with which the manager would never run are refused before anything is
// written.
func TestRefusedSettings(t *testing.T) {
	there := deployment(config.Image)
	tests := map[string]struct {
		chosen settings
		there  *appsv1.Deployment
		want   string
	}{
		"the first time without an image": {settings{}, nil, "which image? Set --image"},
		"the first time":                  {settings{image: "a:1", clusterID: "home"}, nil, ""},
		"again":                           {settings{}, there, ""},
		"an image that is none":           {settings{image: "a: 1"}, there, "contains a space"},
		"a name in capitals":              {settings{clusterID: "Home"}, there, "must be a DNS label"},
		"a name that is too long":         {settings{clusterID: strings.Repeat("a", 25)}, there, "at most 24"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := test.chosen.check(test.there)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestApplySettings(t *testing.T) {
	shipped, err := config.Objects("default")
	if err != nil {
		t.Fatal(err)
	}
	if err := (settings{image: "a:1", clusterID: "demo"}).apply(shipped); err != nil {
		t.Fatal(err)
	}
	ordered := inOrder(shipped)
	last := ordered[len(ordered)-1]
	containers, _, _ := unstructured.NestedSlice(last.Object, "spec", "template", "spec", "containers")
	container := containers[0].(map[string]any)
	args, _, _ := unstructured.NestedStringSlice(container, "args")
	if container["image"] != "a:1" || args[len(args)-1] != "--cluster-id=demo" || args[0] != "--leader-elect" {
		t.Errorf("got the image %v and the arguments %v", container["image"], args)
	}
	for i, object := range ordered {
		if isCRD(object) != (i < 3) {
			t.Errorf("%s %s is at %d", object.GetKind(), object.GetName(), i)
		}
	}
	if err := (settings{}).apply(nil); err == nil {
		t.Error("there is no Deployment, and no error")
	}
}

func TestAvailable(t *testing.T) {
	with := func(generation int64, status appsv1.DeploymentStatus) *appsv1.Deployment {
		d := deployment(config.Image)
		d.Generation, d.Status = generation, status
		return d
	}
	waiting := func(reason, message string, ended *corev1.ContainerStateTerminated) corev1.Pod {
		pod := corev1.Pod{}
		pod.Name = "manager-1"
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "manager", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
			LastTerminationState: corev1.ContainerState{Terminated: ended},
		}}
		return pod
	}
	unscheduled := corev1.Pod{}
	unscheduled.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes are available"}}
	running := appsv1.DeploymentStatus{ObservedGeneration: 1, UpdatedReplicas: 2, AvailableReplicas: 1, UnavailableReplicas: 1}
	stopped := with(1, appsv1.DeploymentStatus{ObservedGeneration: 1})
	stopped.Spec.Replicas = ptr.To[int32](0)
	tests := map[string]struct {
		deployment *appsv1.Deployment
		pod        corev1.Pod
		want       string
	}{
		"one of two is available":   {with(1, running), corev1.Pod{}, ""},
		"of an older generation":    {with(2, running), corev1.Pod{}, "1 of 2 replicas"},
		"only the old ones are":     {with(1, appsv1.DeploymentStatus{ObservedGeneration: 1, UpdatedReplicas: 1, AvailableReplicas: 2, UnavailableReplicas: 1}), corev1.Pod{}, "2 of 2 replicas"},
		"the image is not there":    {with(1, appsv1.DeploymentStatus{}), waiting("ImagePullBackOff", "no such image", nil), "pod manager-1: ImagePullBackOff: no such image"},
		"it is being created":       {with(1, appsv1.DeploymentStatus{}), waiting("ContainerCreating", "", nil), "0 of 2 replicas"},
		"it ends at once":           {with(1, appsv1.DeploymentStatus{}), waiting("CrashLoopBackOff", "back-off", &corev1.ContainerStateTerminated{ExitCode: 2, Reason: "Error", Message: "panic:\n\tno\x1b[2K"}), "CrashLoopBackOff: container manager has ended with exit code 2: panic:  no [2K"},
		"no node has room":          {with(1, appsv1.DeploymentStatus{}), unscheduled, "Unschedulable: 0/1 nodes are available"},
		"pods may not be created":   {with(1, appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "exceeded quota"}}}), corev1.Pod{}, "exceeded quota"},
		"somebody has stopped it":   {stopped, corev1.Pod{}, "0 replicas, and a manager outside of this cluster is seen only if it runs with --leader-elect"},
		"nobody has looked at that": {with(1, appsv1.DeploymentStatus{}), corev1.Pod{}, "0 of 2 replicas"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			done, waits := Available(test.deployment, []corev1.Pod{test.pod})
			if done != (test.want == "") || !strings.Contains(waits, test.want) {
				t.Errorf("got %v, %q; want %q", done, waits, test.want)
			}
		})
	}
}

// TestClusterID: all ways in which the manager's arguments can set it.
func TestClusterID(t *testing.T) {
	for want, args := range map[string][]string{
		"":  {"--leader-elect", "--cluster-id-of=x"},
		"a": {"--cluster-id=a", "--leader-elect"},
		"b": {"--leader-elect", "--cluster-id", "b"},
		"c": {"-cluster-id", "c"},
		"d": {"--cluster-id=a", "-cluster-id=d"}, // The last one counts.
		"e": {"--cluster-id", "e", "--leader-elect"},
	} {
		if got := clusterID(deployment("a:1", args...)); got != want {
			t.Errorf("%v: got %q", args, got)
		}
	}
}

func TestRename(t *testing.T) {
	tests := map[string]struct {
		chosen   string
		there    *appsv1.Deployment
		bindings []string
		fails    bool
	}{
		"nothing is there":    {"x", nil, []string{"eu"}, false},
		"nothing is bound":    {"x", deployment("a:1", "--cluster-id=demo"), nil, false},
		"it is not given":     {"", deployment("a:1", "--cluster-id=demo"), []string{"eu"}, false},
		"it is the same":      {"demo", deployment("a:1", "--cluster-id", "demo"), []string{"eu"}, false},
		"it is another":       {"x", deployment("a:1", "--cluster-id", "demo"), []string{"eu"}, true},
		"it was not given so": {"x", deployment("a:1"), []string{"eu"}, true},
		"it is the default":   {"0123abcd", deployment("a:1"), []string{"eu"}, false},
		"no more the default": {"0123abcd", deployment("a:1", "--cluster-id=demo"), []string{"eu"}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := (settings{clusterID: test.chosen}).rename(test.there, "0123abcd", test.bindings)
			if (err != nil) != test.fails || err != nil && !strings.Contains(err.Error(), "the providers eu are bound") {
				t.Errorf("got %v", err)
			}
		})
	}
}
