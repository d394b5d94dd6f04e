package clusterbinding

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/placement"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/provider/connection"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

var contact = builder.Epoch.Add(time.Hour)

// up returns a binding without problems.
func up(change func(*snapshot)) snapshot {
	binding := builder.Binding("eu").Obj()
	nsm := builder.Map("eu").Accepted("a", "ra").Desired("b", "rb").Obj()
	ready := int32(1)
	nsm.Status.Ready = &ready
	s := snapshot{
		Binding: binding, Holder: "eu", PolicyServed: true, NamespaceMap: nsm,
		Connection: connection.State{Phase: connection.Connected, UID: "uid", Version: "v1.36.3", LastContact: contact},
		Node:       builder.Node("spillway-eu").OwnedBy(binding).Obj(),
	}
	change(&s)
	return s
}

func lost(reason, message string) connection.State {
	return connection.State{Phase: connection.Disconnected, Reason: reason, Message: message, LastContact: contact}
}

const (
	served    = "PodAdmission=True PolicyServed: "
	accepted  = "CredentialsValid=True Accepted: "
	linked    = "Connected=True Connected: "
	nodeReady = "VirtualNodeReady=True NodeReady: "
)

func TestConditions(t *testing.T) {
	tests := map[string]struct {
		snapshot snapshot
		want     []string // CredentialsValid, Connected, VirtualNodeReady, PodAdmission, Ready.
	}{
		"all is well": {up(func(*snapshot) {}), []string{accepted, linked, nodeReady, served, "Ready=True Ready: "}},
		"the Secret is missing": {up(func(s *snapshot) {
			s.Credentials, s.Connection = &field.Problem{Reason: v1alpha1.ReasonSecretNotFound, Message: "there is no Secret eu"}, connection.State{Phase: connection.NotConnected}
		}), []string{"CredentialsValid=False SecretNotFound: there is no Secret eu", "Connected=False CredentialsInvalid: see the condition CredentialsValid",
			nodeReady, served, "Ready=False SecretNotFound: there is no Secret eu"}},
		"the provider refuses the credentials": {up(func(s *snapshot) { s.Connection = lost(v1alpha1.ReasonUnauthorized, "no") }),
			[]string{"CredentialsValid=False Unauthorized: no", "Connected=False CredentialsInvalid: see the condition CredentialsValid", nodeReady, served, "Ready=False Unauthorized: no"}},
		"the credentials lack rights": {up(func(s *snapshot) { s.Connection = lost(v1alpha1.ReasonForbidden, "nodes") }),
			[]string{"CredentialsValid=False Forbidden: nodes", "Connected=False CredentialsInvalid: see the condition CredentialsValid", nodeReady, served, "Ready=False Forbidden: nodes"}},
		"being connected for the first time": {up(func(s *snapshot) { s.Connection = connection.State{Phase: connection.Connecting}; s.Node = nil }),
			[]string{"CredentialsValid=Unknown Connecting: unknown until the provider answers", "Connected=Unknown Connecting: connecting for the first time",
				"VirtualNodeReady=False NodePending: the virtual node does not exist yet", served, "Ready=False Connecting: connecting for the first time"}},
		"never reached": {up(func(s *snapshot) { s.Connection = lost(v1alpha1.ReasonUnreachable, "no route"); s.Node = nil }),
			[]string{"CredentialsValid=Unknown Connecting: unknown until the provider answers", "Connected=False Unreachable: no route",
				"VirtualNodeReady=False NodePending: the virtual node does not exist yet", served, "Ready=False Unreachable: no route"}},
		"lost": {up(func(s *snapshot) {
			s.Binding.Status = Decide(up(func(*snapshot) {}))
			s.Connection = lost(v1alpha1.ReasonUnreachable, "no route")
		}), []string{accepted, "Connected=False Unreachable: no route", nodeReady, served, "Ready=False Unreachable: no route"}},
		"the wrong CA": {up(func(s *snapshot) { s.Connection = lost(v1alpha1.ReasonWrongCA, "unknown authority") }),
			[]string{"CredentialsValid=Unknown Connecting: unknown until the provider answers", "Connected=False WrongCA: unknown authority", nodeReady, served, "Ready=False WrongCA: unknown authority"}},
		"the node is not Ready": {up(func(s *snapshot) { s.Node.Status.Conditions[1].Status = corev1.ConditionUnknown }),
			[]string{accepted, linked, "VirtualNodeReady=False NodeNotReady: Node spillway-eu is not Ready", served, "Ready=False NodeNotReady: Node spillway-eu is not Ready"}},
		"no node of the provider is usable": {up(func(s *snapshot) {
			s.Node.Status.Conditions[1].Reason, s.Node.Status.Conditions[1].Message = v1alpha1.ReasonNoUsableNodes, "2 tainted"
		}), []string{accepted, linked, "VirtualNodeReady=True NoUsableNodes: 2 tainted", served, "Ready=True Ready: "}},
		"the node is somebody else's": {up(func(s *snapshot) { s.Node.OwnerReferences = nil }),
			[]string{accepted, linked, "VirtualNodeReady=False NodeNameConflict: Node spillway-eu exists, but does not belong to this ClusterBinding, and is left alone", served,
				"Ready=False NodeNameConflict: Node spillway-eu exists, but does not belong to this ClusterBinding, and is left alone"}},
		"the node is that of an earlier binding of this name": {up(func(s *snapshot) { s.Binding.UID = "another" }),
			[]string{accepted, linked, "VirtualNodeReady=False NodeNameConflict: Node spillway-eu exists, but does not belong to this ClusterBinding, and is left alone", served,
				"Ready=False NodeNameConflict: Node spillway-eu exists, but does not belong to this ClusterBinding, and is left alone"}},
		"no policy": {up(func(s *snapshot) { s.PolicyServed = false }),
			[]string{accepted, linked, nodeReady, "PodAdmission=False PolicyNotServed: this cluster does not serve MutatingAdmissionPolicy as admissionregistration.k8s.io/v1 (Kubernetes 1.36), and the webhook is off (--pod-admission): " +
				"pods of offloaded namespaces get no affinity, and a toleration only once they wait for a node", "Ready=True Ready: "}},
		"paused": {up(func(s *snapshot) { s.Binding.Spec.Paused = true }),
			[]string{accepted, linked, nodeReady, served, "Ready=False Paused: spec.paused is set: nothing is written to the provider"}},
		"being deleted": {up(func(s *snapshot) { s.Binding.DeletionTimestamp = &metav1.Time{Time: contact} }),
			[]string{accepted, linked, nodeReady, served, "Ready=False Deleting: the ClusterBinding is being deleted; see the condition Drained"}},
		"a duplicate": {up(func(s *snapshot) {
			s.Holder, s.Node, s.Connection = "older", nil, connection.State{Phase: connection.NotConnected}
		}), []string{"CredentialsValid=Unknown DuplicateClusterID: not checked", "Connected=False DuplicateClusterID: not connected, because another ClusterBinding holds the clusterID",
			"VirtualNodeReady=False DuplicateClusterID: no virtual node, because another ClusterBinding holds the clusterID", served,
			"Ready=False DuplicateClusterID: clusterID eu is held by ClusterBinding older, which is older"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			status := Decide(test.snapshot)
			expectConditions(t, status, test.want, "CredentialsValid", "Connected", "VirtualNodeReady", "PodAdmission", "Ready")
			again := test.snapshot
			again.Binding = again.Binding.DeepCopy()
			again.Binding.Status = status
			if second := Decide(again); !equality.Semantic.DeepEqual(status, second) {
				t.Errorf("decided again, it differs (-first +second)\n%s", cmp.Diff(status, second))
			}
			// A manager that has just started knows nothing about the connection yet, and writes nothing.
			fresh := again
			if fresh.Connection.Phase == connection.Connected || fresh.Connection.Phase == connection.Disconnected {
				fresh.Connection = connection.State{Phase: connection.Connecting}
				if second := Decide(fresh); !equality.Semantic.DeepEqual(status, second) {
					t.Errorf("a fresh start writes (-before +after)\n%s", cmp.Diff(status, second))
				}
			}
		})
	}
}

