package doctor

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/plugin/confined"
	"github.com/spillway-io/spillway/internal/plugin/status"
	"github.com/spillway-io/spillway/internal/provider/connection"
)

// Level is how bad a finding is.
type Level string

// The levels of findings.
const (
	// OK: nothing is wrong.
	OK Level = "ok"
	// Warning: something does not work as well as it could.
	Warning Level = "warning"
	// Error: something does not work.
	Error Level = "error"
)

// Finding is the result of one check.
type Finding struct {
	Level Level `json:"level"`
	// Check is the name of the check. Object is what it is about.
	Check  string `json:"check"`
	Object string `json:"object,omitempty"`
	// Message says what was found. Mend says what to do about it.
	Message string `json:"message"`
	Mend    string `json:"mend,omitempty"`
	// Missing are all rights that are missing. The message names a few.
	Missing []string `json:"missing,omitempty"`
}

// mends says what to do about the reasons of conditions. docs/troubleshooting.md has all reasons.
var mends = map[string]string{
	"NotSeen":                           "check whether the manager runs: kubectl get pods -n " + config.Namespace + "; if it does, see its log", // What status says without a condition.
	v1alpha1.ReasonSecretNotFound:       "kubectl spillway bind %s --provider-context CONTEXT recreates it",
	v1alpha1.ReasonKeyNotFound:          "kubectl spillway rotate %s --provider-context CONTEXT",
	v1alpha1.ReasonInvalidKubeconfig:    "kubectl spillway rotate %s --provider-context CONTEXT",
	v1alpha1.ReasonUnauthorized:         "kubectl spillway bind %s --provider-context CONTEXT, which also recreates a deleted account; kubectl spillway rotate %s --provider-context CONTEXT, if the Secret is not from bind",
	v1alpha1.ReasonExpiresSoon:          "kubectl spillway rotate %s --provider-context CONTEXT",
	v1alpha1.ReasonForbidden:            "kubectl spillway bind %s --provider-context CONTEXT applies the roles again",
	v1alpha1.ReasonRightsMissing:        "kubectl spillway bind %s --provider-context CONTEXT applies the roles again",
	v1alpha1.ReasonLeaseForbidden:       "kubectl spillway bind %s --provider-context CONTEXT applies the roles again",
	v1alpha1.ReasonLeaseUnavailable:     "kubectl spillway bind %s --provider-context CONTEXT creates it",
	v1alpha1.ReasonLimitsMissing:        "kubectl spillway bind %s --provider-context CONTEXT recreates them",
	v1alpha1.ReasonLimitsForbidden:      "kubectl spillway bind %s --provider-context CONTEXT applies the roles again",
	v1alpha1.ReasonLimitsInvalid:        "the provider's administrator must correct that key of ConfigMap spillway-provider/limits",
	v1alpha1.ReasonUnreachable:          "from the network of the manager's pods, try the address in the message; if the consumer needs another address, bind %s again with --provider-server",
	v1alpha1.ReasonWrongCA:              "unbind %s, and bind it with a kubeconfig that has the right authority and address",
	v1alpha1.ReasonPolicyNotServed:      "kubectl spillway install, which installs a webhook before Kubernetes 1.36",
	v1alpha1.ReasonWebhookNotConfigured: "kubectl spillway install; the manager adds the authority within seconds",
	v1alpha1.ReasonWebhookCertificate:   "kubectl spillway install creates a missing Secret; otherwise restart the manager, whose log says why renewal fails",
	v1alpha1.ReasonForbiddenHere:        "kubectl spillway install applies the roles and policies again; if the message names a policy or webhook of your own, exempt that account there",
	v1alpha1.ReasonTakeOverNeeded:       "if this cluster should continue and no copy of it runs: run the command in the message; docs/operations.md, the consumer from an older backup",
	v1alpha1.ReasonHeldByAnother:        "stop one of the two managers: docs/operations.md, one manager at a time in each provider",
	v1alpha1.ReasonDefinitionsOlder:     "kubectl spillway install updates them and the manager",
	v1alpha1.ReasonDefinitionsNewer:     "install the manager of their version: kubectl spillway install, or helm upgrade",
	v1alpha1.ReasonHolderNotRecorded:    "see VersionSkew and WritesRefused of the binding %s; kubectl spillway install applies definitions, roles and policies again",
	v1alpha1.ReasonNoUsableNodes:        "see kubectl get nodes in the provider",
	v1alpha1.ReasonKindNotServed:        "install the CustomResourceDefinition in the provider, or ignore this",
	v1alpha1.ReasonMetricsMissing:       "install metrics-server in the provider, or ignore this",
	v1alpha1.ReasonClockAhead:           setClocks,
	v1alpha1.ReasonClockBehind:          setClocks,
	v1alpha1.ReasonDuplicateClusterID:   "delete one of the two bindings",
	v1alpha1.ReasonCIDROverlap:          "correct spec.network.podCIDRs of %s, or of the binding that the message names; or set its mode to Isolated",
	v1alpha1.ReasonEvictionsRefused:     "fix the unhealthy pods, scale up elsewhere, or delete the pods or the PodDisruptionBudget that the message names",
	v1alpha1.ReasonMaxBelowExisting:     "correct max or maxNodes in spec.virtualNode.elastic of %s",
	v1alpha1.ReasonQuotaExceeded:        "raise spec.quota of ClusterBinding %s, or let none of its items select the namespace",
	v1alpha1.ReasonProviderUnreachable:  "restore the provider, or give it up: set spec.deletionPolicy of the binding to Orphan",
}

