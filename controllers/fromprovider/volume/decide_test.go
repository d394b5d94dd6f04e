package volume

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gocmp "github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
	"github.com/spillway-io/spillway/internal/field/provenance"
)

const (
	localYAML = `
metadata:
  namespace: team
  name: data
  uid: claim-uid
  annotations: {remote.spillway.io/eu: team-eu/data, volume.kubernetes.io/storage-provisioner: csi.spillway.io, volume.kubernetes.io/selected-node: spillway-eu}
spec: {storageClassName: fast, accessModes: [ReadWriteOnce], volumeMode: Filesystem, resources: {requests: {storage: 1Gi}}}
status: {phase: Pending}`
	remoteYAML = `
metadata: {namespace: team-eu, name: data, uid: remote-uid}
spec: {storageClassName: ssd, volumeName: pvc-1}
status: {phase: Bound, capacity: {storage: 2Gi}, accessModes: [ReadWriteOnce, ReadWriteMany]}`
	wantYAML = `
metadata:
  name: spillway-eu-claim-uid
  labels: {synced-to.spillway.io/eu: "true"}
  annotations: {spillway.io/remote-claim: team-eu/data, pv.kubernetes.io/provisioned-by: csi.spillway.io}
  finalizers: [sync.spillway.io/eu]
spec:
  capacity: {storage: 2Gi}
  accessModes: [ReadWriteOnce]
  volumeMode: Filesystem
  storageClassName: fast
  persistentVolumeReclaimPolicy: Delete
  csi: {driver: csi.spillway.io, volumeHandle: remote-uid}
  claimRef: {apiVersion: v1, kind: PersistentVolumeClaim, namespace: team, name: data, uid: claim-uid}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: spillway.io/cluster, operator: In, values: [eu]}]}]}}`
)

// merged returns an object with changes, or nil for "none".
func merged[T any](t *testing.T, yaml, more string) *T {
	t.Helper()
	if more == "none" {
		return nil
	}
	obj := fieldtest.Parse[T](t, yaml)
	fieldtest.Merged(t, obj, more)
	return obj
}

