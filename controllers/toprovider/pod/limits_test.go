package pod

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/accept"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

func TestLimitRefusal(t *testing.T) {
	const ask = ": the provider does not allow inline volumes of this type; use a PersistentVolumeClaim, " +
		"or ask its administrator for it (volumeTypes in ConfigMap spillway-provider/limits); or, to run the pod on the consumer's own nodes, " +
		"recreate it with podOffloadingStrategy LocalAndRemote"
	none, some := &field.Limits{}, &field.Limits{VolumeTypes: []string{"csi"}}
	tests := map[string]struct {
		limits *field.Limits
		volume string
		want   field.Problem
	}{
		"nfs, and nothing is listed": {none, `nfs: {server: s, path: /}`, field.Problem{Reason: field.ReasonVolumeNotAllowed, Message: "spec.volumes[v].nfs" + ask}},
		"nfs, and another is listed": {some, `nfs: {server: s, path: /}`, field.Problem{Reason: field.ReasonVolumeNotAllowed, Message: "spec.volumes[v].nfs" + ask}},
		"nfs, which is listed":       {fieldtest.Generous, `nfs: {server: s, path: /}`, field.Problem{}},
		"iscsi":                      {some, `iscsi: {targetPortal: p, iqn: i}`, field.Problem{Reason: field.ReasonVolumeNotAllowed, Message: "spec.volumes[v].iscsi" + ask}},
		"fc":                         {some, `fc: {wwids: [w]}`, field.Problem{Reason: field.ReasonVolumeNotAllowed, Message: "spec.volumes[v].fc" + ask}},
		"csi, which is listed":       {some, `csi: {driver: d, volumeAttributes: {share: s}}`, field.Problem{}},
		"nothing of the kind":        {none, `emptyDir: {}`, field.Problem{}},
		"there are no limits":        {field.MissingLimits(), `emptyDir: {}`, *field.MissingLimits().Unknown},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pod := fieldtest.PodOf(t, "spec: {volumes: [{name: v, "+test.volume+"}], containers: [{name: c, image: i}]}")
			got := field.Problem{}
			if refusal := accept.Refusal(pod, accept.Provider{Limits: test.limits}); refusal != nil {
				got = *refusal
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWithheldTolerations(t *testing.T) {
	none, limits, every := &field.Limits{}, &field.Limits{TolerationKeys: []string{"example.com/batch"}}, &field.Limits{TolerationKeys: []string{"*"}}
	const offered = ": the provider does not allow it (tolerationKeys in ConfigMap spillway-provider/limits)"
	tests := map[string]struct {
		limits     *field.Limits
		toleration string
		want       string // Empty if it is sent.
		stays      bool   // Whether it is not sent, without a report.
	}{
		"every taint":                          {limits, `{operator: Exists}`, "the toleration of every taint" + offered, false},
		"every taint softly":                   {limits, `{operator: Exists, effect: PreferNoSchedule}`, "the toleration of every taint" + offered, false},
		"control plane nodes":                  {limits, `{key: node-role.kubernetes.io/control-plane, operator: Exists, effect: NoSchedule}`, "the toleration of node-role.kubernetes.io/control-plane" + offered, false},
		"what is offered":                      {limits, `{key: example.com/batch, operator: Exists}`, "", false},
		"what nothing is said of":              {none, `{key: example.com/batch, operator: Exists}`, "the toleration of example.com/batch" + offered, false},
		"a soft taint":                         {none, `{key: a, operator: Exists, effect: PreferNoSchedule}`, "", false},
		"what Kubernetes adds":                 {none, `{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}`, "", true},
		"for longer than Kubernetes adds":      {none, `{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 301}`, "", false},
		"what Kubernetes adds, and further":    {none, `{key: node.kubernetes.io/unreachable, operator: Exists}`, "the toleration of node.kubernetes.io/unreachable" + offered, false},
		"every taint, where all are offered":   {every, `{operator: Exists}`, "", false},
		"any taint, where all are offered":     {every, `{key: any, operator: Exists, effect: NoExecute}`, "", false},
		"virtual nodes, where all are offered": {every, `{key: spillway.io/virtual-node, operator: Exists}`, "", true},
		"a resource that it requests":          {none, `{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}`, "", false},
		"a resource that it does not":          {none, `{key: amd.com/gpu, operator: Exists}`, "the toleration of amd.com/gpu" + offered, false},
		"virtual nodes":                        {limits, `{key: spillway.io/virtual-node, operator: Exists}`, "", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pod := fieldtest.PodOf(t, "spec: {tolerations: ["+test.toleration+"], containers: [{name: c, image: i, resources: {requests: {nvidia.com/gpu: 1}}}]}")
			remote := ToRemote(pod, fieldtest.Mapped, test.limits, nil)
			var said string
			for _, message := range Withheld(pod, remote, test.limits) {
				said += message
			}
			if diff := cmp.Diff(test.want, said); diff != "" {
				t.Error(diff)
			}
			sent := len(remote.Spec.Tolerations) == 1
			if want := test.want == "" && !test.stays; sent != want {
				t.Errorf("it is sent: %t, want %t", sent, want)
			}
		})
	}
}

// TestTolerationsAndChangedLimits changes limits while a pod runs. A toleration that the provider
// offers later is sent once. One that it withdraws stays, without a write.
func TestTolerationsAndChangedLimits(t *testing.T) {
	local := fieldtest.PodOf(t, "metadata: {name: p, namespace: team, uid: u}\nspec: {tolerations: [{key: example.com/batch, operator: Exists}, {operator: Exists}], containers: [{name: c, image: i}]}")
	none, offering := &field.Limits{}, &field.Limits{TolerationKeys: []string{"example.com/batch"}}
	remote := ToRemote(local, fieldtest.Mapped, none, nil)
	if changes := Update(local, remote, fieldtest.Mapped, none); changes != (Changes{}) {
		t.Fatalf("it is changed at once: %v", changes)
	}
	changes := Update(local, remote, fieldtest.Mapped, offering)
	if changes.Main == nil {
		t.Fatal("what is offered is not sent")
	}
	if diff := cmp.Diff([]corev1.Toleration{{Key: "example.com/batch", Operator: corev1.TolerationOpExists}}, changes.Main.Spec.Tolerations); diff != "" {
		t.Error(diff)
	}
	for name, limits := range map[string]*field.Limits{"offered": offering, "taken back": none, "missing": field.MissingLimits()} {
		if again := Update(local, changes.Main, fieldtest.Mapped, limits); again != (Changes{}) {
			t.Errorf("%s: it is changed once more: %v", name, again)
		}
	}
}

// TestOldTolerationsStay: for pods that were sent before limits existed, limits cause no write.
func TestOldTolerationsStay(t *testing.T) {
	local := fieldtest.PodOf(t, "metadata: {name: p, namespace: team, uid: u}\nspec: {tolerations: [{operator: Exists}], containers: [{name: c, image: i}]}")
	remote := ToRemote(local, fieldtest.Mapped, fieldtest.Generous, nil)
	remote.Spec.Tolerations = local.Spec.Tolerations
	remote.Annotations[v1alpha1.AnnotationSpecHash] = specHash(local, nil, local.Spec.Tolerations)
	if changes := Update(local, remote, fieldtest.Mapped, &field.Limits{}); changes != (Changes{}) {
		t.Errorf("it is changed: %v", changes)
	}
	if withheld := Withheld(local, remote, &field.Limits{}); withheld != nil {
		t.Errorf("it is said to lack %v", withheld)
	}
}