// ofWait is the finding about a condition of a binding. A binding in deletion need not be Ready, and its
// condition Drained has the step. It is an error only if the deletion cannot continue.
func ofWait(binding status.Binding, wait status.Wait) Finding {
	f := Finding{Level: Warning, Check: "binding", Object: binding.Name, Message: wait.String()}
	if grows(wait) {
		f.Level = OK
		return f
	}
	deleting := binding.Reason == v1alpha1.ReasonDeleting
	switch {
	case deleting && wait.Reason == v1alpha1.ReasonDeleting:
		return Finding{Level: OK, Check: "binding", Object: binding.Name, Message: "it is being deleted"}
	case deleting:
		if wait.Type == v1alpha1.BindingDrained && (wait.Reason == v1alpha1.ReasonEvictionsRefused || wait.Reason == v1alpha1.ReasonProviderUnreachable) {
			f.Level = Error
		}
	case !binding.Ready:
		f.Level = Error
	}
	f.Mend = "docs/troubleshooting.md, reason " + wait.Reason
	if mend, ok := mends[wait.Reason]; ok {
		f.Mend = strings.ReplaceAll(mend, "%s", binding.Name)
	}
	if wait.Reason == v1alpha1.ReasonUnauthorized && strings.Contains(wait.Message, " expired at ") {
		f.Mend = "kubectl spillway rotate " + binding.Name + " --provider-context CONTEXT"
	}
	if wait.Type == v1alpha1.BindingWritesRefused {
		f.Mend = ofRefused(wait.Message)
	}
	if lease := leaseOfAnother(wait); lease != "" {
		f.Mend = "stop what holds that Lease: it says that the virtual node lives. kwok does so with --manage-all-nodes: restart it with --manage-all-nodes=false and a selector of its own nodes. Then kubectl delete lease " +
			lease + " -n " + corev1.NamespaceNodeLease
	}
	return f
}

// leaseOfAnother returns the name of the Lease of a virtual node that somebody else holds, so that policy
// spillway-manager-leases refuses to renew it; "" if the wait is not about one.
func leaseOfAnother(wait status.Wait) string {
	_, after, found := strings.Cut(wait.Message, " denied request: Lease "+corev1.NamespaceNodeLease+"/")
	name, _, said := strings.Cut(after, ", held by ")
	if wait.Type != v1alpha1.BindingWritesRefused || !found || !said {
		return ""
	}
	return name
}

