package integration

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/podevent"
	"github.com/spillway-io/spillway/internal/manager"
	"github.com/spillway-io/spillway/test/requests"
)

// The specs write the provider's warnings, as a kubelet, a scheduler or the controllers of a cloud would.
var _ = Describe("Warnings of a provider", Ordered, func() {
	var (
		spec        = unique("spec")
		toEU        *v1alpha1.ClusterBinding
		team        string
		pod, remote *corev1.Pod
	)

	BeforeAll(func() {
		toEU = home.bind(eu, spec)
		team = home.offloadNew(selecting(labelSpec, spec))
		home.bindingIsReady(toEU)
		home.offloadingIsReady(team)
	})

	// ask makes the binding ask for other events, until the spec ends.
	ask := func(events v1alpha1.ProviderEvents) {
		GinkgoHelper()
		set := func(events v1alpha1.ProviderEvents) {
			change(home, toEU, func(cb *v1alpha1.ClusterBinding) { cb.Spec.Events = events })
		}
		DeferCleanup(set, v1alpha1.ProviderEventsWarnings)
		set(events)
	}

	BeforeEach(func() {
		pod = home.runPod(toEU, team)
		remote = eu.remotePod(toEU, pod)
	})

	It("are shown on the local pod", func() {
		eu.warn(remote, "no such image")
		Eventually(home.described(pod)).Should(ConsistOf(
			And(HaveField("Message", "no such image"), HaveField("Reason", "Failed"), HaveField("Count", BeEquivalentTo(1)))))
		shown := home.onlyEvent(pod)
		Expect(shown.Type).To(Equal(corev1.EventTypeWarning))
		Expect(shown.Source).To(Equal(corev1.EventSource{Component: toEU.VirtualNodeName()}))
		Expect(shown.ReportingInstance).To(Equal(toEU.Spec.ClusterID))
	})

	// An event that is shown is updated ten seconds later at the earliest.
	It("are shown with their count, which follows", slow, func() {
		event := eu.warn(remote, "no such image")
		Eventually(home.described(pod)).Should(ConsistOf(HaveField("Count", BeEquivalentTo(1))))
		shown := home.onlyEvent(pod)
		change(eu, event, func(event *corev1.Event) {
			event.Count, event.LastTimestamp = 7, metav1.NewTime(time.Now().Truncate(time.Second))
		})
		Eventually(home.described(pod)).Should(ConsistOf(HaveField("Count", BeEquivalentTo(7))))
		after := home.onlyEvent(pod)
		Expect(after.UID).To(Equal(shown.UID), "it is the same event")
		Expect(after.LastTimestamp.Time).To(BeTemporally(">=", shown.LastTimestamp.Time))
	})

	It("are not shown if they are about anything else", func() {
		elsewhere := newPod(eu.newNamespace())
		Eventually(func() error { return eu.Create(ctx, elsewhere) }).Should(Succeed(), "the namespace should have a ServiceAccount")
		unmarked := newPod(remote.Namespace)
		eu.create(unmarked)
		another := remote.DeepCopy()
		another.UID = "another-pod-of-that-name"
		eu.warn(elsewhere, "about a pod of another tenant")
		eu.warn(unmarked, "about a pod of somebody else beside it")
		eu.warn(another, "about an earlier pod of its name")
		eu.warn(remote, "nothing to worry about", func(event *corev1.Event) { event.Type = corev1.EventTypeNormal })
		eu.warn(remote, "the last one")

		Eventually(home.described(pod)).Should(ConsistOf(HaveField("Message", "the last one")))
		Expect(home.fromProviders("")()).NotTo(ContainElement(HaveField("Message", HavePrefix("about"))))
		Expect(home.described(pod)()).To(HaveLen(1))
	})

	It("come with other events while the binding asks for all of them", func() {
		normal := func(event *corev1.Event) { event.Type, event.Reason = corev1.EventTypeNormal, "Started" }
		shown := func() ([]corev1.Event, error) {
			all, err := home.fromProviders(team)()
			return slices.DeleteFunc(all, func(e corev1.Event) bool { return e.InvolvedObject.UID != pod.UID }), err
		}
		eu.warn(remote, "it has started", normal)
		ask(v1alpha1.ProviderEventsAll)
		Eventually(shown).Should(ConsistOf(And(HaveField("Type", corev1.EventTypeNormal), HaveField("Reason", "Started"), HaveField("Message", "it has started"))))
	})

	It("are shown on a Service that was sent, and on no other", func() {
		newService := func(namespace string) *corev1.Service {
			return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: unique("web")}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}}}
		}
		sent, foreign := newService(team), newService(remote.Namespace)
		home.create(sent)
		eu.create(foreign)
		namesake := in(team, foreign) // It cannot be sent.
		namesake.Spec.Ports = foreign.Spec.Ports
		home.create(namesake)
		Eventually(eu.fetching(in(remote.Namespace, sent))).Should(Succeed())
		there, err := now(eu, in(remote.Namespace, sent))()
		Expect(err).NotTo(HaveOccurred())
		shown := func() (all []string, err error) {
			events, err := home.fromProviders(team)()
			for _, event := range events {
				if event.InvolvedObject.Kind == "Service" {
					all = append(all, event.InvolvedObject.Name+": "+event.Type+": "+event.Message+" from "+event.Source.Component)
				}
			}
			return all, err
		}
		normal := func(event *corev1.Event) { event.Type = corev1.EventTypeNormal }
		from := " from " + toEU.VirtualNodeName()

		eu.warn(foreign, "about a Service of somebody else")
		eu.warn(there, "Ensuring load balancer", normal)
		eu.warn(there, "no more load balancers")
		Eventually(shown).Should(ConsistOf(sent.Name + ": Warning: no more load balancers" + from))
		ask(v1alpha1.ProviderEventsAll)
		Eventually(shown).Should(ConsistOf(sent.Name+": Warning: no more load balancers"+from, sent.Name+": Normal: Ensuring load balancer"+from))
	})

	It("are bounded, whatever a provider writes", slow, func() {
		eu.warn(remote, strings.Repeat("x", 100_000)+"\n")
		eu.warn(remote, "\x1b[2Jgone\u202e")
		Eventually(home.described(pod)).Should(ConsistOf(
			HaveField("Message", And(HaveLen(1023+len("…")), HavePrefix("xxx"))), HaveField("Message", "[2Jgone")))

		var writers sync.WaitGroup
		for writer := range 10 {
			writers.Go(func() {
				defer GinkgoRecover()
				for i := range 100 {
					eu.warn(remote, fmt.Sprintf("warning %d of writer %d", i, writer))
				}
			})
		}
		writers.Wait()
		Eventually(home.described(pod)).Should(HaveLen(podevent.MostShown))
		Consistently(home.described(pod)).Should(HaveLen(podevent.MostShown))
	})

	It("cost nothing else where they may not be read", slow, func() {
		without := unique("spec")
		blind := home.bindWith(eu.lacking("events", "list"), "blind", without)
		namespace := home.offloadNew(selecting(labelSpec, without))
		home.bindingIsReady(blind)
		home.offloadingIsReady(namespace)
		unseen := home.runPod(blind, namespace)
		eu.warn(eu.remotePod(blind, unseen), "nobody may read this")
		Consistently(home.condition(blind, v1alpha1.BindingReady)).Should(isTrue(v1alpha1.ReasonReady))
		Expect(home.described(unseen)()).To(BeEmpty())
	})

	It("are not written again by a manager that starts", slow, func() {
		for i := range 5 {
			eu.warn(remote, fmt.Sprintf("warning %d", i))
		}
		Eventually(home.described(pod)).Should(HaveLen(5))
		versions := func() map[string]string {
			all := map[string]string{}
			for _, event := range must(home.fromProviders(team)()) {
				all[event.Name] = event.ResourceVersion
			}
			return all
		}
		before := versions()

		counter := requests.NewCounter()
		running.stop()
		running = startManager(home, manager.Options{ConsumerID: homeID, WrapTransport: func(next http.RoundTripper) http.RoundTripper {
			return counter.WrapNamed("home", next)
		}})
		witness := home.runPod(toEU, team)
		eu.warn(eu.remotePod(toEU, witness), "the manager looks at the warnings")
		Eventually(home.described(witness)).Should(HaveLen(1))
		shown := home.onlyEvent(witness)
		before[shown.Name] = shown.ResourceVersion
		Expect(versions()).To(Equal(before))
		for object := range counter.Figures().Writes {
			Expect(object).NotTo(And(HaveField("Resource", "events"), HaveField("Namespace", team), HaveField("Name", Not(Equal(shown.Name)))))
		}
	})
})

