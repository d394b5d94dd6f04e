package podadmission

import (
	"context"
	"fmt"

	"gomodules.xyz/jsonpatch/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/spillway-io/spillway/api/v1alpha1"
	decide "github.com/spillway-io/spillway/internal/decide/admission"
)

// preparer answers for one pod that is being created.
type preparer struct {
	// offloadings is a cache.
	offloadings client.Reader
	decoder     admission.Decoder
}

// Handle implements admission.Handler. It never refuses a pod: it returns errors as warnings to the creator.
func (h *preparer) Handle(ctx context.Context, req admission.Request) admission.Response {
	nso := &v1alpha1.NamespaceOffloading{}
	key := client.ObjectKey{Namespace: req.Namespace, Name: v1alpha1.OffloadingName}
	if err := h.offloadings.Get(ctx, key, nso, client.UnsafeDisableDeepCopy); apierrors.IsNotFound(err) {
		return admission.Allowed("")
	} else if err != nil {
		return unchanged(ctx, err)
	}
	pod := &corev1.Pod{}
	if err := h.decoder.Decode(req, pod); err != nil {
		return unchanged(ctx, err)
	}
	return admission.Patched("", patch(pod, decide.Decide(pod, nso))...)
}

func unchanged(ctx context.Context, err error) admission.Response {
	log.FromContext(ctx).Error(err, "a pod was not prepared")
	return admission.Allowed("").WithWarnings("spillway could not prepare this pod for its offloaded namespace, and did not change it; see the log of the manager")
}

// apart returns the part of a patch that is about anti-affinity over hosts.
func apart(pod *corev1.Pod, plan decide.Plan) []jsonpatch.Operation {
	const terms, preferences = "/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution", "/spec/affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution"
	var operations []jsonpatch.Operation
	for _, i := range plan.ByHost {
		operations = append(operations, jsonpatch.NewOperation("replace", fmt.Sprintf("%s/%d/topologyKey", terms, i), v1alpha1.TopologyHost))
	}
	preferred := plan.Apart(pod)
	if len(preferred) > 0 && len(pod.Spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution) == 0 {
		return append(operations, jsonpatch.NewOperation("add", preferences, preferred))
	}
	for _, preference := range preferred {
		operations = append(operations, jsonpatch.NewOperation("add", preferences+"/-", preference))
	}
	return operations
}

// patch returns the plan in the form that the policy writes. It contains only the changes, because a pod may
// have fields that are newer than our types.
func patch(pod *corev1.Pod, plan decide.Plan) []jsonpatch.Operation {
	var operations []jsonpatch.Operation
	add := func(path string, value any) {
		operations = append(operations, jsonpatch.NewOperation("add", path, value))
	}
	switch tolerations := plan.Tolerations(); {
	case len(tolerations) == 0:
	case len(pod.Spec.Tolerations) == 0:
		add("/spec/tolerations", tolerations)
	default:
		for _, toleration := range tolerations {
			add("/spec/tolerations/-", toleration)
		}
	}
	operations = append(operations, apart(pod, plan)...)
	if plan.Required == nil && plan.Preferred == nil {
		return operations
	}
	const affinity, nodes = "/spec/affinity", "/spec/affinity/nodeAffinity"
	if pod.Spec.Affinity == nil {
		add(affinity, struct{}{})
	}
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil {
		add(nodes, struct{}{})
	}
	if plan.Required != nil {
		add(nodes+"/requiredDuringSchedulingIgnoredDuringExecution", corev1.NodeSelector{NodeSelectorTerms: plan.Required})
	}
	if plan.Preferred != nil {
		decided := pod.DeepCopy()
		plan.Apply(decided)
		add(nodes+"/preferredDuringSchedulingIgnoredDuringExecution", decided.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return operations
}
