package translate

import corev1 "k8s.io/api/core/v1"

const (
	providerSchedules = "where a pod runs in the provider is for the provider's scheduler"
	consumerOnly      = "it names an object of the consumer's that the provider does not have"
	hostNamespace     = "the pod would share it with a node of the provider"
)

var podSpecFields = decisions{
	"Volumes":             change("see volumeSourceFields; the injected service account token is left out"),
	"InitContainers":      change("see containerFields"),
	"Containers":          change("see containerFields"),
	"EphemeralContainers": drop("a pod is not created with any; PodUpdate sends them"),
	"ImagePullSecrets":    change("names"),
	"Hostname":            change("where names are hashed, it is the local name of the pod"),
	"Tolerations":         change("the one for virtual nodes stays at home, and those that the provider has not offered; see limits.go"),
	"NodeSelector":        change("what is about labels that the provider's nodes have, too; see selection.go"),
	"Affinity":            change("what nodes require, as NodeSelector"),
	"AutomountServiceAccountToken": change(
		"always false: a token of the provider's would be no use to the pod, and a right that nobody granted"),

	"RestartPolicy":                 send(),
	"TerminationGracePeriodSeconds": send(),
	"ActiveDeadlineSeconds":         send(),
	"DNSPolicy":                     send(),
	"DNSConfig":                     send(),
	"HostAliases":                   send(),
	"Subdomain":                     send(),
	"SetHostnameAsFQDN":             send(),
	"HostnameOverride":              send(),
	"HostUsers":                     send(),
	"ShareProcessNamespace":         send(),
	"SecurityContext":               change("see podSecurityContextFields"),
	"RuntimeClassName":              send(),
	"EnableServiceLinks":            send(),
	"OS":                            send(),
	"Resources":                     send(),

	"NodeName":                  drop(providerSchedules),
	"TopologySpreadConstraints": drop(providerSchedules),
	"SchedulerName":             drop(providerSchedules),
	"SchedulingGates":           drop("they are open: the pod is bound"),
	"SchedulingGroup":           drop(consumerOnly),
	"PriorityClassName":         drop(consumerOnly),
	"Priority":                  drop("what is urgent in the provider is for the provider"),
	"PreemptionPolicy":          drop("what is urgent in the provider is for the provider"),
	"ServiceAccountName":        drop(consumerOnly),
	"DeprecatedServiceAccount":  drop(consumerOnly),
	"Overhead":                  drop("admission sets it out of the provider's RuntimeClass"),
	"ReadinessGates":            drop("their conditions are set in the consumer, and counted there"),

	"HostNetwork":    privileged(hostNamespace),
	"HostPID":        privileged(hostNamespace),
	"HostIPC":        privileged(hostNamespace),
	"ResourceClaims": refuse(ReasonResourceClaims, "claims are allocated by drivers of the consumer"),
}

// podSecurityContextFields and securityContextFields list what is refused whatever its
// value; baseline.go has the rest.
var podSecurityContextFields = decisions{
	"SELinuxOptions":           send(),
	"WindowsOptions":           send(),
	"RunAsUser":                send(),
	"RunAsGroup":               send(),
	"RunAsNonRoot":             send(),
	"SupplementalGroups":       send(),
	"SupplementalGroupsPolicy": send(),
	"FSGroup":                  send(),
	"FSGroupChangePolicy":      send(),
	"Sysctls":                  send(),
	"SeccompProfile":           send(),
	"AppArmorProfile":          send(),
	"SELinuxChangePolicy":      send(),
}

var (
	podSpecPlan            = planFor[corev1.PodSpec](podSpecFields)
	podSecurityContextPlan = planFor[corev1.PodSecurityContext](podSecurityContextFields)
)
