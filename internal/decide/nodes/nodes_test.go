package nodes

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func tainted(keys ...string) *builder.NodeBuilder {
	node := builder.Node("a").Allocatable("nvidia.com/gpu", "8").Allocatable("example.com/fpga", "0").Allocatable("amd.com/gpu", "1")
	for _, key := range keys {
		node = node.Taint(key, corev1.TaintEffectNoSchedule)
	}
	return node
}

func TestTakes(t *testing.T) {
	gpu := corev1.Toleration{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists}
	yes := corev1.Toleration{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpEqual, Value: "yes"}
	later := corev1.Toleration{Key: "nvidia.com/gpu", Effect: corev1.TaintEffectNoExecute}
	none := Listed(nil)
	for name, test := range map[string]struct {
		node      *builder.NodeBuilder
		tolerated Tolerated
		takes     bool
		reserved  string
	}{
		"no taint":                          {tainted(), none, true, ""},
		"a taint":                           {tainted("disk"), none, false, ""},
		"a preference":                      {tainted().Taint("disk", corev1.TaintEffectPreferNoSchedule), none, true, ""},
		"a taint that repeats the node":     {tainted(corev1.TaintNodeNotReady), none, true, ""},
		"cordoned":                          {tainted().Cordoned(), none, false, ""},
		"being deleted":                     {tainted().Deleted(), none, false, ""},
		"not ready":                         {tainted().Ready(corev1.ConditionFalse), Listed([]string{"*"}), false, ""},
		"the limits list it":                {tainted("disk"), Listed([]string{"disk"}), true, ""},
		"the limits list everything":        {tainted("disk"), Listed([]string{"*"}), true, ""},
		"GPUs":                              {tainted("nvidia.com/gpu"), none, false, "nvidia.com/gpu"},
		"GPUs, twice":                       {tainted("nvidia.com/gpu").Taint("nvidia.com/gpu", corev1.TaintEffectNoExecute), none, false, "nvidia.com/gpu"},
		"GPUs, and cordoned":                {tainted("nvidia.com/gpu").Cordoned(), none, false, ""},
		"GPUs, and another taint":           {tainted("nvidia.com/gpu", "disk"), none, false, ""},
		"GPUs, and one that is listed":      {tainted("nvidia.com/gpu", "disk"), Listed([]string{"disk"}), false, "nvidia.com/gpu"},
		"GPUs of two kinds":                 {tainted("nvidia.com/gpu", "amd.com/gpu"), none, false, ""},
		"a resource that it has none of":    {tainted("example.com/fpga"), none, false, ""},
		"a resource of Kubernetes":          {tainted("cpu"), none, false, ""},
		"the pod names the taint":           {tainted("nvidia.com/gpu"), Named([]corev1.Toleration{yes}), true, ""},
		"the pod names another effect":      {tainted("nvidia.com/gpu"), Named([]corev1.Toleration{later}), false, "nvidia.com/gpu"},
		"the pod matches the taint":         {tainted("nvidia.com/gpu"), Matched([]corev1.Toleration{gpu}), true, ""},
		"the pod tolerates another value":   {tainted("nvidia.com/gpu"), Matched([]corev1.Toleration{yes}), false, "nvidia.com/gpu"},
		"a virtual node, which is opened":   {tainted(v1alpha1.TaintVirtualNode), Matched(nil), true, ""},
		"a virtual node, which is not sent": {tainted(v1alpha1.TaintVirtualNode), Named(nil), false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			node := test.node.Obj()
			if got := Takes(node, test.tolerated); got != test.takes {
				t.Errorf("it takes pods: %v", got)
			}
			if got := Reserved(node, test.tolerated); string(got) != test.reserved {
				t.Errorf("it is reserved for %q", got)
			}
		})
	}
}
