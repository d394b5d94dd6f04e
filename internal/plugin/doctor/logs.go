package doctor

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/internal/field/text"
	"github.com/spillway-io/spillway/internal/kubelet/kubeletapi"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/status"
)

// logsOf checks the virtual nodes of a provider, with and without a group. The manager serves all of them in the same way,
// so the first one on which a pod runs tells of the others.
func (p *providers) logsOf(ctx context.Context, binding status.Binding) {
	if binding.Node != nil && p.logs(ctx, binding.ClusterID, binding.Node.Name) {
		return
	}
	for i := range binding.Groups {
		if p.logs(ctx, binding.ClusterID, binding.Groups[i].Name) {
			return
		}
	}
}

// logs checks whether the API server reaches the virtual node for kubectl logs, if a pod runs there. It
// reports whether one does.
func (p *providers) logs(ctx context.Context, clusterID, node string) bool {
	at := slices.IndexFunc(p.seen.Pods, func(pod corev1.Pod) bool { return pod.Spec.NodeName == node && pod.Status.Phase == corev1.PodRunning })
	if at < 0 {
		return false
	}
	p.found(ofLogs(node, clusterID, reach(ctx, p.consumer, &p.seen.Pods[at])))
	return true
}

// GiveCertificate says what to do if the API server is unknown to the manager.
const GiveCertificate = "give the consumer's API server --kubelet-client-certificate and --kubelet-client-key, signed by the authority of its --client-ca-file, and restart it: docs/kubelet.md, what it needs"

// Unknown reports whether the manager does not know the API server that asks it for logs or exec, because it has no
// client certificate for kubelets, or a wrong one. For logs, the API server replaces the manager's message.
func Unknown(message string) bool {
	return strings.Contains(message, "asked for the client to provide credentials") || strings.Contains(message, kubeletapi.WhoAsks)
}

// ofLogs is the finding about logs of a pod on a virtual node. An answer that names the provider comes from the
// manager, so the API server reaches that.
func ofLogs(node, clusterID string, err error) Finding {
	f := Finding{Level: OK, Check: "logs", Object: node, Message: "the API server reaches it, for kubectl logs and exec"}
	if err == nil {
		return f
	}
	message := strings.TrimSpace(text.Clean(err.Error()))
	f.Level, f.Message = Warning, "the API server cannot read logs from it: "+message
	switch {
	case strings.Contains(message, "provider "+clusterID+": no logs found"): // As kwok says.
		f.Level, f.Message = OK, "the API server reaches it; the provider's nodes are of kwok, which plays no logs"
	case apierrors.IsForbidden(err) && !strings.Contains(message, "provider "+clusterID):
		f.Message, f.Mend = "cannot check whether the API server reaches it: you may not read logs", "run doctor as a cluster administrator"
	case Unknown(message):
		f.Message = "the manager does not know the API server, which shows no client certificate for kubelets, or a wrong one: " + message
		f.Mend = GiveCertificate
	case strings.Contains(message, "provider "+clusterID):
		f.Message = "the API server reaches it, but the provider gives no logs: " + message
		f.Mend = "docs/kubelet.md, what it says; kubectl logs must work in the provider"
	default:
		f.Mend = "check, with docs/kubelet.md, the address in the manager's flag --kubelet-address, its port 10250, who may reach it, and its certificate"
	}
	return f
}

// reach asks the API server for the last byte of the log of a pod on a virtual node.
func reach(ctx context.Context, consumer *cli.Cluster, pod *corev1.Pod) error {
	clients, err := kubernetes.NewForConfig(consumer.Config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	options := &corev1.PodLogOptions{Container: pod.Spec.Containers[0].Name, LimitBytes: ptr.To(int64(1)), TailLines: ptr.To(int64(1))}
	return clients.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, options).Do(ctx).Error()
}