func TestOtherFields(t *testing.T) {
	s := up(func(s *snapshot) { s.Binding.Generation = 4 })
	first := Decide(s)
	type fields struct {
		UID, Version, Summary string
		Observed              int64
		Nodes                 int
		Heartbeat             time.Time
	}
	of := func(status v1alpha1.ClusterBindingStatus) fields {
		return fields{status.RemoteClusterUID, status.KubernetesVersion, status.Namespaces.Summary, status.ObservedGeneration, len(status.VirtualNodes), status.LastHeartbeatTime.Time}
	}
	want := fields{"uid", "v1.36.3", "1/2", 4, 1, contact}
	if diff := cmp.Diff(want, of(first)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]v1alpha1.VirtualNodeStatus{{Name: "spillway-eu"}}, first.VirtualNodes); diff != "" {
		t.Errorf("virtual nodes (-want +got)\n%s", diff)
	}
	if n := first.Namespaces; n.Ready == nil || *n.Ready != 1 || n.Desired == nil || *n.Desired != 2 {
		t.Errorf("namespaces: %+v", n)
	}
	s.Binding.Status = first
	s.Connection.UID, s.Connection.Version, s.Connection.LastContact = "another", "v1.37.0", contact.Add(time.Hour)
	s.Node, s.NamespaceMap = nil, nil
	want.Version, want.Summary, want.Nodes = "v1.37.0", "0/0", 0 // The identity stays, and so does the time while Connected stays the same.
	if diff := cmp.Diff(want, of(Decide(s))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	s.Connection = lost(v1alpha1.ReasonUnreachable, "no route")
	s.Connection.LastContact = contact.Add(2 * time.Hour)
	want.Version, want.Heartbeat = "v1.36.3", contact.Add(2*time.Hour) // The last one that was stored.
	if diff := cmp.Diff(want, of(Decide(s))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	s.Holder, s.Binding.Status.RemoteClusterUID, s.Connection.UID = "older", "", "uid"
	if got := Decide(s).RemoteClusterUID; got != "" {
		t.Errorf("a duplicate pinned %s", got)
	}
}

func TestNetwork(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*snapshot)
		want   string
	}{
		"isolated":    {func(*snapshot) {}, "Network=True Isolated"},
		"a duplicate": {func(s *snapshot) { s.Holder = "older" }, "Network=Unknown DuplicateClusterID"},
		"the consumer's own nodes have the range": {func(s *snapshot) {
			s.Binding.Spec.Network = v1alpha1.ProviderNetwork{Mode: v1alpha1.NetworkRouted, PodCIDRs: []v1alpha1.PodCIDR{"10.8.0.0/14"}}
			s.Bindings, s.Nodes = placement.NewIndex([]v1alpha1.ClusterBinding{*s.Binding}), []corev1.Node{{Spec: corev1.NodeSpec{PodCIDRs: []string{"10.9.0.0/24"}}}}
		}, "Network=False CIDROverlap"},
	} {
		t.Run(name, func(t *testing.T) {
			status := Decide(up(test.change))
			c := meta.FindStatusCondition(status.Conditions, v1alpha1.BindingNetwork)
			if got := "Network=" + string(c.Status) + " " + c.Reason; got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if ready := meta.IsStatusConditionTrue(status.Conditions, v1alpha1.BindingReady); ready != (name != "a duplicate") {
				t.Errorf("Ready is %v: pods run whatever of them is shown", ready)
			}
		})
	}
}

