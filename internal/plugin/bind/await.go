package bind

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/account"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/follow"
	"github.com/spillway-io/spillway/internal/plugin/objects"
	"github.com/spillway-io/spillway/internal/plugin/unbind"
	"github.com/spillway-io/spillway/internal/precondition"
)

// Progress reports whether a binding is ready, and if not, what it waits for.
func Progress(binding *v1alpha1.ClusterBinding) (ready bool, waits string) {
	c := meta.FindStatusCondition(binding.Status.Conditions, v1alpha1.BindingReady)
	switch {
	case c == nil || c.ObservedGeneration < binding.Generation:
		return false, "the manager has not seen it yet; does it run? kubectl get pods -n " + config.Namespace
	case c.Status == metav1.ConditionTrue:
		return true, ""
	case c.Message == "":
		return false, c.Reason
	default:
		return false, c.Reason + ": " + c.Message
	}
}

// Await waits until a binding is Ready.
func Await(ctx context.Context, consumer *cli.Cluster, output *cli.Output, name string) error {
	object := "clusterbinding.offloading.spillway.io/" + name
	waits := ""
	watched := []follow.Watched{{List: &v1alpha1.ClusterBindingList{}, Options: []client.ListOption{client.MatchingFields{"metadata.name": name}}}}
	err := follow.Until(ctx, consumer, watched, func(ctx context.Context) (bool, error) {
		binding := &v1alpha1.ClusterBinding{}
		if err := consumer.Get(ctx, client.ObjectKey{Name: name}, binding); err != nil {
			if ctx.Err() != nil {
				return false, err // waits has what the command waited for until then.
			}
			if waits = "it cannot be read: " + err.Error(); !apierrors.IsNotFound(err) {
				output.Waiting(object + ": " + waits)
			}
			return false, follow.Again(fmt.Errorf("reading ClusterBinding %s: %w", name, err))
		}
		var ready bool
		if ready, waits = Progress(binding); !ready {
			output.Waiting(object + ": " + waits)
		}
		return ready, nil
	})
	if err != nil {
		return cli.GaveUp(err, "ClusterBinding "+name+" is not Ready; see its reason in docs/troubleshooting.md, then run this command again", waits)
	}
	output.Did(cli.Step{Cluster: "consumer", Object: object, Action: "ready"})
	return nil
}

// undoPatience is how long undoing a failed run may take.
const undoPatience = 2 * time.Minute

// takeBack deletes what this run has created. The binding comes first, because its deletion needs the rest.
// In the provider, takeBack ends the access, unless an object of a consumer is there. The objects that
// confine consumers stay, as with unbind.
func (w *work) takeBack(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, undoPatience, cli.ErrTime)
	defer cancel()
	w.output.Say("deleting what this run created:")
	if w.made.binding != "" {
		if err := unbind.Binding(ctx, w.consumer, w.output, w.wanted.Name, w.made.binding); err != nil {
			return fmt.Errorf("run kubectl spillway unbind %s --provider-context CONTEXT: %w", w.wanted.Name, err)
		}
	}
	if w.made.secret != "" {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: w.secretName, UID: w.made.secret}}
		err := w.consumer.Delete(ctx, secret, precondition.Exactly(secret))
		switch {
		case err == nil:
			w.output.Did(cli.Step{Cluster: "consumer", Object: "secret/" + secret.Name, Namespace: secret.Namespace, Action: "deleted"})
		case !apierrors.IsNotFound(err) && !apierrors.IsConflict(err): // Otherwise somebody has deleted it, and perhaps created another one.
			return fmt.Errorf("deleting Secret %s in the consumer: %w", w.secretName, err)
		}
	}
	if len(w.inProvider.Created) == 0 {
		return nil
	}
	used, err := unbind.Used(ctx, w.provider.Cluster)
	if err != nil {
		return err
	}
	if len(used) > 0 {
		w.output.Warn("what this run created in %s is kept, because a consumer still has objects there: %s", w.provider.Name, strings.Join(used, ", "))
		return nil
	}
	if err := w.confine(ctx); err != nil {
		return err
	}
	return w.inProvider.Delete(ctx, unbind.Access(w.inProvider.Created))
}

// confine resets limits that this run has created to the default profile. They stay in the provider,
// and would apply to the next consumer. Limits that somebody has changed since are left alone.
func (w *work) confine(ctx context.Context) error {
	if w.profile == DefaultProfile {
		return nil
	}
	shipped, err := Manifests(DefaultProfile)
	if err != nil {
		return err
	}
	created := slices.IndexFunc(w.inProvider.Created, isLimits)
	wanted := slices.IndexFunc(shipped, isLimits)
	if created < 0 || wanted < 0 || w.inProvider.Created[created].GetUID() == "" {
		return nil
	}
	before := w.inProvider.Created[created]
	after := before.DeepCopy()
	after.Object["data"] = shipped[wanted].Object["data"]
	err = w.provider.Patch(ctx, after, precondition.Locked(before), client.FieldOwner(cli.Owner))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		w.output.Warn("the limits of %s are kept, because somebody has changed them", w.provider.Name)
		return nil
	}
	if err != nil {
		return fmt.Errorf("resetting the limits of %s to the profile %s: %w", w.provider.Name, DefaultProfile, err)
	}
	w.output.Did(cli.Step{
		Cluster: "provider", Object: objects.Name(before), Namespace: before.GetNamespace(), Action: "configured", Message: "reset to the profile " + DefaultProfile,
	})
	return nil
}

func isLimits(object *unstructured.Unstructured) bool { return account.IsLimits(object) }
