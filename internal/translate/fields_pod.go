package translate

import corev1 "k8s.io/api/core/v1"

const (
	providerSchedules = "where a pod runs in the provider is for the provider's scheduler"
	consumerOnly      = "it names an object of the consumer, which the provider does not have"
	hostNamespace     = "the pod would share it with a node of the provider"
)

var podSpecFields = decisions{
	"Volumes":             change("see volumeSourceFields; the injected service account token is left out"),
	"EphemeralContainers": drop("a pod is not created with any; PodUpdate sends them"),
	"ImagePullSecrets":    change("names"),
	"Hostname":            change("where names are hashed, it is the local name of the pod"),
	"Tolerations":         change("the one for virtual nodes stays at home, and those that the provider has not offered; see limits.go"),
	"NodeSelector":        change("what is about labels that the provider's nodes have, too; see selection.go"),
	"Affinity":            change("what nodes require, as NodeSelector"),
	"AutomountServiceAccountToken": change(
		"always false: a token of the provider's would be no use to the pod, and a right that nobody granted"),
	"RuntimeClassName":  change("its name in the provider, by spec.classes of the ClusterBinding; see ClassRefusal"),
	"PriorityClassName": change("its name in the provider, by spec.classes of the ClusterBinding; others are left out"),
	"SecurityContext":   change("see podSecurityContextFields"),
	"SchedulingGates":   drop("they are open: the pod is bound"),
	"Overhead":          drop("admission sets it out of the provider's RuntimeClass"),
	"ReadinessGates":    drop("their conditions are set in the consumer, and counted there"),
	"ResourceClaims":    refuse(ReasonResourceClaims, "drivers of the consumer allocate the claims"),
}.and(change("see containerFields"), "InitContainers", "Containers").
	and(send(), "RestartPolicy", "TerminationGracePeriodSeconds", "ActiveDeadlineSeconds", "DNSPolicy", "DNSConfig", "HostAliases",
		"Subdomain", "SetHostnameAsFQDN", "HostnameOverride", "HostUsers", "ShareProcessNamespace", "EnableServiceLinks",
		"OS", "Resources").
	and(drop(providerSchedules), "NodeName", "TopologySpreadConstraints", "SchedulerName").
	and(drop(consumerOnly), "SchedulingGroup", "ServiceAccountName", "DeprecatedServiceAccount").
	and(drop("what is urgent in the provider is for the provider"), "Priority", "PreemptionPolicy").
	and(privileged(hostNamespace), "HostNetwork", "HostPID", "HostIPC")

// podSecurityContextFields and securityContextFields list fields that are refused whatever their values
// are. baseline.go has the rest.
var podSecurityContextFields = decisions{}.and(send(), "SELinuxOptions", "WindowsOptions", "RunAsUser", "RunAsGroup", "RunAsNonRoot", "SupplementalGroups",
	"SupplementalGroupsPolicy", "FSGroup", "FSGroupChangePolicy", "Sysctls", "SeccompProfile", "AppArmorProfile", "SELinuxChangePolicy")

var (
	podSpecPlan            = planFor[corev1.PodSpec](podSpecFields)
	podSecurityContextPlan = planFor[corev1.PodSecurityContext](podSecurityContextFields)
)
