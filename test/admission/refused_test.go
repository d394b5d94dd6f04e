package admission

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/accept"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/needs"
)

// TestNeverSent creates pods from pieces, one by one and in random combinations. Some pieces can never be sent.
// The test compares what the policy makes of each pod with the verdict of controllers/toprovider/pod/accept: both
// must apply the same rule.
func TestNeverSent(t *testing.T) {
	namespace := offloaded(t, &v1alpha1.NamespaceOffloadingSpec{PodOffloadingStrategy: v1alpha1.PodsLocalAndRemote})
	seen := map[bool]int{}
	for _, piece := range pieces {
		seen[sameVerdict(t, namespace, piece)]++
	}
	chance := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var some []string
		for range 1 + chance.IntN(4) {
			some = append(some, pieces[chance.IntN(len(pieces))])
		}
		seen[sameVerdict(t, namespace, some...)]++
	}
	t.Logf("%d pods can be sent, %d never", seen[false], seen[true])
	if seen[false] < 50 || seen[true] < 50 {
		t.Errorf("%d pods can be sent, %d never: too few to compare", seen[false], seen[true])
	}
}

// pieces are parts of a pod's manifest. Each has its own names, so that they can be combined.
var pieces = []string{
	`{}`,
	`{spec: {hostNetwork: true}}`, `{spec: {hostPID: true}}`, `{spec: {hostIPC: true}}`, `{spec: {hostNetwork: false, hostUsers: true}}`,
	`{spec: {resourceClaims: [{name: gpu, resourceClaimName: gpu}]}}`,
	`{metadata: {annotations: {kubernetes.io/config.source: file}}}`, `{metadata: {annotations: {kubernetes.io/config.source: api}}}`,
	`{metadata: {annotations: {other: x}}}`,

	container(`securityContext: {privileged: true}`), container(`securityContext: {privileged: false}`),
	initContainer(`securityContext: {privileged: true}`), initContainer(`securityContext: {runAsNonRoot: true}`),
	container(`securityContext: {capabilities: {add: [CHOWN]}}`), container(`securityContext: {capabilities: {add: [CHOWN, NET_ADMIN]}}`),
	container(`securityContext: {capabilities: {add: [ALL]}}`), container(`securityContext: {capabilities: {drop: [ALL]}}`),
	initContainer(`securityContext: {capabilities: {add: [SYS_PTRACE]}}`),
	container(`securityContext: {procMount: Default}`),
	`{spec: {hostUsers: false, containers: [{name: own, image: i, securityContext: {procMount: Unmasked}}]}}`,
	container(`ports: [{containerPort: 80}]`), container(`ports: [{containerPort: 80}, {containerPort: 81, hostPort: 81}]`),
	initContainer(`ports: [{containerPort: 82, hostPort: 82}]`),
	container(`livenessProbe: {httpGet: {port: 80}}`), container(`livenessProbe: {httpGet: {port: 80, host: h}}`),
	container(`readinessProbe: {tcpSocket: {port: 80, host: h}}`), container(`startupProbe: {httpGet: {port: 80, host: h}}`),
	container(`startupProbe: {exec: {command: [a]}}`), container(`lifecycle: {postStart: {httpGet: {port: 80, host: h}}}`),
	container(`lifecycle: {preStop: {tcpSocket: {port: 80, host: h}}}`), container(`lifecycle: {preStop: {exec: {command: [a]}}}`),
	container(`securityContext: {seLinuxOptions: {type: spc_t}}`), container(`securityContext: {seLinuxOptions: {type: container_t, level: l}}`),
	container(`securityContext: {seLinuxOptions: {user: u}}`), container(`securityContext: {seLinuxOptions: {role: r}}`),
	container(`securityContext: {seccompProfile: {type: Unconfined}}`), container(`securityContext: {seccompProfile: {type: RuntimeDefault}}`),
	container(`securityContext: {appArmorProfile: {type: Unconfined}}`), container(`securityContext: {appArmorProfile: {type: RuntimeDefault}}`),

	`{spec: {securityContext: {sysctls: [{name: kernel.msgmax, value: "1"}]}}}`,
	`{spec: {securityContext: {sysctls: [{name: net.ipv4.tcp_rmem, value: "1"}]}}}`,
	`{spec: {securityContext: {seLinuxOptions: {type: spc_t}}}}`, `{spec: {securityContext: {seLinuxOptions: {user: u}}}}`,
	`{spec: {securityContext: {seLinuxOptions: {type: container_kvm_t}}}}`,
	`{spec: {securityContext: {seccompProfile: {type: Unconfined}}}}`, `{spec: {securityContext: {appArmorProfile: {type: Unconfined}}}}`,
	`{spec: {securityContext: {seccompProfile: {type: RuntimeDefault}, runAsUser: 1}}}`,
	`{spec: {hostNetwork: true, securityContext: {windowsOptions: {hostProcess: true}}}}`,
	`{spec: {securityContext: {windowsOptions: {runAsUserName: u}}}}`,

	volume(`hostPath: {path: /}`), volume(`emptyDir: {}`), volume(`gitRepo: {repository: r}`), volume(`configMap: {name: c}`),
	volume(`persistentVolumeClaim: {claimName: c}`), volume(`nfs: {server: s, path: /}`), volume(`csi: {driver: d}`),
	volume(`csi: {driver: d, volumeAttributes: {nodeStageSecretName: s}}`),
	volume(`awsElasticBlockStore: {volumeID: i}`), volume(`gcePersistentDisk: {pdName: i}`), volume(`azureDisk: {diskName: d, diskURI: 'https://a.blob.core.windows.net/c/d.vhd'}`),
	volume(`azureFile: {secretName: s, shareName: share}`), volume(`cinder: {volumeID: i}`), volume(`vsphereVolume: {volumePath: p}`),
	volume(`flexVolume: {driver: d/d}`), volume(`flocker: {datasetName: d}`), volume(`glusterfs: {endpoints: e, path: p}`),
	volume(`rbd: {monitors: [m], image: i}`), volume(`cephfs: {monitors: [m]}`), volume(`quobyte: {registry: "r:1", volume: v}`),
	volume(`scaleIO: {gateway: g, system: s, secretRef: {name: s}, volumeName: v}`), volume(`storageos: {volumeName: v}`),
	volume(`photonPersistentDisk: {pdID: i}`), volume(`portworxVolume: {volumeID: i}`), volume(`fc: {targetWWNs: [a], lun: 1}`),
	volume(`projected: {sources: [{secret: {name: s}}, {serviceAccountToken: {path: p}}]}`),
	volume(`projected: {sources: [{secret: {name: s}}]}`),
	volume(`projected: {sources: [{clusterTrustBundle: {name: bundle, path: p}}]}`),
	volume(`projected: {sources: [{podCertificate: {signerName: example.com/b, keyType: ED25519, credentialBundlePath: p}}]}`),
	`{spec: {volumes: [{name: kube-api-access-x, projected: {sources: [{serviceAccountToken: {path: p}}, {configMap: {name: kube-root-ca.crt}}, {downwardAPI: {items: [{path: q, fieldRef: {fieldPath: metadata.name}}]}}]}}]}}`,
	`{spec: {volumes: [{name: kube-api-access-y, projected: {sources: [{serviceAccountToken: {path: p}}, {secret: {name: s}}]}}]}}`,
	`{spec: {volumes: [{name: token, projected: {sources: [{serviceAccountToken: {path: p}}, {configMap: {name: kube-root-ca.crt}}]}}]}}`,
}

