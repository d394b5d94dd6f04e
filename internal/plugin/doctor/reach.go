package doctor

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/provider/connection"
	"github.com/spillway-io/spillway/internal/provider/kubeconfig"
)

// managerRights asks whether the manager has the rights of its roles.
func (e *exam) managerRights(ctx context.Context) {
	account := "system:serviceaccount:" + config.Namespace + ":" + config.Manager
	rights, err := Granted(e.shipped, config.Manager, "spillway-leader-election")
	if err != nil {
		e.found(Finding{Level: Error, Check: "rights", Message: err.Error()})
		return
	}
	var missing []string
	for _, right := range rights {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: account, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + config.Namespace, "system:authenticated"}, ResourceAttributes: right.Attributes(),
		}}
		if err := e.consumer.Create(ctx, review); err != nil {
			e.found(Finding{Level: Warning, Check: "rights", Message: "the manager's rights in this cluster are unknown: " + err.Error(), Mend: "run doctor as a cluster administrator"})
			return
		}
		if !review.Status.Allowed {
			missing = append(missing, right.String())
		}
	}
	e.found(ofRights("", "the manager", missing, "kubectl spillway install"))
}

func ofRights(object, who string, missing []string, mend string) Finding {
	if len(missing) > 0 {
		return Finding{Level: Error, Check: "rights", Object: object, Message: who + " lacks: " + strings.Join(missing, ", "), Mend: mend}
	}
	return Finding{Level: OK, Check: "rights", Object: object, Message: who + " has all of them"}
}

// Granted returns the rights of the roles with these names, one for each verb.
func Granted(objects []*unstructured.Unstructured, names ...string) ([]cli.Right, error) {
	var rights []cli.Right
	for _, object := range objects {
		if kind := object.GetKind(); kind != "ClusterRole" && kind != "Role" || !anyPrefix(object.GetName(), names) {
			continue
		}
		role := &rbacv1.ClusterRole{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, role); err != nil {
			return nil, fmt.Errorf("reading the shipped %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		for _, rule := range role.Rules {
			rights = append(rights, ofRule(rule, role.Namespace)...)
		}
	}
	return rights, nil
}

func anyPrefix(name string, all []string) bool {
	for _, one := range all {
		if strings.HasPrefix(name, one) {
			return true
		}
	}
	return false
}

func ofRule(rule rbacv1.PolicyRule, namespace string) []cli.Right {
	var rights []cli.Right
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			resource, sub, _ := strings.Cut(resource, "/")
			for _, verb := range rule.Verbs {
				for _, name := range names {
					rights = append(rights, cli.Right{Verb: verb, Group: group, Resource: resource, Subresource: sub, Namespace: namespace, Name: name})
				}
			}
		}
	}
	return rights
}

// provider examines a provider with the manager's credentials.
func (e *exam) provider(ctx context.Context, binding *v1alpha1.ClusterBinding) {
	document, err := e.secretOf(ctx, binding)
	if apierrors.IsForbidden(err) {
		e.found(Finding{Level: Warning, Check: "credentials", Object: binding.Name, Message: "you may not read them: the provider was not checked", Mend: "run doctor as a cluster administrator"})
		return
	}
	loaded := &rest.Config{}
	if err == nil {
		loaded, err = kubeconfig.Load(document)
	}
	if err != nil {
		e.found(Finding{
			Level: Error, Check: "credentials", Object: binding.Name, Message: "they cannot be used: " + err.Error(),
			Mend: "kubectl spillway bind " + binding.Name + " --provider-context CONTEXT",
		})
		return
	}
	_, from, until := kubeconfig.Validity(loaded)
	e.found(ofExpiry(binding.Name, from, until, time.Now()))
	loaded.Timeout = patience
	there, err := clock(ctx, loaded)
	if err != nil {
		e.found(Finding{
			Level: Warning, Check: "reach", Object: binding.Name, Message: "it is not reachable from here, which may be intended: " + err.Error(),
			Mend: "if the binding is not Ready either: from the network of the manager's pods, try " + loaded.Host,
		})
		return
	}
	e.found(Finding{Level: OK, Check: "reach", Object: binding.Name, Message: loaded.Host + " answers"})
	if here, err := clock(ctx, e.consumer.Config); err == nil {
		e.found(ofClock(binding.Name, there.ahead(here)))
	}
	e.accountRights(ctx, binding.Name, loaded)
}

// accountRights asks a provider whether the consumer's account has the rights of its roles.
func (e *exam) accountRights(ctx context.Context, name string, loaded *rest.Config) {
	mend := "kubectl spillway bind " + name + " --provider-context CONTEXT applies the roles again; roles for logs, exec and metrics that the provider's administrator has deleted are in config/provider/role_*.yaml"
	shipped, err := config.Objects("provider")
	if err != nil {
		e.found(Finding{Level: Error, Check: "rights", Object: name, Message: err.Error()})
		return
	}
	rights, err := Granted(shipped, config.ProviderAccount)
	if err != nil {
		e.found(Finding{Level: Error, Check: "rights", Object: name, Message: err.Error()})
		return
	}
	account, err := cli.Connect(loaded, "provider "+name, e.consumer.Config.UserAgent)
	var missing []cli.Right
	if err == nil {
		missing, err = account.Lacks(ctx, rights)
	}
	if err != nil {
		e.found(Finding{Level: Error, Check: "rights", Object: name, Message: "the consumer's rights in the provider are unknown: " + err.Error(), Mend: mend})
		return
	}
	names := make([]string, len(missing))
	for i, right := range missing {
		names[i] = right.String()
	}
	e.found(ofRights(name, "the consumer's account", names, mend))
}

// reading is the date in an API server's answer, in whole seconds, with the times of the request and the
// answer by the clock of this computer.
type reading struct{ date, asked, answered time.Time }

// ahead returns how far a clock is ahead of another one, at least. Negative: behind.
func (r reading) ahead(of reading) time.Duration {
	least, most := of.date.Sub(of.answered), of.date.Add(time.Second).Sub(of.asked) // How far the other clock is ahead of ours.
	return connection.Apart(r.date, r.asked.Add(least), r.answered.Add(most))
}

// clock reads the clock of an API server.
func clock(ctx context.Context, config *rest.Config) (reading, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return reading{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(config.Host, "/")+"/version", nil)
	if err != nil {
		return reading{}, err
	}
	read := reading{asked: time.Now()}
	response, err := client.Do(request)
	if err != nil {
		return reading{}, err
	}
	defer func() { _ = response.Body.Close() }()
	read.answered = time.Now()
	read.date, err = http.ParseTime(response.Header.Get("Date"))
	return read, err
}

// reach asks the API server for the last byte of the log of a pod on a virtual node.
func (e *exam) reach(ctx context.Context, pod *corev1.Pod) error {
	clients, err := kubernetes.NewForConfig(e.consumer.Config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	options := &corev1.PodLogOptions{Container: pod.Spec.Containers[0].Name, LimitBytes: ptr.To(int64(1)), TailLines: ptr.To(int64(1))}
	return clients.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, options).Do(ctx).Error()
}
