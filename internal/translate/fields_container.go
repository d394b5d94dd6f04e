package translate

import corev1 "k8s.io/api/core/v1"

// containerFields apply to containers of every kind. An ephemeral container has the same fields, and
// TargetContainerName.
var containerFields = decisions{
	"Env":             change("names, and the pod's own name, namespace, UID and node: see fieldReferences"),
	"EnvFrom":         change("names"),
	"VolumeMounts":    change("those of the injected service account token are left out"),
	"SecurityContext": change("see securityContextFields"),
}.and(send(), "Name", "Image", "Command", "Args", "WorkingDir", "Ports", "Resources", "ResizePolicy", "RestartPolicy",
	"RestartPolicyRules", "VolumeDevices", "LivenessProbe", "ReadinessProbe", "StartupProbe", "Lifecycle", "TerminationMessagePath",
	"TerminationMessagePolicy", "ImagePullPolicy", "Stdin", "StdinOnce", "TTY")

var ephemeralContainerFields = decisions{
	"EphemeralContainerCommon": change("see containerFields"),
}.and(send(), "TargetContainerName")

var securityContextFields = decisions{
	"Privileged": privileged("the container would be root on a node of the provider"),
}.and(send(), "Capabilities", "SELinuxOptions", "WindowsOptions", "RunAsUser", "RunAsGroup", "RunAsNonRoot", "ReadOnlyRootFilesystem",
	"AllowPrivilegeEscalation", "ProcMount", "SeccompProfile", "AppArmorProfile")

// envVarSourceFields and envFromSourceFields are sent whole. The tables exist so that a test notices a
// new field, because the field may name an object.
var envVarSourceFields = decisions{
	"FieldRef": change("see fieldReferences"),
}.and(change("names"), "ConfigMapKeyRef", "SecretKeyRef").
	and(send(), "ResourceFieldRef", "FileKeyRef")

var envFromSourceFields = decisions{}.and(send(), "Prefix").
	and(change("names"), "ConfigMapRef", "SecretRef")

var (
	containerPlan          = planFor[corev1.Container](containerFields)
	ephemeralContainerPlan = planFor[corev1.EphemeralContainer](ephemeralContainerFields)
	securityContextPlan    = planFor[corev1.SecurityContext](securityContextFields)
)