// named counts the pieces, so that each has unique names.
var named int

func container(fields string) string     { return listed("containers", "image: i, "+fields) }
func initContainer(fields string) string { return listed("initContainers", "image: i, "+fields) }
func volume(fields string) string        { return listed("volumes", fields) }

func listed(list, fields string) string {
	named++
	return fmt.Sprintf("{spec: {%s: [{name: n%d, %s}]}}", list, named, fields)
}

// podOfPieces is a pod with all of the pieces. If two set the same field, the later one wins; lists are
// joined.
func podOfPieces(t *testing.T, namespace string, some []string) *corev1.Pod {
	t.Helper()
	pod := newPod(namespace)
	pod.Spec.ServiceAccountName = "default" // As admission sets it, unless it is off.
	for _, piece := range some {
		containers, inits, volumes := pod.Spec.Containers, pod.Spec.InitContainers, pod.Spec.Volumes
		pod.Spec.Containers, pod.Spec.InitContainers, pod.Spec.Volumes = nil, nil, nil
		if err := yaml.UnmarshalStrict([]byte(piece), pod); err != nil {
			t.Fatalf("%v in %s", err, piece)
		}
		pod.Spec.Containers = append(containers, pod.Spec.Containers...)
		pod.Spec.InitContainers = append(inits, pod.Spec.InitContainers...)
		pod.Spec.Volumes = append(volumes, pod.Spec.Volumes...)
	}
	return pod
}

// sameVerdict reports whether a pod of these pieces can never be sent. A pod that cannot be sent or that
// names claims must get no toleration from the policy, and any other pod must get one. Invalid pods are not
// compared.
func sameVerdict(t *testing.T, namespace string, some ...string) bool {
	t.Helper()
	pod := podOfPieces(t, namespace, some)
	never := accept.BaselineRefusal(pod) != nil
	none := never || len(needs.Claims(pod)) > 0
	err := server(t).Create(t.Context(), pod, client.DryRunAll)
	switch {
	case apierrors.IsInvalid(err) && len(some) > 1:
		return never
	case err != nil:
		t.Errorf("%s: %v", strings.Join(some, " + "), err)
	case toleratesVirtualNodes(pod) == none:
		t.Errorf("%s: should have no toleration: %t, tolerates virtual nodes: %t", strings.Join(some, " + "), none, none)
	}
	return never
}