func TestNewVolume(t *testing.T) {
	immediate, waits := field.Storage{Reclaim: corev1.PersistentVolumeReclaimDelete}, field.Storage{Reclaim: corev1.PersistentVolumeReclaimRetain, Binding: storagev1.VolumeBindingWaitForFirstConsumer}
	const pending = `{spec: {volumeName: ""}, status: {phase: Pending, capacity: null}}`
	for name, test := range map[string]struct {
		local, remote string
		storage       *field.Storage
		// class is the consumer's class: by default one that says Delete.
		class *field.Storage
		want  string // Changes of the volume, a reason, or "nothing".
	}{
		"bound there":                        {storage: &immediate},
		"of an unknown class":                {want: `{spec: {persistentVolumeReclaimPolicy: Retain}}`},
		"of a class that retains here":       {storage: &immediate, class: &waits, want: `{spec: {persistentVolumeReclaimPolicy: Retain}}`},
		"of a class that is unknown here":    {storage: &immediate, class: &field.Storage{}, want: `{spec: {persistentVolumeReclaimPolicy: Retain}}`},
		"for another node by now":            {local: `{metadata: {annotations: {volume.kubernetes.io/selected-node: spillway-us}}}`, storage: &immediate, want: "nothing"},
		"for another driver":                 {local: `{metadata: {annotations: {volume.kubernetes.io/storage-provisioner: csi.example.com}}}`, storage: &immediate, want: "nothing"},
		"where it was not sent":              {remote: `{metadata: {namespace: elsewhere}}`, storage: &immediate, want: "nothing"},
		"pending there":                      {remote: pending, storage: &immediate, want: "nothing"},
		"pending there, of an unknown class": {remote: pending, want: "nothing"},
		"waiting there for its first pod":    {remote: pending, storage: &waits, want: `{spec: {capacity: {storage: 1Gi}, persistentVolumeReclaimPolicy: Retain}}`},
		"smaller than asked for":             {remote: `{status: {capacity: {storage: 1Mi}}}`, storage: &immediate, want: v1alpha1.ReasonVolumeTooSmall},
		"of a capacity that costs too much":  {remote: `{status: {capacity: {storage: 1e21}}}`, storage: &immediate, want: field.ReasonQuantity},
		"of fewer modes":                     {remote: `{status: {accessModes: [ReadOnlyMany]}}`, storage: &immediate, want: v1alpha1.ReasonVolumeTooSmall},
		"lost there":                         {remote: `{status: {phase: Lost}}`, storage: &immediate, want: v1alpha1.ReasonVolumeLost},
		"bound to the volume of somebody else, with its affinity, and on a node": {remote: `{spec: {volumeName: somebody-elses}}`, storage: &immediate},
		"being deleted there":     {remote: `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}}`, storage: &immediate, want: "nothing"},
		"being deleted here":      {local: `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}}`, storage: &immediate, want: "nothing"},
		"lost here":               {local: `{spec: {volumeName: spillway-eu-claim-uid}, status: {phase: Lost}}`, storage: &immediate, want: "nothing"},
		"with a UID that is none": {remote: `{metadata: {uid: "a/b"}}`, storage: &immediate, want: "nothing"},
		"gone here":               {local: "none", storage: &immediate, want: "nothing"},
		"gone there":              {remote: "none", storage: &immediate, want: "nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			plan := decideVolume(snapshot{
				clusterID: "eu", claim: merged[corev1.PersistentVolumeClaim](t, localYAML, test.local), remote: merged[corev1.PersistentVolumeClaim](t, remoteYAML, test.remote),
				storage: test.storage, class: cmp.Or(test.class, &immediate),
			})
			switch {
			case plan.problem != nil:
				if plan.create != nil || plan.problem.Reason != test.want {
					t.Errorf("got %v, want %s", plan.problem, test.want)
				}
			case plan.create == nil:
				if test.want != "nothing" {
					t.Errorf("nothing is created, want %s", test.want)
				}
			case test.want != "" && !strings.HasPrefix(test.want, "{"):
				t.Errorf("it is created, want %s", test.want)
			default:
				if diff := gocmp.Diff(merged[corev1.PersistentVolume](t, wantYAML, test.want), plan.create); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			}
		})
	}
}

func typesOf(conditions []corev1.PersistentVolumeClaimCondition) []corev1.PersistentVolumeClaimConditionType {
	var all []corev1.PersistentVolumeClaimConditionType
	for _, condition := range conditions {
		all = append(all, condition.Type)
	}
	return all
}

func TestUnlabelledVolume(t *testing.T) {
	before := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "spillway-eu-claim-uid", Labels: map[string]string{"a": "b"}}}
	want := map[string]string{"a": "b", "synced-to.spillway.io/eu": "true"}
	for finalizers, leaving := range map[string]*metav1.Time{"[sync.spillway.io/eu]": nil, "[]": {}} {
		if leaving != nil {
			*leaving = metav1.Now()
		}
		before.DeletionTimestamp = leaving
		plan := decideVolume(snapshot{clusterID: "eu", unlabelled: before}) // Also if the provider's claim is gone.
		if plan.labelled == nil || !maps.Equal(plan.labelled.Labels, want) || len(before.Labels) != 1 || fmt.Sprint(plan.labelled.Finalizers) != finalizers {
			t.Errorf("got %+v", plan.labelled)
		}
	}
}

// TestKeyOfVolume: the name of a volume says which claim it is for, whatever becomes of its claimRef.
func TestKeyOfVolume(t *testing.T) {
	const uid = "7b0a3f0e-1c2d-4e5f-8a9b-0c1d2e3f4a5b"
	r := &reconciler{Connection: engine.Connection{Mark: provenance.Mark{ClusterID: "eu"}}}
	for change, want := range map[string]string{
		`{metadata: {name: spillway-eu-` + uid + `}, spec: {claimRef: {uid: ` + uid + `}}}`:      "team/data " + uid,
		`{metadata: {name: spillway-eu-` + uid + `}, spec: {claimRef: null}}`:                    "/ " + uid,
		`{metadata: {name: spillway-eu-` + uid + `}, spec: {claimRef: {uid: another}}}`:          "/ " + uid,
		`{metadata: {name: spillway-eu-west-` + uid + `}, spec: {claimRef: {uid: ` + uid + `}}}`: "",
	} {
		got := ""
		if key, ours := r.keyOfVolume(merged[corev1.PersistentVolume](t, wantYAML, change)); ours {
			got = fmt.Sprintf("%s %s", key.NamespacedName, key.UID)
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", change, got, want)
		}
	}
}

