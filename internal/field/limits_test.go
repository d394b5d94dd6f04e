package field_test

import (
	"maps"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

func TestLimitsOf(t *testing.T) {
	want := &field.Limits{Profile: "confined, with all of podSecurity", PodSecurity: field.PodSecurityPrivileged, VolumeTypes: []string{"nfs", "csi"}, TolerationKeys: []string{"example.com/batch"},
		MetadataKeys: []string{"example.com/", "helm.sh/chart"}, ReservedKeys: []string{"a", "b"},
		EndpointCIDRs:  []netip.Prefix{netip.MustParsePrefix("10.0.0.0/16"), netip.MustParsePrefix("fd00::/8")},
		StorageClasses: []string{"fast", "slow"}, VolumeAttributesClasses: []string{"gold"}, CSISecretNamespaces: []string{"ceph-csi"}, ServiceAccounts: []string{"team-a-*/s3.reader", "*/b+token"}}
	got := field.LimitsOf(map[string]string{
		"podSecurity": " privileged\n", "volumeTypes": " nfs ,, csi", "tolerationKeys": "example.com/batch\n", "priorityClasses": "low", "namespaceLabels": "team",
		"namePattern": ".*-demo", "reservedNames": "a|\n b", "metadataKeys": "example.com/, helm.sh/chart", "reservedKeys": "a,\nb", "endpointCIDRs": "10.0.0.0/16, fd00::/8",
		"storageClasses": "fast, slow", "volumeAttributesClasses": "gold", "csiSecretNamespaces": " ceph-csi", "serviceAccounts": "team-a-*/s3.reader,\n*/b+token",
	})
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(&field.Limits{Profile: "confined"}, field.LimitsOf(nil)); diff != "" {
		t.Errorf("of an empty ConfigMap: %s", diff)
	}
}

// TestProfile: shipped limits have a name. For limits between the profiles, the name says what they
// open.
func TestProfile(t *testing.T) {
	trusted := map[string]string{"podSecurity": "privileged", "volumeTypes": "*", "tolerationKeys": "*", "metadataKeys": "*", "priorityClasses": "*"}
	limits := field.LimitsOf(trusted)
	if diff := cmp.Diff(&field.Limits{Profile: "trusted", PodSecurity: field.PodSecurityPrivileged, VolumeTypes: field.Describable, TolerationKeys: []string{field.All}, MetadataKeys: []string{field.All}}, limits); diff != "" {
		t.Error(diff)
	}
	if limits.Enforced() != "privileged" || field.MissingLimits().Enforced() != "baseline" || field.LimitsOf(map[string]string{"podSecurity": "baseline"}).Enforced() != "baseline" {
		t.Error("new namespaces enforce another standard than the limits say")
	}
	for key := range trusted {
		alone := map[string]string{key: trusted[key], "namePattern": ".*-demo"}
		if got, want := field.LimitsOf(alone).Profile, "confined, with all of "+key; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		most := maps.Clone(trusted)
		most[key] = ""
		if got := field.LimitsOf(most).Profile; strings.Contains(got, key) || strings.Count(got, ",") != len(trusted)-1 {
			t.Errorf("all but %s: %q", key, got)
		}
	}
}

// TestTolerates: a toleration is sent if the provider offers the taint, the taint keeps no pod off, or
// Kubernetes adds the toleration to all pods.
func TestTolerates(t *testing.T) {
	limits := &field.Limits{TolerationKeys: []string{"example.com/batch"}}
	for name, test := range map[string]struct {
		toleration corev1.Toleration
		want       bool
	}{
		"offered":               {corev1.Toleration{Key: "example.com/batch", Effect: corev1.TaintEffectNoSchedule}, true},
		"not offered":           {corev1.Toleration{Key: "example.com/gpu", Effect: corev1.TaintEffectNoSchedule}, false},
		"of everything":         {corev1.Toleration{Operator: corev1.TolerationOpExists}, false},
		"preferred":             {corev1.Toleration{Key: "example.com/gpu", Effect: corev1.TaintEffectPreferNoSchedule}, true},
		"of everything, softly": {corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectPreferNoSchedule}, false},
		"not ready":             {corev1.Toleration{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoExecute}, true},
		"unreachable":           {corev1.Toleration{Key: "node.kubernetes.io/unreachable", Effect: corev1.TaintEffectNoExecute}, true},
		"not ready, for new":    {corev1.Toleration{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoSchedule}, false},
		"another, executed":     {corev1.Toleration{Key: "example.com/gpu", Effect: corev1.TaintEffectNoExecute}, false},
	} {
		if got := limits.Tolerates(&test.toleration); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestToleratesForResource: only a toleration that is named like an extended resource of the pod passes.
func TestToleratesForResource(t *testing.T) {
	spec := fieldtest.PodOf(t, `
spec:
  initContainers: [{name: i, resources: {requests: {example.com/disk: 2}}}]
  containers:
  - {name: c, resources: {requests: {nvidia.com/gpu: 1, example.com/none: 0, cpu: 1, memory: 1Gi, hugepages-2Mi: 2Mi, x.kubernetes.io/a: 1, requests.example.com/a: 1}, limits: {example.com/limit: 1}}}`).Spec
	for toleration, want := range map[string]bool{
		`{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}`: true,
		`{key: nvidia.com/gpu, operator: Exists}`:                     true,
		`{key: nvidia.com/gpu, operator: Equal, value: present}`:      true,
		`{key: nvidia.com/gpu, value: present, effect: NoExecute}`:    true,
		`{key: example.com/disk, operator: Exists}`:                   true,
		`{key: nvidia.com/gpu, operator: Gt, value: "1"}`:             false,
		`{key: amd.com/gpu, operator: Exists}`:                        false,
		`{key: example.com/none, operator: Exists}`:                   false,
		`{key: example.com/limit, operator: Exists}`:                  false,
		`{key: nvidia.com, operator: Exists}`:                         false,
		`{operator: Exists}`:                                          false,
		`{key: cpu, operator: Exists}`:                                false,
		`{key: memory, operator: Exists}`:                             false,
		`{key: hugepages-2Mi, operator: Exists}`:                      false,
		`{key: x.kubernetes.io/a, operator: Exists}`:                  false,
		`{key: requests.example.com/a, operator: Exists}`:             false,
	} {
		if got := field.ToleratesForResource(fieldtest.Parse[corev1.Toleration](t, toleration), &spec); got != want {
			t.Errorf("%s: %t", toleration, got)
		}
	}
}

// TestLimitSize: the manager reads a value of 4096 characters. A longer value makes the provider refuse
// everything.
func TestLimitSize(t *testing.T) {
	for size, want := range map[int]bool{4096: true, 4097: false} {
		if got := field.LimitsOf(map[string]string{"tolerationKeys": strings.Repeat("ü", size)}).Unknown == nil; got != want {
			t.Errorf("%d characters are read: %t", size, got)
		}
	}
}

func TestLimitsThatMeanNothing(t *testing.T) {
	for name, test := range map[string]struct {
		data map[string]string
		want string // A part of the message.
	}{
		"an unknown key":         {map[string]string{"tolerationKeys": "a", "tolerations": "b"}, "the provider refuses all new pods and namespaces, because its ConfigMap spillway-provider/limits has the unknown key tolerations; the keys are podSecurity, volumeTypes, "},
		"a type that is never":   {map[string]string{"volumeTypes": "nfs, hostPath"}, "limits lists hostPath under volumeTypes, which may list only nfs, iscsi, fc and csi, or *"},
		"a domain without a /":   {map[string]string{"metadataKeys": "a/b, example.com"}, "limits lists example.com under metadataKeys, which may list only keys with a domain, domains that end in /, or *"},
		"no standard":            {map[string]string{"podSecurity": "restricted"}, "limits has restricted as podSecurity, which must be baseline or privileged"},
		"no pattern":             {map[string]string{"namePattern": "("}, "limits has an invalid regular expression in namePattern: error parsing regexp: missing closing ): `(`"},
		"no pattern of reserved": {map[string]string{"reservedNames": "a|["}, "limits has an invalid regular expression in reservedNames: error parsing regexp: missing closing ]: `[`"},
		"no range":               {map[string]string{"endpointCIDRs": "10.0.0.0/16, 10.1.0.1"}, "limits lists 10.1.0.1 under endpointCIDRs, which may list only ranges such as 10.0.0.0/16 and fd00:1::/48"},
		"a range of both":        {map[string]string{"endpointCIDRs": "::ffff:10.0.0.0/112"}, "under endpointCIDRs"},
		"every namespace":        {map[string]string{"csiSecretNamespaces": "a, *"}, "limits lists * under csiSecretNamespaces, which may list only names of namespaces"},
		"an account of nowhere":  {map[string]string{"serviceAccounts": "a/b, c"}, "limits lists c under serviceAccounts, which may list only NAMESPACE/NAME, such as team-a-*/s3-reader, or NAMESPACE/NAME+token"},
		"every account":          {map[string]string{"serviceAccounts": "*/*"}, "limits lists */* under serviceAccounts"},
		"another suffix":         {map[string]string{"serviceAccounts": "a/b+admin"}, "limits lists a/b+admin under serviceAccounts"},
		"a list without end":     {map[string]string{"tolerationKeys": strings.Repeat("a,", 5000)}, "limits has more than 4096 characters in tolerationKeys"},
		"text that is no text":   {map[string]string{"volumeTypes": "\x1b" + strings.Repeat("x", 3000)}, "lists  " + strings.Repeat("x", 126) + "… under volumeTypes"},
	} {
		t.Run(name, func(t *testing.T) {
			limits := field.LimitsOf(test.data)
			if limits.Unknown == nil || limits.Unknown.Reason != v1alpha1.ReasonLimitsInvalid || !strings.Contains(limits.Unknown.Message, test.want) {
				t.Errorf("got %v", limits.Unknown)
			}
			if limits.Unknown != nil && len(limits.Unknown.Message) > 1024 {
				t.Errorf("the message has %d characters", len(limits.Unknown.Message))
			}
		})
	}
}
