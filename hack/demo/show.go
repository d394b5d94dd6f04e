package main

import (
	"context"
	"fmt"
	"strings"

	offloadingv1alpha1 "github.com/spillway-io/spillway/api/v1alpha1"
)

// show prints what a user would look at, as commands with their output.
func (d *demo) show(ctx context.Context) error {
	managed := "get namespaces -l " + offloadingv1alpha1.LabelManagedBy + "=" + offloadingv1alpha1.ManagedBySpillway
	for _, look := range []struct{ title, cluster, command string }{
		{"The providers, as the platform engineer sees them", consumer, "get clusterbindings -o wide"},
		{"Each of them is a node of the consumer", consumer, "get nodes -L region"},
		{"Which namespaces are offloaded", consumer, "get namespaceoffloadings -A -o wide"},
		{"What Spillway makes of it, per provider", consumer, "get namespacemaps -o wide"},
		{"team-a and team-b are in provider eu", "eu", managed},
		{"Only team-b is in provider us", "us", managed},
	} {
		out, err := d.kubectl(ctx, look.cluster, nil, strings.Fields(look.command)...)
		if err != nil {
			return fmt.Errorf("showing the result: %w", err)
		}
		if out == "" {
			out = "No resources found\n"
		}
		fmt.Printf("\n# %s\n$ kubectl --kubeconfig %s %s\n%s", look.title, d.relative(d.kubeconfig(look.cluster)), look.command, out)
	}
	fmt.Print(d.howToGoOn())
	return nil
}

func (d *demo) howToGoOn() string {
	return fmt.Sprintf(`
The demo stays up. To go on by hand:

  export PATH=%[1]s/bin/kube:$PATH
  export KUBECONFIG=%[1]s/bin/demo/consumer.kubeconfig     # the consumer
  export KUBECONFIG=%[1]s/bin/demo/eu.kubeconfig           # provider eu
  export KUBECONFIG=%[1]s/bin/demo/us.kubeconfig           # provider us

Things to try, on the consumer:

  # Take team-a's offloading back: its namespace in eu goes first.
  kubectl delete namespaceoffloading offloading -n team-a

  # One more namespace, by one label.
  kubectl create namespace team-c
  kubectl label namespace team-c spillway.io/offload=true
  kubectl get namespaceoffloading -n team-c -o yaml

  # Which pods would go where: the policy adds toleration and affinity.
  kubectl run web --image=none -n team-b --dry-run=server -o yaml

  # Cut off provider us, see it within 15 s, and bring it back.
  go run ./hack/demo kill us
  kubectl get clusterbindings,nodes -w
  go run ./hack/demo start us

  # Unbind a provider: its namespaces are deleted, then its node.
  kubectl delete clusterbinding us --wait=false
  kubectl get clusterbinding us -o yaml -w

make demo mends whatever you have broken. make demo-down removes everything.
The manager's log: %[2]s
`, d.root, d.relative(d.managerLog()))
}
