package admission

import (
	"context"
	"fmt"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

const (
	notAnAccount = "spec.serviceAccountName must be empty or default, or listed in serviceAccounts"
	noIdentity   = "spec.volumes[].projected.sources[] must not have serviceAccountToken"
)

// listingAccounts changes the limits, until the test ends, so that pods in the namespaces of these tests may run as
// reader and as s3.writer, and as admin with its token.
func listingAccounts(t *testing.T) (consumer client.Client, meta metav1.ObjectMeta) {
	t.Helper()
	s := server(t)
	consumer, meta = inProvider(t), metav1.ObjectMeta{Namespace: namespaceOf(t, held(mark())), Name: "pod", Labels: mark()}
	list := func(ctx context.Context, accounts, outcome string) {
		t.Helper()
		limits := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.ProviderNamespace, Name: "limits"}}
		if err := s.Patch(ctx, limits, merge(fmt.Sprintf(`{"data":{"serviceAccounts":%q}}`, accounts))); err != nil {
			t.Fatal(err)
		}
		if err := eventually(ctx, func(ctx context.Context) (bool, error) {
			return says(creating(consumer, podOf(meta, as("reader")))(ctx), outcome), nil
		}); err != nil {
			t.Fatalf("listing %q: %v", accounts, err)
		}
	}
	list(t.Context(), "remote-*/reader, *emot*-*/s3.writer,\nremote-*/admin+token, other-*/stranger+token, remote/neighbour", "")
	t.Cleanup(func() { list(context.WithoutCancel(t.Context()), "", notAnAccount) })
	return consumer, meta
}

// as sets the ServiceAccount of a pod, and what it says of its token.
func as(account string, automount ...*bool) func(*corev1.PodSpec) {
	return func(s *corev1.PodSpec) {
		s.ServiceAccountName = account
		for _, says := range automount {
			s.AutomountServiceAccountToken = says
		}
	}
}

// identity is a volume with a token.
func identity(audience string) corev1.VolumeProjection {
	return corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", Audience: audience}}
}

// TestConsumerAccounts: whoever has a consumer's token runs pods only as the ServiceAccounts that the limits list.
func TestConsumerAccounts(t *testing.T) {
	consumer, meta := listingAccounts(t)
	for name, test := range map[string]struct {
		change func(*corev1.PodSpec)
		want   string // Part of the refusal; empty: allowed.
	}{
		"listed":                        {as("reader"), ""},
		"listed by another pattern":     {as("s3.writer"), ""},
		"not listed":                    {as("builder"), notAnAccount},
		"the end of a listed name":      {as("eader"), notAnAccount},
		"a dot is no other letter":      {as("s3-writer"), notAnAccount},
		"the suffix is no name":         {as("admin.token"), notAnAccount},
		"listed for other namespaces":   {as("stranger"), notAnAccount},
		"for one that begins so":        {as("neighbour"), notAnAccount},
		"with a token":                  {as("reader", ptr.To(true)), "spec.automountServiceAccountToken must be false"},
		"with a token by default":       {as("reader", nil), "spec.automountServiceAccountToken must be false"},
		"default with a token":          {as("default", ptr.To(true)), "spec.automountServiceAccountToken must be false"},
		"listed with its token":         {as("admin", ptr.To(true)), ""},
		"by default":                    {as("admin", nil), ""},
		"and without it":                {as("admin"), ""},
		"a stranger's with its token":   {as("stranger", ptr.To(true)), notAnAccount},
		"a token that it sends":         {inTurn(projecting(identity("vault")), as("reader")), noIdentity},
		"one for the API":               {inTurn(projecting(identity("")), as("reader")), noIdentity},
		"one, though it may have one":   {inTurn(projecting(identity("")), as("admin", ptr.To(true))), noIdentity},
		"one for another audience then": {inTurn(projecting(identity("vault")), as("admin", ptr.To(true))), noIdentity},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, consumer.Create(t.Context(), podOf(meta, test.change), client.DryRunAll), test.want)
		})
	}
	volumes := *metav1.NewFieldsV1(`{"f:spec":{"f:volumes":{".":{}}}}`)
	entry := metav1.ManagedFieldsEntry{Manager: "m", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: &volumes}
	for lie, fields := range map[string][]metav1.ManagedFieldsEntry{"no entry": {}, "an empty entry": {{}}, "another's": {entry}} {
		t.Run("a token that it sends, and says nothing of: "+lie, func(t *testing.T) {
			pod := podOf(meta, inTurn(projecting(identity("vault")), as("admin")))
			pod.ManagedFields = fields
			refused(t, creating(consumer, pod)(t.Context()), noIdentity)
		})
	}
}

func inTurn(changes ...func(*corev1.PodSpec)) func(*corev1.PodSpec) {
	return func(s *corev1.PodSpec) {
		for _, change := range changes {
			change(s)
		}
	}
}

// TestConsumerAndIdentitiesThatTheProviderAdds tests a provider whose own admission adds a token to pods, as those
// of clouds do: for the API to pods called api, for a cloud to all others.
func TestConsumerAndIdentitiesThatTheProviderAdds(t *testing.T) {
	needsPolicy(t)
	consumer, meta := listingAccounts(t)
	adding := another(meta.Namespace)
	policy, _ := adding[0].(*admissionv1.MutatingAdmissionPolicy)
	policy.Spec.Mutations[0].JSONPatch.Expression = `has(object.spec.volumes) ? [] : [JSONPatch{op: "add", path: "/spec/volumes", value: [
		{"name": dyn("v"), "projected": dyn({"sources": [{"serviceAccountToken": {
			"path": "token", "audience": object.metadata.name == "api" ? "" : "sts.example.com"}}]})}]}]`
	for _, object := range adding {
		temporary(t, object)
	}
	err := eventually(t.Context(), func(ctx context.Context) (bool, error) {
		pod := podOf(*meta.DeepCopy(), as("default"))
		err := server(t).Create(ctx, pod, client.DryRunAll)
		return len(pod.Spec.Volumes) == 1, err
	})
	if err != nil {
		t.Fatal(err)
	}
	api := *meta.DeepCopy()
	api.Name = "api"
	attempt(t, map[string]try{
		"a listed account":                    {creating(consumer, podOf(meta, as("reader"))), ""},
		"one that is not listed":              {creating(consumer, podOf(meta, as("default"))), noIdentity},
		"a token for the API":                 {creating(consumer, podOf(api, as("reader"))), noIdentity},
		"one of an account that may have one": {creating(consumer, podOf(api, as("admin"))), ""},
		"the consumer sends what is added":    {creating(consumer, podOf(meta, inTurn(projecting(identity("sts.example.com")), as("reader")))), noIdentity},
	})
}
