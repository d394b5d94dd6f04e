package translate

import corev1 "k8s.io/api/core/v1"

// containerFields are those of containers of every kind: an ephemeral one has
// the same, and TargetContainerName.
var containerFields = decisions{
	"Env":             change("names, and the pod's own name, namespace, UID and node: see fieldReferences"),
	"EnvFrom":         change("names"),
	"VolumeMounts":    change("those of the injected service account token are left out"),
	"SecurityContext": change("see securityContextFields"),

	"Name":                     send(),
	"Image":                    send(),
	"Command":                  send(),
	"Args":                     send(),
	"WorkingDir":               send(),
	"Ports":                    send(),
	"Resources":                send(),
	"ResizePolicy":             send(),
	"RestartPolicy":            send(),
	"RestartPolicyRules":       send(),
	"VolumeDevices":            send(),
	"LivenessProbe":            send(),
	"ReadinessProbe":           send(),
	"StartupProbe":             send(),
	"Lifecycle":                send(),
	"TerminationMessagePath":   send(),
	"TerminationMessagePolicy": send(),
	"ImagePullPolicy":          send(),
	"Stdin":                    send(),
	"StdinOnce":                send(),
	"TTY":                      send(),
}

var ephemeralContainerFields = decisions{
	"EphemeralContainerCommon": change("see containerFields"),
	"TargetContainerName":      send(),
}

var securityContextFields = decisions{
	"Capabilities":             send(),
	"SELinuxOptions":           send(),
	"WindowsOptions":           send(),
	"RunAsUser":                send(),
	"RunAsGroup":               send(),
	"RunAsNonRoot":             send(),
	"ReadOnlyRootFilesystem":   send(),
	"AllowPrivilegeEscalation": send(),
	"ProcMount":                send(),
	"SeccompProfile":           send(),
	"AppArmorProfile":          send(),

	"Privileged": privileged("the container would be root on a node of the provider"),
}

// envVarSourceFields and envFromSourceFields are sent whole. The tables exist so that a
// new field is noticed, since it may name an object.
var envVarSourceFields = decisions{
	"FieldRef":         change("see fieldReferences"),
	"ConfigMapKeyRef":  change("names"),
	"SecretKeyRef":     change("names"),
	"ResourceFieldRef": send(),
	"FileKeyRef":       send(),
}

var envFromSourceFields = decisions{
	"Prefix":       send(),
	"ConfigMapRef": change("names"),
	"SecretRef":    change("names"),
}

var (
	containerPlan          = planFor[corev1.Container](containerFields)
	ephemeralContainerPlan = planFor[corev1.EphemeralContainer](ephemeralContainerFields)
	securityContextPlan    = planFor[corev1.SecurityContext](securityContextFields)
)
