package translate

import (
	"maps"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// generous allows everything that the other tests send.
var generous = &Limits{VolumeTypes: []string{"nfs", "iscsi", "fc", "csi"}, TolerationKeys: []string{"a", "b"}}

func TestLimitsOf(t *testing.T) {
	want := &Limits{Profile: "confined, with all of podSecurity", PodSecurity: PodSecurityPrivileged, VolumeTypes: []string{"nfs", "csi"}, TolerationKeys: []string{"example.com/batch"},
		MetadataKeys: []string{"example.com/", "helm.sh/chart"}, ReservedKeys: []string{"a", "b"},
		EndpointCIDRs: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/16"), netip.MustParsePrefix("fd00::/8")}}
	got := LimitsOf(map[string]string{
		"podSecurity": " privileged\n", "volumeTypes": " nfs ,, csi", "tolerationKeys": "example.com/batch\n", "priorityClasses": "low", "namespaceLabels": "team",
		"namePattern": ".*-demo", "reservedNames": "a|\n b", "metadataKeys": "example.com/, helm.sh/chart", "reservedKeys": "a,\nb", "endpointCIDRs": "10.0.0.0/16, fd00::/8",
	})
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(&Limits{Profile: "confined"}, LimitsOf(nil)); diff != "" {
		t.Errorf("of an empty ConfigMap: %s", diff)
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
		"a list without end":     {map[string]string{"tolerationKeys": strings.Repeat("a,", 5000)}, "limits has more than 4096 characters in tolerationKeys"},
		"text that is no text":   {map[string]string{"volumeTypes": "\x1b" + strings.Repeat("x", 3000)}, "lists  " + strings.Repeat("x", 126) + "… under volumeTypes"},
	} {
		t.Run(name, func(t *testing.T) {
			limits := LimitsOf(test.data)
			if limits.Unknown == nil || limits.Unknown.Reason != v1alpha1.ReasonLimitsInvalid || !strings.Contains(limits.Unknown.Message, test.want) {
				t.Errorf("got %v", limits.Unknown)
			}
			if limits.Unknown != nil && len(limits.Unknown.Message) > 1024 {
				t.Errorf("the message has %d characters", len(limits.Unknown.Message))
			}
			if refusal := LimitRefusal(podOf(t, "spec: {containers: [{name: c, image: i}]}"), limits); refusal != limits.Unknown {
				t.Errorf("a pod is refused: %v", refusal)
			}
		})
	}
}

// TestProfile: shipped limits have a name. For limits between the profiles, the name says what they
// open.
func TestProfile(t *testing.T) {
	trusted := map[string]string{"podSecurity": "privileged", "volumeTypes": "*", "tolerationKeys": "*", "metadataKeys": "*", "priorityClasses": "*"}
	limits := LimitsOf(trusted)
	if diff := cmp.Diff(&Limits{Profile: "trusted", PodSecurity: PodSecurityPrivileged, VolumeTypes: describable, TolerationKeys: []string{All}, MetadataKeys: []string{All}}, limits); diff != "" {
		t.Error(diff)
	}
	if limits.Enforced() != "privileged" || MissingLimits().Enforced() != "baseline" || LimitsOf(map[string]string{"podSecurity": "baseline"}).Enforced() != "baseline" {
		t.Error("new namespaces enforce another standard than the limits say")
	}
	for key := range trusted {
		alone := map[string]string{key: trusted[key], "namePattern": ".*-demo"}
		if got, want := LimitsOf(alone).Profile, "confined, with all of "+key; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		most := maps.Clone(trusted)
		most[key] = ""
		if got := LimitsOf(most).Profile; strings.Contains(got, key) || strings.Count(got, ",") != 4 {
			t.Errorf("all but %s: %q", key, got)
		}
	}
}

func TestLimitRefusal(t *testing.T) {
	const ask = ": the provider does not allow inline volumes of this type; use a PersistentVolumeClaim, " +
		"or ask its administrator for it (volumeTypes in ConfigMap spillway-provider/limits); or, to run the pod on the consumer's own nodes, " +
		"recreate it with podOffloadingStrategy LocalAndRemote"
	none, some := &Limits{}, &Limits{VolumeTypes: []string{"csi"}}
	tests := map[string]struct {
		limits *Limits
		volume string
		want   field.Problem
	}{
		"nfs, and nothing is listed": {none, `nfs: {server: s, path: /}`, field.Problem{Reason: ReasonVolumeNotAllowed, Message: "spec.volumes[v].nfs" + ask}},
		"nfs, and another is listed": {some, `nfs: {server: s, path: /}`, field.Problem{Reason: ReasonVolumeNotAllowed, Message: "spec.volumes[v].nfs" + ask}},
		"nfs, which is listed":       {generous, `nfs: {server: s, path: /}`, field.Problem{}},
		"iscsi":                      {some, `iscsi: {targetPortal: p, iqn: i}`, field.Problem{Reason: ReasonVolumeNotAllowed, Message: "spec.volumes[v].iscsi" + ask}},
		"fc":                         {some, `fc: {wwids: [w]}`, field.Problem{Reason: ReasonVolumeNotAllowed, Message: "spec.volumes[v].fc" + ask}},
		"csi, which is listed":       {some, `csi: {driver: d, volumeAttributes: {share: s}}`, field.Problem{}},
		"nothing of the kind":        {none, `emptyDir: {}`, field.Problem{}},
		"there are no limits":        {MissingLimits(), `emptyDir: {}`, *MissingLimits().Unknown},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pod := podOf(t, "spec: {volumes: [{name: v, "+test.volume+"}], containers: [{name: c, image: i}]}")
			got := field.Problem{}
			if refusal := LimitRefusal(pod, test.limits); refusal != nil {
				got = *refusal
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if _, refusal := Pod(pod, mapped, test.limits, nil); (refusal != nil) != (test.want != field.Problem{}) {
				t.Errorf("sending it is refused: %v", refusal)
			}
		})
	}
}

func TestWithheldTolerations(t *testing.T) {
	none, limits, every := &Limits{}, &Limits{TolerationKeys: []string{"example.com/batch"}}, &Limits{TolerationKeys: []string{"*"}}
	const offered = ": the provider does not allow it (tolerationKeys in ConfigMap spillway-provider/limits)"
	tests := map[string]struct {
		limits     *Limits
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
		"virtual nodes":                        {limits, `{key: spillway.io/virtual-node, operator: Exists}`, "", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pod := podOf(t, "spec: {tolerations: ["+test.toleration+"], containers: [{name: c, image: i}]}")
			remote, refusal := Pod(pod, mapped, test.limits, nil)
			if refusal != nil {
				t.Fatal(refusal)
			}
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
	local := podOf(t, "metadata: {name: p, namespace: team, uid: u}\nspec: {tolerations: [{key: example.com/batch, operator: Exists}, {operator: Exists}], containers: [{name: c, image: i}]}")
	none, offering := &Limits{}, &Limits{TolerationKeys: []string{"example.com/batch"}}
	remote, refusal := Pod(local, mapped, none, nil)
	if refusal != nil {
		t.Fatal(refusal)
	}
	if changes := PodUpdate(local, remote, mapped, none); changes != (PodChanges{}) {
		t.Fatalf("it is changed at once: %v", changes)
	}
	changes := PodUpdate(local, remote, mapped, offering)
	if changes.Main == nil {
		t.Fatal("what is offered is not sent")
	}
	if diff := cmp.Diff([]corev1.Toleration{{Key: "example.com/batch", Operator: corev1.TolerationOpExists}}, changes.Main.Spec.Tolerations); diff != "" {
		t.Error(diff)
	}
	for name, limits := range map[string]*Limits{"offered": offering, "taken back": none, "missing": MissingLimits()} {
		if again := PodUpdate(local, changes.Main, mapped, limits); again != (PodChanges{}) {
			t.Errorf("%s: it is changed once more: %v", name, again)
		}
	}
}

// TestOldTolerationsStay: for pods that were sent before limits existed, limits cause no write.
func TestOldTolerationsStay(t *testing.T) {
	local := podOf(t, "metadata: {name: p, namespace: team, uid: u}\nspec: {tolerations: [{operator: Exists}], containers: [{name: c, image: i}]}")
	remote, refusal := Pod(local, mapped, generous, nil)
	if refusal != nil {
		t.Fatal(refusal)
	}
	remote.Spec.Tolerations = local.Spec.Tolerations
	remote.Annotations[v1alpha1.AnnotationSpecHash] = specHash(local, nil, local.Spec.Tolerations)
	if changes := PodUpdate(local, remote, mapped, &Limits{}); changes != (PodChanges{}) {
		t.Errorf("it is changed: %v", changes)
	}
	if withheld := Withheld(local, remote, &Limits{}); withheld != nil {
		t.Errorf("it is said to lack %v", withheld)
	}
}

// TestTolerates: a toleration is sent if the provider offers the taint, the taint keeps no pod off, or
// Kubernetes adds the toleration to all pods.
func TestTolerates(t *testing.T) {
	limits := &Limits{TolerationKeys: []string{"example.com/batch"}}
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
		if got := limits.tolerates(&test.toleration); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestSecretAttribute: some drivers read the Secret that an attribute names.
func TestSecretAttribute(t *testing.T) {
	for want, attributes := range map[string]map[string]string{
		"":                 {"share": "a", "secret": "b", "name": "c", "nameOfSecret": "d"},
		"secretName":       {"share": "a", "secretName": "s"},
		"SECRET-user-NAME": {"SECRET-user-NAME": "s"},
		"a-secret-name":    {"b-secret-name": "s", "a-secret-name": "s"},
	} {
		if got := secretAttribute(attributes); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for want, source := range map[string]corev1.VolumeSource{
		"": {EmptyDir: &corev1.EmptyDirVolumeSource{}}, "nfs": {NFS: &corev1.NFSVolumeSource{}}, "iscsi": {ISCSI: &corev1.ISCSIVolumeSource{}},
		"fc": {FC: &corev1.FCVolumeSource{}}, "csi": {CSI: &corev1.CSIVolumeSource{}},
	} {
		if got := describedType(&source); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestLimitSize: the manager reads a value of 4096 characters. A longer value makes the provider refuse
// everything.
func TestLimitSize(t *testing.T) {
	for size, want := range map[int]bool{4096: true, 4097: false} {
		if got := LimitsOf(map[string]string{"tolerationKeys": strings.Repeat("ü", size)}).Unknown == nil; got != want {
			t.Errorf("%d characters are read: %t", size, got)
		}
	}
}
