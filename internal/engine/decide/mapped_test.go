package decide_test

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/decide/network"
	"github.com/spillway-io/spillway/internal/engine/decide"
	fixture "github.com/spillway-io/spillway/internal/engine/decide/decidetest"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/provider/connection"
)

// noticing returns a notice for each object with the key notice.
type noticing struct{ fixture.Plain }

func (noticing) Notice(local, _ *corev1.ConfigMap, _ decide.Inputs) *field.Problem {
	if local.Data["notice"] == "" {
		return nil
	}
	return &field.Problem{Reason: "Notice", Message: "know this"}
}

// withEvent describes a plan in words, with its event.
func withEvent(p decide.Plan) []string {
	lines := planInWords(p)
	if p.Event != nil {
		lines = append(lines, "event "+p.Event.Reason)
	}
	if p.TellsProblem {
		lines = append(lines, "event "+p.Problem.Reason)
	}
	return lines
}

// TestMapped tests objects that are sent because their namespace is mapped.
func TestMapped(t *testing.T) {
	const (
		create = "create in the provider team-home/settings map[a:1]"
		change = "patch in the provider team-home/settings map[a:2]"
		remove = "delete in the provider UID remote-1"
	)
	leaves := func(s *fixture.Snapshot) { s.Destination.Leaving = true }
	known := func(local, remote *corev1.ConfigMap, changes ...func(*fixture.Snapshot)) fixture.Snapshot {
		return fixture.Wanted(local, remote, append([]func(*fixture.Snapshot){func(s *fixture.Snapshot) { s.Known = true }}, changes...)...)
	}
	needing := func(ready bool) func(*fixture.Snapshot) {
		return func(s *fixture.Snapshot) {
			s.Needs = []decide.Need{{Kind: "x", Ready: ready, Problem: field.Problem{Reason: "Missing", Message: "gone"}}}
		}
	}
	limited := func(limits *field.Limits) func(*fixture.Snapshot) {
		return func(s *fixture.Snapshot) { s.Limits = limits }
	}
	unknown := &field.Limits{Unknown: &field.Problem{Reason: "LimitsMissing", Message: "there are none"}}
	for name, test := range map[string]struct {
		in   fixture.Snapshot
		want []string
	}{
		// only in the consumer
		"it is created":                          {known(fixture.Local(), nil), []string{create}},
		"it is created, and it is told":          {known(fixture.Local(fixture.Data("notice", "x")), nil), []string{"create in the provider team-home/settings map[notice:x]", "event Notice"}},
		"it should not be there":                 {known(fixture.Local(), nil, fixture.Unwanted), nil},
		"its owner keeps it":                     {known(fixture.Local(fixture.KeptHome), nil), nil},
		"it is being deleted, and still holds":   {known(fixture.Local(fixture.Going), nil), []string{create}},
		"its namespace is not there":             {known(fixture.Local(), nil, unopened), nil},
		"its namespace is about to go":           {known(fixture.Local(), nil, leaves), []string{create}},
		"it may not go":                          {known(fixture.Local(fixture.Data("refuse", "x")), nil), []string{"problem Refused", "event Refused"}},
		"nothing is known of the limits":         {known(fixture.Local(), nil, limited(unknown)), []string{"problem LimitsMissing", "event LimitsMissing"}},
		"the limits are known":                   {known(fixture.Local(), nil, limited(&field.Limits{})), []string{create}},
		"the provider has refused it":            {known(fixture.Local(), nil, backingOff), []string{"problem Rejected", "again after 1m0s"}},
		"the provider has refused it, it is due": {known(fixture.Local(), nil, refusedTo(decide.Create, "team-home", 0)), []string{create}},
		"it needs what is not there":             {known(fixture.Local(), nil, needing(false)), []string{"problem Missing"}},
		"it needs what is there":                 {known(fixture.Local(), nil, needing(true)), []string{create}},
		"another one of its name is there": {known(fixture.Local(), nil, func(s *fixture.Snapshot) { s.Duplicates = []*corev1.ConfigMap{fixture.Remote()} }),
			[]string{remove, "problem Replacing"}},

		// on both sides
		"all is well":                         {known(fixture.Local(), fixture.Remote()), nil},
		"all is well, and it was told":        {known(fixture.Local(fixture.Data("notice", "x")), fixture.Remote(fixture.Data("notice", "x"))), nil},
		"it has changed":                      {known(fixture.Local(fixture.Data("a", "2")), fixture.Remote()), []string{change}},
		"it has changed, and it is told":      {known(fixture.Local(fixture.Data("notice", "x")), fixture.Remote()), []string{"patch in the provider team-home/settings map[notice:x]", "event Notice"}},
		"its copy cannot be changed":          {known(fixture.Local(fixture.Data("notice", "x")), fixture.Remote(fixture.Data("frozen", "x"))), []string{remove}},
		"it has changed, by unknown limits":   {known(fixture.Local(fixture.Data("a", "2")), fixture.Remote(), limited(unknown)), nil},
		"it may not go, by unknown limits":    {known(fixture.Local(fixture.Data("refuse", "x")), fixture.Remote(), limited(unknown)), nil},
		"it goes here, by unknown limits":     {known(fixture.Local(fixture.Going), fixture.Remote(), limited(unknown)), nil},
		"its copy is going":                   {known(fixture.Local(), fixture.Remote(fixture.Going)), []string{"problem Replacing"}},
		"its copy should not be there":        {known(fixture.Local(), fixture.Remote(), fixture.Unwanted), []string{remove}},
		"nor should it, and it is going":      {known(fixture.Local(), fixture.Remote(fixture.Going), fixture.Unwanted), nil},
		"its owner keeps it from now on":      {known(fixture.Local(fixture.KeptHome), fixture.Remote()), []string{remove}},
		"it goes here":                        {known(fixture.Local(fixture.Going), fixture.Remote()), nil},
		"it goes here, and has changed":       {known(fixture.Local(fixture.Going, fixture.Data("a", "2")), fixture.Remote()), []string{change}},
		"it goes here, and may not go there":  {known(fixture.Local(fixture.Going, fixture.Data("refuse", "x")), fixture.Remote()), []string{remove}},
		"it goes here, and should not be":     {known(fixture.Local(fixture.Going), fixture.Remote(), fixture.Unwanted), []string{remove}},
		"it goes here, and its owner kept it": {known(fixture.Local(fixture.Going, fixture.KeptHome), fixture.Remote()), []string{remove}},
		"it may not go any more":              {known(fixture.Local(fixture.Data("refuse", "x")), fixture.Remote()), []string{remove}},
		"its namespace goes there":            {known(fixture.Local(fixture.Data("a", "2")), fixture.Remote(), unopened), nil},
		"it goes here, its namespace there":   {known(fixture.Local(fixture.Going), fixture.Remote(), unopened), nil},
		"its namespace is about to go there":  {known(fixture.Local(fixture.Data("a", "2")), fixture.Remote(), leaves), []string{change}},
		"the change is refused":               {known(fixture.Local(fixture.Data("a", "2")), fixture.Remote(), backingOff), []string{"problem Rejected", "again after 1m0s"}},
		"it is somewhere else, too": {known(fixture.Local(), fixture.Remote(), func(s *fixture.Snapshot) {
			s.RemoteStates = []decide.RemoteState[*corev1.ConfigMap]{s.RemoteState, {Remote: fixture.Remote(func(m *corev1.ConfigMap) { m.UID = "remote-2" })}}
		}), []string{"delete in the provider UID remote-2"}},
		"it is told, and it is somewhere else, too": {known(fixture.Local(fixture.Data("notice", "x")), nil, func(s *fixture.Snapshot) {
			s.RemoteStates = []decide.RemoteState[*corev1.ConfigMap]{s.RemoteState, {Remote: fixture.Remote(func(m *corev1.ConfigMap) { m.UID = "remote-2" })}}
		}), []string{"create in the provider team-home/settings map[notice:x]", "delete in the provider UID remote-2", "event Notice"}},
		"it was somewhere else, and nothing is known": {known(fixture.Local(), fixture.Remote(), unopened, func(s *fixture.Snapshot) {
			s.RemoteStates = []decide.RemoteState[*corev1.ConfigMap]{s.RemoteState, {Remote: fixture.Remote(func(m *corev1.ConfigMap) { m.UID = "remote-2" })}}
		}), nil},

		// only in the provider
		"nothing stands behind it":                           {known(nil, fixture.Remote()), []string{remove}},
		"nothing stands behind it, and it goes":              {known(nil, fixture.Remote(fixture.Going)), nil},
		"nothing stands behind it, nor should it":            {known(nil, fixture.Remote(), fixture.Unwanted), []string{remove}},
		"nothing stands behind it, its namespace goes":       {known(nil, fixture.Remote(), unopened), nil},
		"nothing stands behind it, and so is its offloading": {known(nil, fixture.Remote(), leaves), nil},
		"nothing is anywhere":                                {known(nil, nil), nil},
	} {
		t.Run(name, func(t *testing.T) {
			before := [2]*corev1.ConfigMap{test.in.Local.DeepCopy(), test.in.Remote.DeepCopy()}
			got := decide.Next(fixture.Of(test.in), decide.NewMapped(decide.Translation[*corev1.ConfigMap](noticing{})))
			if diff := cmp.Diff(test.want, withEvent(got)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, [2]*corev1.ConfigMap{test.in.Local, test.in.Remote}); diff != "" {
				t.Errorf("the decision has changed what it looks at, which belongs to the cache:\n%s", diff)
			}
		})
	}
}