func TestOldVerdictsGoWithTheSecret(t *testing.T) {
	for name, reason := range map[string]string{"missing": v1alpha1.ReasonSecretNotFound, "unusable": v1alpha1.ReasonInvalidKubeconfig} {
		t.Run(name, func(t *testing.T) {
			s := up(func(s *snapshot) { s.Credentials = &field.Problem{Reason: reason, Message: "x"} })
			s.Binding.Status = Decide(s)
			s.Credentials, s.Connection = nil, connection.State{Phase: connection.Connecting}
			for _, kind := range []string{"CredentialsValid", "Connected"} {
				if c := meta.FindStatusCondition(Decide(s).Conditions, kind); c.Reason != v1alpha1.ReasonConnecting {
					t.Errorf("%s is %s still", kind, c.Reason)
				}
			}
		})
	}
}

// TestAVerdictIsAboutTheCredentials checks that an answer counts only for the credentials that it was given
// for. It is not reported when something else is wrong.
func TestAVerdictIsAboutTheCredentials(t *testing.T) {
	accepted := connection.State{Phase: connection.Connected, UID: "uid"}
	refused := lost(v1alpha1.ReasonUnauthorized, "401")
	const unknown, link = "CredentialsValid=Unknown Connecting", "Connected=False CredentialsInvalid"
	connecting, unreachable, same := connection.State{Phase: connection.Connecting}, lost(v1alpha1.ReasonUnreachable, "no route"), lost(v1alpha1.ReasonSameCluster, "same")
	others := func(state connection.State) connection.State {
		state.Untried = true
		return state
	}
	for name, test := range map[string]struct {
		before, now connection.State
		want        []string
	}{
		"refused, and a manager begins anew":            {refused, connecting, []string{"CredentialsValid=False Unauthorized", link, "Ready=False Unauthorized"}},
		"refused, then out of reach":                    {refused, unreachable, []string{unknown, "Connected=False Unreachable", "Ready=False Unreachable"}},
		"refused, and others are tried":                 {refused, others(connecting), []string{unknown, "Connected=Unknown Connecting", "Ready=False Connecting"}},
		"refused, and others lead nowhere":              {refused, others(unreachable), []string{unknown, "Connected=False Unreachable", "Ready=False Unreachable"}},
		"refused, and others lead to the consumer":      {refused, others(same), []string{unknown, "Connected=False SameCluster", "Ready=False SameCluster"}},
		"refused, and others are too":                   {refused, refused, []string{"CredentialsValid=False Unauthorized", link, "Ready=False Unauthorized"}},
		"accepted, then out of reach":                   {accepted, unreachable, []string{"CredentialsValid=True Accepted", "Connected=False Unreachable", "Ready=False Unreachable"}},
		"accepted, and others are tried":                {accepted, others(connecting), []string{unknown, "Connected=True Connected", "Ready=True Ready"}},
		"accepted, and others lead nowhere":             {accepted, others(unreachable), []string{unknown, "Connected=False Unreachable", "Ready=False Unreachable"}},
		"accepted, and others are refused":              {accepted, refused, []string{"CredentialsValid=False Unauthorized", link, "Ready=False Unauthorized"}},
		"accepted, and others lead to another provider": {accepted, others(lost(v1alpha1.ReasonIdentityChanged, "another")), []string{unknown, "Connected=False IdentityChanged", "Ready=False IdentityChanged"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := up(func(s *snapshot) { s.Connection = test.before })
			s.Binding.Status = Decide(s)
			s.Connection = test.now
			status := Decide(s)
			var got []string
			for _, kind := range []string{"CredentialsValid", "Connected", "Ready"} {
				c := meta.FindStatusCondition(status.Conditions, kind)
				got = append(got, kind+"="+string(c.Status)+" "+c.Reason)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			s.Binding.Status, s.Connection = status, connection.State{Phase: connection.Connecting}
			if again := Decide(s); !equality.Semantic.DeepEqual(status, again) {
				t.Errorf("a fresh start writes (-before +after)\n%s", cmp.Diff(status, again))
			}
		})
	}
}

func TestDrainedGoesWithTheDeletion(t *testing.T) {
	drained := metav1.Condition{Type: v1alpha1.BindingDrained, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonCordoning}
	s := up(func(s *snapshot) { s.Binding.Status.Conditions = []metav1.Condition{drained} })
	if status := Decide(s); meta.FindStatusCondition(status.Conditions, v1alpha1.BindingDrained) != nil {
		t.Error("it is Drained, and is not being deleted")
	}
	s.Binding.DeletionTimestamp = &metav1.Time{Time: contact}
	if status := Decide(s); meta.FindStatusCondition(status.Conditions, v1alpha1.BindingDrained) == nil {
		t.Error("the step of its deletion is lost")
	}
}

func TestTheMountNamespaceCounts(t *testing.T) {
	tests := map[string]struct {
		mount  string
		reason string
		want   string
	}{
		"none is asked for":   {"", "", v1alpha1.ReasonReady},
		"it is not there yet": {"mount", "", v1alpha1.ReasonPending},
		"it is there":         {"mount", v1alpha1.ReasonNamespaceActive, v1alpha1.ReasonReady},
		"it is somebody's":    {"mount", v1alpha1.ReasonNameConflict, v1alpha1.ReasonNameConflict},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := up(func(s *snapshot) {
				s.Binding.Spec.MountNamespace = test.mount
				if test.reason != "" {
					status := metav1.ConditionFalse
					if test.reason == v1alpha1.ReasonNamespaceActive {
						status = metav1.ConditionTrue
					}
					meta.SetStatusCondition(&s.Binding.Status.Conditions, metav1.Condition{Type: v1alpha1.BindingMountNamespaceReady, Status: status, Reason: test.reason})
				}
			})
			status := Decide(s)
			if got := meta.FindStatusCondition(status.Conditions, v1alpha1.BindingReady); got.Reason != test.want {
				t.Errorf("Ready says %s: %s, want %s", got.Reason, got.Message, test.want)
			}
			if was, is := meta.FindStatusCondition(s.Binding.Status.Conditions, v1alpha1.BindingMountNamespaceReady),
				meta.FindStatusCondition(status.Conditions, v1alpha1.BindingMountNamespaceReady); !equality.Semantic.DeepEqual(was, is) {
				t.Errorf("the condition of somebody else was changed from %v to %v", was, is)
			}
		})
	}
}

