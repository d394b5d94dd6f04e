package fieldtest

import (
	"net/netip"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// Generous allows everything that the other tests send.
var Generous = &field.Limits{VolumeTypes: []string{"nfs", "iscsi", "fc", "csi"}, TolerationKeys: []string{"a", "b"}}

// Classes map x, which is the value of filled fields.
var Classes = field.Classes{
	{Kind: v1alpha1.ClassPriority, Name: "x", RemoteName: "batch"},
	{Kind: v1alpha1.ClassRuntime, Name: "x", RemoteName: "gvisor"},
	{Kind: v1alpha1.ClassRuntime, Name: "kata", RemoteName: "kata"},
	{Kind: v1alpha1.ClassLoadBalancer, Name: "x", RemoteName: "nlb"},
	{Kind: v1alpha1.ClassLoadBalancer, Name: "any"},
}

// Balancing allows the load balancers of classes.
var Balancing = &field.Limits{LoadBalancerClasses: []string{"nlb", "default"}}

// HostTable says which patterns allow which hosts.
var HostTable = []struct {
	Patterns, Host string
	Want           bool
}{
	{"", "a.example.com", false},
	{"", "*", false},
	{"*", "a.example.com", true},
	{"*", "*.example.com", true},
	{"*", "*", true},
	{"a.example.com", "a.example.com", true},
	{"a.example.com", "b.example.com", false},
	{"a.example.com", "*.example.com", false},
	{"a.example.com", "b.a.example.com", false},
	{"a.example.com", "*", false},
	{"*.example.com", "a.example.com", true},
	{"*.example.com", "a.b.example.com", true},
	{"*.example.com", "*.example.com", true},
	{"*.example.com", "*.b.example.com", true},
	{"*.example.com", "example.com", false},
	{"*.example.com", "badexample.com", false},
	{"*.example.com", "a.example.com.evil.org", false},
	{"*.example.com", "*.com", false},
	{"*.example.com", "*", false},
	{"example.org, *.example.com", "a.example.com", true},
	{"example.org, *.example.com", "example.org", true},
	{"example.org,,", "", false},
	{"*.", "a.example.com", false},
	{"*.", "*", false},
	{"a*", "a.example.com", false},
	{"eu=a.example.com", "a.example.com", true},
	{"us=a.example.com", "a.example.com", false},
	{"eu=*", "*", true},
	{"us=*", "*", false},
	{"us=*,eu=*.example.com", "a.example.com", true},
	{"us=*,eu=*.example.com", "example.com", false},
	{"=a.example.com", "a.example.com", false},
	{"e=u=a.example.com", "a.example.com", false},
	{"eu=us=a.example.com", "a.example.com", false},
	{"eu =a.example.com", "a.example.com", false},
}

// Listing allows some ranges.
var Listing = &field.Limits{EndpointCIDRs: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00:1::/48")}}

// Bound is a pod after admission and binding, with a bit of everything.
const Bound = `
metadata: {labels: {app: web}, annotations: {note: hello}}
spec:
  nodeName: spillway-eu
  serviceAccountName: builder
  schedulerName: default-scheduler
  priority: 100
  nodeSelector: {a: b}
  tolerations:
  - {key: spillway.io/virtual-node, operator: Exists}
  - {key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 30}
  imagePullSecrets: [{name: pull}]
  initContainers:
  - {name: init, image: init:1, volumeMounts: [{name: kube-api-access-x, mountPath: /t}]}
  containers:
  - name: web
    image: web:1
    envFrom: [{configMapRef: {name: env}}]
    env:
    - {name: NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
    - {name: NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
    - {name: UID, valueFrom: {fieldRef: {fieldPath: metadata.uid}}}
    - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
    - {name: ACCOUNT, valueFrom: {fieldRef: {fieldPath: spec.serviceAccountName}}}
    - {name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
    - {name: APP, valueFrom: {fieldRef: {fieldPath: "metadata.labels['app']"}}}
    - {name: CPU, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}
    volumeMounts: [{name: scratch, mountPath: /s}, {name: kube-api-access-x, mountPath: /t}]
  volumes:
  - {name: scratch, ephemeral: {volumeClaimTemplate: {spec: {}}}}
  - name: info
    downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}, {path: labels, fieldRef: {fieldPath: metadata.labels}}, {path: cpu, resourceFieldRef: {resource: limits.cpu}}]}
  - name: all
    projected: {sources: [{downwardAPI: {items: [{path: ns, fieldRef: {fieldPath: metadata.namespace}}, {path: uid, fieldRef: {fieldPath: metadata.uid}}, {path: annotations, fieldRef: {fieldPath: metadata.annotations}}]}}, {secret: {name: s}}]}
  - {name: kube-api-access-x, projected: {sources: [{serviceAccountToken: {path: t}}]}}`

// Present is later than all times in these tests, except those that are called future or later.
var Present = time.Date(2026, 3, 1, 0, 0, 0, 900, time.UTC)

// ProvenanceOf returns the annotations by which a remote object names the local object team/web.
func ProvenanceOf(copied string) map[string]string {
	return map[string]string{
		v1alpha1.AnnotationLocalNamespace: "team", v1alpha1.AnnotationLocalName: "web", v1alpha1.AnnotationLocalUID: "uid",
		v1alpha1.AnnotationCopied: copied,
	}
}

// ServiceOf returns the Service team/web with that spec.
func ServiceOf(t testing.TB, spec string) *corev1.Service {
	t.Helper()
	service := Parse[corev1.Service](t, `{metadata: {namespace: team, name: web, uid: uid, labels: {app: web}}}`)
	Merged(t, &service.Spec, spec)
	return service
}

// IngressOf returns the Ingress team/web with that spec and class public.
func IngressOf(t testing.TB, spec string) *networkingv1.Ingress {
	t.Helper()
	ingress := Parse[networkingv1.Ingress](t, `{metadata: {namespace: team, name: web, uid: uid, labels: {app: web}}, spec: {ingressClassName: public}}`)
	Merged(t, &ingress.Spec, spec)
	return ingress
}

// EveryReference is a pod that names an object in every possible field.
const EveryReference = `
spec:
  imagePullSecrets: [{name: pull}, {name: ""}]
  initContainers:
  - {name: init, env: [{name: a, valueFrom: {configMapKeyRef: {name: init-env, key: k, optional: true}}}]}
  containers:
  - name: web
    envFrom: [{configMapRef: {name: from}}, {secretRef: {name: from-secret, optional: true}}]
    env: [{name: a, value: literal}, {name: b, valueFrom: {secretKeyRef: {name: env-secret, key: k}}}, {name: c, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]
    volumeMounts: [{name: kube-api-access-x, mountPath: /var/run}, {name: config, mountPath: /config}]
  ephemeralContainers:
  - {name: debug, envFrom: [{secretRef: {name: debug}}]}
  - {name: root, securityContext: {privileged: true}, envFrom: [{secretRef: {name: never}}]}
  volumes:
  - {name: config, configMap: {name: both, optional: true}}
  - {name: secret, secret: {secretName: volume-secret}}
  - {name: claim, persistentVolumeClaim: {claimName: data}}
  - {name: scratch, ephemeral: {volumeClaimTemplate: {spec: {}}}}
  - {name: csi, csi: {driver: d, nodePublishSecretRef: {name: csi}}}
  - {name: iscsi, iscsi: {targetPortal: t, iqn: i, lun: 1, secretRef: {name: chap}}}
  - {name: empty, emptyDir: {}}
  - name: projected
    projected: {sources: [{configMap: {name: both}}, {secret: {name: projected, optional: true}}, {downwardAPI: {}}, {configMap: {name: kube-root-ca.crt}}]}
  - name: kube-api-access-x
    projected: {sources: [{serviceAccountToken: {path: token}}, {configMap: {name: kube-root-ca.crt}}, {downwardAPI: {}}]}`