// grows reports whether pods wait for a provider that can grow. Nothing is wrong with that.
func grows(wait status.Wait) bool {
	return wait.Type == v1alpha1.BindingElastic && wait.Reason == v1alpha1.ReasonPodsWait
}

// refuses reports whether evictions are refused.
func refuses(wait status.Wait) bool { return strings.Contains(wait.Message, eviction.RefusedPrefix) }

// goes reports whether somebody wants a remote namespace to go, and it is going.
func goes(wait status.Wait) bool {
	return wait.Reason == v1alpha1.ReasonClusterNotSelected && !refuses(wait)
}

// ofNamespace is the finding about a remote namespace.
func ofNamespace(binding string, namespace status.Namespace, wait status.Wait) Finding {
	f := Finding{
		Level: Warning, Check: "namespace", Object: namespace.Remote + " in " + binding, Message: wait.String(),
		Mend: "docs/troubleshooting.md, reason " + wait.Reason,
	}
	switch {
	case refuses(wait):
		f.Mend = "docs/troubleshooting.md, reason " + v1alpha1.ReasonEvictionsRefused
	case strings.Contains(wait.Message, confined.NoParams):
		f.Level, f.Mend = Error, confined.RestartForLimits
	}
	return f
}

const setClocks = "set the clocks of both clusters by NTP: tokens, certificates and rollouts depend on them"

// ofClock is the finding about the clock of a provider, which is ahead of the consumer's by at least that
// much.
func ofClock(name string, ahead time.Duration) Finding {
	f := Finding{Level: OK, Check: "clock", Object: name, Message: "its clock is within 5 seconds of the clock of this cluster"}
	if ahead.Abs() > connection.MaxClockSkew {
		where := "ahead of"
		if ahead < 0 {
			where = "behind"
		}
		f.Level, f.Mend = Warning, setClocks
		f.Message = fmt.Sprintf("its clock is at least %s %s that of this cluster", ahead.Abs().Truncate(time.Second), where)
	}
	return f
}

// ofExpiry says how long credentials are valid. They should be renewed while a fifth of their lifetime is
// left.
func ofExpiry(name string, from, until, now time.Time) Finding {
	f := Finding{Level: OK, Check: "credentials", Object: name, Message: "they are valid until " + until.UTC().Format(time.RFC3339)}
	rotate := "kubectl spillway rotate " + name + " --provider-context CONTEXT"
	switch {
	case until.IsZero():
		f.Message = "their expiry is unknown"
	case now.After(until):
		f.Level, f.Message, f.Mend = Error, "they expired at "+until.UTC().Format(time.RFC3339), rotate
	case until.Sub(now) < min(7*24*time.Hour, until.Sub(from)/5):
		f.Level, f.Message, f.Mend = Warning, "they expire at "+until.UTC().Format(time.RFC3339), rotate
	}
	return f
}

// Passed says how many checks found nothing.
func Passed(count int) string {
	if count == 1 {
		return "1 check passed"
	}
	return fmt.Sprintf("%d checks passed", count)
}

// Worst returns the worst level of the findings.
func Worst(findings []Finding) Level {
	worst := OK
	for _, f := range findings {
		if f.Level == Error || f.Level == Warning && worst == OK {
			worst = f.Level
		}
	}
	return worst
}

// Text returns the findings for people. Unless all is set, it only counts those that are OK.
func Text(findings []Finding, all bool) string {
	var b strings.Builder
	fine := 0
	for _, f := range findings {
		if f.Level == OK && !all {
			fine++
			continue
		}
		fmt.Fprintf(&b, "%-8s %s: %s\n", f.Level, strings.TrimSpace(f.Check+" "+f.Object), f.Message)
		if f.Mend != "" {
			fmt.Fprintf(&b, "         fix: %s\n", f.Mend)
		}
	}
	if fine > 0 {
		b.WriteString(Passed(fine) + "; --all shows them\n")
	}
	return b.String()
}
