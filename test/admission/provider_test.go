// Copyright The Spillway Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/manifests"
)

// TestConsumerInProvider holds what a consumer's identity may do in a provider
// against the manifests that the provider's administrator applies.
func TestConsumerInProvider(t *testing.T) {
	shipped, err := manifests.Kustomized(t.Context(), "config/provider")
	if err != nil {
		t.Fatal(err)
	}
	if err := manifests.Create(t.Context(), server, shipped); err != nil {
		t.Fatal(err)
	}
	foreign := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "foreign-"}}
	if err := server.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	consumer := consumerClient(t)
	untilConfined(t, consumer)

	mark := map[string]string{
		v1alpha1.LabelManagedBy: v1alpha1.ManagedBySpillway, v1alpha1.LabelOrigin: "origin", v1alpha1.LabelBinding: "eu",
		"pod-security.kubernetes.io/enforce": "baseline",
	}
	without := func(key string) map[string]string {
		labels := map[string]string{}
		for k, v := range mark {
			if k != key {
				labels[k] = v
			}
		}
		return labels
	}
	creates := map[string]struct {
		labels map[string]string
		want   string // Part of the refusal; empty: allowed.
	}{
		"all labels":            {mark, ""},
		"restricted pods":       {map[string]string{v1alpha1.LabelManagedBy: "spillway", v1alpha1.LabelOrigin: "o", v1alpha1.LabelBinding: "b", "pod-security.kubernetes.io/enforce": "restricted"}, ""},
		"no labels":             {nil, "does not carry the labels of Spillway"},
		"not managed by us":     {without(v1alpha1.LabelManagedBy), "does not carry the labels of Spillway"},
		"no origin":             {without(v1alpha1.LabelOrigin), "does not carry the labels of Spillway"},
		"no binding":            {without(v1alpha1.LabelBinding), "does not carry the labels of Spillway"},
		"no pod security":       {without("pod-security.kubernetes.io/enforce"), "must have the label pod-security.kubernetes.io/enforce"},
		"privileged pods":       {map[string]string{v1alpha1.LabelManagedBy: "spillway", v1alpha1.LabelOrigin: "o", v1alpha1.LabelBinding: "b", "pod-security.kubernetes.io/enforce": "privileged"}, "must have the label pod-security.kubernetes.io/enforce"},
		"managed by another":    {map[string]string{v1alpha1.LabelManagedBy: "helm", v1alpha1.LabelOrigin: "o", v1alpha1.LabelBinding: "b"}, "does not carry the labels of Spillway"},
		"an empty set of marks": {map[string]string{}, "does not carry the labels of Spillway"},
	}
	for name, test := range creates {
		t.Run("create with "+name, func(t *testing.T) {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "remote-", Labels: test.labels}}
			refused(t, consumer.Create(t.Context(), namespace), test.want)
			if test.want == "" {
				refused(t, consumer.Delete(t.Context(), namespace), "")
			}
		})
	}
	t.Run("delete a foreign namespace", func(t *testing.T) {
		refused(t, consumer.Delete(t.Context(), foreign), "does not carry the labels of Spillway")
	})
	t.Run("put the mark on a foreign namespace", func(t *testing.T) {
		changed := foreign.DeepCopy()
		changed.Labels = mark
		refused(t, consumer.Patch(t.Context(), changed, client.MergeFrom(foreign)), "cannot patch resource")
	})
	t.Run("read what is not needed", func(t *testing.T) {
		refused(t, consumer.List(t.Context(), &corev1.SecretList{}), "cannot list resource \"secrets\"")
	})
	t.Run("an administrator is not confined", func(t *testing.T) {
		refused(t, server.Delete(t.Context(), foreign), "")
	})
}

// consumerClient talks as the ServiceAccount that the consumer gets.
func consumerClient(t *testing.T) client.Client {
	t.Helper()
	config := rest.CopyConfig(administrator)
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:spillway-provider:spillway-consumer",
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:spillway-provider", "system:authenticated"},
	}
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// untilConfined waits until the API server has taken up the policy.
func untilConfined(t *testing.T, consumer client.Client) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		err := consumer.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}, client.DryRunAll)
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy"), nil
	})
	if err != nil {
		t.Fatalf("waiting until the policy of config/provider is in effect: %v", err)
	}
}

// refused checks that err is a refusal that says want, or nil if want is empty.
func refused(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("refused: %v", err)
	case want != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), want)):
		t.Errorf("got error %v, want one that is Forbidden and says %q", err, want)
	}
}
