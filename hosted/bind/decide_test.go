package bind

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	hosted "github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// shop returns a HostedCluster with spec.binding, in EKS.
func shop(changes ...func(*hosted.HostedCluster)) *hosted.HostedCluster {
	h := &hosted.HostedCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop", UID: "uid"}}
	h.Spec.EKSConfig = &hosted.EKSConfig{DisplayName: "shop", Region: "eu-central-1"}
	h.Spec.Binding = &hosted.Binding{ClusterID: "shop"}
	h.Status.UpstreamSpec.EKSConfig = &hosted.EKSConfig{KubernetesVersion: ptr.To("1.33")}
	for _, change := range changes {
		change(h)
	}
	return h
}

// seen returns a bound HostedCluster whose token was just renewed.
func seen(changes ...func(*Seen)) Seen {
	s := Seen{
		Owner: "uid", Wanted: wanted(shop()), Manifests: "manifests", Binding: wanted(shop()), Now: builder.Epoch,
		Secret: &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Name: "hosted-shop", Labels: map[string]string{hosted.LabelHostedCluster: "uid"},
				Annotations: map[string]string{
					hosted.AnnotationRenewAt:  builder.Epoch.Add(lifetime / 2).Format(time.RFC3339),
					hosted.AnnotationPrepared: "manifests.there",
				},
			},
			Data: map[string][]byte{v1alpha1.DefaultKubeconfigKey: []byte("kubeconfig")},
		},
	}
	for _, change := range changes {
		change(&s)
	}
	return s
}

func TestDecide(t *testing.T) {
	deleting := func(s *Seen) { s.Binding.DeletionTimestamp = &metav1.Time{Time: builder.Epoch} }
	late := func(s *Seen) { s.Now = s.Now.Add(lifetime / 2) }
	unwanted := func(s *Seen) { s.Wanted = nil }
	gone := func(s *Seen) { s.Wanted, s.Gone = nil, true }
	kept := func(s *Seen) { s.Keep = true }
	connected := func(s *Seen) {
		s.Binding.Status.Conditions = []metav1.Condition{{Type: v1alpha1.BindingConnected, Status: metav1.ConditionTrue}}
	}
	without := func(s *Seen) { s.Binding = nil }
	foreign := func(object metav1.Object) { object.SetLabels(nil) }
	tests := map[string]struct {
		seen   Seen
		step   Step
		reason string
		again  time.Duration
	}{
		"all is well":                    {seen(), Wait, hosted.ReasonBound, lifetime / 2},
		"half of the token's time is up": {seen(late), Renew, "", 0},
		"there is no Secret":             {seen(func(s *Seen) { s.Secret = nil }), Renew, "", 0},
		"somebody has emptied it":        {seen(func(s *Seen) { s.Secret.Data = nil }), Renew, "", 0},
		"it does not say until when":     {seen(func(s *Seen) { s.Secret.Annotations[hosted.AnnotationRenewAt] = "soon" }), Renew, "", 0},
		"it says too long":               {seen(func(s *Seen) { s.Secret.Annotations[hosted.AnnotationRenewAt] = "9999-01-01T00:00:00Z" }), Wait, hosted.ReasonBound, lifetime},
		"other manifests are shipped":    {seen(func(s *Seen) { s.Manifests = "others" }), Renew, "", 0},
		"there is no ClusterBinding":     {seen(without), Put, "", 0},
		"another version": {seen(func(s *Seen) {
			s.Wanted = wanted(shop(func(h *hosted.HostedCluster) { h.Status.UpstreamSpec.EKSConfig.KubernetesVersion = ptr.To("1.34") }))
		}), Put, "", 0},
		"a label is missing":           {seen(func(s *Seen) { delete(s.Binding.Spec.VirtualNode.Labels, regionLabel) }), Put, "", 0},
		"it uses another Secret":       {seen(func(s *Seen) { s.Binding.Spec.KubeconfigSecretRef.Name = "other" }), Put, "", 0},
		"its users have added to it":   {seen(func(s *Seen) { s.Binding.Spec.Paused, s.Binding.Labels["a"] = true, "b" }), Wait, hosted.ReasonBound, lifetime / 2},
		"it has another clusterID":     {seen(func(s *Seen) { s.Binding.Spec.ClusterID = "old" }), Delete, "", 0},
		"somebody is deleting it":      {seen(deleting), Wait, hosted.ReasonUnbinding, lifetime / 2},
		"and the token expires":        {seen(deleting, late), Renew, "", 0},
		"the name is taken":            {seen(func(s *Seen) { foreign(s.Binding) }), Wait, hosted.ReasonNameTaken, 0},
		"the Secret's name is taken":   {seen(without, func(s *Seen) { foreign(s.Secret) }), Wait, hosted.ReasonNameTaken, 0},
		"kept":                         {seen(kept), Wait, hosted.ReasonBound, lifetime / 2},
		"kept, and the token expires":  {seen(kept, late), Renew, "", 0},
		"kept, with other manifests":   {seen(kept, func(s *Seen) { s.Manifests = "others" }), Wait, hosted.ReasonBound, lifetime / 2},
		"kept, with another clusterID": {seen(kept, func(s *Seen) { s.Binding.Spec.ClusterID = "old" }), Wait, hosted.ReasonBound, lifetime / 2},
		"kept, though not wanted":      {seen(kept, unwanted), Wait, hosted.ReasonBound, lifetime / 2},
		"kept, and being deleted":      {seen(kept, deleting), Wait, hosted.ReasonUnbinding, lifetime / 2},
		"nothing to keep":              {seen(kept, without), Wait, hosted.ReasonNoAccess, retryAccess},
		"kept, without the Secret":     {seen(kept, func(s *Seen) { s.Secret = nil }), Wait, hosted.ReasonNoAccess, retryAccess},
		"kept, but not ours":           {seen(kept, func(s *Seen) { foreign(s.Binding) }), Wait, hosted.ReasonNameTaken, 0},
		"it is of an earlier one":      {seen(func(s *Seen) { s.Owner = "another" }), Wait, hosted.ReasonNameTaken, 0},
		"the binding is removed":       {seen(unwanted), Delete, "", 0},
		"and is being deleted":         {seen(unwanted, deleting), Wait, hosted.ReasonUnbinding, lifetime / 2},
		"for so long":                  {seen(unwanted, deleting, late), Renew, "", 0},
		"and has gone":                 {seen(unwanted, without), DeleteSecret, "", 0},
		"and so has the Secret":        {seen(unwanted, without, func(s *Seen) { s.Secret = nil }), Done, "", 0},
		"what is there is not ours":    {seen(unwanted, func(s *Seen) { foreign(s.Binding); foreign(s.Secret) }), Done, "", 0},
		"the cluster has gone":         {seen(gone), Forget, "", 0},
		"while it was being deleted":   {seen(gone, deleting), Forget, "", 0},
		"but it is connected":          {seen(gone, connected), Delete, "", 0},
		"connected, being deleted":     {seen(gone, connected, deleting), Wait, hosted.ReasonUnbinding, lifetime / 2},
		"connected, for so long":       {seen(gone, connected, deleting, late), Renew, "", 0},
		"and is forgotten":             {seen(gone, func(s *Seen) { s.Binding.Spec.DeletionPolicy = v1alpha1.DeletionPolicyOrphan }), Delete, "", 0},
		"forgotten, and being deleted": {seen(gone, deleting, late, func(s *Seen) { s.Binding.Spec.DeletionPolicy = v1alpha1.DeletionPolicyOrphan }), Wait, hosted.ReasonUnbinding, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plan := Decide(test.seen)
			reason := ""
			if plan.Bound != nil {
				reason = plan.Bound.Reason
			}
			if plan.Step != test.step || reason != test.reason || plan.Again != test.again {
				t.Errorf("got %s, %q, again after %s; want %s, %q, %s", plan.Step, reason, plan.Again, test.step, test.reason, test.again)
			}
		})
	}
}

