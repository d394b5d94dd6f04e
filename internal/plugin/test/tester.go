package test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/text"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/doctor"
	"github.com/spillway-io/spillway/internal/plugin/status"
)

// prefix begins the names of the namespaces of the test.
const prefix = "spillway-test-"

// tester tests one provider.
type tester struct {
	*options
	consumer *cli.Cluster
	clients  kubernetes.Interface
	binding  *v1alpha1.ClusterBinding
	printer  *printer
	report   Report
	// account is the provider as the consumer's account sees it; nil if it cannot be reached from here. unreached
	// says why.
	account   *cli.Cluster
	unreached string
	// namespace is the namespace of the test, and remote the one in the provider.
	namespace, remote string
	// user is the user ID of the pods; nil leaves it to the image and the provider.
	user *int64
	// created is the UID of that namespace in the consumer.
	created types.UID
	nonce   string
	seen    Seen
	// about are doctor's findings about the provider.
	about []doctor.Finding
}

// skip is the error of a step that could not be tested.
type skip string

func (s skip) Error() string { return string(s) }

// step is one step. Steps that need an earlier one are skipped after its failure.
type step struct {
	name  string
	needs string
	// limit is how long it may take, if that is not only a question of the time that is left.
	limit time.Duration
	do    func(context.Context, *tester) (message string, err error)
}

// silence is how long a pod may take to answer. If packets get lost, nobody else says so before the test ends.
const silence = 10 * time.Second

// errSilent is the cause if a pod does not answer.
var errSilent = errors.New("there is no answer within " + silence.String())

// steps are the steps in order.
var steps = []step{
	{"namespace", "", 0, offload},
	{"admission", "namespace", 0, prepared},
	{"pod", "namespace", 0, runs},
	{"status", "pod", 0, comesBack},
	{"log", "pod", silence, logs},
	{"exec", "pod", silence, execs},
	{"port-forward", "pod", silence, forwards},
	{"configmap", "pod", moment, configures},
	{"service", "status", moment, serves},
	{"dns", "exec", silence, resolves},
	{"networkpolicy", "pod", moment, isolates},
	{"claim", "namespace", 0, claims},
}

// test runs all steps, and deletes what they have created.
func (t *tester) test(ctx context.Context, findings []doctor.Finding, examined time.Duration) Report {
	t.report.Provider = t.binding.Name
	about := doctor.About(findings, t.binding)
	t.about = about
	for _, s := range ofFindings(about, examined) {
		t.add(s)
	}
	all, cancel := context.WithTimeoutCause(ctx, t.timeout, cli.ErrTime)
	defer cancel()
	working, stop := context.WithTimeoutCause(all, t.timeout-t.timeout/endShare, cli.ErrTime)
	defer stop()
	if why := unable(t.binding, about); why != "" {
		if verdict([]Report{t.report}) == nil { // It was Ready a moment ago, when doctor looked.
			t.add(Step{Name: "binding", Result: Failed, Message: why})
		}
		t.skipAll(why)
		return t.report
	}
	if t.runAsUser >= 0 {
		t.user = &t.runAsUser
	}
	t.connect(working)
	t.nonce, t.namespace = utilrand.String(10), prefix+utilrand.String(6)
	for _, s := range steps {
		t.do(working, s)
	}
	t.examineAgain(ctx, about)
	t.end(ctx)
	return t.report
}

// connect connects to the provider as the consumer's account, to see there what has arrived.
func (t *tester) connect(ctx context.Context) {
	account, err := doctor.Account(ctx, t.consumer, t.binding)
	if err == nil {
		_, err = account.UID(ctx)
	}
	if err != nil {
		t.unreached = "the provider cannot be looked at from here: " + err.Error()
		return
	}
	t.account = account
	// OpenShift chooses the user, and refuses another one. The image's would be root, so elsewhere the pod needs one.
	if openshift, err := account.Serves(securityContextConstraints); err == nil && openshift && t.runAsUser == nobody {
		t.user = nil
	}
}

// securityContextConstraints are what OpenShift has, and nobody else.
var securityContextConstraints = schema.GroupVersionKind{Group: "security.openshift.io", Version: "v1", Kind: "SecurityContextConstraints"}

