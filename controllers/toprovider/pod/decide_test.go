package pod_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/accept"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/token"
	"github.com/spillway-io/spillway/internal/engine/decide"
	fixture "github.com/spillway-io/spillway/internal/engine/decide/decidetest"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

type snapshot = decide.Snapshot[*corev1.Pod]

// now is when the decisions are made.
var now = builder.Epoch.Add(time.Hour)

// target is where the pods of namespace team go.
var target = field.Target{Mark: provenance.Mark{Origin: "home", ClusterID: "eu"}, Namespace: "team-home"}

// local returns a pod that was just bound to the virtual node.
func local(changes ...func(*corev1.Pod)) *corev1.Pod {
	local := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", UID: "local-1", ResourceVersion: "5", Generation: 1},
		Spec:       corev1.PodSpec{NodeName: "spillway-eu", Containers: []corev1.Container{{Name: "app", Image: "app:1"}}},
		Status:     corev1.PodStatus{Phase: corev1.PodPending},
	}
	for _, change := range changes {
		change(local)
	}
	return local
}

// remote returns its remote pod, as Spillway created it.
func remote(changes ...func(*corev1.Pod)) *corev1.Pod {
	local := pod.ToRemote(local(), target, &field.Limits{}, nil)
	local.UID, local.ResourceVersion = "remote-1", "9"
	local.Status.Phase = corev1.PodPending
	for _, change := range changes {
		change(local)
	}
	return local
}

func phase(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Phase = phase }
}

func going(grace int64) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: now}, ptr.To(grace)
	}
}

// goingSince marks a pod as being deleted, with its grace period over for that long.
func goingSince(over time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: now.Add(-over)}, ptr.To[int64](30)
	}
}

// sooner marks a pod as being deleted with a shorter grace than the others.
func sooner(p *corev1.Pod) { p.DeletionGracePeriodSeconds = ptr.To[int64](5) }

// deleted marks a pod as being deleted, without a grace period.
func deleted(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: now} }

// controlled gives a pod a controller.
func controlled(p *corev1.Pod) {
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "set-1", Controller: ptr.To(true)}}
	p.Spec.RestartPolicy = corev1.RestartPolicyAlways
}

// ofJob gives a pod a Job as its controller, which has not counted the pod.
func ofJob(p *corev1.Pod) {
	controlled(p)
	p.Spec.RestartPolicy, p.Finalizers = corev1.RestartPolicyNever, []string{"batch.kubernetes.io/job-tracking"}
}

// disrupted gives a pod the condition that it will be deleted.
func disrupted(p *corev1.Pod) {
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI"})
}

func unanswered(s *snapshot) { s.Unanswered = true }

func sendBackoffProblem(p *corev1.Pod) { p.Finalizers = []string{"example.com/held"} }

func started(p *corev1.Pod) {
	p.Annotations = map[string]string{
		v1alpha1.AnnotationRemoteNamespace: "team-home", v1alpha1.AnnotationRemoteName: "web", v1alpha1.AnnotationRemoteUID: "remote-1",
		v1alpha1.AnnotationRemoteFor: "local-1",
	}
}

// writtenFor sets which local pod the annotations are about.
func writtenFor(uid string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations[v1alpha1.AnnotationRemoteFor] = uid }
}

func sandboxed(p *corev1.Pod) { p.Spec.RuntimeClassName = ptr.To("sandbox") }

func ofAccount(p *corev1.Pod) { p.Spec.ServiceAccountName = "s3" }

// mappingAccount maps the ServiceAccount of ofAccount, and sets the ServiceAccounts that the provider allows.
func mappingAccount(allowed string) func(*snapshot) {
	return func(s *snapshot) {
		s.Accounts = field.Accounts{{Namespace: "team", Name: "s3", RemoteName: "s3-reader"}}
		s.Limits, s.TargetFor = &field.Limits{ServiceAccounts: field.Listed(allowed)}, func(string) field.Target { return target }
	}
}

// mapping maps a RuntimeClass.
func mapping(name string) func(*snapshot) {
	return func(s *snapshot) {
		s.Classes = field.Classes{{Kind: v1alpha1.ClassRuntime, Name: name, RemoteName: "gvisor"}}
	}
}

// having sets the provider's answer about each class.
func having(presence field.Presence) func(*snapshot) {
	return func(s *snapshot) {
		s.Has = func(v1alpha1.ClassKind, string) field.Presence { return presence }
	}
}

func initialized(p *corev1.Pod) {
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodInitialized, Status: corev1.ConditionTrue})
}

func offloaded(status corev1.ConditionStatus, reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: v1alpha1.PodOffloaded, Status: status, Reason: reason, Message: message, ObservedGeneration: 1,
		})
	}
}

func address(ip string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.PodIP, p.Status.PodIPs = ip, []corev1.PodIP{{IP: ip}} }
}

func told(ip string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { metav1.SetMetaDataAnnotation(&p.ObjectMeta, v1alpha1.AnnotationRemoteIP, ip) }
}

func routed(s *snapshot)  { s.Reach.Ranges = []netip.Prefix{netip.MustParsePrefix("10.8.0.0/14")} }
func pending(s *snapshot) { s.Reach.Pending = true }

func image(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Containers[0].Image = name }
}

// observed sets the observed generation of a local pod. there sets the generation of a remote pod, and the
// generation that its provider has observed.
func observed(n int64) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.ObservedGeneration = n }
}

func there(n, observed int64) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Generation, p.Status.ObservedGeneration = n, observed }
}

func startedThere(p *corev1.Pod) { p.Status.StartTime = &metav1.Time{Time: builder.Epoch} }

func cpu(quantity string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(quantity)}
	}
}

// sending adds a debug container of that name to a remote pod.
func sending(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: name, Image: "debug:1"}}}
	}
}

// debugger adds a debug container that is not sent. saysDebugger is the report about it.
func debugger(p *corev1.Pod) {
	p.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
		Name: "root", SecurityContext: &corev1.SecurityContext{Privileged: ptr.To(true)}}}}
}