// TestNameConflict: the manager's own volume is no conflict, although no cache shows it yet.
func TestNameConflict(t *testing.T) {
	for change, want := range map[string]string{"": "", `{spec: {claimRef: {uid: another}}}`: v1alpha1.ReasonNameConflict, `{spec: {csi: {volumeHandle: another}}}`: v1alpha1.ReasonNameConflict} {
		home := fake.NewClientBuilder().WithObjects(merged[corev1.PersistentVolume](t, wantYAML, change)).Build()
		r := &reconciler{consumer: home, live: home}
		s := snapshot{clusterID: "eu", claim: merged[corev1.PersistentVolumeClaim](t, localYAML, ""), remote: merged[corev1.PersistentVolumeClaim](t, remoteYAML, "")}
		got, err := r.act(t.Context(), s, plan{create: merged[corev1.PersistentVolume](t, wantYAML, "")})
		if err != nil || (got == nil) != (want == "") || got != nil && got.Reason != want {
			t.Errorf("%s: got %v, %v, want %q", change, got, err, want)
		}
	}
}

// TestForbidden: what a policy refuses is no missing right.
func TestForbidden(t *testing.T) {
	for why, want := range map[string]string{
		`User "system:serviceaccount:a:b" cannot create resource "persistentvolumes"`: v1alpha1.ReasonRightsMissing,
		`ValidatingAdmissionPolicy 'p' with binding 'p' denied request: no room`:      v1alpha1.ReasonForbiddenHere,
	} {
		err := apierrors.NewForbidden(corev1.Resource("persistentvolumes"), "v", errors.New(why))
		if got := forbidden("v", err); got.Reason != want || !strings.Contains(got.Message, why) {
			t.Errorf("%s: got %v", why, got)
		}
	}
}

