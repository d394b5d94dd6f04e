package networkpolicy

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
)

// worlds is how many random worlds the test checks, each with one policy.
const worlds = 1000

// world is the state of both clusters, chosen at random.
type world struct {
	*rand.Rand
	limits *field.Limits
	// local are the labels of the consumer's namespaces. remote are the labels of the provider's
	// namespaces, which others set.
	local, remote map[string]map[string]string
	mapped        map[string]string
	shared        []string
}

// The keys of labels in the worlds. Pods are sent without those in keysNotSent, and without keysByAlias under their
// own keys.
var (
	keysSent    = []string{"app", "app.kubernetes.io/name", "allowed.example.com/x", "other.example.com/x"}
	keysByAlias = []string{"other.example.com/x"}
	keysNotSent = []string{"reserved", "spillway.io/x", "topology.kubernetes.io/zone"}
)

const (
	policyNamespace = "team"
	mountNamespace  = "mount"
)

func newWorld(seed uint64) *world {
	w := &world{
		Rand: rand.New(rand.NewPCG(seed, 1)), limits: &field.Limits{MetadataKeys: []string{"allowed.example.com/"}, ReservedKeys: []string{"reserved"}},
		local: map[string]map[string]string{}, remote: map[string]map[string]string{}, mapped: map[string]string{policyNamespace: "team-eu"},
	}
	for _, name := range []string{policyNamespace, "shop", "bank", "kube-system", "monitoring"} {
		w.local[name] = w.labels(name)
	}
	// A remote namespace may have the name of any local namespace, but not of another remote one.
	names := []string{"shop", "bank-eu", "monitoring", "tenant", mountNamespace}
	for _, name := range []string{"shop", "bank", "gone"} {
		if i := w.IntN(len(names)); w.IntN(3) > 0 {
			w.mapped[name] = names[i]
			names = slices.Delete(names, i, i+1)
		}
	}
	for _, name := range []string{"kube-system", "monitoring", "shop", "tenant", mountNamespace, "nowhere"} {
		if w.IntN(2) == 0 {
			w.shared = append(w.shared, name)
		}
	}
	for _, name := range slices.Concat(slices.Collect(maps.Values(w.mapped)), w.shared, []string{"tenant", mountNamespace, "team", "bank"}) {
		w.remote[name] = w.labels(name)
	}
	return w
}

func (w *world) labels(name string) map[string]string {
	labels := map[string]string{corev1.LabelMetadataName: name}
	for _, key := range slices.Concat(keysSent, keysNotSent) {
		if w.IntN(2) == 0 {
			labels[key] = w.one("a", "b")
		}
	}
	return labels
}

func (w *world) one(of ...string) string { return of[w.IntN(len(of))] }

func (w *world) key() string {
	if w.IntN(12) == 0 {
		return w.one(keysNotSent...)
	}
	return w.one(keysSent...)
}

func (w *world) selector() *metav1.LabelSelector {
	selector := &metav1.LabelSelector{}
	if w.IntN(2) == 0 {
		selector.MatchLabels = map[string]string{w.key(): w.one("a", "b")}
	}
	if w.IntN(3) == 0 {
		r := metav1.LabelSelectorRequirement{Key: w.key(), Operator: metav1.LabelSelectorOperator(w.one("In", "NotIn", "Exists", "DoesNotExist"))}
		if r.Operator == metav1.LabelSelectorOpIn || r.Operator == metav1.LabelSelectorOpNotIn {
			r.Values = []string{w.one("a", "b")}
		}
		selector.MatchExpressions = append(selector.MatchExpressions, r)
	}
	return selector
}

func (w *world) peers() []networkingv1.NetworkPolicyPeer {
	var all []networkingv1.NetworkPolicyPeer
	for range w.IntN(3) {
		var peer networkingv1.NetworkPolicyPeer
		switch w.IntN(7) {
		case 0:
			peer.IPBlock = &networkingv1.IPBlock{CIDR: "192.0.2.0/24", Except: []string{"192.0.2.64/26"}}
		case 1: // A peer of a newer API.
		case 2:
			peer.PodSelector = w.selector()
		case 3, 4:
			peer.NamespaceSelector = w.selector()
			if w.IntN(3) == 0 {
				peer.NamespaceSelector.MatchLabels = map[string]string{corev1.LabelMetadataName: w.one("shop", "bank", "tenant", "kube-system", "monitoring", "bank-eu")}
			}
		default:
			peer.PodSelector, peer.NamespaceSelector = w.selector(), w.selector()
		}
		all = append(all, peer)
	}
	return all
}

func (w *world) ports() []networkingv1.NetworkPolicyPort {
	var all []networkingv1.NetworkPolicyPort
	for range w.IntN(2) {
		port := networkingv1.NetworkPolicyPort{Port: ptr.To(intstr.FromInt32(w.Int32N(3)))}
		if w.IntN(2) == 0 {
			port.EndPort = ptr.To(port.Port.IntVal + 1)
		}
		all = append(all, port)
	}
	return all
}

