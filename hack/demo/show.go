package main

import (
	"context"
	"fmt"
	"strings"

	offloadingv1alpha1 "github.com/spillway-io/spillway/api/v1alpha1"
)

// show runs the commands that a user would run, and prints them with their output.
func (d *demo) show(ctx context.Context) error {
	managed := "get namespaces -l " + offloadingv1alpha1.LabelManagedBy + "=" + offloadingv1alpha1.ManagedBySpillway
	sent := func(kinds string) string {
		return "get " + kinds + " -A -l " + offloadingv1alpha1.LabelManagedBy + "=" + offloadingv1alpha1.ManagedBySpillway
	}
	for _, look := range []struct{ title, cluster, command string }{
		{"The providers, as the platform engineer sees them", consumer, "get clusterbindings"},
		{"Each of them is a node of the consumer", consumer, "get nodes -L region"},
		{"Which namespaces are offloaded", consumer, "get namespaceoffloadings -A -o wide"},
		{"The remote namespaces of each provider", consumer, "get namespacemaps -o wide"},
		{"The same in provider eu", "eu", managed},
		{"And in provider us, to which team-a is not offloaded", "us", managed},
		{"team-a's pods, as the team sees them: those of the Deployment are on the node of provider eu", consumer, "get pods -n team-a -o wide"},
		{"A log of one of them, which comes from provider eu", consumer, "logs -n team-a deployment/web"},
		{"The address of its Ingress comes from provider eu, from which Spillway has imported the class", consumer, "get ingressclasses,ingresses -A"},
		{"The status of its HTTPRoute comes from the Gateway's controller in provider eu", consumer, `get httproute api -n team-a -o custom-columns='HOSTNAMES:.spec.hostnames,BY:.status.parents[*].controllerName,ACCEPTED:.status.parents[*].conditions[?(@.type=="Accepted")].status'`},
		{"team-b's pods: wherever the scheduler has put them, the consumer's own nodes or a provider", consumer, "get pods -n team-b -o wide"},
		{"team-b's database has its volumes in provider eu, so it runs there", consumer, "get persistentvolumeclaims,persistentvolumes -n team-b"},
		{"The same volumes in provider eu, which has created them", "eu", "get persistentvolumeclaims,persistentvolumes -n team-b-demo"},
		{"No route leads to provider eu, so team-a's Service has no addresses here", consumer, "get endpointslices -n team-a"},
		{"team-b's Service has the addresses of the consumer's own pods", consumer, "get endpointslices -n team-b"},
		{"The same pods in provider eu, with everything else that Spillway has sent there", "eu", sent("pods,services,endpointslices,networkpolicies,ingresses,httproutes,poddisruptionbudgets,configmaps,secrets")},
		{"And in provider us", "us", sent("pods,services,endpointslices")},
	} {
		out, err := d.kubectl(ctx, look.cluster, nil, strings.Fields(strings.ReplaceAll(look.command, "'", ""))...)
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

  export PATH=%[1]s/bin:%[1]s/bin/kube:$PATH
  export KUBECONFIG=%[1]s/bin/demo/consumer.kubeconfig   # the consumer
  # For a look into a provider: kubectl --kubeconfig %[1]s/bin/demo/eu.kubeconfig …, or us.kubeconfig

Things to try, on the consumer:

  # What runs where: in the terminal, then in a browser.
  kubectl spillway status
  kubectl spillway ui

  # Offload one more namespace, by one label.
  kubectl create namespace team-c
  kubectl label namespace team-c spillway.io/offload=true
  kubectl get namespaceoffloading -n team-c -o yaml

  # Scale team-a's Deployment, roll it out again, and watch provider eu follow.
  kubectl scale deployment web -n team-a --replicas=5
  kubectl set image deployment web -n team-a web=example.com/web:2.0
  kubectl get pods -n team-a -o wide -w

  # Look into team-a's containers in provider eu. kwok plays them: what exec runs, runs on
  # this machine, as you, in %[1]s/bin/demo/clusters/eu/container.
  kubectl exec -n team-a deploy/web -- echo hello
  kubectl logs -f -n team-a deploy/web
  kubectl port-forward -n team-a deploy/web 8000:80    # and curl http://127.0.0.1:8000

  # Change the ConfigMap, and see the copy follow.
  kubectl patch configmap settings -n team-a -p '{"data":{"greeting":"hallo"}}'
  kubectl --kubeconfig %[1]s/bin/demo/eu.kubeconfig get configmaps -A -o yaml -l spillway.io/managed-by=spillway

  # Give the database one more volume in eu. Then delete it, with its volumes in eu.
  kubectl scale statefulset db -n team-b --replicas=3
  kubectl delete statefulset db -n team-b

  # A pod whose Secret does not exist says so.
  kubectl run lost --image=none -n team-a --overrides='{"spec":{"containers":[{"name":"lost","image":"none","envFrom":[{"secretRef":{"name":"nowhere"}}]}]}}'
  kubectl spillway explain lost -n team-a

  # Say that a network leads to provider eu, and see the addresses of its pods appear.
  # No two providers can have the same range, so us is refused.
  kubectl patch clusterbinding eu --type=merge -p '{"spec":{"network":{"mode":"Routed","podCIDRs":["%[3]s"]}}}'
  kubectl get pods,endpointslices -n team-a -o wide
  kubectl patch clusterbinding us --type=merge -p '{"spec":{"network":{"mode":"Routed","podCIDRs":["%[3]s"]}}}'
  kubectl describe clusterbinding us

  # Cut off provider us, see it within 15 s, and bring it back.
  go run ./hack/demo kill us
  kubectl get clusterbindings,nodes -w
  go run ./hack/demo start us

  # Take back team-a's namespace: its remote namespace in eu is deleted first.
  kubectl delete namespaceoffloading offloading -n team-a

  # Unbind a provider: its remote namespaces are deleted, then its node.
  kubectl delete clusterbinding us --wait=false
  kubectl get clusterbinding us -o yaml -w

make demo, run again, repairs its own objects, and resets the whole spec of the bindings eu and us. Your own objects
stay, and so do fields that you added to others. make demo STORY=spill shows pods that spill over. make demo-down
removes everything.
The manager's log: %[2]s
`, d.root, d.relative(d.managerLog()), podRanges["eu"])
}
