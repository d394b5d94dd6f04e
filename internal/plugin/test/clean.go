package test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/follow"
	"github.com/spillway-io/spillway/internal/precondition"
)

// deletion is the name of the last step.
const deletion = "deletion"

// endShare is the part of --timeout that is for the deletion. Kubernetes waits 5 seconds before it deletes a namespace,
// and the one in the consumer goes after the one in the provider.
const endShare = 3

// end deletes what the test has created, also if ctx has ended.
func (t *tester) end(ctx context.Context) {
	if t.keep {
		t.add(Step{Name: deletion, Result: Skipped, Message: "--keep; to delete it: kubectl delete namespace " + t.namespace})
		return
	}
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), t.timeout/endShare, cli.ErrTime)
	defer cancel()
	t.do(ctx, step{name: deletion, do: deletes})
}

// deletes ends the offloading, which deletes the namespace in the provider, and then deletes the namespace in the
// consumer. Otherwise Kubernetes would try again only after some seconds. The namespace is deleted also if the first
// does not end in time: the manager continues.
func deletes(ctx context.Context, t *tester) (string, error) {
	if t.namespace == "" {
		return "there is nothing to delete", nil
	}
	begun := time.Now()
	err := t.takeBack(ctx)
	namespace := home(t.namespace)
	namespace.UID = t.created
	if failed := remove(context.WithoutCancel(ctx), t.consumer, namespace); failed != nil {
		return "", errors.Join(err, failed)
	}
	if err == nil {
		err = gone(ctx, t.consumer, &corev1.NamespaceList{}, home(t.namespace), client.MatchingFields{"metadata.name": t.namespace})
	}
	if err != nil {
		t.stillThere(context.WithoutCancel(ctx))
		return "", fmt.Errorf("namespace %s is still being deleted after %s, and the manager continues: %w", t.namespace, time.Since(begun).Truncate(time.Second), err)
	}
	if t.account == nil || t.remote == "" {
		return strings.TrimSuffix("nothing is left in the consumer; "+t.unreached, "; "), nil
	}
	if err := t.account.Get(ctx, client.ObjectKey{Name: t.remote}, &corev1.Namespace{}); !apierrors.IsNotFound(err) {
		return "", errors.Join(fmt.Errorf("namespace %s is still in the provider", t.remote), err)
	}
	return "nothing is left in either cluster", nil
}

// takeBack ends the offloading. The manager deletes no remote namespace that has bound claims, so the claim goes first.
func (t *tester) takeBack(ctx context.Context) error {
	if result := t.report.result("claim"); result == Passed || result == Failed {
		pod, claim := &corev1.Pod{ObjectMeta: own(claimant)}, &corev1.PersistentVolumeClaim{ObjectMeta: own(claimant)}
		for _, object := range []client.Object{pod, claim} {
			object.SetNamespace(t.namespace)
			if err := remove(ctx, t.consumer, object); err != nil {
				return err
			}
		}
		if err := gone(ctx, t.consumer, &corev1.PersistentVolumeClaimList{}, claim, client.InNamespace(t.namespace)); err != nil {
			return fmt.Errorf("the claim is still there: %w", err)
		}
	}
	sent := offloading(t.binding.Spec.ClusterID)
	sent.Namespace = t.namespace
	if err := remove(ctx, t.consumer, sent); err != nil {
		return err
	}
	return gone(ctx, t.consumer, &v1alpha1.NamespaceOffloadingList{}, sent, client.InNamespace(t.namespace))
}

// remove deletes an object in the consumer, as it was just read. An object with a UID never matches another object of its
// name.
func remove(ctx context.Context, consumer client.Client, object client.Object) error {
	ctx, cancel := context.WithTimeout(ctx, refusalLasts)
	defer cancel()
	uid := object.GetUID()
	err := consumer.Get(ctx, client.ObjectKeyFromObject(object), object)
	if err == nil && uid != "" && object.GetUID() != uid {
		return nil
	}
	if err == nil && object.GetDeletionTimestamp().IsZero() {
		err = consumer.Delete(ctx, object, precondition.Exactly(object))
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting %s %s: %w", kindOf(object), object.GetName(), err)
	}
	return nil
}

// gone waits until an object is gone from the consumer.
func gone(ctx context.Context, consumer *cli.Cluster, list client.ObjectList, object client.Object, options ...client.ListOption) error {
	return follow.Until(ctx, consumer, []follow.Watched{{List: list, Options: options}}, func(ctx context.Context) (bool, error) {
		err := consumer.Get(ctx, client.ObjectKeyFromObject(object), object)
		return apierrors.IsNotFound(err), follow.Again(client.IgnoreNotFound(err))
	})
}

// stillThere reads what blocks the deletion, in the provider if it can be reached from here.
func (t *tester) stillThere(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, refusalLasts)
	defer cancel()
	t.refresh(ctx)
	for _, one := range []struct {
		in   *cli.Cluster
		name string
	}{{t.consumer, t.namespace}, {t.account, t.remote}} {
		there := &corev1.Namespace{}
		if one.in != nil && one.name != "" && one.in.Get(ctx, client.ObjectKey{Name: one.name}, there) == nil && !there.DeletionTimestamp.IsZero() {
			t.seen.Blocker = namespacemap.DeletionBlocker(there) // The provider's counts, because the consumer waits for it.
		}
	}
}
