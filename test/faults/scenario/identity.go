package scenario

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/faults/world"
)

// docs/concepts.md: the provider must be the same cluster. While it is not, the manager writes nothing there,
// everything in the consumer stays, and new pods wait.
var otherCluster = Scenario{
	Name: "another-cluster", Prepare: all(withPod(world.P1), note(world.P1, remotely(team, web))),
	Steps: []Step{
		refusing("the Secret gets the credentials of another cluster",
			func(w *world.World) []byte { return w.Kubeconfig(world.P2) }, connected(v1alpha1.ReasonIdentityChanged)),
		whileAway, restored,
	},
}

var ownCluster = Scenario{
	Name: "the-consumer-itself", Prepare: all(withPod(world.P1), note(world.P1, remotely(team, web))),
	Steps: []Step{
		refusing("the Secret gets credentials of the consumer",
			func(w *world.World) []byte { return w.Kubeconfig(world.Consumer) }, connected(v1alpha1.ReasonSameCluster)),
		whileAway, restored,
	},
}

var badToken = Scenario{
	Name: "bad-token", Prepare: all(withPod(world.P1), note(world.P1, remotely(team, web))),
	Steps: []Step{
		refusing("the Secret gets a token that the provider does not know",
			func(w *world.World) []byte { return withToken(w.Kubeconfig(world.P1), "nobody") }, credentials(v1alpha1.ReasonUnauthorized)),
		whileAway, restored,
	},
}

var badKubeconfig = Scenario{
	Name: "bad-kubeconfig", Prepare: all(withPod(world.P1), note(world.P1, remotely(team, web))),
	Steps: []Step{
		refusing("the Secret gets what is no kubeconfig",
			func(*world.World) []byte { return []byte("none") }, credentials(v1alpha1.ReasonInvalidKubeconfig)),
		whileAway, restored,
	},
}

var secretGone = Scenario{
	Name: "kubeconfig-secret-deleted", Prepare: all(withPod(world.P1), note(world.P1, remotely(team, web))),
	Steps: []Step{{
		Name:  "the Secret is deleted",
		Do:    deleteLocal(&corev1.Secret{}, managerNamespace, world.P1),
		Until: all(credentials(v1alpha1.ReasonSecretNotFound), nothingMarked(world.P2)),
	}, whileAway, {
		Name: "the Secret is made again",
		Do: func(ctx context.Context, w *world.World) error {
			return w.Create(ctx, w.KubeconfigSecret(world.P1, w.Kubeconfig(world.P1)))
		},
		Until: restored.Until,
	}},
}

// refusing changes the kubeconfig in the Secret, and wants the binding to report that.
func refusing(name string, kubeconfig func(*world.World) []byte, until Func) Step {
	return Step{
		Name:  name,
		Do:    putKubeconfig(kubeconfig),
		Until: all(until, noted(world.P1, remotely(team, web)), nothingMarked(world.P2), gone[corev1.Namespace](world.Consumer, remoteNamespace(team))),
	}
}

// whileAway is what a team does meanwhile, unaware of it.
var whileAway = Step{
	Name: "a pod is created meanwhile",
	Do: func(ctx context.Context, w *world.World) error {
		return w.Create(ctx, world.Pod(team, second, world.P1))
	},
	Until: nothingMarked(world.P2),
}

// restored restores the Secret: the old pod was not touched, and the new one runs.
var restored = Step{
	Name: "the Secret is restored",
	Do:   putKubeconfig(func(w *world.World) []byte { return w.Kubeconfig(world.P1) }),
	Until: all(bound(world.P1), offloaded(team, world.P1), noted(world.P1, remotely(team, web)),
		podIs(corev1.PodRunning, team, web, world.P1), podIs(corev1.PodRunning, team, second, world.P1), nothingMarked(world.P2)),
}

func putKubeconfig(kubeconfig func(*world.World) []byte) Func {
	return change(world.Consumer, named(managerNamespace, world.P1), func(w *world.World, secret *corev1.Secret) {
		secret.Data[v1alpha1.DefaultKubeconfigKey] = kubeconfig(w)
	})
}

// connected wants the binding to report why the provider is not connected.
func connected(reason string) Func {
	return bindingIs(v1alpha1.BindingConnected, metav1.ConditionFalse, reason)
}

// credentials wants the binding to report what is wrong with its credentials.
func credentials(reason string) Func {
	return bindingIs(v1alpha1.BindingCredentialsValid, metav1.ConditionFalse, reason)
}

// withToken returns the kubeconfig with another token; nil if it is not a kubeconfig, which the binding will
// report.
func withToken(kubeconfig []byte, token string) []byte {
	config, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return nil
	}
	for _, user := range config.AuthInfos {
		user.Token = token
	}
	changed, err := clientcmd.Write(*config)
	if err != nil {
		return nil
	}
	return changed
}
