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
		{"The providers, as a platform engineer sees them", consumer, "get clusterbindings"},
		{"Each provider is a node of the consumer", consumer, "get nodes -L region"},
		{"The namespaces that are offloaded", consumer, "get namespaceoffloadings -A -o wide"},
		{"Their remote namespaces, by provider", consumer, "get namespacemaps -o wide"},
		{"The remote namespaces in provider eu: both teams are offloaded to it", "eu", managed},
		{"The remote namespaces in provider us: only team-b is offloaded to it", "us", managed},
		{"team-a's pods, as the team sees them: on the node of provider eu", consumer, "get pods -n team-a -o wide"},
		{"The log of one of them comes from provider eu", consumer, "logs -n team-a deployment/web"},
		{"The address of its Ingress comes from provider eu. Spillway imported the IngressClass from there", consumer, "get ingressclasses,ingresses -A"},
		{"The status of its HTTPRoute comes from the Gateway in provider eu", consumer, `get httproute api -n team-a -o custom-columns='HOSTNAMES:.spec.hostnames,BY:.status.parents[*].controllerName,ACCEPTED:.status.parents[*].conditions[?(@.type=="Accepted")].status'`},
		{"team-b's pods run where the scheduler placed them: on the consumer's own nodes or in a provider", consumer, "get pods -n team-b -o wide"},
		{"The volumes of team-b's database are in provider eu, so it runs there", consumer, "get persistentvolumeclaims,persistentvolumes -n team-b"},
		{"The same volumes in provider eu", "eu", "get persistentvolumeclaims,persistentvolumes -n team-b-demo"},
		{"No network leads to provider eu, so team-a's Service has no addresses in the consumer", consumer, "get endpointslices -n team-a"},
		{"team-b's Service has those of its pods on the consumer's own nodes", consumer, "get endpointslices -n team-b"},
		{"All that Spillway sent to provider eu: the pods, and what they and their clients need", "eu", sent("pods,services,endpointslices,networkpolicies,ingresses,httproutes,poddisruptionbudgets,configmaps,secrets")},
		{"All that it sent to provider us", "us", sent("pods,services,endpointslices")},
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
	return fmt.Sprintf(goOn, d.root, d.relative(d.managerLog()), podRanges["eu"])
}

// goOn has the arguments root, log of the manager, and range of the pods in eu.
const goOn = `
The demo keeps running. To try it yourself:

  export PATH=%[1]s/bin:%[1]s/bin/kube:$PATH
  export KUBECONFIG=%[1]s/bin/demo/consumer.kubeconfig
  # To look into a provider: kubectl --kubeconfig %[1]s/bin/demo/eu.kubeconfig …, or us.kubeconfig

  # What runs where, and why something waits: in the terminal, then live in a browser.
  kubectl spillway status
  kubectl spillway ui

  # Offload one more namespace, with one label.
  kubectl create namespace team-c
  kubectl label namespace team-c spillway.io/offload=true
  kubectl spillway status -n team-c

  # Scale team-a's Deployment, change its image, and watch its pods.
  kubectl scale deployment web -n team-a --replicas=5
  kubectl set image deployment web -n team-a web=example.com/web:2.0
  kubectl get pods -n team-a -o wide -w

  # Run a command in team-a's container in provider eu, follow its log, connect to its port.
  # kwok simulates the container: the command runs on this machine, as you, in %[1]s/bin/demo/clusters/eu/container.
  kubectl exec -n team-a deploy/web -- echo hello
  kubectl logs -f -n team-a deploy/web
  kubectl port-forward -n team-a deploy/web 8000:80    # then, in another terminal: curl http://127.0.0.1:8000

  # Ask why a pod waits: the Secret of this one does not exist.
  kubectl run lost --image=none -n team-a --overrides='{"spec":{"containers":[{"name":"lost","image":"none","envFrom":[{"secretRef":{"name":"nowhere"}}]}]}}'
  kubectl spillway explain lost -n team-a

  # Change the ConfigMap: its copy in provider eu follows.
  kubectl patch configmap settings -n team-a -p '{"data":{"greeting":"hallo"}}'
  kubectl --kubeconfig %[1]s/bin/demo/eu.kubeconfig get configmaps -A -o yaml -l spillway.io/managed-by=spillway

  # Give the database a third volume in provider eu. Then delete the database; this deletes its data there, too.
  kubectl scale statefulset db -n team-b --replicas=3
  kubectl delete statefulset db -n team-b

  # Tell Spillway that a network leads to the pods of provider eu: their addresses appear.
  # us cannot have the same range, and its binding says so.
  kubectl patch clusterbinding eu --type=merge -p '{"spec":{"network":{"mode":"Routed","podCIDRs":["%[3]s"]}}}'
  kubectl get pods,endpointslices -n team-a -o wide
  kubectl patch clusterbinding us --type=merge -p '{"spec":{"network":{"mode":"Routed","podCIDRs":["%[3]s"]}}}'
  kubectl spillway doctor

  # Stop provider us: within 15 s its node is NotReady. Then start it again.
  go run ./hack/demo kill us
  kubectl get clusterbindings,nodes -w
  go run ./hack/demo start us

  # Test each provider: pods, logs, Services, volumes and the rest, one step at a time.
  kubectl spillway test

  # Stop offloading team-a: its pods in eu end, and its remote namespace is deleted.
  kubectl spillway unoffload team-a

  # Unbind provider us: its remote namespaces are deleted, then its node.
  kubectl spillway unbind us

make demo, run again, repairs its own objects and resets the spec of the bindings eu and us. It keeps your objects,
and fields of other objects that you changed. make demo STORY=spill shows pods that spill over. make demo-down removes everything.
The log of the manager: %[2]s
`