// TestLacking checks that the owner of an object that would be sent is told which right is missing, and that
// other owners are not.
func TestLacking(t *testing.T) {
	told := []string{"problem RightsMissing", "event RightsMissing"}
	for name, test := range map[string]struct {
		in   fixture.Snapshot
		want []string
	}{
		"it would be sent":           {fixture.Wanted(fixture.Local(), nil), told},
		"its copy cannot be changed": {fixture.Wanted(fixture.Local(), fixture.Remote()), told},
		"its owner keeps it":         {fixture.Wanted(fixture.Local(fixture.KeptHome), nil), nil},
		"it goes, and still holds":   {fixture.Wanted(fixture.Local(fixture.Going), nil), told},
		"its namespace is not ready": {fixture.Wanted(fixture.Local(), nil, unopened), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, withEvent(decide.ReportUnreadable(fixture.Of(test.in), decide.NewMapped(decide.Translation[*corev1.ConfigMap](fixture.Plain{})), "ConfigMap", connection.RightMissing("list configmaps")))); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

// keeping keeps the copies of refused objects.
type keeping struct{ noticing }

func (keeping) Keeps(refusal *field.Problem) bool { return refusal.Reason == "Refused" }

// following updates the copies of refused objects.
type following struct{ keeping }

func (following) Remote(local *corev1.ConfigMap, t field.Target, around decide.Inputs) (*corev1.ConfigMap, *field.Problem) {
	remote, _ := fixture.Plain{}.Remote(local, t, around)
	return remote, &field.Problem{Reason: "Refused"}
}

// TestMappedKeeps checks that a copy stays while its object is refused, if its kind keeps it. For all other
// reasons the copy is deleted.
func TestMappedKeeps(t *testing.T) {
	const remove = "delete in the provider UID remote-1"
	refuse := fixture.Data("refuse", "x")
	in := func(local, remote *corev1.ConfigMap, changes ...func(*fixture.Snapshot)) fixture.Snapshot {
		return fixture.Wanted(local, remote, append([]func(*fixture.Snapshot){func(s *fixture.Snapshot) { s.Known = true }}, changes...)...)
	}
	for name, test := range map[string]struct {
		in   fixture.Snapshot
		want []string
	}{
		"it is refused":                   {in(fixture.Local(refuse), fixture.Remote()), []string{"problem Refused", "event Refused"}},
		"it is refused, and not there":    {in(fixture.Local(refuse), nil), []string{"problem Refused", "event Refused"}},
		"it is refused, and should go":    {in(fixture.Local(refuse), fixture.Remote(), fixture.Unwanted), []string{remove}},
		"it is refused, and goes here":    {in(fixture.Local(refuse, fixture.Going), fixture.Remote()), []string{"problem Refused", "event Refused"}},
		"its owner keeps it from now on":  {in(fixture.Local(refuse, fixture.KeptHome), fixture.Remote()), []string{remove}},
		"it is not refused, and as it is": {in(fixture.Local(), fixture.Remote()), nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := decide.Next(fixture.Of(test.in), decide.NewMapped(decide.Translation[*corev1.ConfigMap](keeping{})))
			if diff := cmp.Diff(test.want, withEvent(got)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

// TestKeptFollows checks that a kept copy follows its object if it can, and that a refused copy is not
// created.
func TestKeptFollows(t *testing.T) {
	follows := decide.NewMapped(decide.Translation[*corev1.ConfigMap](following{}))
	for name, test := range map[string]struct {
		remote *corev1.ConfigMap
		want   []string
	}{
		"it has changed": {fixture.Remote(), []string{"patch in the provider team-home/settings map[a:2]"}},
		"it has not":     {fixture.Remote(fixture.Data("a", "2")), []string{"problem Refused", "event Refused"}},
		"it is gone":     {nil, []string{"problem Refused", "event Refused"}},
	} {
		in := fixture.Wanted(fixture.Local(fixture.Data("a", "2")), test.remote, func(s *fixture.Snapshot) { s.Known = true })
		if diff := cmp.Diff(test.want, withEvent(decide.Next(fixture.Of(in), follows))); diff != "" {
			t.Errorf("%s: plan (-want +got):\n%s", name, diff)
		}
	}
}

// choosing is a kind that goes only to providers with routed networks.
type choosing struct{ fixture.Plain }

func (choosing) Choose(_ *corev1.ConfigMap, reach network.Reach, around decide.Inputs) (goes, known bool) {
	return len(reach.Ranges) > 0 && around.Node == "spillway-eu", !reach.Pending
}

// TestMappedChooses checks that an object that is not for a provider has no copy there, and that its owner
// gets no event.
func TestMappedChooses(t *testing.T) {
	const create, remove = "create in the provider team-home/settings map[a:1]", "delete in the provider UID remote-1"
	ranges := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}
	in := func(reach network.Reach, local, remote *corev1.ConfigMap) fixture.Snapshot {
		return fixture.Wanted(local, remote, func(s *fixture.Snapshot) { s.Known, s.Reach = true, reach })
	}
	syncer := decide.NewMapped(decide.Translation[*corev1.ConfigMap](choosing{}))
	for name, test := range map[string]struct {
		in   fixture.Snapshot
		want []string
	}{
		"it goes":                          {in(network.Reach{Ranges: ranges}, fixture.Local(), nil), []string{create}},
		"it goes, and is there":            {in(network.Reach{Ranges: ranges}, fixture.Local(), fixture.Remote()), nil},
		"it does not":                      {in(network.Reach{}, fixture.Local(), nil), nil},
		"it does not, and is there":        {in(network.Reach{}, fixture.Local(), fixture.Remote()), []string{remove}},
		"that is not known":                {in(network.Reach{Ranges: ranges, Pending: true}, fixture.Local(), nil), nil},
		"that is not known, and is there":  {in(network.Reach{Ranges: ranges, Pending: true}, fixture.Local(fixture.Data("a", "2")), fixture.Remote()), nil},
		"it goes, and its owner keeps it":  {in(network.Reach{Ranges: ranges}, fixture.Local(fixture.KeptHome), fixture.Remote()), []string{remove}},
		"it does not, and would be denied": {in(network.Reach{}, fixture.Local(fixture.Data("refuse", "x")), nil), nil},
	} {
		if diff := cmp.Diff(test.want, withEvent(decide.Next(fixture.Of(test.in), syncer))); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", name, diff)
		}
	}
	if diff := cmp.Diff([]string(nil), withEvent(decide.ReportUnreadable(fixture.Of(in(network.Reach{}, fixture.Local(), nil)), syncer, "ConfigMap", connection.RightMissing("list configmaps")))); diff != "" {
		t.Errorf("without the right (-want +got):\n%s", diff)
	}
}
