package service

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

// TestService compares the remote Service with the expected one.
func TestService(t *testing.T) {
	const stored = `clusterIP: 10.0.0.7, clusterIPs: [10.0.0.7], ipFamilies: [IPv4], ipFamilyPolicy: SingleStack, internalTrafficPolicy: Cluster, sessionAffinity: None`
	for name, test := range map[string]struct{ local, want string }{
		"a ClusterIP": {`{type: ClusterIP, ` + stored + `, selector: {app: web}, ports: [{name: http, protocol: TCP, port: 80, targetPort: web, appProtocol: kubernetes.io/h2c}]}`,
			`{type: ClusterIP, selector: {app: web}, internalTrafficPolicy: Cluster, sessionAffinity: None,
			  ports: [{name: http, protocol: TCP, port: 80, targetPort: web, appProtocol: kubernetes.io/h2c}]}`},
		"of two families": {`{type: ClusterIP, clusterIP: 10.0.0.7, clusterIPs: [10.0.0.7, "fd00::7"], ipFamilies: [IPv4, IPv6], ipFamilyPolicy: PreferDualStack}`,
			`{type: ClusterIP}`},
		"by labels with domains": {`{selector: {cnpg.io/cluster: pg, app.kubernetes.io/name: db, label.cnpg.io.spillway.io/cluster: other}}`,
			`{type: ClusterIP, selector: {label.cnpg.io.spillway.io/cluster: pg, app.kubernetes.io/name: db, label.spillway.io/none: other}}`},
		"headless": {`{type: ClusterIP, clusterIP: None, clusterIPs: [None], selector: {app: db}, publishNotReadyAddresses: true, ports: [{port: 5432}]}`,
			`{type: ClusterIP, clusterIP: None, selector: {app: db}, publishNotReadyAddresses: true, ports: [{port: 5432}]}`},
		"headless, without ports": {`{clusterIP: None, selector: {app: db}}`, `{type: ClusterIP, clusterIP: None, selector: {app: db}}`},
		"a NodePort": {`{type: NodePort, ` + stored + `, externalTrafficPolicy: Local, ports: [{port: 80, nodePort: 30080}]}`,
			`{type: ClusterIP, internalTrafficPolicy: Cluster, sessionAffinity: None, ports: [{port: 80}]}`},
		"a LoadBalancer": {`{type: LoadBalancer, clusterIP: 10.0.0.7, loadBalancerIP: 192.0.2.1, loadBalancerSourceRanges: [192.0.2.0/24], loadBalancerClass: example.com/lb,
			allocateLoadBalancerNodePorts: false, externalTrafficPolicy: Local, healthCheckNodePort: 30081, externalIPs: [192.0.2.2], ports: [{port: 80, nodePort: 30080}]}`,
			`{type: ClusterIP, ports: [{port: 80}]}`},
		"a LoadBalancer of a class": {`{type: LoadBalancer, clusterIP: 10.0.0.7, loadBalancerIP: 192.0.2.1, loadBalancerSourceRanges: [192.0.2.0/24], loadBalancerClass: x,
			allocateLoadBalancerNodePorts: false, externalTrafficPolicy: Local, healthCheckNodePort: 30081, externalIPs: [192.0.2.2], ports: [{port: 80, nodePort: 30080}]}`,
			`{type: LoadBalancer, loadBalancerClass: nlb, loadBalancerSourceRanges: [192.0.2.0/24], allocateLoadBalancerNodePorts: false, externalTrafficPolicy: Local, ports: [{port: 80}]}`},
		"a LoadBalancer, by default": {`{type: LoadBalancer, loadBalancerClass: any, ports: [{port: 80, nodePort: 30080}]}`, `{type: LoadBalancer, ports: [{port: 80}]}`},
		"with affinity": {`{sessionAffinity: ClientIP, sessionAffinityConfig: {clientIP: {timeoutSeconds: 60}}, trafficDistribution: PreferSameZone, internalTrafficPolicy: Local}`,
			`{type: ClusterIP, sessionAffinity: ClientIP, sessionAffinityConfig: {clientIP: {timeoutSeconds: 60}}, trafficDistribution: PreferSameZone, internalTrafficPolicy: Local}`},
		"without a selector": {`{ports: [{port: 80}]}`, `{type: ClusterIP, ports: [{port: 80}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			local := fieldtest.ServiceOf(t, test.local)
			before := local.DeepCopy()
			got, refusal := toRemote(local, fieldtest.Mapped, fieldtest.Balancing, fieldtest.Classes)
			if refusal != nil {
				t.Fatal(refusal)
			}
			want := fieldtest.ServiceOf(t, test.want)
			want.ObjectMeta = metav1.ObjectMeta{Name: "web", Namespace: "team-eu", Labels: fieldtest.Mark.Labels(), Annotations: fieldtest.ProvenanceOf("app;")}
			want.Labels["app"] = "web"
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for i := range got.Spec.Ports {
				got.Spec.Ports[i].Port++
			}
			if diff := cmp.Diff(before, local); diff != "" {
				t.Errorf("the local Service was changed:\n%s", diff)
			}
		})
	}
}

func TestServiceRefusals(t *testing.T) {
	never := fieldtest.ServiceOf(t, `{}`)
	never.Labels["spillway.io/sync"] = "never"
	for name, test := range map[string]struct {
		local           *corev1.Service
		reason, mention string
	}{
		"an alias":     {fieldtest.ServiceOf(t, `{type: ExternalName, externalName: db.example.com}`), ReasonExternalName, `spec.type is ExternalName`},
		"kept at home": {never, field.ReasonSyncNever, "spillway.io/sync=never"},
	} {
		if _, refusal := toRemote(test.local, fieldtest.Mapped, nil, nil); refusal == nil || refusal.Reason != test.reason || !strings.Contains(refusal.Message, test.mention) {
			t.Errorf("%s: got %v", name, refusal)
		}
	}
}

// TestLabelOfSlices: the label that names the Service of an EndpointSlice is not sent on a Service.
func TestLabelOfSlices(t *testing.T) {
	local := fieldtest.ServiceOf(t, `{}`)
	local.Labels["kubernetes.io/service-name"] = "web"
	remote, _ := toRemote(local, fieldtest.Mapped, nil, nil)
	if fieldtest.Listing.Withhold(remote, nil); remote.Labels["kubernetes.io/service-name"] != "" {
		t.Error("it is sent")
	}
}

// TestServiceNotice: the owner learns how the remote Service differs from what they may expect.
func TestServiceNotice(t *testing.T) {
	for name, test := range map[string]struct {
		spec            string
		limits          *field.Limits
		reason, mention string
	}{
		"with a selector":               {`{selector: {app: web, app.kubernetes.io/name: web}}`, &field.Limits{}, "", ""},
		"without one":                   {`{}`, &field.Limits{}, ReasonServiceWithoutEndpoints, "spec.selector is empty"},
		"without one, and not known":    {`{}`, nil, ReasonServiceWithoutEndpoints, "spec.selector is empty"},
		"without one, with addresses":   {`{}`, fieldtest.Listing, "", ""},
		"a LoadBalancer":                {`{type: LoadBalancer, selector: {app: web}}`, &field.Limits{}, ReasonSentAsClusterIP, "spec.type is LoadBalancer"},
		"of a class":                    {`{type: LoadBalancer, loadBalancerClass: x, selector: {app: web}}`, fieldtest.Balancing, "", ""},
		"of one that is not mapped":     {`{type: LoadBalancer, loadBalancerClass: other, selector: {app: web}}`, fieldtest.Balancing, ReasonSentAsClusterIP, "spec.loadBalancerClass: the ClusterBinding does not map LoadBalancer other"},
		"of one that is not allowed":    {`{type: LoadBalancer, loadBalancerClass: x, selector: {app: web}}`, &field.Limits{LoadBalancerClasses: []string{"default"}}, ReasonSentAsClusterIP, "does not allow the class nlb (loadBalancerClasses in ConfigMap"},
		"the default is not allowed":    {`{type: LoadBalancer, loadBalancerClass: any, selector: {app: web}}`, &field.Limits{LoadBalancerClasses: []string{"nlb"}}, ReasonSentAsClusterIP, "does not allow the class default"},
		"of unknown limits":             {`{type: LoadBalancer, loadBalancerClass: x, selector: {app: web}}`, nil, ReasonSentAsClusterIP, "does not allow the class nlb"},
		"with many ranges":              {`{type: LoadBalancer, loadBalancerClass: x, selector: {app: web}, loadBalancerSourceRanges: [` + strings.Repeat("192.0.2.0/24,", 65) + `]}`, fieldtest.Balancing, ReasonSentAsClusterIP, "spec.loadBalancerSourceRanges has more than 64"},
		"a NodePort":                    {`{type: NodePort, selector: {app: web}}`, &field.Limits{}, "", ""},
		"with addresses of its own":     {`{selector: {app: web}, externalIPs: [192.0.2.1]}`, &field.Limits{}, ReasonSentAsClusterIP, "spec.externalIPs"},
		"by a label that is not listed": {`{selector: {app: web, example.com/tier: web}}`, &field.Limits{}, "", ""},
		"by one that is reserved":       {`{selector: {app: web}}`, &field.Limits{ReservedKeys: []string{"app"}}, ReasonServiceWithoutEndpoints, "spec.selector[app]: pods are sent without this label, so the Service has no endpoints there; see metadataKeys and reservedKeys"},
		"by one of Spillway's":          {`{selector: {spillway.io/x: web}}`, &field.Limits{}, ReasonServiceWithoutEndpoints, "spec.selector[spillway.io/x]"},
		"by one of the node":            {`{selector: {topology.kubernetes.io/zone: a}}`, &field.Limits{MetadataKeys: []string{"topology.kubernetes.io/"}}, ReasonServiceWithoutEndpoints, "spec.selector[topology.kubernetes.io/zone]"},
	} {
		notice := serviceNotice(fieldtest.ServiceOf(t, test.spec), test.limits, fieldtest.Classes)
		if notice == nil {
			notice = &field.Problem{}
		}
		if notice.Reason != test.reason || !strings.Contains(notice.Message, test.mention) {
			t.Errorf("%s: got %v", name, notice)
		}
	}
}

// TestMergeService: the merge keeps what the provider has filled in, and removes what opens the Service
// to the outside.
func TestMergeService(t *testing.T) {
	const filled = `clusterIP: 10.1.0.9, clusterIPs: [10.1.0.9], ipFamilies: [IPv4], ipFamilyPolicy: SingleStack`
	const defaults = `sessionAffinity: None, internalTrafficPolicy: Cluster`
	for name, test := range map[string]struct {
		local, remote string
		want          string // Empty if remote stays as it is.
		replace       bool
	}{
		"as it should be": {`{` + defaults + `, selector: {app: web}, ports: [{port: 80}]}`, `{type: ClusterIP, ` + filled + `, ` + defaults + `, selector: {app: web}, ports: [{port: 80}]}`, "", false},
		"defaults of the provider stay": {`{selector: {app: web}}`,
			`{type: ClusterIP, ` + filled + `, sessionAffinity: None, internalTrafficPolicy: Cluster, selector: {app: web}}`, "", false},
		"another selector and port": {`{` + defaults + `, selector: {app: api}, ports: [{port: 81}]}`, `{type: ClusterIP, ` + filled + `, ` + defaults + `, selector: {app: web}, ports: [{port: 80}]}`,
			`{type: ClusterIP, ` + filled + `, ` + defaults + `, selector: {app: api}, ports: [{port: 81}]}`, false},
		"affinity ends": {`{` + defaults + `}`, `{type: ClusterIP, ` + filled + `, sessionAffinity: ClientIP, sessionAffinityConfig: {clientIP: {timeoutSeconds: 60}}, internalTrafficPolicy: Cluster}`,
			`{type: ClusterIP, ` + filled + `, ` + defaults + `}`, false},
		"a distribution ends": {`{` + defaults + `}`, `{type: ClusterIP, ` + filled + `, ` + defaults + `, trafficDistribution: PreferSameZone}`, `{type: ClusterIP, ` + filled + `, ` + defaults + `}`, false},
		"somebody has opened it": {`{` + defaults + `, ports: [{port: 80}]}`,
			`{type: LoadBalancer, ` + filled + `, ` + defaults + `, externalTrafficPolicy: Local, healthCheckNodePort: 30081, externalIPs: [192.0.2.1], loadBalancerIP: 192.0.2.2,
			  loadBalancerSourceRanges: [192.0.2.0/24], loadBalancerClass: example.com/lb, allocateLoadBalancerNodePorts: true, ports: [{port: 80, nodePort: 30080}]}`,
			`{type: ClusterIP, ` + filled + `, ` + defaults + `, externalTrafficPolicy: Local, ports: [{port: 80}]}`, false},
		"a load balancer, as it should be": {`{type: LoadBalancer, loadBalancerClass: x, externalTrafficPolicy: Local, allocateLoadBalancerNodePorts: true, ` + defaults + `, ports: [{port: 80}, {port: 53, protocol: UDP}]}`,
			`{type: LoadBalancer, loadBalancerClass: nlb, externalTrafficPolicy: Local, healthCheckNodePort: 30081, allocateLoadBalancerNodePorts: true, ` + filled + `, ` + defaults + `,
			  ports: [{port: 80, nodePort: 30080}, {port: 53, protocol: UDP, nodePort: 30053}]}`, "", false},
		"a load balancer by default": {`{type: LoadBalancer, loadBalancerClass: any, ` + defaults + `}`,
			`{type: LoadBalancer, loadBalancerClass: chosen, externalTrafficPolicy: Cluster, allocateLoadBalancerNodePorts: true, ` + filled + `, ` + defaults + `}`, "", false},
		"a load balancer with other ports and ranges": {`{type: LoadBalancer, loadBalancerClass: x, loadBalancerSourceRanges: [192.0.2.0/24], ` + defaults + `, ports: [{port: 81}, {port: 80}]}`,
			`{type: LoadBalancer, loadBalancerClass: nlb, externalIPs: [192.0.2.1], loadBalancerIP: 192.0.2.2, loadBalancerSourceRanges: [192.0.2.0/25], ` + filled + `, ` + defaults + `, ports: [{port: 80, protocol: TCP, nodePort: 30080}]}`,
			`{type: LoadBalancer, loadBalancerClass: nlb, loadBalancerSourceRanges: [192.0.2.0/24], ` + filled + `, ` + defaults + `, ports: [{port: 81}, {port: 80, nodePort: 30080}]}`, false},
		"it gets a load balancer": {`{type: LoadBalancer, loadBalancerClass: x, ` + defaults + `}`, `{type: ClusterIP, ` + filled + `, ` + defaults + `}`,
			`{type: LoadBalancer, loadBalancerClass: nlb, ` + filled + `, ` + defaults + `}`, false},
		"a load balancer of another class": {`{type: LoadBalancer, loadBalancerClass: x, ` + defaults + `}`, `{type: LoadBalancer, loadBalancerClass: old, ` + filled + `, ` + defaults + `}`,
			`{type: LoadBalancer, loadBalancerClass: nlb, ` + filled + `, ` + defaults + `}`, true},
		"somebody has made it an alias": {`{` + defaults + `, selector: {app: web}}`, `{type: ExternalName, externalName: example.com, sessionAffinity: None}`,
			`{type: ClusterIP, ` + defaults + `, selector: {app: web}}`, false},
		"it becomes headless": {`{clusterIP: None, ` + defaults + `}`, `{type: ClusterIP, ` + filled + `, ` + defaults + `, selector: {app: web}}`,
			`{type: ClusterIP, ` + filled + `, ` + defaults + `}`, true},
		"and nothing else differs":  {`{clusterIP: None, ` + defaults + `}`, `{type: ClusterIP, ` + filled + `, ` + defaults + `}`, "", true},
		"it is headless no longer":  {`{clusterIP: 10.0.0.7, ` + defaults + `}`, `{type: ClusterIP, clusterIP: None, clusterIPs: [None], ` + defaults + `}`, "", true},
		"it is headless, and stays": {`{clusterIP: None, ` + defaults + `}`, `{type: ClusterIP, clusterIP: None, clusterIPs: [None], ` + defaults + `}`, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			desired, refusal := toRemote(fieldtest.ServiceOf(t, test.local), fieldtest.Mapped, fieldtest.Balancing, fieldtest.Classes)
			if refusal != nil {
				t.Fatal(refusal)
			}
			remote := fieldtest.ServiceOf(t, test.remote)
			remote.ObjectMeta = *desired.ObjectMeta.DeepCopy()
			got, replace := merge(desired, remote)
			if equality.Semantic.DeepEqual(got, remote) != (test.want == "") || replace != test.replace {
				t.Errorf("%v, replace: %t", got, replace)
			}
			if test.want == "" {
				return
			}
			if diff := cmp.Diff(fieldtest.ServiceOf(t, test.want).Spec, got.Spec); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got.Spec.Type == corev1.ServiceTypeClusterIP && !replace {
				if again, _ := merge(desired, got); !equality.Semantic.DeepEqual(again, got) {
					t.Errorf("it is merged once more: %s", cmp.Diff(got, again))
				}
			}
		})
	}
}