// within returns a context that ends when the step has taken too long.
func (s step) within(ctx context.Context) (context.Context, context.CancelFunc) {
	switch s.limit {
	case 0:
		return ctx, func() {}
	case silence:
		return context.WithTimeoutCause(ctx, s.limit, errSilent)
	default:
		return context.WithTimeoutCause(ctx, s.limit, stalled(s.limit))
	}
}

// do runs a step, and reports it.
func (t *tester) do(ctx context.Context, s step) {
	if s.needs != "" && t.report.result(s.needs) != Passed {
		t.add(Step{Name: s.name, Result: Skipped, Message: "it needs the step " + s.needs})
		return
	}
	if ctx.Err() != nil {
		late := Step{Name: s.name, Result: Skipped, Message: "no time was left: " + context.Cause(ctx).Error()}
		if verdict([]Report{t.report}) == nil {
			late.Result = Failed
		}
		t.add(late)
		return
	}
	begun := time.Now()
	t.seen.Warnings = nil
	limited, cancel := s.within(ctx)
	message, err := s.do(limited, t)
	if err != nil && errors.Is(context.Cause(limited), errSilent) {
		err = fmt.Errorf("%w: %w", errSilent, err)
	}
	cancel()
	done := Step{Name: s.name, Result: Passed, Seconds: time.Since(begun).Seconds(), Message: message}
	var why skip
	switch {
	case errors.As(err, &why):
		done.Result, done.Message = Skipped, string(why)
	case err != nil && errors.Is(context.Cause(ctx), context.Canceled):
		done.Result, done.Message = Failed, "interrupted"
	case err != nil:
		done.Result = Failed
		if t.seen.Pod != nil && t.seen.Pod.Spec.NodeName != "" {
			after, cancel := afterwards(ctx)
			t.seen.Address = address(after, t.consumer, t.seen.Pod.Spec.NodeName)
			cancel()
		}
		t.seen.Step, t.seen.Binding, t.seen.Namespace, t.seen.Remote = s.name, t.binding, t.namespace, t.remote
		done.Message, done.Cause, done.Mend = diagnose(t.seen, err)
	}
	t.add(done)
}

func (t *tester) add(s Step) {
	s.Message = strings.TrimSpace(text.Clean(s.Message)) // Answers of API servers and programs end in line breaks.
	t.report.Steps = append(t.report.Steps, s)
	t.printer.step(t.binding.Name, s)
}

// skipAll skips all steps for one reason, which it prints once.
func (t *tester) skipAll(why string) {
	for _, s := range append(slices.Clone(steps), step{name: deletion}) {
		t.report.Steps = append(t.report.Steps, Step{Name: s.name, Result: Skipped, Message: why})
	}
	t.printer.line("%s %s: not run: %d steps: %s", marks[Skipped], t.binding.Name, len(steps)+1, why)
}

// refresh reads the binding and the offloading again, for the diagnosis.
func (t *tester) refresh(ctx context.Context) {
	binding := &v1alpha1.ClusterBinding{}
	if err := t.consumer.Get(ctx, client.ObjectKeyFromObject(t.binding), binding); err == nil {
		t.binding = binding
	}
	offloading := &v1alpha1.NamespaceOffloading{}
	if err := t.consumer.Get(ctx, client.ObjectKey{Namespace: t.namespace, Name: v1alpha1.OffloadingName}, offloading); err == nil {
		t.seen.Offloading = status.StateOf(offloading)
	}
}

// create creates an object of the test. A namespace has its ServiceAccount a moment after it was created, and the API
// server refuses pods until then.
func (t *tester) create(ctx context.Context, object client.Object) error {
	object.SetNamespace(t.namespace)
	err := t.consumer.Create(ctx, object, client.FieldOwner(cli.Owner))
	if err != nil {
		return fmt.Errorf("creating %s %s: %w", kindOf(object), object.GetName(), err)
	}
	return nil
}

// kindOf returns the kind of an object, which typed objects do not say.
func kindOf(object client.Object) string { return reflect.TypeOf(object).Elem().Name() }

// there reads the copy of an object in the provider.
func (t *tester) there(ctx context.Context, object client.Object, name string) error {
	if t.account == nil {
		return skip(t.unreached)
	}
	return t.account.Get(ctx, client.ObjectKey{Namespace: t.remote, Name: name}, object)
}

// own returns the metadata of an object of the test.
func own(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: map[string]string{cli.LabelManagedBy: cli.Owner, "app": name}}
}
