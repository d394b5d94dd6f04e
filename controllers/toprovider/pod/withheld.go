package pod

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/spillway-io/spillway/controllers/toprovider/pod/token"
	"github.com/spillway-io/spillway/internal/field"
)

// withheldShown is how many keys a message names at most.
const withheldShown = 3

// withheldKeys names the labels and annotations of a pod that its remote pod lacks because of the
// limits. It returns "" if there are none.
func withheldKeys(local, remote *corev1.Pod, limits *field.Limits) string {
	var keys []string
	for key, value := range local.Labels {
		if there, is := remote.Labels[key]; (!is || there != value) && field.IsCopiedLabel(key) && !limits.Sends(key) {
			keys = append(keys, "label "+key+underAlias(key))
		}
	}
	for key, value := range local.Annotations {
		if there, is := remote.Annotations[key]; (!is || there != value) && field.IsCopiedAnnotation(key) && !limits.Sends(key) {
			keys = append(keys, "annotation "+key)
		}
	}
	if len(keys) == 0 {
		return ""
	}
	slices.Sort(keys)
	return field.Few(keys, withheldShown) + ": the provider does not allow it (" + field.LimitMetadataKeys + ", " + field.LimitReservedKeys + " in ConfigMap spillway-provider/limits)"
}

// underAlias says where the provider has a label that it does not allow.
func underAlias(key string) string {
	if alias := field.Alias(key); alias != "" {
		return " (there " + alias + ", by which selectors find the pod)"
	}
	return ""
}

// withheldValue returns the consumer's value of a label or annotation of the pod, if that is not sent.
// path is the path of the field.
func withheldValue(path string, local *corev1.Pod, limits *field.Limits) (string, bool) {
	for beginning, of := range map[string]map[string]string{ofLabel: local.Labels, ofOneAnnotation: local.Annotations} {
		if key, is := strings.CutPrefix(path, beginning); is {
			key = strings.TrimSuffix(key, "']")
			value, there := of[key]
			return value, there && !limits.Sends(key)
		}
	}
	return "", false
}

// Withheld lists the tolerations, labels and annotations that the remote pod lacks because of the
// limits. It omits the toleration for virtual nodes. The pod runs without them.
func Withheld(local, remote *corev1.Pod, limits *field.Limits) []string {
	var all []string
	for i := range local.Spec.Tolerations {
		t := &local.Spec.Tolerations[i]
		if toleratesVirtualNode(*t) || everyPodHas(t) || hasToleration(remote.Spec.Tolerations, t) {
			continue
		}
		what := "the toleration of every taint"
		if t.Key != "" {
			what = "the toleration of " + t.Key
		}
		all = append(all, what+": the provider does not allow it ("+field.LimitTolerationKeys+" in ConfigMap spillway-provider/limits)")
	}
	if keys := withheldKeys(local, remote, limits); keys != "" {
		all = append(all, keys)
	}
	return all
}

// WithheldToken says that the remote pod lacks the token of the local pod, if the pod probably uses one. Otherwise
// it returns "".
func WithheldToken(local, remote *corev1.Pod) string {
	if hasToken(remote) || token.Uses(&remote.Spec, local.UID) {
		return ""
	}
	return token.Withheld(local)
}

// allowedTolerations returns the tolerations that may be sent. It leaves out the toleration for virtual
// nodes, and those for taints that the provider does not offer, unless the pod requests the resource that the
// taint is for. Tolerations in there, which the remote
// pod already has, stay. Kubernetes cannot remove them, so nothing is written about them.
//
// A pod that is there already gets no toleration for a resource: it has its node, and an older policy of the provider
// would refuse the whole change.
func allowedTolerations(spec *corev1.PodSpec, there []corev1.Toleration, limits *field.Limits) []corev1.Toleration {
	withheld := func(t corev1.Toleration) bool {
		forResource := there == nil && field.ToleratesForResource(&t, spec)
		return toleratesVirtualNode(t) || !limits.Tolerates(&t) && !forResource && !hasToleration(there, &t)
	}
	if !slices.ContainsFunc(spec.Tolerations, withheld) {
		return spec.Tolerations
	}
	return slices.DeleteFunc(slices.Clone(spec.Tolerations), withheld)
}

// everyPodHas reports whether a toleration is one of the two that Kubernetes adds to each pod that
// lacks them. The provider adds them, too, so a pod with no others is sent without tolerations. If a
// pod is sent with tolerations, the provider's policy cannot tell them from those that its own
// admission adds, such as for nodes with a GPU.
func everyPodHas(t *corev1.Toleration) bool {
	return (t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable) && t.Effect == corev1.TaintEffectNoExecute &&
		t.Operator == corev1.TolerationOpExists && t.TolerationSeconds != nil && *t.TolerationSeconds == 300
}

func hasToleration(all []corev1.Toleration, wanted *corev1.Toleration) bool {
	return slices.ContainsFunc(all, func(t corev1.Toleration) bool { return equality.Semantic.DeepEqual(&t, wanted) })
}
