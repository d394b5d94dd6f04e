package accept

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/field"
)

const (
	providerSchedules = "where a pod runs in the provider is for the provider's scheduler"

	hostNamespace = "the pod would share it with a node of the provider"

	asPodSecurity = "sent as it is; what exceeds pod security baseline only if podSecurity of the provider's limits allows it"

	remoteNames = "the names of ConfigMaps, Secrets and claims become the names of their copies"
)

// PodSpecFields are the decisions about the fields of a pod's spec.
var PodSpecFields = field.Decisions{
	"Volumes":             field.Change("each by the type of its source; without the volume of the injected service account token"),
	"EphemeralContainers": field.Drop("a pod is not created with any; PodUpdate sends them"),
	"ImagePullSecrets":    field.Change(remoteNames),
	"Hostname":            field.Change("where names are hashed, it is the local name of the pod"),
	"Tolerations":         field.Change("without the toleration of virtual nodes, and those that tolerationKeys of the provider's limits do not list"),
	"NodeSelector":        field.Change("only labels that the provider's nodes have, too"),
	"Affinity": field.Change(
		"only labels that the provider's nodes have, too; of other pods, only the consumer's own, in namespaces that are in the provider"),
	"TopologySpreadConstraints": field.Change("only over labels that the provider's nodes have, too"),
	"AutomountServiceAccountToken": field.Change(
		"false, unless the provider's limits list the pod's ServiceAccount there with its token: most pods have no use for a token of the provider's API"),
	"ServiceAccountName": field.Change("its name in the provider, by spec.serviceAccounts of the ClusterBinding; others are left out"),
	"RuntimeClassName":   field.Change("its name in the provider, by spec.classes of the ClusterBinding; a pod with another RuntimeClass is refused"),
	"PriorityClassName":  field.Change("its name in the provider, by spec.classes of the ClusterBinding; others are left out"),
	"SecurityContext":    field.Change(asPodSecurity),
	"SchedulingGates":    field.Drop("they are open: the pod is bound"),
	"Overhead":           field.Drop("admission sets it out of the provider's RuntimeClass"),
	"ReadinessGates":     field.Drop("their conditions are set in the consumer, and counted there"),
	"ResourceClaims":     field.Deny(field.ReasonResourceClaims, "drivers of the consumer allocate the claims"),
}.And(field.Change("field by field: env, envFrom, volumeMounts and securityContext are changed"), "InitContainers", "Containers").
	And(field.Send(), "RestartPolicy", "TerminationGracePeriodSeconds", "ActiveDeadlineSeconds", "DNSPolicy", "DNSConfig", "HostAliases",
		"Subdomain", "SetHostnameAsFQDN", "HostnameOverride", "HostUsers", "ShareProcessNamespace", "EnableServiceLinks",
		"OS", "Resources").
	And(field.Drop(providerSchedules), "NodeName", "SchedulerName").
	And(field.Drop(field.ConsumerOnly), "SchedulingGroup", "DeprecatedServiceAccount").
	And(field.Drop("what is urgent in the provider is for the provider"), "Priority", "PreemptionPolicy").
	And(field.Privileged(hostNamespace), "HostNetwork", "HostPID", "HostIPC")

// PodSecurityContextFields and SecurityContextFields list fields that are refused whatever their values
// are. baseline.go has the rest.
var PodSecurityContextFields = field.Decisions{}.And(field.Send(), "SELinuxOptions", "WindowsOptions", "RunAsUser", "RunAsGroup", "RunAsNonRoot", "SupplementalGroups",
	"SupplementalGroupsPolicy", "FSGroup", "FSGroupChangePolicy", "Sysctls", "SeccompProfile", "AppArmorProfile", "SELinuxChangePolicy")

// The plans carry out the decisions above.
var (
	PodSpecPlan            = field.PlanFor[corev1.PodSpec](PodSpecFields)
	PodSecurityContextPlan = field.PlanFor[corev1.PodSecurityContext](PodSecurityContextFields)
)
