package test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/doctor"
	"github.com/spillway-io/spillway/internal/plugin/follow"
	"github.com/spillway-io/spillway/internal/plugin/status"
)

// offload creates the namespace of the test, and waits until it is in the provider.
func offload(ctx context.Context, t *tester) (string, error) {
	namespace := home(t.namespace)
	if err := t.consumer.Create(ctx, namespace, client.FieldOwner(cli.Owner)); err != nil {
		if apierrors.IsAlreadyExists(err) {
			t.namespace = "" // It is somebody else's.
		}
		return "", fmt.Errorf("creating namespace %s: %w", namespace.Name, err)
	}
	t.created = namespace.UID
	sent := offloading(t.binding.Spec.ClusterID)
	if err := t.create(ctx, sent); err != nil {
		return "", err
	}
	ctx, patience := newPatience(ctx, moment)
	defer patience.end()
	watched := []follow.Watched{{List: &v1alpha1.NamespaceOffloadingList{}, Options: []client.ListOption{client.InNamespace(t.namespace)}}}
	err := follow.Until(ctx, t.consumer, watched, func(ctx context.Context) (bool, error) {
		if err := t.consumer.Get(ctx, client.ObjectKeyFromObject(sent), sent); err != nil {
			return false, follow.Again(err)
		}
		t.seen.Offloading = status.StateOf(sent)
		remote := t.seen.Offloading.In(t.binding.Spec.ClusterID)
		if remote == nil || !remote.Ready {
			patience.refused(remote != nil && remote.Wait != nil && isRefusal(remote.Wait.Reason, remote.Wait.Message))
			return false, nil
		}
		t.remote = remote.Namespace
		return true, nil
	})
	return t.namespace + " is namespace " + t.remote + " there", err
}

// prepared checks that the consumer prepares new pods. The API server sees a new offloading a moment after it was
// created, and shows that nowhere, so it is asked again.
func prepared(ctx context.Context, t *tester) (string, error) {
	const again, patience = 200 * time.Millisecond, 5 * time.Second
	sent := offloading(t.binding.Spec.ClusterID)
	sent.Namespace = t.namespace
	var f doctor.Finding
	err := wait.PollUntilContextTimeout(ctx, again, patience, true, func(ctx context.Context) (bool, error) {
		f = doctor.Admission(ctx, t.consumer, sent)
		return f.Level == doctor.OK, nil
	})
	if err != nil && ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	t.seen.Finding = f
	if f.Level != doctor.OK {
		return "", errors.New(f.Message)
	}
	return f.Message, nil
}

// comesBack checks the status that came back from the provider.
func comesBack(_ context.Context, t *tester) (string, error) {
	return returned(t.seen.Pod, t.binding)
}

func logs(ctx context.Context, t *tester) (string, error) {
	options := &corev1.PodLogOptions{TailLines: ptr.To[int64](1)}
	result := t.clients.CoreV1().Pods(t.namespace).GetLogs(web, options).Do(ctx)
	if err := result.Error(); err != nil { // Raw does not have the server's message.
		return "", unlessPlayed(t.seen.Played, err)
	}
	content, err := result.Raw()
	if err != nil {
		return "", err
	}
	if !t.seen.Played && !strings.Contains(string(content), said) {
		return "", fmt.Errorf("the log is %q, and should be %q", content, said)
	}
	return "its log can be read", nil
}

func execs(ctx context.Context, t *tester) (string, error) {
	out, err := command(ctx, t.consumer.Config, t.clients, t.seen.Pod, "echo", t.nonce)
	if err != nil {
		return "", unlessPlayed(t.seen.Played, err)
	}
	if strings.TrimSpace(out) != t.nonce {
		return "", fmt.Errorf("echo %s prints %q", t.nonce, out)
	}
	return "a command runs in its container", nil
}

func forwards(ctx context.Context, t *tester) (string, error) {
	answer, err := forward(ctx, t.consumer.Config, t.clients, t.seen.Pod, fmt.Sprint(port), "/"+key)
	if err != nil {
		return "", unlessPlayed(t.seen.Played, err)
	}
	if !strings.HasPrefix(answer, "HTTP/") {
		return "", fmt.Errorf("port %d answers %q", port, answer)
	}
	return fmt.Sprintf("port %d answers", port), nil
}

// unlessPlayed skips a step if the node is one of kwok that plays no containers.
func unlessPlayed(played bool, err error) error {
	if played && unplayed(err) {
		return skip("the node in the provider is kwok's, and plays no containers: " + err.Error())
	}
	return err
}

