package state

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
)

var (
	adopt  = v1alpha1.HostedClusterSpec{DeletionPolicy: v1alpha1.DeletionPolicyDelete}
	create = v1alpha1.HostedClusterSpec{DeletionPolicy: v1alpha1.DeletionPolicyDelete, Lifecycle: v1alpha1.Lifecycle{Mode: v1alpha1.LifecycleCreate}}
	whole  = cloud.Reading{Complete: true, UID: "1"}
	busy   = cloud.Reading{Complete: true, UID: "1", Busy: "UPDATING"}
	there  = v1alpha1.ClusterConfig{EKSConfig: &v1alpha1.EKSConfig{}}
	done   = report(cloud.Operation{Done: true})
)

func report(op cloud.Operation) map[string]cloud.Operation {
	return map[string]cloud.Operation{"t": op}
}

func status(op *v1alpha1.Operation) v1alpha1.HostedClusterStatus {
	status := v1alpha1.HostedClusterStatus{UpstreamSpec: there, UpstreamUID: "1"}
	if op != nil {
		status.Operations = []v1alpha1.Operation{*op}
	}
	return status
}

func TestNext(t *testing.T) {
	var (
		unsent = status(&v1alpha1.Operation{RequestToken: "t"})
		sent   = status(&v1alpha1.Operation{RequestToken: "t", CloudID: "o"})
		failed = status(&v1alpha1.Operation{RequestToken: "t", CloudID: "o", Message: "no"})
		both   = failed
		making = v1alpha1.HostedClusterStatus{Operations: []v1alpha1.Operation{{Call: CallCreate}}}
	)
	both.Operations = append(both.Operations, sent.Operations...)
	pools := func(ops ...v1alpha1.Operation) v1alpha1.HostedClusterStatus {
		all := status(nil)
		all.Operations = ops
		return all
	}
	running, ended := cloud.Operation{}, cloud.Operation{Done: true}
	p, q := v1alpha1.Operation{RequestToken: "p", CloudID: "o", Call: "pool", Item: "p"}, v1alpha1.Operation{RequestToken: "q", CloudID: "o", Call: "pool", Item: "q"}
	unknown := v1alpha1.Operation{RequestToken: "r", Call: "pool", Item: "r"}
	alone := v1alpha1.Operation{RequestToken: "p", CloudID: "o", Call: "other", Item: "p"}
	changing := cloud.Reading{Complete: true, UID: "1", Changing: map[string]string{"r": "UPDATING"}}
	reports := func(p, q cloud.Operation) map[string]cloud.Operation {
		return map[string]cloud.Operation{"p": p, "q": q}
	}
	parallel := func(call string) bool { return call == "pool" }
	now := time.Now()
	asked := func(ago time.Duration, message string) v1alpha1.HostedClusterStatus {
		return v1alpha1.HostedClusterStatus{Operations: []v1alpha1.Operation{{Call: CallCreate, StartedAt: metav1.NewTime(now.Add(-ago)), Message: message}}}
	}
	tests := map[string]struct {
		seen  Seen
		phase Phase
		step  Step
	}{
		"never read":                                {Seen{Reading: whole}, Importing, Sync},
		"as it was":                                 {Seen{Status: status(nil), Reading: whole}, Idle, Sync},
		"half a read":                               {Seen{Status: status(nil), Reading: cloud.Reading{UID: "1"}}, Incomplete, Wait},
		"somebody else's operation":                 {Seen{Status: status(nil), Reading: busy}, ForeignUpdate, Wait},
		"somebody else's, before the import":        {Seen{Reading: busy}, ForeignUpdate, Wait},
		"not there, and was never read":             {Seen{Spec: adopt, Missing: true}, NotFound, Wait},
		"not there, to be made":                     {Seen{Spec: create, Missing: true}, Creating, Create},
		"there already, to be made":                 {Seen{Spec: create, Reading: whole}, AlreadyExists, Wait},
		"there already, and asked for":              {Seen{Spec: create, Status: making, Reading: busy}, AlreadyExists, Wait},
		"made once, and its mark has gone":          {Seen{Spec: create, Status: status(nil), Reading: whole}, Idle, Sync},
		"to be deleted, there already":              {Seen{Deleting: true, Spec: create, Reading: whole}, Deleting, Release},
		"to be deleted, asked for, not marked":      {Seen{Deleting: true, Spec: create, Status: making, Reading: busy}, NotMarked, Wait},
		"to be deleted, adopted":                    {Seen{Deleting: true, Spec: adopt, Status: status(nil), Reading: whole}, NotMarked, Wait},
		"not there, asked for":                      {Seen{Spec: create, Status: making, Missing: true}, Creating, Create},
		"being made":                                {Seen{Spec: create, Status: making, Marked: true, Reading: busy}, Creating, Wait},
		"made, and half a read":                     {Seen{Spec: create, Status: making, Marked: true, Reading: cloud.Reading{UID: "1"}}, Incomplete, Wait},
		"made":                                      {Seen{Spec: create, Status: making, Marked: true, Reading: whole}, Importing, Sync},
		"deleted by somebody":                       {Seen{Spec: create, Status: status(nil), Missing: true}, NotFound, Wait},
		"another one of its name":                   {Seen{Status: status(nil), Reading: cloud.Reading{Complete: true, UID: "2"}}, Replaced, Wait},
		"another one, and a request":                {Seen{Status: unsent, Reading: cloud.Reading{Complete: true, UID: "2"}}, Replaced, Wait},
		"a cloud without identities":                {Seen{Status: status(nil), Reading: cloud.Reading{Complete: true}}, Idle, Sync},
		"perhaps it was sent":                       {Seen{Status: unsent, Reading: whole}, Writing, Resume},
		"perhaps it was sent, and it is busy":       {Seen{Status: unsent, Reading: busy}, Waiting, Wait},
		"under way, though it says ACTIVE":          {Seen{Status: sent, Reading: whole, Operations: report(cloud.Operation{})}, Waiting, Wait},
		"done, and somebody else's is under way":    {Seen{Status: sent, Reading: busy, Operations: done}, Waiting, Wait},
		"done":                                      {Seen{Status: sent, Reading: whole, Operations: done}, Verifying, Sync},
		"done, and half a read":                     {Seen{Status: sent, Reading: cloud.Reading{UID: "1"}, Operations: done}, Incomplete, Wait},
		"it has failed":                             {Seen{Status: sent, Reading: whole, Operations: report(cloud.Operation{Done: true, Failed: true})}, Failed, Fail},
		"it had failed":                             {Seen{Status: failed, Reading: whole}, Failed, Sync},
		"it had failed, and somebody else is busy":  {Seen{Status: failed, Reading: busy}, ForeignUpdate, Wait},
		"refused, and another is under way":         {Seen{Status: both, Reading: whole, Operations: report(cloud.Operation{})}, Waiting, Wait},
		"refused, and another is done":              {Seen{Status: both, Reading: whole, Operations: done}, Verifying, Sync},
		"refused, and another has failed":           {Seen{Status: both, Reading: whole, Operations: report(cloud.Operation{Done: true, Failed: true})}, Failed, Fail},
		"to be deleted":                             {Seen{Deleting: true, Spec: adopt, Status: status(nil), Marked: true, Reading: whole}, Deleting, Delete},
		"to be deleted, while it is busy":           {Seen{Deleting: true, Spec: adopt, Status: status(nil), Marked: true, Reading: busy}, Deleting, Wait},
		"deleted":                                   {Seen{Deleting: true, Spec: adopt, Status: status(nil), Missing: true}, Deleting, Release},
		"another one of its name is not deleted":    {Seen{Deleting: true, Spec: adopt, Status: status(nil), Reading: cloud.Reading{Complete: true, UID: "2"}}, Deleting, Release},
		"to be deleted, and just asked for":         {Seen{Deleting: true, Spec: adopt, Status: asked(time.Minute, ""), Missing: true, Now: now}, Deleting, Wait},
		"asked for, by a clock that is ahead":       {Seen{Deleting: true, Spec: adopt, Status: asked(-time.Minute, ""), Missing: true, Now: now}, Deleting, Wait},
		"to be deleted, and it never appeared":      {Seen{Deleting: true, Spec: adopt, Status: asked(CreateShows, ""), Missing: true, Now: now}, Deleting, Release},
		"to be deleted, and it was refused":         {Seen{Deleting: true, Spec: adopt, Status: asked(time.Minute, "no"), Missing: true, Now: now}, Deleting, Release},
		"to be deleted, and it appears":             {Seen{Deleting: true, Spec: adopt, Status: asked(time.Minute, ""), Marked: true, Reading: whole, Now: now}, Deleting, Delete},
		"a duplicate, just asked for":               {Seen{Deleting: true, Spec: create, Twin: "b", Status: asked(time.Minute, ""), Missing: true, Now: now}, Deleting, Wait},
		"a duplicate, and it never appeared":        {Seen{Deleting: true, Spec: create, Twin: "b", Status: asked(CreateShows, ""), Missing: true, Now: now}, Deleting, Release},
		"a duplicate, and it was refused":           {Seen{Deleting: true, Spec: create, Twin: "b", Status: asked(time.Minute, "no"), Missing: true, Now: now}, Deleting, Release},
		"a duplicate, and it appears":               {Seen{Deleting: true, Spec: create, Twin: "b", Status: asked(time.Minute, ""), Marked: true, Reading: whole, Now: now}, Deleting, Delete},
		"a duplicate, and the other has read it":    {Seen{Deleting: true, Spec: create, Twin: "b", TwinHas: true, Status: asked(time.Minute, ""), Marked: true, Reading: whole, Now: now}, Deleting, Release},
		"a duplicate, and the cluster is another's": {Seen{Deleting: true, Spec: create, Twin: "b", Status: asked(time.Minute, ""), Reading: whole, Now: now}, Deleting, Release},
		"a duplicate, asked for, is not deleted":    {Seen{Spec: create, Twin: "b", Status: asked(time.Minute, ""), Missing: true, Now: now}, Duplicate, Wait},
		"two pools are changed":                     {Seen{Parallel: parallel, Status: pools(p, q), Reading: whole, Operations: reports(running, running)}, Waiting, Sync},
		"one of two pools is done":                  {Seen{Parallel: parallel, Status: pools(p, q), Reading: whole, Operations: reports(running, ended)}, Waiting, Sync},
		"both pools are done":                       {Seen{Parallel: parallel, Status: pools(p, q), Reading: whole, Operations: reports(ended, ended)}, Verifying, Sync},
		"one of two pools has failed":               {Seen{Parallel: parallel, Status: pools(p, q), Reading: whole, Operations: reports(running, cloud.Operation{Done: true, Failed: true})}, Failed, Fail},
		"two pools, and one answer was lost":        {Seen{Parallel: parallel, Status: pools(p, unknown), Reading: whole, Operations: reports(running, ended)}, Writing, Resume},
		"its answer was lost, and it is changed":    {Seen{Parallel: parallel, Status: pools(unknown), Reading: changing}, Waiting, Sync},
		"a call that is alone":                      {Seen{Parallel: parallel, Status: pools(alone), Reading: whole, Operations: reports(running, ended)}, Waiting, Wait},
		"two pools, and the cluster is busy":        {Seen{Parallel: parallel, Status: pools(p, q), Reading: busy, Operations: reports(running, ended)}, Waiting, Wait},
		"somebody else changes a pool":              {Seen{Parallel: parallel, Status: status(nil), Reading: changing}, ForeignUpdate, Sync},
		"somebody else does, before the import":     {Seen{Parallel: parallel, Reading: changing}, ForeignUpdate, Wait},
		"to be deleted, while a pool is changed":    {Seen{Deleting: true, Spec: adopt, Status: status(nil), Marked: true, Reading: changing}, Deleting, Wait},
		"an update of ours does not hold deletion":  {Seen{Deleting: true, Spec: adopt, Status: sent, Marked: true, Reading: whole, Operations: done}, Deleting, Delete},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if phase, step := Next(test.seen); phase != test.phase || step != test.step {
				t.Errorf("got %s, %s; want %s, %s", phase, step, test.phase, test.step)
			}
		})
	}
}