// warn writes a warning about an object.
func (c *controlPlane) warn(object client.Object, message string, options ...func(*corev1.Event)) *corev1.Event {
	GinkgoHelper()
	gvk, err := apiutil.GVKForObject(object, c.Scheme())
	Expect(err).NotTo(HaveOccurred())
	about := corev1.ObjectReference{Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID()}
	about.APIVersion, about.Kind = gvk.ToAPIVersionAndKind()
	at := metav1.NewTime(time.Now().Truncate(time.Second))
	event := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: object.GetNamespace(), Name: unique("warning")},
		InvolvedObject: about,
		Type:           corev1.EventTypeWarning, Reason: "Failed", Message: message, Count: 1,
		FirstTimestamp: at, LastTimestamp: at, Source: corev1.EventSource{Component: "kubelet"},
	}
	for _, option := range options {
		option(event)
	}
	c.make(event)
	return event
}

// described returns the warnings that kubectl describe pod shows, with the same request.
func (c *controlPlane) described(pod *corev1.Pod) func() ([]corev1.Event, error) {
	return func() ([]corev1.Event, error) {
		var list corev1.EventList
		err := c.List(ctx, &list, client.InNamespace(pod.Namespace), client.MatchingFields{
			"involvedObject.kind": "Pod", "involvedObject.namespace": pod.Namespace, "involvedObject.name": pod.Name,
			"involvedObject.uid": string(pod.UID), "type": corev1.EventTypeWarning,
		})
		return list.Items, err
	}
}

// onlyEvent returns the only event that describes a pod.
func (c *controlPlane) onlyEvent(pod *corev1.Pod) corev1.Event {
	GinkgoHelper()
	events, err := c.described(pod)()
	Expect(err).NotTo(HaveOccurred())
	Expect(events).To(HaveLen(1))
	return events[0]
}

// fromProviders returns the events that show providers' warnings, in one namespace or all.
func (c *controlPlane) fromProviders(namespace string) func() ([]corev1.Event, error) {
	return func() ([]corev1.Event, error) {
		var list corev1.EventList
		err := c.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{"reportingComponent": podevent.Component})
		return list.Items, err
	}
}

// must returns the value, or fails on an error.
func must[T any](value T, err error) T {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	return value
}