func saysDebugger(p *corev1.Pod) {
	offloaded("True", "Offloaded", "the pod keeps running without these: "+accept.EphemeralContainerRefusals(p, nil)[0].Message)(p)
}

// tooSoon makes the pod wait because the provider has ended others too soon.
func tooSoon(s *snapshot) { s.SendBackoff = 40 * time.Second }

func outdated(s *snapshot) {
	s.Outdated = &field.Problem{Reason: "UpdateRejected", Message: "with an outdated dependency: ConfigMap team/settings: no"}
}

func saysOutdated(p *corev1.Pod) {
	offloaded("True", "Offloaded", "the pod keeps running with an outdated dependency: ConfigMap team/settings: no")(p)
}

func nfs(p *corev1.Pod) {
	p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "s", Path: "/"}}}}
}

func unlimited(s *snapshot) { s.Limits = field.MissingLimits() }

// tolerant adds a toleration of a taint. saysTolerant is the report if the toleration is not sent.
func tolerant(p *corev1.Pod) {
	p.Spec.Tolerations = []corev1.Toleration{{Key: "example.com/batch", Operator: corev1.TolerationOpExists}}
}

func saysTolerant(p *corev1.Pod) {
	offloaded("True", "Offloaded", "the pod keeps running without these: "+pod.Withheld(p, &corev1.Pod{}, nil)[0])(p)
}

// authorized adds a token of a ServiceAccount. saysAuthorized is the report about it.
func authorized(p *corev1.Pod) {
	p.Spec.ServiceAccountName = "controller"
	p.Spec.Volumes = []corev1.Volume{{Name: "kube-api-access-x", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{}}}}}}}
}

func saysAuthorized(p *corev1.Pod) {
	offloaded("True", "Offloaded", "the pod keeps running without these: "+token.Withheld(p))(p)
}

// in returns a snapshot in which everything is in order.
func in(l, r *corev1.Pod, changes ...func(*snapshot)) snapshot {
	s := snapshot{
		ObjectState: decide.ObjectState[*corev1.Pod]{
			Key: types.NamespacedName{Namespace: "team", Name: "web"}, ClusterID: "eu", Local: l, Known: true,
			Inputs: decide.Inputs{Limits: &field.Limits{}}, Now: now,
		},
		RemoteState: decide.RemoteState[*corev1.Pod]{Destination: decide.Destination{Target: target, Open: true}, NamespaceUID: "namespace-1", Remote: r},
	}
	for _, change := range changes {
		change(&s)
	}
	return s
}

func refusedTo(verb decide.Verb, reason string, wait time.Duration) func(*snapshot) {
	return func(s *snapshot) {
		s.Refused = &decide.Refused{Verb: verb, Problem: field.Problem{Reason: reason, Message: "no"}, Wait: wait}
	}
}

func waiting(reason string, d time.Duration) func(*snapshot) {
	return func(s *snapshot) { s.WaitingFor, s.Waiting = reason, d }
}

func ahead(by time.Duration) func(*snapshot) { return func(s *snapshot) { s.ClockSkew = by } }

func needing(s *snapshot) {
	s.Needs = []decide.Need{{Kind: "secret", Problem: field.Problem{Reason: v1alpha1.ReasonReferenceNotFound, Message: "Secret team/x does not exist"}}}
}

func notOffloaded(s *snapshot) {
	s.Destination = decide.Destination{Leaving: true, Problem: field.Problem{Reason: v1alpha1.ReasonNamespaceNotOffloaded, Message: "nowhere to go"}}
}

