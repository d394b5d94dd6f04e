package lease

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/provenance"
)

const (
	us       = "here_1"
	them     = "there_2"
	duration = 15 * time.Second
)

var (
	mark  = provenance.Mark{Origin: "origin-uid", ClusterID: "eu"}
	epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

// leaseOf is the Lease of our mark, as its holder wrote it.
func leaseOf(holder string, generation int64) *coordinationv1.Lease {
	written := Written(Snapshot{Mark: mark, Account: "consumer", Identity: holder, Duration: duration}, Decision{Generation: generation}, epoch)
	if holder == "" {
		written = Released(written)
	}
	return written
}

func with(lease *coordinationv1.Lease, change func(*coordinationv1.Lease)) *coordinationv1.Lease {
	change(lease)
	return lease
}

func recorded(generation int64, identity string) v1alpha1.HolderStatus {
	return v1alpha1.HolderStatus{Generation: generation, Identity: identity}
}

func write(generation, record int64) Decision {
	return Decision{Action: Write, Generation: generation, Record: record}
}

func record(generation int64) Decision { return Decision{Action: Record, Record: generation} }

func refuse(reason string) Decision { return Decision{Action: Refuse, Reason: reason} }

func TestDecide(t *testing.T) {
	held := leaseOf(them, 4)
	tests := map[string]struct {
		snapshot Snapshot
		want     Decision
	}{
		"none: it is remembered first":             {Snapshot{}, record(1)},
		"none, and remembered":                     {Snapshot{Recorded: recorded(1, us)}, write(1, 1)},
		"none, and remembered by another manager":  {Snapshot{Recorded: recorded(1, them)}, record(2)},
		"none, and remembered without an identity": {Snapshot{Recorded: recorded(3, "")}, record(3)},
		"none any more, of an old binding":         {Snapshot{Recorded: recorded(7, them)}, record(8)},

		"free":                 {Snapshot{Lease: leaseOf("", 4), Recorded: recorded(4, them)}, record(5)},
		"free, and remembered": {Snapshot{Lease: leaseOf("", 4), Recorded: recorded(5, us)}, write(5, 5)},
		"free, and remembered without having been taken": {Snapshot{Lease: leaseOf("", 4), Recorded: recorded(5, them)}, record(6)},
		"free, and remembered without an identity":       {Snapshot{Lease: leaseOf("", 4), Recorded: recorded(4, "")}, record(5)},
		"free, and that is raised":                       {Snapshot{Lease: leaseOf("", 4), Recorded: recorded(5, "")}, record(5)},
		"free, and we are behind":                        {Snapshot{Lease: leaseOf("", 4), Recorded: recorded(3, them)}, refuse(v1alpha1.ReasonTakeOverNeeded)},
		"free, and we remember nothing":                  {Snapshot{Lease: leaseOf("", 4)}, refuse(v1alpha1.ReasonTakeOverNeeded)},
		"free, behind, and let":                          {Snapshot{Lease: leaseOf("", 4), Recorded: recorded(3, them), TakeOver: "4"}, record(5)},
		"free, behind, and let take another generation":  {Snapshot{Lease: leaseOf("", 4), Recorded: recorded(3, them), TakeOver: "5"}, refuse(v1alpha1.ReasonTakeOverNeeded)},
		"free, behind, and let take an old generation":   {Snapshot{Lease: leaseOf("", 4), Recorded: recorded(2, them), TakeOver: "3"}, refuse(v1alpha1.ReasonTakeOverNeeded)},

		"free, behind, and we are let by name":            {Snapshot{Lease: leaseOf("", 4), Recorded: recorded(3, them), TakeOver: us}, record(5)},
		"free, behind, and let by name when it was alive": {Snapshot{Lease: leaseOf("", 4), Recorded: recorded(3, them), Renewed: true, TakeOver: us}, refuse(v1alpha1.ReasonTakeOverNeeded)},
		"free, behind, and another one is let":            {Snapshot{Lease: leaseOf("", 4), Recorded: recorded(3, them), TakeOver: them}, refuse(v1alpha1.ReasonTakeOverNeeded)},
		"free, behind, and let by name before":            {Snapshot{Lease: leaseOf("", 4), Recorded: recorded(3, us), TakeOver: us}, refuse(v1alpha1.ReasonTakeOverNeeded)},

		"held, and let by name, but alive":        {Snapshot{Lease: held, Renewed: true, TakeOver: us}, refuse(v1alpha1.ReasonHeldByAnother)},
		"held, first seen now":                    {Snapshot{Lease: held, Recorded: recorded(4, them)}, Decision{Action: Wait}},
		"held, first seen now, and we are behind": {Snapshot{Lease: held}, Decision{Action: Wait}},
		"held, and seen to be renewed":            {Snapshot{Lease: held, Renewed: true, Unchanged: duration - 1, Recorded: recorded(4, them)}, refuse(v1alpha1.ReasonHeldByAnother)},
		"held, behind, and let, but alive":        {Snapshot{Lease: held, Renewed: true, TakeOver: "4"}, refuse(v1alpha1.ReasonHeldByAnother)},
		"held, not renewed for a moment":          {Snapshot{Lease: held, Unchanged: duration - 1, Recorded: recorded(4, them)}, Decision{Action: Wait}},
		"held, and renewed by one who shares with us": {Snapshot{Lease: held, Renewed: true, Unchanged: duration - 1, Recorded: recorded(4, them), Sharing: true},
			Decision{Action: Wait}},
		"held by one who shared with us, and expired": {Snapshot{Lease: held, Renewed: true, Unchanged: duration, Recorded: recorded(4, them), Sharing: true}, record(5)},
		"held, and expired":                           {Snapshot{Lease: held, Unchanged: duration, Recorded: recorded(4, them)}, record(5)},
		"held, expired after it was alive":            {Snapshot{Lease: held, Renewed: true, Unchanged: duration, Recorded: recorded(4, them)}, record(5)},
		"held, expired, and we are behind":            {Snapshot{Lease: held, Unchanged: duration, Recorded: recorded(3, us)}, refuse(v1alpha1.ReasonTakeOverNeeded)},
		"held for longer than we would": {Snapshot{Unchanged: 59 * time.Second, Recorded: recorded(4, them),
			Lease: with(leaseOf(them, 4), func(l *coordinationv1.Lease) { l.Spec.LeaseDurationSeconds = ptr.To(int32(60)) })}, Decision{Action: Wait}},
		"held for ever, by what it says": {Snapshot{Unchanged: longest, Recorded: recorded(4, them),
			Lease: with(leaseOf(them, 4), func(l *coordinationv1.Lease) { l.Spec.LeaseDurationSeconds = ptr.To(int32(1 << 30)) })}, record(5)},
		"renewed in the future, by its clock": {Snapshot{Unchanged: duration, Recorded: recorded(4, them),
			Lease: with(leaseOf(them, 4), func(l *coordinationv1.Lease) { l.Spec.RenewTime = ptr.To(metav1.NewMicroTime(epoch.AddDate(9, 0, 0))) })}, record(5)},
		"renewed long ago, by its clock": {Snapshot{Recorded: recorded(4, them),
			Lease: with(leaseOf(them, 4), func(l *coordinationv1.Lease) { l.Spec.RenewTime = ptr.To(metav1.NewMicroTime(epoch.AddDate(-9, 0, 0))) })}, Decision{Action: Wait}},
		"renewed never, by what it says": {Snapshot{Recorded: recorded(4, them),
			Lease: with(leaseOf(them, 4), func(l *coordinationv1.Lease) { l.Spec.RenewTime = nil })}, Decision{Action: Wait}},

		"ours":                                {Snapshot{Lease: leaseOf(us, 4), Recorded: recorded(4, us)}, write(4, 4)},
		"ours, and expired":                   {Snapshot{Lease: leaseOf(us, 4), Unchanged: time.Hour, Recorded: recorded(4, us)}, write(4, 4)},
		"ours, and to be raised":              {Snapshot{Lease: leaseOf(us, 4), Recorded: recorded(4, us), RaiseDue: true}, write(4, 5)},
		"ours, and the next one remembered":   {Snapshot{Lease: leaseOf(us, 4), Recorded: recorded(5, us), RaiseDue: true}, write(5, 5)},
		"ours, and the binding has forgotten": {Snapshot{Lease: leaseOf(us, 4), Recorded: recorded(2, them)}, write(4, 4)},

		"nobody's": {Snapshot{Lease: &coordinationv1.Lease{}}, refuse(v1alpha1.ReasonLeaseConflict)},
		"of another origin": {Snapshot{Lease: with(leaseOf("", 4), func(l *coordinationv1.Lease) { l.Labels[v1alpha1.LabelOrigin] = "other" }), Recorded: recorded(4, us)},
			refuse(v1alpha1.ReasonLeaseConflict)},
		"of another account":                     {Snapshot{Lease: leaseOf("", 4), Account: "other", Recorded: recorded(4, us)}, refuse(v1alpha1.ReasonLeaseConflict)},
		"of an account that is not ours to know": {Snapshot{Lease: leaseOf("", 4), Account: "", Recorded: recorded(4, them)}, record(5)},
		"of no generation":                       {Snapshot{Lease: with(leaseOf(us, 4), func(l *coordinationv1.Lease) { l.Annotations = nil })}, refuse(v1alpha1.ReasonLeaseConflict)},
		"of a generation that is no number": {Snapshot{Lease: with(leaseOf(us, 4), func(l *coordinationv1.Lease) { l.Annotations[v1alpha1.AnnotationGeneration] = "x" })},
			refuse(v1alpha1.ReasonLeaseConflict)},
		"ours, of a generation that has no next one":                {Snapshot{Lease: leaseOf(us, math.MaxInt64), Recorded: recorded(4, us)}, refuse(v1alpha1.ReasonLeaseConflict)},
		"free, of a generation that has no next one":                {Snapshot{Lease: leaseOf("", math.MaxInt64), TakeOver: "9223372036854775807"}, refuse(v1alpha1.ReasonLeaseConflict)},
		"ours, of the highest that a provider can have us remember": {Snapshot{Lease: leaseOf(us, mostGeneration), Recorded: recorded(4, us)}, write(mostGeneration, mostGeneration)},
		"ours, and the one after that":                              {Snapshot{Lease: leaseOf(us, mostGeneration+1), Recorded: recorded(mostGeneration, us)}, write(mostGeneration+1, mostGeneration+1)},
		"ours, and the one after the next":                          {Snapshot{Lease: leaseOf(us, mostGeneration+2), Recorded: recorded(mostGeneration, us)}, refuse(v1alpha1.ReasonLeaseConflict)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := test.snapshot
			s.Mark, s.Identity, s.Duration, s.Binding = mark, us, duration, "eu"
			got := Decide(s)
			if got.Action == Refuse && got.Message == "" {
				t.Error("it is refused without a word")
			}
			got.Message = ""
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestWhoLeavesDeletesWhatItCouldHold, and nothing that it may not take.
func TestWhoLeavesDeletesWhatItCouldHold(t *testing.T) {
	del, held := Decision{Action: Delete}, leaseOf(them, 4)
	for name, test := range map[string]struct {
		snapshot Snapshot
		want     Decision
	}{
		"none":                                 {Snapshot{Recorded: recorded(4, them)}, del},
		"ours":                                 {Snapshot{Lease: leaseOf(us, 4), Recorded: recorded(4, us)}, del},
		"ours, and the binding has forgotten":  {Snapshot{Lease: leaseOf(us, 4), Recorded: recorded(2, them)}, del},
		"given back":                           {Snapshot{Lease: leaseOf("", 4), Recorded: recorded(4, them)}, del},
		"given back, and not as high":          {Snapshot{Lease: leaseOf("", 4), Recorded: recorded(5, them)}, del},
		"given back, and higher":               {Snapshot{Lease: leaseOf("", 4), Recorded: recorded(3, them)}, refuse(v1alpha1.ReasonTakeOverNeeded)},
		"given back, higher, and let":          {Snapshot{Lease: leaseOf("", 4), Recorded: recorded(3, them), TakeOver: "4"}, del},
		"held by one that was killed a moment": {Snapshot{Lease: held, Unchanged: duration - 1, Recorded: recorded(4, them)}, Decision{Action: Wait}},
		"held by one that was killed long ago": {Snapshot{Lease: held, Unchanged: duration, Recorded: recorded(4, them)}, del},
		"held by one that lives":               {Snapshot{Lease: held, Renewed: true, Recorded: recorded(4, them)}, refuse(v1alpha1.ReasonHeldByAnother)},
		"nobody's":                             {Snapshot{Lease: &coordinationv1.Lease{}, Recorded: recorded(4, us)}, refuse(v1alpha1.ReasonLeaseConflict)},
		"of another account":                   {Snapshot{Lease: leaseOf("", 4), Account: "other", Recorded: recorded(4, us)}, refuse(v1alpha1.ReasonLeaseConflict)},
	} {
		t.Run(name, func(t *testing.T) {
			s := test.snapshot
			s.Mark, s.Identity, s.Duration, s.Binding, s.Leaving = mark, us, duration, "eu", true
			got := Decide(s)
			got.Message = ""
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMessages(t *testing.T) {
	tests := map[string]struct {
		snapshot Snapshot
		want     string
	}{
		"who, and since when":          {Snapshot{Lease: leaseOf(them, 4), Renewed: true}, "there_2, uses this provider for the same cluster, since 2026-01-02T03:04:05Z"},
		"the command":                  {Snapshot{Lease: leaseOf("", 4), Recorded: recorded(3, us)}, "kubectl annotate --overwrite clusterbinding eu spillway.io/take-over=4"},
		"what a provider wrote is cut": {Snapshot{Lease: leaseOf("\x1b["+strings.Repeat("x", 400), 4), Renewed: true}, " [" + strings.Repeat("x", identityMost-3) + "…, uses"},
		"whose Lease":                  {Snapshot{Lease: leaseOf("", 4), Account: "other"}, `belongs to account "consumer", and this manager uses account "other"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := test.snapshot
			s.Mark, s.Identity, s.Duration, s.Binding = mark, us, duration, "eu"
			if got := Decide(s).Message; !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q in it", got, test.want)
			}
		})
	}
}

func TestWritten(t *testing.T) {
	s := Snapshot{Mark: mark, Account: "consumer", Identity: us, Duration: duration}
	made := Written(s, Decision{Generation: 1}, epoch)
	if made.Namespace != v1alpha1.ProviderNamespace || made.Name != Name(mark) || !mark.IsOn(made) || made.Labels[v1alpha1.LabelAccount] != "consumer" {
		t.Errorf("made as %+v", made.ObjectMeta)
	}
	s.Lease = made
	renewed := Written(s, Decision{Generation: 2}, epoch.Add(time.Hour))
	if !renewed.Spec.AcquireTime.Equal(made.Spec.AcquireTime) || renewed.Spec.RenewTime.Equal(made.Spec.RenewTime) || *renewed.Spec.LeaseTransitions != 0 {
		t.Errorf("renewed as %+v", renewed.Spec)
	}
	if generation, _ := generationOf(renewed); generation != 2 {
		t.Errorf("raised to %d, want 2", generation)
	}
	if generation, _ := generationOf(made); generation != 1 {
		t.Error("what was there has been changed")
	}
	s.Lease = Released(renewed)
	if generation, _ := generationOf(s.Lease); generation != 2 || s.Lease.Spec.HolderIdentity != nil {
		t.Errorf("released as %+v", s.Lease)
	}
	s.Identity = them
	if taken := Written(s, Decision{Generation: 3}, epoch.Add(2*time.Hour)); *taken.Spec.HolderIdentity != them || *taken.Spec.LeaseTransitions != 1 ||
		taken.Spec.AcquireTime.Equal(made.Spec.AcquireTime) {
		t.Errorf("taken as %+v", taken.Spec)
	}
}

func TestName(t *testing.T) {
	names := map[string]bool{}
	for _, m := range []provenance.Mark{mark, {Origin: "origin-uid", ClusterID: "us"}, {Origin: "other-uid", ClusterID: "eu"}} {
		names[Name(m)] = true
	}
	if len(names) != 3 {
		t.Errorf("not one for each origin and clusterID: %v", names)
	}
	if got := Name(mark); got != "spillway-eu-f78a950f64255972" {
		t.Errorf("a manager of another version would look for another Lease than %s", got)
	}
}

// The message says what may have happened, and a command that works the second time, too.
func TestTakeOverIsAskedFor(t *testing.T) {
	d := Decide(Snapshot{Binding: "eu", Lease: leaseOf("", 4), Mark: mark, Identity: us, Duration: duration})
	for _, text := range []string{"another manager has used this provider", "or this binding was recreated", "kubectl annotate --overwrite clusterbinding eu spillway.io/take-over=4;",
		"kubectl annotate --overwrite clusterbinding --all spillway.io/take-over=" + us} {
		if !strings.Contains(d.Message, text) {
			t.Errorf("it says %q, without %q", d.Message, text)
		}
	}
}
