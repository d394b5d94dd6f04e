package accept

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/field"
)

// This file has what pod security baseline forbids beyond the fields that fields_*.go always refuse.
// Remote namespaces enforce baseline, unless the limits grant privileged. A refusal here reports the
// reason once. Without it, the manager would send the pod again and again in vain.
//
// If versions of Kubernetes differ, the most permissive version counts. A stricter provider refuses the
// pod itself.

var (
	baselineCapabilities = []corev1.Capability{
		"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE",
		"SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
	}
	baselineSELinuxTypes = []string{"", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"}
	baselineSysctls      = []string{
		"kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range",
		"net.ipv4.ip_unprivileged_port_start", "net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_keepalive_time",
		"net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes",
		"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem",
	}
)

// securityContext refuses a pod whose own security context exceeds pod security baseline (PodSecurity).
func securityContext(pod *corev1.Pod, in Provider) *field.Problem {
	s := pod.Spec.SecurityContext
	if s == nil || in.Limits.Standard() == field.PodSecurityPrivileged {
		return nil
	}
	if found := unconfined(s.SELinuxOptions, s.WindowsOptions, s.SeccompProfile, s.AppArmorProfile); found != "" {
		return baselineRefusal("spec.securityContext." + found).With(in.cure())
	}
	for i := range s.Sysctls {
		if !slices.Contains(baselineSysctls, s.Sysctls[i].Name) {
			return baselineRefusal("spec.securityContext.sysctls[" + s.Sysctls[i].Name + "]").With(in.cure())
		}
	}
	return nil
}

// privilegedContainer refuses a pod with a container that exceeds pod security baseline (PodSecurity).
func privilegedContainer(pod *corev1.Pod, in Provider) *field.Problem {
	return firstOfContainers(&pod.Spec, func(list string, c *corev1.Container) *field.Problem {
		return containerRefusal(list, c, &pod.Spec, in.Limits.Standard())
	}).With(in.cure())
}

func containerRefusal(list string, c *corev1.Container, spec *corev1.PodSpec, under field.Standard) *field.Problem {
	if c.SecurityContext != nil {
		if found := SecurityContextPlan.Violation(c.SecurityContext, under); found != nil {
			return found.Refusal("spec." + list + "[" + c.Name + "].securityContext")
		}
	}
	if under == field.PodSecurityPrivileged {
		return nil
	}
	if found := beyondBaseline(c, hasUserNamespace(spec)); found != "" {
		return baselineRefusal("spec." + list + "[" + c.Name + "]." + found)
	}
	return nil
}

func baselineRefusal(path string) *field.Problem {
	return field.Refuse(field.ReasonPodSecurity, "%s exceeds what pod security baseline allows", path)
}

// beyondBaseline returns the first field of a container that asks for more than baseline allows, or "".
func beyondBaseline(c *corev1.Container, userNamespace bool) string {
	for i := range c.Ports {
		if c.Ports[i].HostPort != 0 {
			return "ports.hostPort"
		}
	}
	if found := hostOf(c); found != "" {
		return found
	}
	if c.SecurityContext == nil {
		return ""
	}
	s := c.SecurityContext
	if s.Capabilities != nil {
		for _, capability := range s.Capabilities.Add {
			if !slices.Contains(baselineCapabilities, capability) {
				return "securityContext.capabilities.add[" + string(capability) + "]"
			}
		}
	}
	if s.ProcMount != nil && *s.ProcMount != corev1.DefaultProcMount && !userNamespace {
		return "securityContext.procMount"
	}
	if found := unconfined(s.SELinuxOptions, s.WindowsOptions, s.SeccompProfile, s.AppArmorProfile); found != "" {
		return "securityContext." + found
	}
	return ""
}

// unconfined returns the first field that loosens the kernel's confinement of a process, or "".
func unconfined(seLinux *corev1.SELinuxOptions, windows *corev1.WindowsSecurityContextOptions,
	seccomp *corev1.SeccompProfile, appArmor *corev1.AppArmorProfile) string {
	switch {
	case seLinux != nil && !slices.Contains(baselineSELinuxTypes, seLinux.Type):
		return "seLinuxOptions.type"
	case seLinux != nil && seLinux.User != "":
		return "seLinuxOptions.user"
	case seLinux != nil && seLinux.Role != "":
		return "seLinuxOptions.role"
	case windows != nil && windows.HostProcess != nil && *windows.HostProcess:
		return "windowsOptions.hostProcess"
	case seccomp != nil && seccomp.Type == corev1.SeccompProfileTypeUnconfined:
		return "seccompProfile.type"
	case appArmor != nil && appArmor.Type == corev1.AppArmorProfileTypeUnconfined:
		return "appArmorProfile.type"
	}
	return ""
}

// hostOf returns the first probe or hook that makes the kubelet call another host, or "". Such a call
// could reach what the pod cannot reach.
func hostOf(c *corev1.Container) string {
	probes := [...]*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe}
	for i, name := range [...]string{"livenessProbe", "readinessProbe", "startupProbe"} {
		if p := probes[i]; p != nil && callsHost(p.HTTPGet, p.TCPSocket) {
			return name + ".host"
		}
	}
	if c.Lifecycle == nil {
		return ""
	}
	if h := c.Lifecycle.PostStart; h != nil && callsHost(h.HTTPGet, h.TCPSocket) {
		return "lifecycle.postStart.host"
	}
	if h := c.Lifecycle.PreStop; h != nil && callsHost(h.HTTPGet, h.TCPSocket) {
		return "lifecycle.preStop.host"
	}
	return ""
}

func callsHost(http *corev1.HTTPGetAction, tcp *corev1.TCPSocketAction) bool {
	return http != nil && http.Host != "" || tcp != nil && tcp.Host != ""
}

// hasUserNamespace reports whether the pod has a user namespace: its root user has no privileges on the
// node.
func hasUserNamespace(spec *corev1.PodSpec) bool { return spec.HostUsers != nil && !*spec.HostUsers }
