package pod

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

// A remote pod runs on nodes of its group only, whatever else it requires.
func TestLimitToGroup(t *testing.T) {
	zoneA := field.Group{"topology.kubernetes.io/zone": ptr.To("a")}
	const arm = `{key: kubernetes.io/arch, operator: In, values: [arm64]}`
	for name, test := range map[string]struct {
		group       field.Group
		local, want string
	}{
		"none":       {nil, `nodeSelector: {disk: ssd}`, ``},
		"a value":    {zoneA, `nodeSelector: {topology.kubernetes.io/zone: a, kubernetes.io/arch: arm64}`, `nodeSelector: {topology.kubernetes.io/zone: a, kubernetes.io/arch: arm64}`},
		"no request": {zoneA, ``, `nodeSelector: {topology.kubernetes.io/zone: a}`},
		"a label that the nodes lack": {field.Group{"disk": nil}, ``,
			`affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: DoesNotExist}]}]}}}`},
		"with alternatives": {field.Group{"disk": nil},
			`affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [` + arm + `]}]}}}`,
			`affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [` + arm + `, {key: disk, operator: DoesNotExist}]}]}}}`},
		"an alternative for another group": {zoneA,
			`affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [b]}]}, {matchExpressions: [` + arm + `, {key: topology.kubernetes.io/zone, operator: In, values: [a]}]}]}}}`,
			`nodeSelector: {topology.kubernetes.io/zone: a}, affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [` + arm + `]}]}}}`},
		"what the group has": {zoneA,
			`affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [a]}]}, {matchExpressions: [` + arm + `]}]}}}`,
			`nodeSelector: {topology.kubernetes.io/zone: a}`},
		"for this node alone": {zoneA,
			`nodeName: spillway-eu.a-1, affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [spillway-eu]}], matchExpressions: [` + arm + `]}, {matchFields: [{key: metadata.name, operator: In, values: [spillway-eu.a-1]}]}]}}}`,
			`nodeSelector: {topology.kubernetes.io/zone: a}`},
	} {
		t.Run(name, func(t *testing.T) {
			local := fieldtest.PodOf(t, `{spec: {containers: [{name: web}], `+test.local+`}}`)
			remote := sentPod(t, local, fieldtest.Mapped)
			selectInGroup(&remote.Spec, &local.Spec, fieldtest.Mapped, test.group)
			want := fieldtest.PodOf(t, `{spec: {`+test.want+`}}`)
			if diff := cmp.Diff([]any{want.Spec.NodeSelector, want.Spec.Affinity}, []any{remote.Spec.NodeSelector, remote.Spec.Affinity}); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// A pod waits while the group of its node is not known.
func TestGroupOf(t *testing.T) {
	groups := map[string]field.Group{"spillway-eu.a-1": {"zone": ptr.To("a")}, "spillway-eu.gone": nil}
	for node, test := range map[string]struct {
		groups map[string]field.Group
		want   string
		known  bool
	}{
		"spillway-eu.a-1":  {groups, `{"zone":"a"}`, true},
		"spillway-eu.gone": {groups, "", false},
		"spillway-eu.late": {groups, "", false},
		"spillway-eu":      {groups, "", true},
		"any":              {nil, "", true},
	} {
		local := fieldtest.PodOf(t, `{spec: {nodeName: "`+node+`"}}`)
		group, known := groupOf(local, decide.Inputs{Node: "spillway-eu", Groups: test.groups})
		if group.String() != test.want || known != test.known {
			t.Errorf("%s: %s, known: %t", node, group, known)
		}
	}
}
