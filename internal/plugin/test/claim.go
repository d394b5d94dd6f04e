package test

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/needs"
	"github.com/spillway-io/spillway/internal/plugin/doctor"
)

// claims runs a pod with a volume of the provider, if a StorageClass is mapped.
func claims(ctx context.Context, t *tester) (string, error) {
	class := storage(t.binding)
	if class == "" {
		return "", skip("spec.classes of the binding maps no StorageClass")
	}
	if slices.ContainsFunc(t.about, func(f doctor.Finding) bool { return f.Check == doctor.Volumes && f.Level == doctor.Error }) {
		return "", skip("doctor has found that the manager may not create PersistentVolumes")
	}
	if err := t.create(ctx, claim(class)); err != nil {
		return "", err
	}
	if _, err := t.start(ctx, claimantPod(t.image, t.user), volume); err != nil {
		return "", err
	}
	return "a pod runs with a volume of StorageClass " + class, nil
}

// volumeRefused reports whether the consumer refuses the PersistentVolume for which a pod waits. Nothing else says so but an
// event on the claim, which has the name of the pod.
func volumeRefused(ctx context.Context, consumer client.Client, pod *corev1.Pod) bool {
	return pod.Spec.NodeName == "" && len(needs.Claims(pod)) > 0 && slices.ContainsFunc(warnings(ctx, consumer, pod), noVolume)
}

func noVolume(warning string) bool {
	return strings.HasPrefix(warning, v1alpha1.ReasonRightsMissing+": PersistentVolume ") || strings.HasPrefix(warning, v1alpha1.ReasonForbiddenHere+": PersistentVolume ")
}