func TestValidity(t *testing.T) {
	const day = 24 * time.Hour
	expiring := func(lifetime, left time.Duration) snapshot {
		return up(func(s *snapshot) {
			until := builder.Epoch.Add(365 * day)
			s.Now = until.Add(-left)
			s.Validity = validity{What: "the token", Until: until}
			if lifetime > 0 {
				s.Validity.From = until.Add(-lifetime)
			}
		})
	}
	const reason, soon = v1alpha1.ReasonAccepted, v1alpha1.ReasonExpiresSoon
	tests := map[string]struct {
		snapshot snapshot
		want     string
	}{
		"a year, all of it left":              {expiring(365*day, 365*day), reason},
		"a year, 8 days left":                 {expiring(365*day, 8*day), reason},
		"a year, 7 days left":                 {expiring(365*day, 7*day), soon},
		"30 days, 6 days left":                {expiring(30*day, 6*day), soon},
		"30 days, more than 6 days left":      {expiring(30*day, 6*day+time.Second), reason},
		"a day, 5 hours left":                 {expiring(day, 5*time.Hour), reason},
		"a day, 4 hours left":                 {expiring(day, 4*time.Hour), soon},
		"nobody knows since when, a day left": {expiring(0, day), soon},
		"past, and accepted all the same":     {expiring(day, -time.Minute), soon},
		"an hour, 13 minutes left":            {expiring(time.Hour, 13*time.Minute), reason},
		"an hour, 12 minutes left":            {expiring(time.Hour, 12*time.Minute), soon},
		"it never expires":                    {up(func(*snapshot) {}), reason},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			status := Decide(test.snapshot)
			c := meta.FindStatusCondition(status.Conditions, v1alpha1.BindingCredentialsValid)
			if c.Status != metav1.ConditionTrue || c.Reason != test.want {
				t.Errorf("CredentialsValid is %s, %s: %s, want %s", c.Status, c.Reason, c.Message, test.want)
			}
			if says := strings.HasSuffix(c.Message, "; update Secret "+test.snapshot.Binding.Spec.KubeconfigSecretRef.Name+" before then"); says != (test.want == soon) {
				t.Errorf("it says %q", c.Message)
			}
			if ready := meta.FindStatusCondition(status.Conditions, v1alpha1.BindingReady); ready.Status != metav1.ConditionTrue {
				t.Errorf("Ready is %s: %s", ready.Status, ready.Message)
			}
			until := test.snapshot.Validity.Until
			if test.snapshot.Validity.Brief() && test.want == reason {
				until = time.Time{}
			}
			if until.IsZero() != (status.CredentialsExpirationTime == nil) || !until.IsZero() && !status.CredentialsExpirationTime.Time.Equal(until) {
				t.Errorf("it expires at %v, want %v", status.CredentialsExpirationTime, until)
			}
			// The passage of time causes no write.
			test.snapshot.Binding.Status = status
			test.snapshot.Now = test.snapshot.Now.Add(time.Millisecond)
			if again := Decide(test.snapshot); !equality.Semantic.DeepEqual(status, again) {
				t.Errorf("a moment later:\n%s", cmp.Diff(status, again))
			}
		})
	}
}

