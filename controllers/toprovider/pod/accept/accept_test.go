package accept_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/controllers/toprovider/pod"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/accept"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

func TestPodRefusal(t *testing.T) {
	tests := map[string]struct {
		pod  string
		want string // The reason, and what the message names. Empty if the pod can be sent.
	}{
		"plain":                  {`{spec: {containers: [{name: web}]}}`, ""},
		"mirror of a static one": {`{metadata: {annotations: {kubernetes.io/config.mirror: x}}}`, "StaticPod: it is a static pod"},
		"read from a file":       {`{metadata: {annotations: {kubernetes.io/config.source: file}}}`, "StaticPod: it is a static pod"},
		"read from the API":      {`{metadata: {annotations: {kubernetes.io/config.source: api}}}`, ""},
		"of a DaemonSet":         {`{metadata: {ownerReferences: [{kind: DaemonSet, controller: true}]}}`, "DaemonSetPod: spillway.io/offload-daemonset=true"},
		"of a DaemonSet, asked for": {
			`{metadata: {annotations: {spillway.io/offload-daemonset: "true"}, ownerReferences: [{kind: DaemonSet, controller: true}]}}`, ""},
		"owned by a DaemonSet that does not control it": {`{metadata: {ownerReferences: [{kind: DaemonSet}]}}`, ""},
		"of a ReplicaSet": {`{metadata: {ownerReferences: [{kind: ReplicaSet, controller: true}]}}`, ""},

		"hostNetwork":    {`{spec: {hostNetwork: true}}`, "PodSecurity: spec.hostNetwork"},
		"cure":           {`{spec: {hostNetwork: true}}`, "PodSecurity: set podOffloadingStrategy of the NamespaceOffloading to LocalAndRemote"},
		"hostPID":        {`{spec: {hostPID: true}}`, "PodSecurity: spec.hostPID"},
		"hostIPC":        {`{spec: {hostIPC: true}}`, "PodSecurity: spec.hostIPC"},
		"resourceClaims": {`{spec: {resourceClaims: [{name: gpu}]}}`, "ResourceClaims: spec.resourceClaims"},

		"privileged":              {`{spec: {containers: [{name: web, securityContext: {privileged: true}}]}}`, "PodSecurity: spec.containers[web].securityContext.privileged"},
		"privileged init":         {`{spec: {initContainers: [{name: i, securityContext: {privileged: true}}]}}`, "PodSecurity: spec.initContainers[i].securityContext.privileged"},
		"not privileged":          {`{spec: {containers: [{name: web, securityContext: {privileged: false}}]}}`, ""},
		"privileged ephemeral":    {`{spec: {ephemeralContainers: [{name: e, securityContext: {privileged: true}}]}}`, ""},
		"capability":              {`{spec: {containers: [{name: web, securityContext: {capabilities: {add: [CHOWN, NET_ADMIN]}}}]}}`, "PodSecurity: capabilities.add[NET_ADMIN]"},
		"capability of baseline":  {`{spec: {containers: [{name: web, securityContext: {capabilities: {add: [CHOWN], drop: [ALL]}}}]}}`, ""},
		"hostPort":                {`{spec: {containers: [{name: web, ports: [{containerPort: 80}, {hostPort: 80}]}]}}`, "PodSecurity: spec.containers[web].ports.hostPort"},
		"procMount":               {`{spec: {containers: [{name: web, securityContext: {procMount: Unmasked}}]}}`, "PodSecurity: securityContext.procMount"},
		"procMount, default":      {`{spec: {containers: [{name: web, securityContext: {procMount: Default}}]}}`, ""},
		"procMount, own users":    {`{spec: {hostUsers: false, containers: [{name: web, securityContext: {procMount: Unmasked}}]}}`, ""},
		"procMount, host's users": {`{spec: {hostUsers: true, containers: [{name: web, securityContext: {procMount: Unmasked}}]}}`, "PodSecurity: securityContext.procMount"},
		"probe":                   {`{spec: {containers: [{name: web, livenessProbe: {httpGet: {port: 80, host: h}}}]}}`, "PodSecurity: livenessProbe.host"},
		"readiness probe":         {`{spec: {containers: [{name: web, readinessProbe: {tcpSocket: {port: 80, host: h}}}]}}`, "PodSecurity: readinessProbe.host"},
		"startup probe":           {`{spec: {containers: [{name: web, startupProbe: {httpGet: {port: 80, host: h}}}]}}`, "PodSecurity: startupProbe.host"},
		"hook":                    {`{spec: {containers: [{name: web, lifecycle: {postStart: {httpGet: {port: 80, host: h}}}}]}}`, "PodSecurity: lifecycle.postStart.host"},
		"last hook":               {`{spec: {containers: [{name: web, lifecycle: {preStop: {tcpSocket: {port: 80, host: h}}}}]}}`, "PodSecurity: lifecycle.preStop.host"},
		"probe of the pod":        {`{spec: {containers: [{name: web, livenessProbe: {httpGet: {port: 80}}, lifecycle: {preStop: {tcpSocket: {port: 80}}}}]}}`, ""},

		"csi that names a Secret": {`{spec: {volumes: [{name: v, csi: {driver: d, volumeAttributes: {share: s, secretName: s}}}]}}`, "Credentials: spec.volumes[v].csi.volumeAttributes[secretName]"},
		"csi":                     {`{spec: {volumes: [{name: v, csi: {driver: d, volumeAttributes: {share: s}}}]}}`, ""},

		"sysctl":              {`{spec: {securityContext: {sysctls: [{name: kernel.msgmax}]}}}`, "PodSecurity: spec.securityContext.sysctls[kernel.msgmax]"},
		"sysctl of baseline":  {`{spec: {securityContext: {sysctls: [{name: net.ipv4.tcp_rmem}]}}}`, ""},
		"SELinux type":        {`{spec: {securityContext: {seLinuxOptions: {type: spc_t}}}}`, "PodSecurity: spec.securityContext.seLinuxOptions.type"},
		"SELinux user":        {`{spec: {securityContext: {seLinuxOptions: {user: u}}}}`, "PodSecurity: seLinuxOptions.user"},
		"SELinux role":        {`{spec: {containers: [{name: web, securityContext: {seLinuxOptions: {role: r}}}]}}`, "PodSecurity: containers[web].securityContext.seLinuxOptions.role"},
		"SELinux of baseline": {`{spec: {securityContext: {seLinuxOptions: {type: container_t, level: l}}}}`, ""},
		"host process":        {`{spec: {securityContext: {windowsOptions: {hostProcess: true}}}}`, "PodSecurity: windowsOptions.hostProcess"},
		"no host process":     {`{spec: {securityContext: {windowsOptions: {hostProcess: false}}}}`, ""},
		"no seccomp":          {`{spec: {securityContext: {seccompProfile: {type: Unconfined}}}}`, "PodSecurity: seccompProfile.type"},
		"no AppArmor":         {`{spec: {securityContext: {appArmorProfile: {type: Unconfined}}}}`, "PodSecurity: appArmorProfile.type"},
		"profiles":            {`{spec: {securityContext: {seccompProfile: {type: Localhost}, appArmorProfile: {type: Localhost}}}}`, ""},

		"hostPath":     {`{spec: {volumes: [{name: v, hostPath: {path: /}}]}}`, "PodSecurity: spec.volumes[v].hostPath"},
		"gitRepo":      {`{spec: {volumes: [{name: v, gitRepo: {repository: r}}]}}`, "VolumeNotPortable: spec.volumes[v].gitRepo"},
		"cloud disk":   {`{spec: {volumes: [{name: v, awsElasticBlockStore: {volumeID: i}}]}}`, "VolumeNotPortable: spec.volumes[v].awsElasticBlockStore"},
		"token":        {`{spec: {volumes: [{name: v, projected: {sources: [{secret: {name: s}}, {serviceAccountToken: {path: p}}]}}]}}`, "Credentials: spec.volumes[v].projected.sources[1].serviceAccountToken"},
		"certificate":  {`{spec: {volumes: [{name: v, projected: {sources: [{podCertificate: {keyType: k}}]}}]}}`, "Credentials: sources[0].podCertificate"},
		"trust bundle": {`{spec: {volumes: [{name: v, projected: {sources: [{clusterTrustBundle: {path: p}}]}}]}}`, "VolumeNotPortable: sources[0].clusterTrustBundle"},
		"injected token": {
			`{spec: {volumes: [{name: kube-api-access-x, projected: {sources: [{serviceAccountToken: {path: p}}, {configMap: {name: kube-root-ca.crt}}, {downwardAPI: {}}]}}]}}`, ""},
		"injected by its name only": {
			`{spec: {volumes: [{name: kube-api-access-x, projected: {sources: [{serviceAccountToken: {path: p}}, {secret: {name: s}}]}}]}}`,
			"Credentials: sources[0].serviceAccountToken"},
		"injected, with another ConfigMap": {
			`{spec: {volumes: [{name: kube-api-access-x, projected: {sources: [{serviceAccountToken: {path: p}}, {configMap: {name: other}}]}}]}}`,
			"Credentials: sources[0].serviceAccountToken"},
		"of the name of an injected token": {`{spec: {volumes: [{name: kube-api-access-x, emptyDir: {}}]}}`, ""},
		"injected but for its name": {
			`{spec: {volumes: [{name: token, projected: {sources: [{serviceAccountToken: {path: p}}, {configMap: {name: kube-root-ca.crt}}]}}]}}`,
			"Credentials: sources[0].serviceAccountToken"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			local := fieldtest.PodOf(t, test.pod)
			refusal := accept.BaselineRefusal(local)
			want := refusal
			if refusal != nil && refusal.Reason == field.ReasonPodSecurity {
				want = refusal.With("; a provider can also allow it (podSecurity: privileged in ConfigMap spillway-provider/limits)")
			}
			if diff := cmp.Diff(want, accept.Refusal(local, accept.Provider{Limits: fieldtest.Generous})); diff != "" {
				t.Errorf("a provider with baseline refuses it otherwise (-want +got): %s", diff)
			}
			trusting := &field.Limits{PodSecurity: field.PodSecurityPrivileged, VolumeTypes: field.Describable}
			under := accept.Refusal(local, accept.Provider{Limits: trusting})
			never := accept.NeverSent(local)
			if diff := cmp.Diff(never, under); never != nil && diff != "" || (under == nil) != (refusal == nil || refusal.Reason == field.ReasonPodSecurity) {
				t.Errorf("where privileged pods are taken, it is refused: %v", under)
			}
			if refusal != nil && under == nil {
				sentWhole(t, local, pod.ToRemote(local, fieldtest.Mapped, trusting, nil))
			}
			if test.want == "" {
				if refusal != nil {
					t.Error(refusal)
				}
				return
			}
			reason, names, _ := strings.Cut(test.want, ": ")
			if refusal == nil || refusal.Reason != reason || !strings.Contains(refusal.Error(), names) {
				t.Errorf("got %v", refusal)
			}
		})
	}
}

