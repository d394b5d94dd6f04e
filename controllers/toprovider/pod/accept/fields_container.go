package accept

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/field"
)

const valuesOfPod = "the pod's own name, namespace, UID, node and account keep their values of the consumer"

// ContainerFields apply to containers of every kind. An ephemeral container has the same fields, and
// TargetContainerName.
var ContainerFields = field.Decisions{
	"Env":             field.Change(remoteNames + "; " + valuesOfPod),
	"EnvFrom":         field.Change(remoteNames),
	"VolumeMounts":    field.Change("without the mounts of the injected service account token"),
	"SecurityContext": field.Change(asPodSecurity),
}.And(field.Send(), "Name", "Image", "Command", "Args", "WorkingDir", "Ports", "Resources", "ResizePolicy", "RestartPolicy",
	"RestartPolicyRules", "VolumeDevices", "LivenessProbe", "ReadinessProbe", "StartupProbe", "Lifecycle", "TerminationMessagePath",
	"TerminationMessagePolicy", "ImagePullPolicy", "Stdin", "StdinOnce", "TTY")

// EphemeralContainerFields are the decisions about the fields of an ephemeral container.
var EphemeralContainerFields = field.Decisions{
	"EphemeralContainerCommon": field.Change("its fields like the fields of spec.containers"),
}.And(field.Send(), "TargetContainerName")

// SecurityContextFields are the decisions about the fields of a container's security context.
var SecurityContextFields = field.Decisions{
	"Privileged": field.Privileged("the container would be root on a node of the provider"),
}.And(field.Send(), "Capabilities", "SELinuxOptions", "WindowsOptions", "RunAsUser", "RunAsGroup", "RunAsNonRoot", "ReadOnlyRootFilesystem",
	"AllowPrivilegeEscalation", "ProcMount", "SeccompProfile", "AppArmorProfile")

// EnvVarSourceFields and EnvFromSourceFields are sent whole. The tables exist so that a test notices a
// new field, because the field may name an object.
var EnvVarSourceFields = field.Decisions{
	"FieldRef": field.Change(valuesOfPod),
}.And(field.Change(remoteNames), "ConfigMapKeyRef", "SecretKeyRef").
	And(field.Send(), "ResourceFieldRef", "FileKeyRef")

// EnvFromSourceFields are the decisions about the fields of a source of environment variables.
var EnvFromSourceFields = field.Decisions{}.And(field.Send(), "Prefix").
	And(field.Change(remoteNames), "ConfigMapRef", "SecretRef")

// The plans carry out the decisions above.
var (
	ContainerPlan          = field.PlanFor[corev1.Container](ContainerFields)
	EphemeralContainerPlan = field.PlanFor[corev1.EphemeralContainer](EphemeralContainerFields)
	SecurityContextPlan    = field.PlanFor[corev1.SecurityContext](SecurityContextFields)
)