// configures checks the copy of the ConfigMap, in the provider and in the container, and that a change arrives.
func configures(ctx context.Context, t *tester) (string, error) {
	message, mountedAt := "it is in the provider, and a change arrives", "cat "+mount+"/"+key
	if !t.seen.Played && t.report.result("exec") == Passed {
		out, err := command(ctx, t.consumer.Config, t.clients, t.seen.Pod, "cat", mount+"/"+key)
		if err != nil || out != t.nonce {
			return "", errors.Join(fmt.Errorf("%s prints %q, and should print %q", mountedAt, out, t.nonce), err)
		}
		message += "; it is mounted"
	}
	if t.account == nil {
		return message, skip(t.unreached)
	}
	copied := &corev1.ConfigMap{}
	if err := t.there(ctx, copied, web); err != nil || copied.Data[key] != t.nonce {
		return "", errors.Join(fmt.Errorf("the copy in the provider has %q, and should have %q", copied.Data[key], t.nonce), err)
	}
	changed := settings(t.nonce + "-changed")
	changed.Namespace = t.namespace
	if err := t.consumer.Update(ctx, changed, client.FieldOwner(cli.Owner)); err != nil {
		return "", fmt.Errorf("changing the ConfigMap: %w", err)
	}
	watched := []follow.Watched{{List: &corev1.ConfigMapList{}, Options: []client.ListOption{client.InNamespace(t.remote)}}}
	err := follow.Until(ctx, t.account, watched, func(ctx context.Context) (bool, error) {
		err := t.there(ctx, copied, web)
		return err == nil && copied.Data[key] == changed.Data[key], follow.Again(err)
	})
	return message, err
}

// serves checks that the Service is in the provider, and has the pod's address in the consumer if the networks are
// routed.
func serves(ctx context.Context, t *tester) (string, error) {
	message := "its network mode is Isolated: the Service has no endpoints in the consumer"
	if t.binding.Spec.Network.Mode == v1alpha1.NetworkRouted {
		slices := &discoveryv1.EndpointSliceList{}
		in := []client.ListOption{client.InNamespace(t.namespace), client.MatchingLabels{discoveryv1.LabelServiceName: web}}
		err := follow.Until(ctx, t.consumer, []follow.Watched{{List: &discoveryv1.EndpointSliceList{}, Options: in}}, func(ctx context.Context) (bool, error) {
			err := t.consumer.List(ctx, slices, in...)
			return err == nil && ready(slices.Items), follow.Again(err)
		})
		if err != nil {
			return "", fmt.Errorf("the Service has no ready endpoint in the consumer: %w", err)
		}
		message = "it has the pod's address in the consumer"
	}
	switch err := t.arrives(ctx, &corev1.ServiceList{}, &corev1.Service{}); {
	case err != nil && t.account == nil:
		return message + "; " + t.unreached, nil
	case err != nil:
		return "", err
	}
	return message + ", and is in the provider", nil
}

// resolves checks in the container that the name of the Service leads to the pod.
func resolves(ctx context.Context, t *tester) (string, error) {
	if t.seen.Played {
		return "", skip("the node in the provider is kwok's, where no container can look up a name")
	}
	at := fmt.Sprintf("http://%s:%d/%s", web, port, key)
	// The network of the provider knows the new pod a moment after it is Ready.
	const again = 500 * time.Millisecond
	var out string
	var err error
	_ = wait.PollUntilContextCancel(ctx, again, true, func(ctx context.Context) (bool, error) {
		var now error
		out, now = command(ctx, t.consumer.Config, t.clients, t.seen.Pod, "wget", "-q", "-T", "2", "-O", "-", at)
		if now == nil || ctx.Err() == nil {
			err = now
		}
		return now == nil, nil
	}) // err has the last answer.
	if err != nil {
		return "", fmt.Errorf("wget %s in the container: %w", at, err)
	}
	if !strings.HasPrefix(out, t.nonce) {
		return "", fmt.Errorf("%s answers %q", at, out)
	}
	return at + " answers in the container", nil
}

func isolates(ctx context.Context, t *tester) (string, error) {
	return "it is in the provider", t.arrives(ctx, &networkingv1.NetworkPolicyList{}, &networkingv1.NetworkPolicy{})
}

// arrives waits until the object of the test's name is in the provider.
func (t *tester) arrives(ctx context.Context, list client.ObjectList, object client.Object) error {
	if t.account == nil {
		return skip(t.unreached)
	}
	watched := []follow.Watched{{List: list, Options: []client.ListOption{client.InNamespace(t.remote)}}}
	err := follow.Until(ctx, t.account, watched, func(ctx context.Context) (bool, error) {
		err := t.there(ctx, object, web)
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		after, cancel := afterwards(ctx)
		defer cancel()
		t.seen.Warnings = warnings(after, t.consumer, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: web}})
		return fmt.Errorf("%s %s is not in the provider: %w", kindOf(object), web, err)
	}
	return nil
}