// sentWhole checks that the remote pod has everything that a pod of TestPodRefusal asks for.
func sentWhole(t *testing.T, local, remote *corev1.Pod) {
	t.Helper()
	want := local.Spec.DeepCopy()
	want.AutomountServiceAccountToken = remote.Spec.AutomountServiceAccountToken
	if diff := cmp.Diff(want, &remote.Spec); diff != "" {
		t.Errorf("it is sent otherwise (-local +remote): %s", diff)
	}
}

func TestEphemeralContainerRefusals(t *testing.T) {
	local := fieldtest.PodOf(t, `
spec:
  ephemeralContainers:
  - {name: fine}
  - {name: root, securityContext: {privileged: true}}
  - {name: admin, securityContext: {capabilities: {add: [NET_ADMIN]}}}`)
	want := []*field.Problem{
		{Reason: field.ReasonPodSecurity, Message: "spec.ephemeralContainers[root].securityContext.privileged is set: the container would be root on a node of the provider" + accept.CureOfDebugContainer},
		{Reason: field.ReasonPodSecurity, Message: "spec.ephemeralContainers[admin].securityContext.capabilities.add[NET_ADMIN] exceeds what pod security baseline allows" + accept.CureOfDebugContainer},
	}
	if diff := cmp.Diff(want, accept.EphemeralContainerRefusals(local, &field.Limits{})); diff != "" {
		t.Error(diff)
	}
	trusting := &field.Limits{PodSecurity: field.PodSecurityPrivileged}
	if refusals := accept.EphemeralContainerRefusals(local, trusting); refusals != nil {
		t.Errorf("where privileged pods are taken, some are refused: %v", refusals)
	}
	remote := pod.ToRemote(fieldtest.PodOf(t, `{spec: {containers: [{name: web}]}}`), fieldtest.Mapped, fieldtest.Generous, fieldtest.Classes)
	for limits, want := range map[*field.Limits]int{{}: 1, trusting: 3} {
		if got := len(pod.Update(local, remote, fieldtest.Mapped, limits).Ephemeral.Spec.EphemeralContainers); got != want {
			t.Errorf("%d are sent under %+v", got, limits)
		}
	}
}
