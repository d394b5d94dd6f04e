package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	offloadingv1alpha1 "github.com/spillway-io/spillway/api/v1alpha1"
)

// readyTimeout is generous for machines with few cores. Normally this takes seconds.
const readyTimeout = 3 * time.Minute

var teams = []string{"team-a", "team-b"}

// waitUntilReady waits for the bindings and offloadings.
func (d *demo) waitUntilReady(ctx context.Context) error {
	return d.wait(ctx, d.missing, "both bindings and both offloadings are Ready")
}

// waitForApps waits for the teams' apps.
func (d *demo) waitForApps(ctx context.Context) error {
	return d.wait(ctx, d.unfinished, "the pods of both teams run, team-b's database with volumes in eu, team-a's Job has succeeded, its Ingress has an address, and its HTTPRoute is accepted")
}

// wait waits until nothing is missing. It prints the first missing item whenever that changes.
func (d *demo) wait(ctx context.Context, what func(context.Context) ([]error, error), done string) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	said := ""
	for {
		missing, err := what(ctx)
		if err != nil {
			return err
		}
		if len(missing) == 0 {
			d.say("%s", done)
			return nil
		}
		// Only the first: the others mostly wait for the same.
		if first := missing[0].Error(); first != said {
			d.say("waiting: %s", first)
			said = first
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("gave up waiting: %w", errors.Join(append(missing, ctx.Err())...))
		case <-time.After(pollInterval):
		}
	}
}

// unfinished lists the apps that do not run yet.
func (d *demo) unfinished(ctx context.Context) ([]error, error) {
	if err := d.managerRuns(); err != nil {
		return nil, err
	}
	if err := d.playGateway(ctx); err != nil {
		return nil, err
	}
	missing, err := d.bringBack(ctx)
	if err != nil {
		return nil, err
	}
	for _, key := range []client.ObjectKey{{Namespace: "team-a", Name: "web"}, {Namespace: "team-b", Name: "worker"}} {
		deployment := &appsv1.Deployment{}
		if err := d.consumer.Get(ctx, key, deployment); err != nil {
			missing = append(missing, fmt.Errorf("deployment %s: %w", key, err))
		} else if ready := deployment.Status.ReadyReplicas; ready < *deployment.Spec.Replicas {
			missing = append(missing, fmt.Errorf("deployment %s: %d of %d pods are ready", key, ready, *deployment.Spec.Replicas))
		}
	}
	ingress := &networkingv1.Ingress{}
	if err := d.consumer.Get(ctx, client.ObjectKey{Namespace: "team-a", Name: "web"}, ingress); err != nil {
		missing = append(missing, fmt.Errorf("ingress team-a/web: %w", err))
	} else if len(ingress.Status.LoadBalancer.Ingress) == 0 {
		missing = append(missing, errors.New("ingress team-a/web: it has no address"))
	}
	if err := d.routeAccepted(ctx); err != nil {
		missing = append(missing, err)
	}
	if err := d.databaseRuns(ctx); err != nil {
		missing = append(missing, err)
	}
	job := &batchv1.Job{}
	if err := d.consumer.Get(ctx, client.ObjectKey{Namespace: "team-a", Name: "report"}, job); err != nil {
		missing = append(missing, fmt.Errorf("job team-a/report: %w", err))
	} else if job.Status.Succeeded < *job.Spec.Completions {
		missing = append(missing, fmt.Errorf("job team-a/report: %d of %d pods have succeeded", job.Status.Succeeded, *job.Spec.Completions))
	}
	return missing, nil
}

// missing lists what is not Ready yet, each with its reason. It returns an error if waiting does not help.
func (d *demo) missing(ctx context.Context) ([]error, error) {
	if err := d.managerRuns(); err != nil {
		return nil, err
	}
	var missing []error
	add := func(err error) {
		if err != nil {
			missing = append(missing, err)
		}
	}
	for _, name := range providers {
		if err := d.takeOver(ctx, name); err != nil {
			return nil, err
		}
		add(d.bindingReady(ctx, name))
	}
	for _, namespace := range teams {
		add(d.offloadingReady(ctx, namespace))
	}
	for _, err := range missing {
		// An earlier deletion may have finished after the samples were applied.
		if apierrors.IsNotFound(err) {
			if err := d.reapply(ctx); err != nil {
				return nil, err
			}
			break
		}
	}
	return missing, nil
}

func (d *demo) bindingReady(ctx context.Context, name string) error {
	binding := &offloadingv1alpha1.ClusterBinding{}
	if err := d.consumer.Get(ctx, client.ObjectKey{Name: name}, binding); err != nil {
		return fmt.Errorf("clusterbinding %s: %w", name, err)
	}
	if !binding.DeletionTimestamp.IsZero() {
		return fmt.Errorf("clusterbinding %s is being deleted: %s", name,
			describe(binding.Status.Conditions, offloadingv1alpha1.BindingDrained))
	}
	if !meta.IsStatusConditionTrue(binding.Status.Conditions, offloadingv1alpha1.BindingReady) {
		return fmt.Errorf("clusterbinding %s: %s", name,
			describe(binding.Status.Conditions, offloadingv1alpha1.BindingReady))
	}
	return nil
}

func (d *demo) offloadingReady(ctx context.Context, namespace string) error {
	offloading := &offloadingv1alpha1.NamespaceOffloading{}
	key := client.ObjectKey{Namespace: namespace, Name: offloadingv1alpha1.OffloadingName}
	if err := d.consumer.Get(ctx, key, offloading); err != nil {
		return fmt.Errorf("namespaceoffloading of %s: %w", namespace, err)
	}
	if phase := offloading.Status.OffloadingPhase; phase != offloadingv1alpha1.OffloadingPhaseReady {
		return fmt.Errorf("namespaceoffloading of %s: phase %q, %s", namespace, phase,
			describe(offloading.Status.Conditions, offloadingv1alpha1.OffloadingReady))
	}
	if !offloading.DeletionTimestamp.IsZero() {
		return fmt.Errorf("namespaceoffloading of %s is being deleted", namespace)
	}
	return nil
}

func describe(conditions []metav1.Condition, conditionType string) string {
	condition := meta.FindStatusCondition(conditions, conditionType)
	if condition == nil {
		return "no condition " + conditionType + " yet"
	}
	return fmt.Sprintf("%s is %s: %s: %s", condition.Type, condition.Status, condition.Reason, condition.Message)
}