func TestWanted(t *testing.T) {
	tests := map[string]struct {
		change                 func(*hosted.HostedCluster)
		cloud, region, version string
	}{
		"EKS": {func(*hosted.HostedCluster) {}, "eks", "eu-central-1", "1.33"},
		"AKS": {func(h *hosted.HostedCluster) {
			h.Spec.ClusterConfig = hosted.ClusterConfig{AKSConfig: &hosted.AKSConfig{ResourceLocation: "West Europe"}}
			h.Status.UpstreamSpec = hosted.ClusterConfig{AKSConfig: &hosted.AKSConfig{KubernetesVersion: ptr.To("1.33.2")}}
		}, "aks", "westeurope", "1.33"},
		"GKE in a zone": {func(h *hosted.HostedCluster) {
			h.Spec.ClusterConfig = hosted.ClusterConfig{GKEConfig: &hosted.GKEConfig{Zone: ptr.To("europe-west1-b")}}
			h.Status.UpstreamSpec = hosted.ClusterConfig{GKEConfig: &hosted.GKEConfig{KubernetesVersion: ptr.To("v1.33.2-gke.100")}}
		}, "gke", "europe-west1", "1.33"},
		"not read yet": {func(h *hosted.HostedCluster) { h.Status.UpstreamSpec = hosted.ClusterConfig{} }, "eks", "eu-central-1", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := wanted(shop(test.change))
			node := got.Spec.VirtualNode.Labels
			if got.Labels[hosted.LabelCloud] != test.cloud || got.Labels[regionLabel] != test.region || got.Labels[hosted.LabelVersion] != test.version ||
				string(node[hosted.LabelCloud]) != test.cloud || string(node[regionLabel]) != test.region || len(node) != 2 {
				t.Errorf("got the labels %v, and of the node %v", got.Labels, node)
			}
		})
	}
	for name, change := range map[string]func(*hosted.HostedCluster){
		"without a binding": func(h *hosted.HostedCluster) { h.Spec.Binding = nil },
		"being deleted":     func(h *hosted.HostedCluster) { h.DeletionTimestamp = &metav1.Time{Time: builder.Epoch} },
	} {
		if got := wanted(shop(change)); got != nil {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// TestErrorsHoldNoCredential: errors do not quote what could not be used.
func TestErrorsHoldNoCredential(t *testing.T) {
	const canary = "c4narySecret"
	for name, err := range map[string]error{
		"refused": explained("asking for a token", errors.New(canary)),
		"condition": func() error {
			plan := noAccess(explained("x", errors.New(canary)))
			return errors.New(plan.Bound.Message)
		}(),
	} {
		if strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