// inWords describes a plan in words: a line for each action, then the result.
func inWords(p decide.Plan) []string {
	var lines []string
	for _, a := range p.Actions {
		line := fmt.Sprintf("%s in the %s", a.Verb, a.Side)
		if a.AllowsSuccessor {
			line += ", which ends it"
		}
		local := a.Object.(*corev1.Pod)
		switch {
		case a.Verb == decide.Delete:
			line += fmt.Sprintf(", UID %s, grace %s", local.UID, ptrString(a.Grace))
			if a.Locked {
				line += ", version " + local.ResourceVersion
			}
		case a.Verb == decide.Find:
			line += ", UID " + string(local.UID)
		case a.Verb == decide.PatchStatus:
			line += ": " + strings.Join(statusInWords(local), ", ")
		case a.Verb == decide.Create:
			if diff := cmp.Diff([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Namespace", Name: "team-home", UID: "namespace-1", Controller: ptr.To(true)}}, local.OwnerReferences); diff != "" {
				line += ", of another controller: " + diff
			}
		case a.Subresource != "":
			line += " /" + a.Subresource
		case a.Verb == decide.Patch:
			line += ": image " + local.Spec.Containers[0].Image
		}
		lines = append(lines, line)
	}
	if p.Problem != nil {
		lines = append(lines, "problem "+p.Problem.Reason)
	}
	if p.Event != nil {
		lines = append(lines, "event "+p.Event.Reason)
	}
	if p.RetryAfter > 0 {
		lines = append(lines, "again after "+p.RetryAfter.String())
	}
	if p.RecheckAfter > time.Minute { // Most that are being deleted are checked a minute after their grace.
		lines = append(lines, "looks again after "+p.RecheckAfter.String())
	}
	return lines
}

func ptrString(grace *int64) string {
	if grace == nil {
		return "default"
	}
	return fmt.Sprint(*grace)
}

func statusInWords(p *corev1.Pod) []string {
	words := []string{string(p.Status.Phase)}
	if p.Status.Reason != "" {
		words = append(words, p.Status.Reason)
	}
	if p.Status.ObservedGeneration > 0 {
		words = append(words, fmt.Sprintf("observed %d", p.Status.ObservedGeneration))
	}
	for _, c := range p.Status.Conditions {
		words = append(words, fmt.Sprintf("%s %s %s", c.Type, c.Status, c.Reason))
	}
	if uid := p.Annotations[v1alpha1.AnnotationRemoteUID]; uid != "" {
		words = append(words, "remote "+uid)
	}
	if p.Status.PodIP != "" {
		words = append(words, "shows "+p.Status.PodIP)
	}
	if ip, told := p.Annotations[v1alpha1.AnnotationRemoteIP]; told {
		words = append(words, "tells of "+ip)
	}
	return words
}

func TestDecide(t *testing.T) {
	const minute = time.Minute
	for name, test := range map[string]struct {
		in   snapshot
		want []string
	}{
		// live, absent
		"it is created": {in(local(), nil), []string{"create in the provider"}},
		"it is on its way to a place": {in(local(), nil, func(s *snapshot) {
			s.Destination = decide.Destination{Problem: field.Problem{Reason: "NamespaceNotReady"}}
		}), []string{"problem NamespaceNotReady", "again after 10s"}},
		"it has no place":                                {in(local(), nil, notOffloaded, waiting("NamespaceNotOffloaded", minute)), []string{"patch the status of in the consumer: Pending, spillway.io/Offloaded False NamespaceNotOffloaded", "problem NamespaceNotOffloaded", "event NamespaceNotOffloaded"}},
		"and has said so":                                {in(local(offloaded("False", "NamespaceNotOffloaded", "nowhere to go")), nil, notOffloaded, waiting("NamespaceNotOffloaded", minute)), []string{"problem NamespaceNotOffloaded"}},
		"and has the address of another":                 {in(local(told("10.8.0.1"), offloaded("False", "NamespaceNotOffloaded", "nowhere to go")), nil, notOffloaded, waiting("NamespaceNotOffloaded", minute)), []string{"problem NamespaceNotOffloaded"}},
		"it needs what is not there":                     {in(local(), nil, needing), []string{"problem ReferenceNotFound", "again after 2s"}},
		"it needs that for long":                         {in(local(), nil, needing, waiting("ReferenceNotFound", 2*time.Second)), []string{"patch the status of in the consumer: Pending, spillway.io/Offloaded False ReferenceNotFound", "problem ReferenceNotFound", "event ReferenceNotFound"}},
		"it needs that now, and something else for long": {in(local(), nil, needing, waiting("NamespaceNotReady", minute)), []string{"problem ReferenceNotFound", "again after 2s"}},
		"it needs that for a second":                     {in(local(), nil, needing, waiting("ReferenceNotFound", time.Second)), []string{"problem ReferenceNotFound", "again after 1s"}},
		"what it needs is on its way":                    {in(local(), nil, needing, func(s *snapshot) { s.Needs[0].Problem.Reason = "ReferenceNotSynced" }), []string{"problem ReferenceNotSynced", "again after 10s"}},
		"the provider has refused it":                    {in(local(), nil, refusedTo(decide.Create, "Rejected", minute)), []string{"patch the status of in the consumer: Pending, spillway.io/Offloaded False Rejected", "problem Rejected", "event Rejected", "again after 1m0s"}},
		"and is asked again":                             {in(local(offloaded("False", "Rejected", "no")), nil, refusedTo(decide.Create, "Rejected", 0)), []string{"create in the provider"}},
		"others were ended too soon":                     {in(local(), nil, tooSoon), []string{"problem EndedTooSoon", "again after 2s"}},
		"and that is said":                               {in(local(), nil, tooSoon, waiting("EndedTooSoon", minute)), []string{"patch the status of in the consumer: Pending, spillway.io/Offloaded False EndedTooSoon", "problem EndedTooSoon", "event EndedTooSoon", "again after 40s"}},
		"what it needs comes first":                      {in(local(), nil, tooSoon, needing), []string{"problem ReferenceNotFound", "again after 2s"}},
		"it may not go":                                  {in(local(func(p *corev1.Pod) { p.Spec.HostNetwork = true }), nil), []string{"patch the status of in the consumer: Pending, spillway.io/Offloaded False PodSecurity", "problem PodSecurity", "event PodSecurity"}},
		"it describes a volume":                          {in(local(nfs), nil), []string{"patch the status of in the consumer: Pending, spillway.io/Offloaded False VolumeNotAllowed", "problem VolumeNotAllowed", "event VolumeNotAllowed"}},
		"and the provider allows that":                   {in(local(nfs), nil, func(s *snapshot) { s.Limits = &field.Limits{VolumeTypes: []string{"nfs"}} }), []string{"create in the provider"}},
		"its RuntimeClass is not mapped":                 {in(local(sandboxed), nil, needing), []string{"patch the status of in the consumer: Pending, spillway.io/Offloaded False ClassNotMapped", "problem ClassNotMapped", "event ClassNotMapped"}},
		"and is mapped":                                  {in(local(sandboxed), nil, mapping("sandbox")), []string{"create in the provider"}},
		"and the provider has not got it":                {in(local(sandboxed), nil, mapping("sandbox"), having(field.ClassMissing), needing, waiting("ClassMissing", 2*time.Second)), []string{"patch the status of in the consumer: Pending, spillway.io/Offloaded False ClassMissing", "problem ClassMissing", "event ClassMissing"}},
		"and has it":                                     {in(local(sandboxed), nil, mapping("sandbox"), having(field.ClassThere)), []string{"create in the provider"}},
		"and does not let us see":                        {in(local(sandboxed), nil, mapping("sandbox"), having(field.ClassUnknown)), []string{"create in the provider"}},
		"and has not answered":                           {in(local(sandboxed), nil, mapping("sandbox"), having(field.ClassUnread)), []string{"problem ReferenceNotSynced", "again after 10s"}},
		"its account is not allowed":                     {in(local(ofAccount), nil, needing, mappingAccount("")), []string{"patch the status of in the consumer: Pending, spillway.io/Offloaded False AccountNotAllowed", "problem AccountNotAllowed", "event AccountNotAllowed"}},
		"and is allowed":                                 {in(local(ofAccount), nil, mappingAccount("team-*/s3-reader")), []string{"create in the provider"}},
		"it ends, and its creation was not answered":     {in(local(sandboxed, deleted), nil, unanswered, mapping("sandbox")), []string{"find in the provider, UID "}},
		"there are no limits for a moment":               {in(local(), nil, unlimited), []string{"problem LimitsMissing", "again after 2s"}},
		"there are none for long":                        {in(local(), nil, unlimited, waiting("LimitsMissing", minute)), []string{"patch the status of in the consumer: Pending, spillway.io/Offloaded False LimitsMissing", "problem LimitsMissing", "event LimitsMissing"}},
		"it was there, before there were limits":         {in(local(nfs, started), nil, unlimited), []string{"find in the provider, UID remote-1"}},
		"it was there: the provider is asked":            {in(local(started, phase("Running")), nil), []string{"find in the provider, UID remote-1"}},
		"it is lost":                                     {in(local(started, phase("Running")), nil, func(s *snapshot) { s.Lost = true }), []string{"patch the status of in the consumer: Failed, RemotePodLost, remote remote-1", "event RemotePodLost"}},
		"lost wins over any refusal":                     {in(local(started), nil, notOffloaded), []string{"find in the provider, UID remote-1"}},
		"it is made from the manifest of another pod":    {in(local(started, writtenFor("local-0")), nil), []string{"create in the provider"}},
		"and has waited":                                 {in(local(started, writtenFor("local-0"), offloaded("False", "Rejected", "no")), nil), []string{"create in the provider"}},
		"the annotations do not say of which pod":        {in(local(started, phase("Running"), writtenFor("")), nil), []string{"create in the provider"}},

		// live, there
		"its RuntimeClass is not mapped any more": {in(local(sandboxed), remote()), nil},
		"its RuntimeClass is gone there":          {in(local(sandboxed), remote(), mapping("sandbox"), having(field.ClassMissing)), nil},
		"nothing has changed":                     {in(local(), remote()), nil},
		"it runs":                                 {in(local(), remote(phase("Running"))), []string{"patch the status of in the consumer: Running, remote remote-1"}},
		"it runs at last":                         {in(local(offloaded("False", "Rejected", "no")), remote()), []string{"patch the status of in the consumer: Pending, spillway.io/Offloaded True Offloaded, remote remote-1"}},
		"its image has changed":                   {in(local(image("app:2")), remote()), []string{"patch in the provider: image app:2"}},
		"and is refused":                          {in(local(image("app:2")), remote(), refusedTo(decide.Patch, "UpdateRejected", minute)), []string{"patch the status of in the consumer: Pending, spillway.io/Offloaded False UpdateRejected, remote remote-1", "event UpdateRejected", "again after 1m0s"}},
		"a change waits for its next try, the status does not": {in(local(image("app:2"), offloaded("False", "UpdateRejected", "no")), remote(phase("Running")), refusedTo(decide.Patch, "UpdateRejected", minute)), []string{"patch the status of in the consumer: Running, spillway.io/Offloaded False UpdateRejected, remote remote-1", "event UpdateRejected", "again after 1m0s"}},
		"its resize is refused": {in(local(cpu("2")), remote(), func(s *snapshot) {
			refusedTo(decide.Patch, "UpdateRejected", minute)(s)
			s.Refused.Subresource = "resize"
		}), []string{"patch in the provider: image app:1", "event UpdateRejected"}},
		"its change is refused, and due": {in(local(image("app:2")), remote(), refusedTo(decide.Patch, "UpdateRejected", 0)), []string{"patch in the provider: image app:2"}},
		"its resize is refused, and due": {in(local(cpu("2")), remote(), func(s *snapshot) {
			refusedTo(decide.Patch, "UpdateRejected", 0)(s)
			s.Refused.Subresource = "resize"
		}), []string{"patch in the provider: image app:1", "event UpdateRejected"}},
		"a debug container was refused, and it is resized": {in(local(cpu("2")), remote(), func(s *snapshot) {
			refusedTo(decide.Patch, "UpdateRejected", minute)(s)
			s.Refused.Subresource = "ephemeralcontainers"
		}), []string{"patch in the provider /resize", "patch in the provider: image app:1"}},
		"a debug container is sent":                 {in(local(sending("debug")), remote()), []string{"patch in the provider /ephemeralcontainers", "patch in the provider: image app:1"}},
		"its creation was refused, and it is there": {in(local(image("app:2")), remote(), refusedTo(decide.Create, "Rejected", minute)), []string{"patch in the provider: image app:2"}},
		"its status was refused, and it changes":    {in(local(image("app:2")), remote(), refusedTo(decide.PatchStatus, "StatusRejected", minute)), []string{"patch in the provider: image app:2"}},
		"a debugger of its may not go":              {in(local(debugger), remote()), []string{"patch the status of in the consumer: Pending, spillway.io/Offloaded True Offloaded, remote remote-1", "event PodSecurity"}},
		"and it says so":                            {in(local(debugger, saysDebugger), remote(phase("Running"))), []string{"patch the status of in the consumer: Running, spillway.io/Offloaded True Offloaded, remote remote-1"}},
		"and a change is refused, too": {in(local(debugger, saysDebugger, image("app:2")), remote(), refusedTo(decide.Patch, "UpdateRejected", minute)), []string{
			"patch the status of in the consumer: Pending, spillway.io/Offloaded False UpdateRejected, remote remote-1", "event UpdateRejected", "again after 1m0s"}},
		"its resize fails": {in(local(cpu("2")), remote(phase("Running")), func(s *snapshot) {
			refusedTo(decide.Patch, "ServerError", minute)(s)
			s.Refused.Subresource = "resize"
		}), []string{"patch the status of in the consumer: Running, spillway.io/Offloaded False ServerError, remote remote-1", "event ServerError", "again after 1m0s"}},
		"and is tried again": {in(local(cpu("2")), remote(), func(s *snapshot) {
			refusedTo(decide.Patch, "ServerError", 0)(s)
			s.Refused.Subresource = "resize"
		}), []string{"patch in the provider /resize", "patch in the provider: image app:1"}},
		"what it uses is older there": {in(local(), remote(phase("Running")), outdated), []string{
			"patch the status of in the consumer: Running, spillway.io/Offloaded True Offloaded, remote remote-1", "event UpdateRejected"}},
		"and the pod says so": {in(local(saysOutdated), remote(phase("Running")), outdated), []string{
			"patch the status of in the consumer: Running, spillway.io/Offloaded True Offloaded, remote remote-1"}},
		"and is not any more": {in(local(started, phase("Running"), saysOutdated), remote(phase("Running"))), []string{
			"patch the status of in the consumer: Running, spillway.io/Offloaded True Offloaded, remote remote-1"}},
		"what one that has ended used is nothing":     {in(local(started, phase("Succeeded")), remote(phase("Succeeded")), outdated), nil},
		"what one that has failed lacked stays said":  {in(local(started, phase("Failed"), authorized, saysAuthorized), remote(phase("Failed"))), nil},
		"also while it is deleted":                    {in(local(started, phase("Failed"), authorized, saysAuthorized, going(30)), remote(phase("Failed"), going(30))), nil},
		"a debugger of one that has ended is nothing": {in(local(started, phase("Succeeded"), debugger), remote(phase("Succeeded"))), nil},
		"its resize is sent first":                    {in(local(cpu("2")), remote()), []string{"patch in the provider /resize", "patch in the provider: image app:1"}},
		"its status is refused":                       {in(local(), remote(phase("Running")), refusedTo(decide.PatchStatus, "StatusRejected", minute)), []string{"patch the status of in the consumer: Pending, spillway.io/Offloaded False StatusRejected", "again after 1m0s"}},
		"its status is refused, and due":              {in(local(), remote(phase("Running")), refusedTo(decide.PatchStatus, "StatusRejected", 0)), []string{"patch the status of in the consumer: Running, remote remote-1"}},
		"the provider is deleting it":                 {in(local(started, image("app:2")), remote(going(30))), nil},
		"it may not go but is there":                  {in(local(func(p *corev1.Pod) { p.Spec.HostNetwork = true }), remote(phase("Running"))), []string{"patch the status of in the consumer: Running, remote remote-1"}},
		"its namespace is being closed":               {in(local(), remote(phase("Running")), notOffloaded), []string{"patch the status of in the consumer: Running, remote remote-1"}},

		// live, there, and being deleted there by the provider
		"somebody deletes it there: nobody would make it again": {in(local(started), remote(goingSince(time.Hour))), nil},
		"it has a controller: that is said first":               {in(local(started, controlled), remote(going(30))), []string{"patch the status of in the consumer: Pending, DisruptionTarget True RemotePodDeleted, remote remote-1"}},
		"then it is deleted with its grace there":               {in(local(started, controlled, disrupted), remote(going(40))), []string{"delete in the consumer, UID local-1, grace 40, version 5", "event RemotePodDeleted"}},
		"it is evicted there, which says so itself":             {in(local(started, controlled), remote(going(30), disrupted)), []string{"patch the status of in the consumer: Pending, DisruptionTarget True EvictionByEvictionAPI, remote remote-1"}},
		"its node there is lost, as its taint manager says":     {in(local(started, controlled), remote(going(30), disrupted, func(p *corev1.Pod) { p.Status.Conditions[0].Reason = "DeletionByTaintManager" })), []string{"patch the status of in the consumer: Pending, DisruptionTarget True DeletionByTaintManager, remote remote-1"}},
		"with no grace there it stays here until it is gone":    {in(local(started, controlled, disrupted), remote(going(0))), []string{"delete in the consumer, UID local-1, grace 1, version 5", "event RemotePodDeleted"}},
		"with a grace without end":                              {in(local(started, controlled, disrupted), remote(going(1<<62))), []string{"delete in the consumer, UID local-1, grace 3600, version 5", "event RemotePodDeleted"}},
		"it has ended since then, as it never does by itself":   {in(local(started, controlled), remote(going(30), phase("Failed"))), []string{"delete in the consumer, UID local-1, grace 30, version 5", "event RemotePodDeleted"}},
		"a job's is deleted with all others":                    {in(local(started, ofJob, disrupted), remote(going(30))), []string{"delete in the consumer, UID local-1, grace 30, version 5", "event RemotePodDeleted"}},
		"a job's has ended first":                               {in(local(started, ofJob), remote(going(30), phase("Succeeded"))), []string{"patch the status of in the consumer: Succeeded, remote remote-1"}},
		"the consumer refuses to delete it": {in(local(started, controlled, disrupted, offloaded("False", "DeletionFailed", "no")), remote(going(30), disrupted), refusedTo(decide.Delete, "DeletionFailed", minute)), []string{
			"again after 1m0s"}},
		"it has ended here before": {in(local(started, controlled, phase("Failed")), remote(goingSince(time.Hour))), nil},

		// its end there takes long
		"it is going on both sides":        {in(local(started, controlled, goingSince(-time.Minute)), remote(going(30))), []string{"looks again after 2m0s"}},
		"its node there is lost":           {in(local(started, controlled, goingSince(minute)), remote(goingSince(-time.Hour))), []string{"patch the status of in the consumer: Pending, spillway.io/Offloaded False NodeLost, remote remote-1", "event NodeLost"}},
		"a finalizer holds it there":       {in(local(started, goingSince(minute)), remote(goingSince(minute), sendBackoffProblem)), []string{"patch the status of in the consumer: Pending, spillway.io/Offloaded False RemotePodDeleted, remote remote-1", "event RemotePodDeleted"}},
		"and is to go sooner than it goes": {in(local(started, goingSince(2*minute), sooner), remote(goingSince(minute))), []string{"delete in the provider, UID remote-1, grace 5"}},
		"and the provider refuses that":    {in(local(started, goingSince(2*minute), sooner, offloaded("False", "DeletionFailed", "no")), remote(goingSince(minute)), refusedTo(decide.Delete, "DeletionFailed", minute)), []string{"again after 1m0s"}},
		"and its status is refused":        {in(local(started, goingSince(2*minute), sooner), remote(goingSince(minute)), refusedTo(decide.PatchStatus, "StatusRejected", minute)), []string{"delete in the provider, UID remote-1, grace 5", "patch the status of in the consumer: Pending, spillway.io/Offloaded False StatusRejected, remote remote-1", "again after 1m0s"}},
		"its grace there began later":      {in(local(started, goingSince(5*minute)), remote(goingSince(-minute))), []string{"looks again after 2m0s"}},
		"by a clock that is ahead":         {in(local(started, goingSince(5*minute)), remote(goingSince(-time.Hour-minute)), ahead(time.Hour)), []string{"looks again after 2m0s"}},
		"by a clock that is behind":        {in(local(started, goingSince(5*minute)), remote(goingSince(time.Hour-minute)), ahead(-time.Hour)), []string{"looks again after 2m0s"}},
		"it is not even going there yet":   {in(local(started, goingSince(time.Hour)), remote()), []string{"delete in the provider, UID remote-1, grace 30"}},

		// lost, and with a controller
		"it is lost, which is not its own fault":            {in(local(started, controlled), nil, func(s *snapshot) { s.Lost = true }), []string{"patch the status of in the consumer: Failed, RemotePodLost, DisruptionTarget True RemotePodLost, remote remote-1", "event RemotePodLost"}},
		"it has been lost: its controller has made another": {in(local(started, controlled, phase("Failed"), reason("RemotePodLost")), nil), []string{"delete in the consumer, which ends it, UID local-1, grace 0, version 5"}},
		"it has been lost, and its job has not counted it":  {in(local(started, ofJob, phase("Failed"), reason("RemotePodLost")), nil), nil},
		"it has been lost, and has no controller":           {in(local(started, phase("Failed"), reason("RemotePodLost")), nil), nil},
		"a kubelet has evicted it, and it has gone":         {in(local(started, controlled, phase("Failed"), reason("Evicted")), nil), nil},
		"that it is deleted is refused":                     {in(local(started, controlled, phase("Failed"), reason("RemotePodLost")), nil, refusedTo(decide.Delete, "DeletionFailed", minute)), []string{"problem DeletionFailed", "again after 1m0s"}},

		// what the provider allows
		"it runs with a volume that is not allowed now": {in(local(nfs), remote(phase("Running"))), []string{"patch the status of in the consumer: Running, remote remote-1"}},
		"it runs while there are no limits":             {in(local(), remote(phase("Running")), unlimited), []string{"patch the status of in the consumer: Running, remote remote-1"}},
		"it has a token":                                {in(local(authorized), remote(initialized)), []string{"patch the status of in the consumer: Pending, Initialized True , spillway.io/Offloaded True Offloaded, remote remote-1"}},
		"it has a token, and that is said":              {in(local(authorized, started, initialized, saysAuthorized), remote(initialized)), nil},
		"it has a token, and nothing comes back yet":    {in(local(authorized), remote()), nil},
		"it tolerates what is not offered":              {in(local(tolerant), remote(initialized)), []string{"patch the status of in the consumer: Pending, Initialized True , spillway.io/Offloaded True Offloaded, remote remote-1"}},
		"which is no write of its own":                  {in(local(tolerant), remote()), nil},
		"and is said once":                              {in(local(tolerant, started, initialized, saysTolerant), remote(initialized)), nil},
		"it is offered now": {in(local(tolerant, started, initialized, saysTolerant), remote(initialized), func(s *snapshot) {
			s.Limits = &field.Limits{TolerationKeys: []string{"example.com/batch"}}
		}), []string{"patch in the provider: image app:1"}},

		// what the provider has observed of it
		"its first generation is observed, with the rest": {in(local(), remote(phase("Running"), there(1, 1))), []string{"patch the status of in the consumer: Running, observed 1, remote remote-1"}},
		"a change is, there":                              {in(local(started, phase("Running"), generation(2), observed(1)), remote(phase("Running"), there(2, 2))), []string{"patch the status of in the consumer: Running, observed 2, remote remote-1"}},
		"not yet":                                         {in(local(started, phase("Running"), generation(2), observed(1)), remote(phase("Running"), there(2, 1))), nil},
		"by a provider that does not say":                 {in(local(started, phase("Running"), generation(2), observed(1)), remote(phase("Running"), there(2, 0), startedThere)), []string{"patch the status of in the consumer: Running, observed 2, remote remote-1"}},
		"which has not begun":                             {in(local(), remote(there(1, 0))), nil},
		"a generation of which nothing is sent":           {in(local(started, phase("Running"), generation(3), observed(1)), remote(phase("Running"), there(1, 1))), []string{"patch the status of in the consumer: Running, observed 3, remote remote-1"}},
		"one of which something is refused": {in(local(started, phase("Running"), image("app:2"), generation(2), observed(1), offloaded("False", "UpdateRejected", "no")), remote(phase("Running"), there(1, 1)), refusedTo(decide.Patch, "UpdateRejected", minute)),
			[]string{"again after 1m0s"}},
		"by a consumer that does not keep it": {in(local(started, phase("Running"), generation(2)), remote(phase("Running"), there(2, 2))), nil},
		"the deletion is, with the rest":      {in(local(started, phase("Running"), generation(2), observed(1), going(30)), remote(phase("Failed"), there(2, 2), going(30))), []string{"patch the status of in the consumer: Failed, observed 2, remote remote-1"}},
		"which is no write of its own any":    {in(local(started, phase("Running"), generation(2), observed(1), going(30)), remote(phase("Running"), there(2, 2), going(30))), nil},
		"one that has ended says no more":     {in(local(started, phase("Failed"), generation(2), observed(1)), remote(phase("Failed"), there(2, 2))), nil},

		// its address
		"its address is told":                    {in(local(), remote(phase("Running"), address("10.8.0.1"))), []string{"patch the status of in the consumer: Running, remote remote-1, tells of 10.8.0.1"}},
		"and shown, where it is routed":          {in(local(), remote(phase("Running"), address("10.8.0.1")), routed), []string{"patch the status of in the consumer: Running, remote remote-1, shows 10.8.0.1, tells of 10.8.0.1"}},
		"both stay":                              {in(local(started, phase("Running"), address("10.8.0.1"), told("10.8.0.1")), remote(phase("Running"), address("10.8.0.1")), routed), nil},
		"it is not routed any more":              {in(local(started, phase("Running"), address("10.8.0.1"), told("10.8.0.1")), remote(phase("Running"), address("10.8.0.1"))), []string{"patch the status of in the consumer: Running, remote remote-1, tells of 10.8.0.1"}},
		"it is routed now":                       {in(local(started, phase("Running"), told("10.8.0.1")), remote(phase("Running"), address("10.8.0.1")), routed), []string{"patch the status of in the consumer: Running, remote remote-1, shows 10.8.0.1, tells of 10.8.0.1"}},
		"it is not, and the pod has ended":       {in(local(started, phase("Succeeded"), address("10.8.0.1")), remote(phase("Succeeded"), address("10.8.0.1"))), nil},
		"it is the same, and told":               {in(local(started, phase("Running"), told("10.8.0.1")), remote(phase("Running"), address("10.8.0.1"))), nil},
		"it comes later than the rest":           {in(local(started, phase("Running")), remote(phase("Running"), address("10.8.0.1"))), []string{"patch the status of in the consumer: Running, remote remote-1, tells of 10.8.0.1"}},
		"it has none any more":                   {in(local(started, phase("Running"), told("10.8.0.1")), remote(phase("Running"))), []string{"patch the status of in the consumer: Running, remote remote-1"}},
		"whether it is routed is not known":      {in(local(started, phase("Running"), told("10.8.0.1")), remote(phase("Running"), address("10.8.0.1")), routed, pending), nil},
		"nor whether it is so still: it may be":  {in(local(started, phase("Running"), address("10.8.0.1"), told("10.8.0.1")), remote(phase("Running"), address("10.8.0.1")), routed, pending), nil},
		"one of the consumer's own is not shown": {in(local(started, phase("Running"), told("10.0.0.1")), remote(phase("Running"), address("10.0.0.1")), routed), nil},

		// terminal
		"a terminal phase is final":       {in(local(started, phase("Succeeded")), remote(phase("Running"))), nil},
		"whatever happens remotely":       {in(local(started, phase("Failed")), nil), nil},
		"and its image changes no more":   {in(local(started, phase("Succeeded"), image("app:2")), remote()), nil},
		"a terminal one is deleted there": {in(local(phase("Succeeded"), going(30)), remote()), []string{"delete in the provider, UID remote-1, grace 30"}},

		// deleting
		"deleted with its grace":                             {in(local(going(45)), remote()), []string{"delete in the provider, UID remote-1, grace 45"}},
		"and its status still comes":                         {in(local(going(45)), remote(phase("Running"))), []string{"patch the status of in the consumer: Running, remote remote-1", "delete in the provider, UID remote-1, grace 45"}},
		"it is going":                                        {in(local(going(45)), remote(going(45))), nil},
		"it is to go sooner":                                 {in(local(going(5)), remote(going(45))), []string{"delete in the provider, UID remote-1, grace 5"}},
		"it is going sooner anyway":                          {in(local(going(45)), remote(going(5))), nil},
		"it is going, and says no grace":                     {in(local(going(45)), remote(deleted)), nil},
		"it is to go, with no grace said":                    {in(local(deleted), remote(going(45))), nil},
		"it is to go, with no grace at all":                  {in(local(deleted), remote()), []string{"delete in the provider, UID remote-1, grace default"}},
		"its creation was refused, and it is deleted":        {in(local(going(45)), remote(), refusedTo(decide.Create, "Rejected", minute)), []string{"delete in the provider, UID remote-1, grace 45"}},
		"its deletion fails, and it is going":                {in(local(going(45)), remote(going(45)), refusedTo(decide.Delete, "ServerError", minute)), []string{"patch the status of in the consumer: Pending, spillway.io/Offloaded False ServerError, remote remote-1", "event ServerError"}},
		"its deletion fails":                                 {in(local(going(45)), remote(), refusedTo(decide.Delete, "ServerError", minute)), []string{"patch the status of in the consumer: Pending, spillway.io/Offloaded False ServerError, remote remote-1", "event ServerError", "again after 1m0s"}},
		"and is tried again there":                           {in(local(started, going(45), offloaded("False", "ServerError", "no")), remote(), refusedTo(decide.Delete, "ServerError", 0)), []string{"delete in the provider, UID remote-1, grace 45"}},
		"it has gone":                                        {in(local(going(45)), nil), []string{"patch the status of in the consumer, which ends it: Failed, PodDeleted", "delete in the consumer, which ends it, UID local-1, grace 0"}},
		"it has gone, and no grace was said":                 {in(local(deleted), nil), []string{"patch the status of in the consumer, which ends it: Failed, PodDeleted", "delete in the consumer, which ends it, UID local-1, grace 0"}},
		"its creation was not answered, and it has no place": {in(local(going(45)), nil, unanswered, notOffloaded), []string{"patch the status of in the consumer, which ends it: Failed, PodDeleted", "delete in the consumer, which ends it, UID local-1, grace 0"}},
		"its creation was not answered":                      {in(local(going(45)), nil, unanswered), []string{"find in the provider, UID "}},
		"nor was it, and it is removed":                      {in(local(going(0)), nil, unanswered, waiting("Going", time.Hour)), []string{"find in the provider, UID "}},
		"and Spillway may not look":                          {in(local(going(45)), nil, unanswered, refusedTo(decide.Create, "NameConflict", time.Minute)), []string{"problem NameConflict", "again after 1m0s"}},
		"it may not, and tries again":                        {in(local(going(45)), nil, unanswered, refusedTo(decide.Create, "NameConflict", 0)), []string{"find in the provider, UID "}},
		"and the limits are unknown now":                     {in(local(going(45)), nil, unanswered, unlimited), []string{"find in the provider, UID "}},
		"somebody else still holds it":                       {in(local(going(0), sendBackoffProblem), nil, waiting("Going", time.Hour)), []string{"patch the status of in the consumer, which ends it: Failed, PodDeleted"}},
		"and it has ended":                                   {in(local(going(0), sendBackoffProblem, phase("Failed")), nil, waiting("Going", time.Hour)), nil},
		"it has gone, and ended":                             {in(local(going(45), phase("Succeeded")), nil), []string{"delete in the consumer, which ends it, UID local-1, grace 0"}},
		"it ran, and has gone":                               {in(local(started, phase("Running"), going(45)), nil), []string{"patch the status of in the consumer, which ends it: Failed, PodDeleted, remote remote-1", "delete in the consumer, which ends it, UID local-1, grace 0"}},
		"that it failed is refused":                          {in(local(going(45)), nil, refusedTo(decide.PatchStatus, "StatusRejected", minute)), []string{"delete in the consumer, which ends it, UID local-1, grace 0"}},
		"and is tried again here":                            {in(local(going(0), sendBackoffProblem), nil, refusedTo(decide.PatchStatus, "StatusRejected", 0)), []string{"patch the status of in the consumer, which ends it: Failed, PodDeleted"}},
		"it has ended, and its deletion fails": {in(local(phase("Failed"), going(45), offloaded("False", "Other", "")), remote(), refusedTo(decide.Delete, "ServerError", minute)),
			[]string{"patch the status of in the consumer: Failed, spillway.io/Offloaded False ServerError, remote remote-1", "event ServerError", "again after 1m0s"}},
		"the API server is removing it":   {in(local(going(0)), nil), []string{"problem Going", "again after 2s"}},
		"it is, after another problem":    {in(local(going(0)), nil, waiting("Other", time.Hour)), []string{"problem Going", "again after 2s"}},
		"it is removing it still":         {in(local(going(0)), nil, waiting("Going", time.Second)), []string{"problem Going", "again after 2s"}},
		"it has left it behind":           {in(local(going(0)), nil, waiting("Going", 2*time.Second)), []string{"patch the status of in the consumer, which ends it: Failed, PodDeleted", "delete in the consumer, which ends it, UID local-1, grace 0"}},
		"it has gone, whatever it lacked": {in(local(going(45)), nil, notOffloaded, needing), []string{"patch the status of in the consumer, which ends it: Failed, PodDeleted", "delete in the consumer, which ends it, UID local-1, grace 0"}},

		// absent
		"it is gone here":                   {in(nil, remote()), []string{"delete in the provider, UID remote-1, grace default"}},
		"it is gone here, and going there":  {in(nil, remote(going(30))), nil},
		"an older one of its name is there": {in(local(), nil, func(s *snapshot) { s.Duplicates = []*corev1.Pod{remote()} }), []string{"delete in the provider, UID remote-1, grace default", "problem Replacing", "again after 2s"}},
		"the older one is on its way out":   {in(local(), nil, func(s *snapshot) { s.Duplicates = []*corev1.Pod{remote(going(30))} }), []string{"problem Replacing", "again after 2s"}},
		"and takes its time": {in(local(), nil, waiting("Replacing", 2*time.Second), func(s *snapshot) { s.Duplicates = []*corev1.Pod{remote(going(30))} }), []string{
			"patch the status of in the consumer: Pending, spillway.io/Offloaded False Replacing", "problem Replacing", "event Replacing"}},
		"but this one has ended":          {in(local(phase("Failed")), nil, waiting("Replacing", 2*time.Second), func(s *snapshot) { s.Duplicates = []*corev1.Pod{remote(going(30))} }), []string{"problem Replacing"}},
		"but this one is to go":           {in(local(going(30)), nil, waiting("Replacing", 2*time.Second), func(s *snapshot) { s.Duplicates = []*corev1.Pod{remote(going(30))} }), []string{"problem Replacing"}},
		"nothing is anywhere":             {in(nil, nil), nil},
		"nothing here, and several there": {in(nil, remote(), func(s *snapshot) { s.Duplicates = []*corev1.Pod{remote(func(p *corev1.Pod) { p.UID = "remote-2" })} }), []string{"delete in the provider, UID remote-1, grace default", "delete in the provider, UID remote-2, grace default"}},
	} {
		t.Run(name, func(t *testing.T) {
			before := [2]*corev1.Pod{test.in.Local.DeepCopy(), test.in.Remote.DeepCopy()}
			got := decide.Next(fixture.Of(test.in), pod.Syncer{})
			if diff := cmp.Diff(test.want, inWords(got)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, [2]*corev1.Pod{test.in.Local, test.in.Remote}); diff != "" {
				t.Errorf("the decision has changed what it looks at, which belongs to the cache:\n%s", diff)
			}
		})
	}
}

// TestLostEndsTheContainers checks that all containers of a lost pod end with it, and that containers which
// had already ended keep their state.
func TestLostEndsTheContainers(t *testing.T) {
	at := metav1.NewTime(builder.Epoch)
	running := corev1.ContainerStatus{
		Name: "app", Ready: true, Started: ptr.To(true), ContainerID: "x://1", RestartCount: 2,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}},
	}
	ended := corev1.ContainerStatus{Name: "first", Ready: true, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"}}}
	waiting := corev1.ContainerStatus{Name: "debugger", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}}
	local := local(started, phase("Running"), func(p *corev1.Pod) {
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{ended, running}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{running}
		p.Status.EphemeralContainerStatuses = []corev1.ContainerStatus{waiting}
	})
	s := in(local, nil, func(s *snapshot) { s.Lost = true })
	got := decide.Next(fixture.Of(s), pod.Syncer{}).Actions[0].Object.(*corev1.Pod).Status

	lost := func(status corev1.ContainerStatus, startedAt metav1.Time) corev1.ContainerStatus {
		status.Ready, status.Started = false, ptr.To(false)
		status.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: 137, Reason: "ContainerStatusUnknown", Message: got.Message, ContainerID: status.ContainerID,
			StartedAt: startedAt, FinishedAt: metav1.NewTime(s.Now),
		}}
		return status
	}
	want := local.Status.DeepCopy()
	want.Phase, want.Reason, want.Message = corev1.PodFailed, v1alpha1.ReasonRemotePodLost, got.Message
	want.InitContainerStatuses = []corev1.ContainerStatus{ended, lost(running, at)}
	want.ContainerStatuses = []corev1.ContainerStatus{lost(running, at)}
	want.EphemeralContainerStatuses = []corev1.ContainerStatus{lost(waiting, metav1.Time{})}
	if diff := cmp.Diff(*want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}
