//go:build e2e

package e2e

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// reportFailure shows what a user would look at, after a spec has failed.
func reportFailure(t *team) {
	if !CurrentSpecReport().Failed() {
		return
	}
	AddReportEntry("bindings and nodes", section(consumer, "get", "clusterbindings,namespacemaps,nodes", "-o", "wide"))
	AddReportEntry("the offloading", section(consumer, "describe", "namespaceoffloadings", "-n", t.namespace))
	// Only the names of ConfigMaps and Secrets: no content of a Secret is shown.
	const kinds = "deployments,replicasets,jobs,pods,configmaps,secrets,persistentvolumeclaims"
	AddReportEntry("the consumer's namespace", section(consumer, "get", kinds, "-n", t.namespace, "-o", "wide")+
		section(consumer, "describe", "pods", "-n", t.namespace)+
		section(consumer, "get", "events", "-n", t.namespace, "--sort-by=.lastTimestamp"))
	AddReportEntry("the provider's namespace", section(t.provider, "get", kinds, "-n", t.remote, "-o", "wide")+
		section(t.provider, "describe", "pods", "-n", t.remote)+
		section(t.provider, "get", "events", "-n", t.remote, "--sort-by=.lastTimestamp"))
	AddReportEntry("volumes", section(consumer, "get", "persistentvolumes", "-o", "wide")+
		section(t.provider, "get", "persistentvolumes", "-l", v1alpha1.LabelManagedBy, "-o", "wide"))
	AddReportEntry("the end of the manager's log", "\n"+managerLogTail())
	if *pause {
		awaitKey()
	}
}

// awaitKey allows a look into the clusters. It reads from the terminal, because go test gives tests no input.
func awaitKey() {
	terminal, err := os.Open("/dev/tty")
	if err != nil {
		AddReportEntry("-pause needs a terminal", err.Error())
		return
	}
	defer terminal.Close()
	fmt.Fprintf(os.Stderr, "\nA spec has failed. The clusters run; their kubeconfigs are %s. Press return to go on.\n", kubeconfigs())
	_, _ = bufio.NewReader(terminal).ReadString('\n')
}

func kubeconfigs() string {
	var paths []string
	for _, c := range append(providers(), consumer) {
		paths = append(paths, c.Kubeconfig())
	}
	return strings.Join(paths, ", ")
}

func section(c *testCluster, args ...string) string {
	out, err := c.kubectl(args...)
	text := fmt.Sprintf("\n$ kubectl %s   # in %s\n%s\n", strings.Join(args, " "), c.Name(), out)
	if err != nil {
		text += err.Error() + "\n"
	}
	return text
}

func managerLogTail() string {
	const count = 60
	raw, err := os.ReadFile(managerLog())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}