// TestOthers: a pool is left alone while its request is carried out, or has to be resumed after another one.
func TestOthers(t *testing.T) {
	op := func(token, id string) v1alpha1.Operation {
		return v1alpha1.Operation{RequestToken: token, CloudID: id, Call: "pool", Item: token}
	}
	s := Seen{
		Parallel: func(string) bool { return true }, Operations: map[string]cloud.Operation{"done": {Done: true}},
		Status: v1alpha1.HostedClusterStatus{Operations: []v1alpha1.Operation{op("running", "o"), op("done", "o"), op("lost", ""), op("lost too", "")}},
	}
	var items string
	for _, op := range s.Others() {
		items += op.Item + ","
	}
	if next := s.Unknown(); next == nil || next.Item != "lost" || items != "running,lost too," {
		t.Errorf("next is %+v, and the others are %s", next, items)
	}
}

func TestEarly(t *testing.T) {
	tests := map[string]struct {
		policy           v1alpha1.DeletionPolicy
		paused, deleting bool
		twin             string
		phase            Phase
		step             Step
	}{
		"neither":                    {},
		"paused":                     {"", true, false, "", Paused, Wait},
		"forgotten":                  {"", false, true, "", Deleting, Release},
		"forgotten in words":         {v1alpha1.DeletionPolicyOrphan, false, true, "", Deleting, Release},
		"forgotten, paused":          {"", true, true, "", Deleting, Release},
		"deleted, paused":            {v1alpha1.DeletionPolicyDelete, true, true, "", Paused, Wait},
		"deleted":                    {v1alpha1.DeletionPolicyDelete, false, true, "", "", ""},
		"with another policy":        {v1alpha1.DeletionPolicyDelete, false, false, "", "", ""},
		"another has it":             {"", false, false, "other", Duplicate, Wait},
		"another has it, deleted":    {v1alpha1.DeletionPolicyDelete, false, true, "other", Deleting, Release},
		"another has it, and paused": {v1alpha1.DeletionPolicyDelete, true, true, "other", Paused, Wait},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			phase, step, ok := Early(Seen{Spec: v1alpha1.HostedClusterSpec{Paused: test.paused, DeletionPolicy: test.policy}, Deleting: test.deleting, Twin: test.twin})
			if phase != test.phase || step != test.step || ok != (test.phase != "") {
				t.Errorf("got %s, %s, %v", phase, step, ok)
			}
		})
	}
}