func (w *world) policy() *networkingv1.NetworkPolicy {
	local := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: policyNamespace, Name: "web"}}
	local.Spec.PodSelector = *w.selector()
	for range w.IntN(3) {
		local.Spec.Ingress = append(local.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{Ports: w.ports(), From: w.peers()})
	}
	for range w.IntN(3) {
		local.Spec.Egress = append(local.Spec.Egress, networkingv1.NetworkPolicyEgressRule{Ports: w.ports(), To: w.peers()})
	}
	for _, direction := range []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress} {
		if w.IntN(3) == 0 {
			local.Spec.PolicyTypes = append(local.Spec.PolicyTypes, direction)
		}
	}
	return local
}

// home returns the local namespace whose pods, or counterparts of them, are in a namespace of the
// provider. It returns "" if the pods are somebody else's. copied reports whether they are remote pods.
func (w *world) home(remote string) (local string, copied bool) {
	if remote == mountNamespace {
		return "", false
	}
	for local, to := range w.mapped {
		if to == remote {
			if w.local[local] == nil {
				return "", false
			}
			return local, true
		}
	}
	if slices.Contains(w.shared, remote) && w.local[remote] != nil {
		return remote, false
	}
	return "", false
}

// ends returns pods in a namespace of the provider, as they are in the provider and in the consumer. In
// the consumer, a pod of somebody else is an address that no selector and no ipBlock matches.
func (w *world) ends(namespace string) (there, home []source) {
	local, copied := w.home(namespace)
	for range 8 {
		labels := w.labels(namespace)
		pod := source{namespace: namespace, namespaceLabels: w.remote[namespace], labels: maps.Clone(labels)}
		if copied {
			pod.labels = field.Metadata(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: labels}}, field.Target{}).Labels
			withheld := slices.Concat(keysNotSent, keysByAlias)
			maps.DeleteFunc(pod.labels, func(key, _ string) bool { return slices.Contains(withheld, key) })
			pod.labels[w.one(withheld...)] = w.one("a", "b") // Somebody in the provider set it.
		}
		there = append(there, pod)
		if local == "" {
			home = append(home, source{ip: "203.0.113.1"})
		} else {
			home = append(home, source{namespace: local, namespaceLabels: w.local[local], labels: labels})
		}
	}
	for _, ip := range []string{"192.0.2.1", "192.0.2.65", "198.51.100.1"} {
		there, home = append(there, source{ip: ip}), append(home, source{ip: ip})
	}
	return there, home
}

// TestNeverWider: the local policy allows everything that the remote policy allows. If pods are sent
// with all labels that the policy names, the remote policy also allows no less between pods that have a
// counterpart.
func TestNeverWider(t *testing.T) {
	met := map[string]int{}
	for seed := range uint64(worlds) {
		w := newWorld(seed)
		local := w.policy()
		target := field.Target{Namespace: w.mapped[policyNamespace]}
		remote, omitted, refusal := toRemote(local, target, w.limits, func() []decide.PeerNamespace {
			return decide.PeerNamespaces(w.local, w.mapped, w.shared, mountNamespace)
		})
		if refusal != nil {
			met["refused"]++
			continue
		}
		if len(omitted) > 0 {
			met["narrowed"]++
		}
		w.compare(t, local, remote, met)
		if t.Failed() {
			t.Fatalf("world %d:\n%s\n%s", seed, asText(local.Spec), asText(remote.Spec))
		}
	}
	for _, what := range []string{"refused", "narrowed", "allowed", "denied here too", "denied only there", "somebody else's, allowed"} {
		if met[what] < 30 {
			t.Errorf("%s: %d times only, of %v", what, met[what], met)
		}
	}
}

func (w *world) compare(t *testing.T, local, remote *networkingv1.NetworkPolicy, met map[string]int) {
	t.Helper()
	exact := !namesUnsent(asText(local.Spec))
	for _, direction := range []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress} {
		if isolates(&local.Spec, direction) != isolates(&remote.Spec, direction) {
			t.Errorf("it isolates differently: %s", direction)
		}
		for namespace := range w.remote {
			there, home := w.ends(namespace)
			for i := range there {
				for port := range int32(4) {
					is := allows(&remote.Spec, remote.Namespace, direction, there[i], port)
					should := allows(&local.Spec, local.Namespace, direction, home[i], port)
					switch {
					case is && !should:
						t.Errorf("%s at port %d is wider: %+v, at home %+v", direction, port, there[i], home[i])
					case !is && should && exact:
						t.Errorf("%s at port %d is narrower: %+v, at home %+v", direction, port, there[i], home[i])
					case is && home[i].ip == "203.0.113.1":
						met["somebody else's, allowed"]++ // The rule allows everybody.
					case is:
						met["allowed"]++
					case should:
						met["denied only there"]++
					default:
						met["denied here too"]++
					}
				}
			}
		}
	}
}

func asText(spec networkingv1.NetworkPolicySpec) string {
	raw, err := json.Marshal(spec)
	if err != nil {
		panic(err)
	}
	return string(raw)
}
