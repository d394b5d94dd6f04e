package pod

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

// The remote pod keeps what the local pod requires of labels that the provider's nodes have, too.
func TestSelectNodes(t *testing.T) {
	const amd, arm = `{key: kubernetes.io/arch, operator: In, values: [amd64]}`, `{key: kubernetes.io/arch, operator: NotIn, values: [arm64]}`
	const virtual, local = `{key: spillway.io/node-type, operator: In, values: [virtual]}`, `{key: spillway.io/node-type, operator: DoesNotExist}`
	terms := func(all string) string {
		return `affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [` + all + `]}}}`
	}
	for name, test := range map[string]struct {
		local, want string
		named       string
	}{
		"what all nodes have": {local: `nodeSelector: {kubernetes.io/arch: amd64, beta.kubernetes.io/os: linux, topology.kubernetes.io/zone: a, node.kubernetes.io/instance-type: big, disk: ssd, kubernetes.io/hostname: spillway-eu}`,
			want: `nodeSelector: {kubernetes.io/arch: amd64, beta.kubernetes.io/os: linux, node.kubernetes.io/instance-type: big}`},
		"the flavor of a queue":          {local: `schedulingGates: [{name: kueue.x-k8s.io/admission}], nodeSelector: {spillway.io/cluster: eu, kubernetes.io/arch: amd64}`, want: `nodeSelector: {kubernetes.io/arch: amd64}`},
		"only what the virtual node has": {local: `nodeSelector: {disk: ssd}`},
		"what the binding has named, but for what means the same everywhere": {named: "kubernetes.io/arch,node.kubernetes.io/instance-type",
			local: `nodeSelector: {kubernetes.io/arch: amd64, topology.kubernetes.io/region: mine, node.kubernetes.io/instance-type: mine}`,
			want:  `nodeSelector: {kubernetes.io/arch: amd64}`},
		"a requirement":                       {local: terms(`{matchExpressions: [` + arm + `, {key: disk, operator: Exists}]}`), want: terms(`{matchExpressions: [` + arm + `]}`)},
		"alternatives":                        {local: terms(`{matchExpressions: [` + amd + `]}, {matchExpressions: [` + arm + `]}`), want: terms(`{matchExpressions: [` + amd + `]}, {matchExpressions: [` + arm + `]}`)},
		"one of the alternatives is any node": {local: terms(`{matchExpressions: [` + amd + `]}, {matchExpressions: [{key: disk, operator: Exists}]}`)},
		"as the admission policy combines them": {local: terms(`{matchExpressions: [` + amd + `, ` + virtual + `]}, {matchExpressions: [` + amd + `, ` + local + `]}`),
			want: terms(`{matchExpressions: [` + amd + `]}`)},
		"an alternative for local nodes": {local: terms(`{matchExpressions: [` + local + `]}, {matchExpressions: [` + amd + `]}`), want: terms(`{matchExpressions: [` + amd + `]}`)},
		"for another virtual node":       {local: terms(`{matchFields: [{key: metadata.name, operator: In, values: [spillway-us]}]}, {matchExpressions: [` + amd + `]}`), want: terms(`{matchExpressions: [` + amd + `]}`)},
		"for this one":                   {local: terms(`{matchFields: [{key: metadata.name, operator: In, values: [spillway-eu]}]}, {matchExpressions: [` + amd + `]}`)},
		"for no node":                    {local: terms(`{}, {matchExpressions: [` + amd + `]}`), want: terms(`{matchExpressions: [` + amd + `]}`)},
		"another affinity":               {local: `affinity: {podAntiAffinity: {}}`},
	} {
		t.Run(name, func(t *testing.T) {
			target := fieldtest.Mapped
			target.Named = test.named
			remote := sentPod(t, fieldtest.PodOf(t, `{spec: {containers: [{name: web}], `+test.local+`}}`), target)
			if len(remote.Spec.SchedulingGates) > 0 {
				t.Errorf("it has the gates %v", remote.Spec.SchedulingGates)
			}
			want := fieldtest.PodOf(t, `{spec: {`+test.want+`}}`)
			if diff := cmp.Diff([]any{want.Spec.NodeSelector, want.Spec.Affinity}, []any{remote.Spec.NodeSelector, remote.Spec.Affinity}); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	pod := fieldtest.PodOf(t, `{spec: {containers: [{name: web}], `+terms(`{matchExpressions: [`+amd+`]}`)+`}}`)
	before := pod.DeepCopy()
	required := func(p *corev1.Pod) *corev1.NodeSelectorRequirement {
		return &p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions[0]
	}
	required(sentPod(t, pod, fieldtest.Mapped)).Values[0] = "changed"
	if diff := cmp.Diff(required(before), required(pod)); diff != "" {
		t.Errorf("the remote pod shares memory with the local one:\n%s", diff)
	}
}