func TestDelay(t *testing.T) {
	tests := map[string]struct {
		phase            Phase
		lasted, interval time.Duration
		random           float64
		want             time.Duration
	}{
		"idle, least":                {Idle, time.Hour, 0, 0, 270 * time.Second},
		"idle, most":                 {Idle, time.Hour, 0, 1, 330 * time.Second},
		"idle, an interval":          {Idle, 0, time.Hour, 0.5, time.Hour},
		"failed":                     {Failed, 0, 0, 0.5, DefaultInterval},
		"waiting, at first":          {Waiting, 0, 0, 0, 15 * time.Second},
		"waiting, for a while":       {Waiting, 40 * time.Second, 0, 0, 40 * time.Second},
		"waiting, for long":          {Waiting, time.Hour, 0, 0, 2 * time.Minute},
		"waiting, back in time":      {Waiting, -time.Hour, 0, 0, 15 * time.Second},
		"half a read":                {Incomplete, 0, 0, 0, 5 * time.Second},
		"half a read, again, again":  {Incomplete, time.Hour, 0, 0, 5 * time.Minute},
		"somebody else's, for a bit": {ForeignUpdate, time.Minute, 0, 0, time.Minute},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Delay(test.phase, test.lasted, test.interval, test.random); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestPause(t *testing.T) {
	tests := map[string]struct {
		reason     string
		deletes    bool
		last, want time.Duration
	}{
		"refused":                  {"", false, 0, time.Hour},
		"a right is missing":       {v1alpha1.ReasonRightMissing, true, time.Hour, 10 * time.Minute},
		"busy":                     {v1alpha1.ReasonBusy, true, 0, 15 * time.Second},
		"busy again":               {v1alpha1.ReasonBusy, false, 15 * time.Second, 30 * time.Second},
		"busy for long":            {v1alpha1.ReasonBusy, false, 8 * time.Minute, 10 * time.Minute},
		"a deletion":               {"", true, 0, time.Minute},
		"a deletion, again":        {"", true, time.Minute, 2 * time.Minute},
		"a deletion, again, again": {"", true, 40 * time.Minute, time.Hour},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Pause(test.reason, test.deletes, test.last); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