// TestRenewals checks that a token which is renewed every hour causes no write. It also checks that nothing
// is reported about a token before the provider has accepted it.
func TestRenewals(t *testing.T) {
	renewed := func(lifetime, age time.Duration) validity {
		return validity{What: "the token", From: builder.Epoch.Add(age), Until: builder.Epoch.Add(age + lifetime)}
	}
	s := up(func(s *snapshot) { s.Now, s.Validity = builder.Epoch, renewed(time.Hour, 0) })
	s.Binding.Status = Decide(s)
	next := s
	next.Now, next.Validity = builder.Epoch.Add(30*time.Minute), renewed(time.Hour+7*time.Second, 30*time.Minute)
	if status := Decide(next); !equality.Semantic.DeepEqual(s.Binding.Status, status) {
		t.Errorf("a renewal writes (-before +after)\n%s", cmp.Diff(s.Binding.Status, status))
	}

	s.Validity = renewed(48*time.Hour, 0)
	s.Binding.Status = Decide(s)
	next = s
	next.Validity, next.Connection.Untried = renewed(48*time.Hour, time.Hour), true
	if status := Decide(next); !equality.Semantic.DeepEqual(s.Binding.Status, status) {
		t.Errorf("a token that nobody has tried is told of (-before +after)\n%s", cmp.Diff(s.Binding.Status, status))
	}
	next.Connection.Untried = false
	if status := Decide(next); !status.CredentialsExpirationTime.Time.Equal(next.Validity.Until) {
		t.Errorf("it expires at %v, want %v", status.CredentialsExpirationTime, next.Validity.Until)
	}
}

func TestNeverMoreAreReadyThanAskedFor(t *testing.T) {
	nsm := builder.Map("eu").Accepted("a", "ra").Accepted("b", "rb").Obj()
	nsm.Status.Ready = ptr.To[int32](2)
	nsm.Spec.DesiredMapping = nsm.Spec.DesiredMapping[:1] // One entry was removed; the status does not show it yet.
	if got := namespaceCounts(nsm).Summary; got != "1/1" {
		t.Errorf("the summary is %s", got)
	}
}