func TestOldVolume(t *testing.T) {
	const settled = `{status: {phase: Bound, capacity: {storage: 2Gi}}}`
	const bound, released, leaving = `{status: {phase: Bound}}`, `{status: {phase: Released}}`, `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}, status: {phase: Released}}`
	const retained, retainedLeaving = `{spec: {persistentVolumeReclaimPolicy: Retain}, status: {phase: Released}}`,
		`{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}, spec: {persistentVolumeReclaimPolicy: Retain}, status: {phase: Released}}`
	const unbound = `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}, status: {phase: Available}}`
	const elsewhere = `{metadata: {annotations: {pv.kubernetes.io/bind-completed: "yes"}}, spec: {volumeName: another}, status: {phase: Bound}}`
	const free, freeLeaving = `{spec: {persistentVolumeReclaimPolicy: Retain, claimRef: {uid: ""}}, status: {phase: Available}}`,
		`{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}, spec: {persistentVolumeReclaimPolicy: Retain, claimRef: {uid: ""}}, status: {phase: Available}}`
	const kept = `{metadata: {annotations: {spillway.io/kept-for: spillway-eu-claim-uid}}}`
	for name, test := range map[string]struct{ local, remote, volume, want string }{
		"in use":                            {volume: bound, local: settled, want: "nothing"},
		"larger there":                      {volume: bound, remote: `{status: {capacity: {storage: 3Gi}}}`, want: "3Gi"},
		"larger on the claim, too":          {local: `{status: {phase: Bound}}`, volume: `{spec: {capacity: {storage: 3Gi}}, status: {phase: Bound}}`, remote: `{status: {capacity: {storage: 3Gi}}}`, want: "claim 3Gi []"},
		"its file system grows later":       {local: `{status: {phase: Bound}}`, volume: bound, remote: `{status: {conditions: [{type: FileSystemResizePending, status: "True"}, {type: Other, status: "True"}, {type: Resizing, status: "False"}]}}`, want: "claim 2Gi [FileSystemResizePending]"},
		"it has grown":                      {volume: bound, local: `{status: {phase: Bound, capacity: {storage: 2Gi}, conditions: [{type: FileSystemResizePending, status: "True"}, {type: Other, status: "True"}]}}`, want: "claim 2Gi [Other]"},
		"smaller there":                     {volume: bound, remote: `{status: {capacity: {storage: 1Gi}}}`, want: v1alpha1.ReasonVolumeTooSmall},
		"replaced there":                    {volume: bound, remote: `{metadata: {uid: another}}`, want: v1alpha1.ReasonVolumeLost},
		"gone there, in use":                {volume: bound, remote: "none", want: "nothing"},
		"in use, and deleted by hand":       {local: `{spec: {volumeName: spillway-eu-claim-uid}, status: {phase: Bound}}`, volume: `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}, status: {phase: Bound}}`, want: "nothing"},
		"released":                          {volume: released, local: "none", want: "nothing"},
		"released, and gone there":          {volume: released, local: "none", remote: "none", want: "delete"},
		"released, and replaced there":      {volume: released, local: "none", remote: `{metadata: {uid: another}}`, want: "delete"},
		"leaving":                           {volume: leaving, local: "none", want: "nothing"},
		"leaving, and gone there":           {volume: leaving, local: "none", remote: "none", want: "finalizers []"},
		"retained":                          {volume: retained, local: "none", remote: kept, want: "nothing"},
		"retained, and gone there":          {volume: retained, local: "none", remote: "none", want: "nothing"},
		"retained, leaving, and not noted":  {volume: retainedLeaving, local: "none", want: "nothing"},
		"retained, leaving, and kept there": {volume: retainedLeaving, local: "none", remote: kept, want: "finalizers []"},
		"deleted before it is bound":        {volume: unbound, want: "finalizers []"},
		"deleted before it is bound, and there is another": {volume: unbound, local: `{spec: {volumeName: another}}`, want: "nothing"},
		"its claim names another":                          {volume: `{status: {phase: Available}}`, local: `{spec: {volumeName: another}}`, want: "nothing"},
		"its claim has another":                            {volume: released, local: elsewhere, want: "nothing"},
		"its claim has another, and nothing is there":      {volume: released, local: elsewhere, remote: `{spec: {volumeName: ""}}`, want: "confirmed delete"},
		"its claim has another, and all is gone there":     {volume: released, local: elsewhere, remote: "none", want: "confirmed delete"},
		"retained, and its claim has another":              {volume: free, local: elsewhere, want: "confirmed delete"},
		"retained, its claim has another, and it leaves":   {volume: freeLeaving, local: elsewhere, want: "confirmed finalizers []"},
		"retained, and freed by an administrator":          {volume: free, local: "none", remote: kept, want: "nothing"},
		"its claim asks another, and it is being deleted":  {volume: `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}, status: {phase: Bound}}`, local: `{metadata: {annotations: {volume.kubernetes.io/selected-node: spillway-us}}}`, want: "confirmed finalizers []"},
		"its claim asks it again, and it is being deleted": {volume: `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}, status: {phase: Bound}}`, want: "VolumeLost"},
		"its claim asks another provider":                  {volume: `{status: {phase: Available}}`, local: `{metadata: {annotations: {volume.kubernetes.io/selected-node: spillway-us}}}`, want: "confirmed delete"},
		"its claim asks another, and Kubernetes has tried": {volume: bound, local: `{metadata: {annotations: {volume.kubernetes.io/selected-node: spillway-us}}}`, want: "confirmed delete"},
		"its claim asks another, by its owner":             {volume: bound, local: `{metadata: {annotations: {volume.kubernetes.io/selected-node: "", spillway.io/provider: us}}}`, want: "confirmed delete"},
		"its claim asks none for the moment":               {volume: bound, local: `{metadata: {annotations: {volume.kubernetes.io/selected-node: ""}}}`, want: "nothing"},
		"its claim is deleted, and asks another":           {volume: bound, local: `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z", annotations: {volume.kubernetes.io/selected-node: spillway-us}}}`, want: "nothing"},
		"a later claim of that name has another":           {volume: `{spec: {claimRef: {uid: earlier}}, status: {phase: Bound}}`, local: `{spec: {volumeName: another}}`, want: "VolumeLost"},
		"deleted without its claim, and gone there":        {volume: unbound, local: "none", remote: "none", want: "finalizers []"},
	} {
		t.Run(name, func(t *testing.T) {
			plan := decideVolume(snapshot{
				clusterID: "eu", claim: merged[corev1.PersistentVolumeClaim](t, localYAML, test.local), remote: merged[corev1.PersistentVolumeClaim](t, remoteYAML, test.remote),
				volume: merged[corev1.PersistentVolume](t, wantYAML, test.volume),
			})
			got := "nothing"
			switch {
			case plan.create != nil:
				got = "create"
			case plan.problem != nil:
				got = plan.problem.Reason
			case plan.delete != nil:
				got = "delete"
			case plan.status != nil:
				got = fmt.Sprintf("claim %s %v", plan.status.Status.Capacity.Storage(), typesOf(plan.status.Status.Conditions))
			case plan.after != nil && len(plan.after.Finalizers) == 0:
				got = "finalizers []"
			case plan.after != nil:
				got = plan.after.Spec.Capacity.Storage().String()
			}
			if plan.confirms != nil {
				got = "confirmed " + got
			}
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// TestIsCurrent: a volume is not withdrawn because of what an old cache shows of its claim.
func TestIsCurrent(t *testing.T) {
	seen := merged[corev1.PersistentVolumeClaim](t, localYAML, `{metadata: {resourceVersion: "5"}}`)
	for change, want := range map[string]bool{"": true, `{metadata: {resourceVersion: "6"}}`: false, `{metadata: {uid: another}}`: false, `{metadata: {name: other}}`: false} {
		now := seen.DeepCopy()
		fieldtest.Merged(t, now, cmp.Or(change, "{}"))
		got, err := isCurrent(t.Context(), fake.NewClientBuilder().WithObjects(now).Build(), seen)
		if err != nil || got != want {
			t.Errorf("%s: got %t, %v", change, got, err)
		}
	}
}

// TestUnclaimed: a platform engineer learns of volumes that nothing in the consumer stands for.
func TestUnclaimed(t *testing.T) {
	for name, test := range map[string]struct {
		local, remote, volume string
		want                  bool
	}{
		"its claim is gone":                        {local: "none", volume: "none", want: true},
		"its claim is gone, and it was never used": {local: "none", remote: `{spec: {volumeName: ""}}`, volume: "none"},
		"its claim has another volume":             {local: `{spec: {volumeName: spillway-us-claim-uid}}`, volume: "none", want: true},
		"its claim waits for it":                   {volume: "none"},
		"its claim has lost it":                    {local: `{spec: {volumeName: spillway-eu-claim-uid}}`, volume: "none"},
		"its volume is here":                       {local: "none"},
		"it is kept for a retained volume":         {local: "none", remote: `{metadata: {annotations: {spillway.io/kept-for: spillway-eu-claim-uid}}}`, volume: "none"},
		"it is being deleted":                      {local: "none", remote: `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}}`, volume: "none"},
	} {
		s := snapshot{
			clusterID: "eu", claim: merged[corev1.PersistentVolumeClaim](t, localYAML, test.local), remote: merged[corev1.PersistentVolumeClaim](t, remoteYAML, test.remote),
			volume: merged[corev1.PersistentVolume](t, wantYAML, test.volume),
		}
		problem := s.unclaimed(decide.Key{UID: "claim-uid"})
		if got := problem != nil; got != test.want {
			t.Errorf("%s: %v", name, problem)
		}
	}
}
