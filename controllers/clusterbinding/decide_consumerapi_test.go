package clusterbinding

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
)

func TestConsumerAPI(t *testing.T) {
	for name, test := range map[string]struct {
		unset          bool
		before, reason string
		want           string
	}{
		"not asked for":              {unset: true},
		"no longer asked for":        {unset: true, before: v1alpha1.ReasonVerified},
		"not verified yet":           {},
		"unknown after a restart":    {before: v1alpha1.ReasonCertificateMismatch, want: "False CertificateMismatch"},
		"verified":                   {reason: v1alpha1.ReasonVerified, want: "True Verified"},
		"another certificate":        {before: v1alpha1.ReasonVerified, reason: v1alpha1.ReasonCertificateMismatch, want: "False CertificateMismatch"},
		"a bundle that is no bundle": {reason: v1alpha1.ReasonInvalidCABundle, want: "False InvalidCABundle"},
		"not reached":                {reason: v1alpha1.ReasonUnverified, want: "Unknown Unverified"},
	} {
		t.Run(name, func(t *testing.T) {
			s := snapshot{Binding: &v1alpha1.ClusterBinding{}}
			s.ConsumerAPI.Reason = test.reason
			if !test.unset {
				s.Binding.Spec.ConsumerAPI = v1alpha1.ConsumerAPI{Host: "api.example.com", Port: 443}
			}
			if test.before != "" {
				is := metav1.ConditionFalse
				if test.before == v1alpha1.ReasonVerified {
					is = metav1.ConditionTrue
				}
				conditions.Set(&s.Binding.Status.Conditions, 1, conditions.New(v1alpha1.BindingConsumerAPI, is, test.before, ""))
			}
			got := ""
			if c := meta.FindStatusCondition(Decide(s).Conditions, v1alpha1.BindingConsumerAPI); c != nil {
				got = string(c.Status) + " " + c.Reason
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
