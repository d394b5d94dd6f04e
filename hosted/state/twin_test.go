package state

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
)

func TestTwin(t *testing.T) {
	eks := func(name string, age time.Duration, uid string) v1alpha1.HostedCluster {
		h := v1alpha1.HostedCluster{}
		h.Name, h.UID, h.Status.UpstreamUID = name, types.UID(name), uid
		h.CreationTimestamp = metav1.NewTime(time.Unix(1_800_000_000, 0).Add(-age))
		h.Spec.EKSConfig = &v1alpha1.EKSConfig{Region: "r", DisplayName: "shop"}
		h.Spec.Credentials.SecretRef = &v1alpha1.SecretReference{Name: "s"}
		return h
	}
	with := func(h v1alpha1.HostedCluster, change func(*v1alpha1.HostedCluster)) v1alpha1.HostedCluster {
		change(&h)
		return h
	}
	others := func(h *v1alpha1.HostedCluster) {
		h.Spec.Credentials = v1alpha1.Credentials{WorkloadIdentity: &v1alpha1.WorkloadIdentity{}}
	}
	aks := func(group, name string) func(*v1alpha1.HostedCluster) {
		return func(h *v1alpha1.HostedCluster) {
			h.Spec.EKSConfig, h.Spec.AKSConfig = nil, &v1alpha1.AKSConfig{ResourceGroup: group, ClusterName: name}
		}
	}
	gke := func(project, secret string) func(*v1alpha1.HostedCluster) {
		return func(h *v1alpha1.HostedCluster) {
			h.Spec.EKSConfig, h.Spec.GKEConfig = nil, &v1alpha1.GKEConfig{ProjectID: project, Region: ptr.To("r"), ClusterName: "shop"}
			h.Spec.Credentials.SecretRef = &v1alpha1.SecretReference{Name: secret}
		}
	}
	tests := map[string]struct {
		h, other v1alpha1.HostedCluster
		uid      string
		want     bool
	}{
		"the older one":                         {eks("a", 0, ""), eks("b", time.Hour, ""), "", true},
		"the younger one":                       {eks("a", time.Hour, ""), eks("b", 0, ""), "", false},
		"the same second":                       {eks("b", 0, ""), eks("a", 0, ""), "", true},
		"a younger one that has read it":        {eks("a", time.Hour, ""), eks("b", 0, "1"), "1", true},
		"both have read it":                     {eks("a", 0, "1"), eks("b", time.Hour, "1"), "1", true},
		"itself":                                {eks("a", 0, ""), eks("a", time.Hour, ""), "", false},
		"other credentials, not read":           {eks("a", 0, ""), with(eks("b", time.Hour, "1"), others), "", false},
		"other credentials, the same cluster":   {eks("a", 0, ""), with(eks("b", time.Hour, "1"), others), "1", true},
		"other credentials, another cluster":    {eks("a", 0, ""), with(eks("b", time.Hour, "1"), others), "2", false},
		"the other's Secret leads elsewhere":    {eks("a", 0, ""), eks("b", time.Hour, "1"), "2", false},
		"it was edited to be for this cluster":  {eks("a", 0, "1"), eks("b", time.Hour, "2"), "", false},
		"another name":                          {eks("a", 0, ""), with(eks("b", time.Hour, "1"), func(h *v1alpha1.HostedCluster) { h.Spec.EKSConfig.DisplayName = "x" }), "1", false},
		"another region, made at the same time": {eks("a", 0, ""), with(eks("b", time.Hour, "1"), func(h *v1alpha1.HostedCluster) { h.Spec.EKSConfig.Region = "x" }), "1", false},
		"another cloud":                         {eks("a", 0, ""), with(eks("b", time.Hour, ""), aks("r", "shop")), "", false},
		"AKS, in other letters":                 {with(eks("a", 0, ""), aks("RG", "Shop")), with(eks("b", time.Hour, ""), aks("rg", "shop")), "", true},
		"AKS, in another group":                 {with(eks("a", 0, ""), aks("x", "shop")), with(eks("b", time.Hour, ""), aks("rg", "shop")), "", false},
		"GKE, with other credentials":           {with(eks("a", 0, ""), gke("p", "t")), with(eks("b", time.Hour, ""), gke("p", "s")), "", true},
		"GKE, in another project":               {with(eks("a", 0, ""), gke("q", "s")), with(eks("b", time.Hour, ""), gke("p", "s")), "", false},
		"GKE, a project by its number":          {with(eks("a", 0, ""), gke("7", "s")), with(eks("b", time.Hour, "1"), gke("p", "s")), "1", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := Twin(&test.h, test.uid, []v1alpha1.HostedCluster{test.h, test.other})
			if (got != nil) != test.want {
				t.Errorf("got %v, want one: %v", got, test.want)
			}
		})
	}
}