// TestDescribedVolumes tests a pod that only some providers accept. On another virtual node it would wait,
// although local nodes have room for it.
func TestDescribedVolumes(t *testing.T) {
	nfs := corev1.NodeSelectorRequirement{Key: v1alpha1.LabelVolumePrefix + "nfs", Operator: corev1.NodeSelectorOpExists}
	csi := corev1.NodeSelectorRequirement{Key: v1alpha1.LabelVolumePrefix + "csi", Operator: corev1.NodeSelectorOpExists}
	toUS := append(slices.Clone(localNodes), "spillway-us")
	tests := map[string]podCase{
		"LocalAndRemote":           {strategy: v1alpha1.PodsLocalAndRemote, want: required(labels(virtual, nfs, csi), labels(local)), nodes: toUS},
		"LocalAndRemote, selector": {strategy: v1alpha1.PodsLocalAndRemote, selector: selecting(labels(eu)), want: required(labels(virtual, nfs, csi, eu), labels(local)), nodes: localNodes},
		"LocalFirst": {strategy: v1alpha1.PodsLocalFirst,
			want: preferring(required(labels(virtual, nfs, csi), labels(local)), prefer(100, labels(local))), nodes: toUS},
		"it tolerates all": {strategy: v1alpha1.PodsLocalAndRemote, tolerations: []corev1.Toleration{tolerateAll}, wantTolerations: []corev1.Toleration{tolerateAll},
			want: required(labels(virtual, nfs, csi), labels(local)), nodes: toUS},
		"made from one": {strategy: v1alpha1.PodsLocalAndRemote, tolerations: []corev1.Toleration{tolerateVirtual},
			affinity: required(labels(virtual, nfs, csi), labels(local)), want: required(labels(virtual, nfs, csi), labels(local)), nodes: toUS},
		"Remote": {strategy: v1alpha1.PodsRemote, selector: selecting(labels(eu)), want: required(labels(virtual, eu)), nodes: onlyEU},
	}
	for name, test := range tests {
		test.change = func(pod *corev1.Pod) {
			pod.Spec.Volumes = []corev1.Volume{
				{Name: "a", VolumeSource: corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "s", Path: "/"}}},
				{Name: "b", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "d"}}},
			}
		}
		t.Run(name, test.run)
	}
}

// TestClaims tests pods whose volumes may not exist yet. No driver creates them on a virtual node. On local
// nodes the pods can be scheduled at once.
func TestClaims(t *testing.T) {
	none := []corev1.Toleration{}
	claims := map[string]corev1.VolumeSource{
		"persistentVolumeClaim": {PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-db-0"}},
		"ephemeral": {Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		}}}},
	}
	for kind, source := range claims {
		for name, test := range map[string]podCase{
			"LocalAndRemote":           {strategy: v1alpha1.PodsLocalAndRemote, untouched: true, nodes: localNodes},
			"LocalAndRemote, selector": {strategy: v1alpha1.PodsLocalAndRemote, selector: selecting(labels(eu)), want: required(labels(virtual, eu), labels(local)), wantTolerations: none, nodes: localNodes},
			"LocalFirst":               {strategy: v1alpha1.PodsLocalFirst, want: preferring(nil, prefer(100, labels(local))), wantTolerations: none, nodes: localNodes},
			"it tolerates all":         {strategy: v1alpha1.PodsLocalAndRemote, tolerations: []corev1.Toleration{tolerateAll}, untouched: true, nodes: everywhere},
			"Remote":                   {strategy: v1alpha1.PodsRemote, selector: selecting(labels(eu)), want: required(labels(virtual, eu)), nodes: onlyEU},
		} {
			test.change = func(pod *corev1.Pod) { pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: source}} }
			t.Run(kind+", "+name, test.run)
		}
	}
}

// TestNeverSentStrategies tests what the policy makes of a pod that can never be sent.
func TestNeverSentStrategies(t *testing.T) {
	tests := map[string]podCase{
		"LocalAndRemote":           {strategy: v1alpha1.PodsLocalAndRemote, untouched: true, nodes: localNodes},
		"LocalAndRemote, selector": {strategy: v1alpha1.PodsLocalAndRemote, selector: selecting(labels(eu)), untouched: true, nodes: localNodes},
		"LocalFirst":               {strategy: v1alpha1.PodsLocalFirst, untouched: true, nodes: localNodes},
		"it has an affinity":       {strategy: v1alpha1.PodsLocalAndRemote, affinity: required(labels(amd)), untouched: true, nodes: localNodes[:1]},
		"it tolerates all": {
			strategy: v1alpha1.PodsLocalAndRemote, tolerations: []corev1.Toleration{tolerateAll},
			want: required(labels(local)), wantTolerations: []corev1.Toleration{tolerateAll}, nodes: localNodes,
		},
		"made from one that could be sent": {
			strategy: v1alpha1.PodsLocalFirst, selector: selecting(labels(eu)), tolerations: []corev1.Toleration{tolerateVirtual},
			affinity: required(labels(virtual, eu), labels(local)), want: required(labels(virtual, eu, local), labels(local)), nodes: localNodes,
		},
		"Remote": {
			strategy: v1alpha1.PodsRemote, selector: selecting(labels(eu)), want: required(labels(virtual, eu)), nodes: onlyEU,
		},
	}
	for name, test := range tests {
		test.change = func(pod *corev1.Pod) {
			pod.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: ptr.To(true)}
		}
		t.Run(name, test.run)
	}
}
