package persistentvolumeclaim

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

const (
	providedYAML = `
metadata:
  namespace: team
  name: data
  uid: claim-uid
  resourceVersion: "5"
  labels: {synced-to.spillway.io/eu: "true"}
  annotations: {remote.spillway.io/eu: team-eu/data, volume.kubernetes.io/storage-provisioner: csi.spillway.io, volume.kubernetes.io/selected-node: spillway-eu}
  finalizers: [sync.spillway.io/eu]
spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
status: {phase: Pending}`
	volumeYAML = `
metadata: {name: spillway-eu-claim-uid, uid: volume-uid, resourceVersion: "7"}
spec:
  persistentVolumeReclaimPolicy: Delete
  claimRef: {namespace: team, name: data, uid: claim-uid}
  csi: {driver: csi.spillway.io, volumeHandle: remote-uid}
status: {phase: Bound}`
	bound    = `{metadata: {annotations: {pv.kubernetes.io/bind-completed: "yes"}}, spec: {volumeName: spillway-eu-claim-uid}, status: {phase: Bound}}`
	deleted  = `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}}`
	released = `{status: {phase: Released}}`
	used     = `{spec: {volumeName: pvc-1}}`

	deletedAsReleased = "delete remote-uid if spillway-eu-claim-uid@7"
	deletedAsUnused   = "delete remote-uid if data@5 and no spillway-eu-claim-uid"

	plain      = `{metadata: {name: web}, spec: {volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]}}`
	privileged = `{metadata: {name: web}, spec: {volumes: [{name: data, persistentVolumeClaim: {claimName: data}}], containers: [{name: web, securityContext: {privileged: true}}]}}`
)

// claimLife is a moment in the life of a claim whose volume the provider creates. An empty text is the usual object,
// and "none" stands for none.
type claimLife struct {
	local, remote, volume string
	// unread reports that the consumer's volumes cannot be read yet, and elsewhere that the namespace goes elsewhere.
	unread, elsewhere, unwanted bool
	// metadata reports that only the claim's metadata is known.
	metadata bool
	limits   *field.Limits
	pods     []string // That wait for it.
	want     string
}

func (l claimLife) state(t *testing.T) decide.ObjectState[*corev1.PersistentVolumeClaim] {
	t.Helper()
	around := decide.Inputs{
		Node: "spillway-eu", Provides: true, Limits: &field.Limits{StorageClasses: []string{"ssd"}, VolumeAttributesClasses: []string{"there-fine"}},
		Classes: field.Classes{{Kind: v1alpha1.ClassStorage, Name: "fast", RemoteName: "ssd"}, {Kind: v1alpha1.ClassVolumeAttributes, Name: "fine", RemoteName: "there-fine"}},
		Waiting: func(string) (pods []corev1.Pod) {
			for _, yaml := range l.pods {
				pods = append(pods, *fieldtest.Parse[corev1.Pod](t, yaml))
			}
			return pods
		},
		Volume: func(name string) (*corev1.PersistentVolume, bool) {
			if l.volume == "none" || name != "spillway-eu-claim-uid" {
				return nil, !l.unread
			}
			volume := fieldtest.Parse[corev1.PersistentVolume](t, volumeYAML)
			fieldtest.Merged(t, volume, l.volume)
			return volume, !l.unread
		},
	}
	usual := fieldtest.Parse[corev1.PersistentVolumeClaim](t, providedYAML)
	remote, refusal := providedClaim(usual, fieldtest.Mapped, around)
	if refusal != nil {
		t.Fatal(refusal)
	}
	remote.UID = "remote-uid"
	if l.limits != nil {
		around.Limits = l.limits
	}
	s := decide.ObjectState[*corev1.PersistentVolumeClaim]{Key: types.NamespacedName{Namespace: "team", Name: "data"}, ClusterID: "eu", Known: !l.metadata, Inputs: around, Alone: true}
	place := decide.RemoteState[*corev1.PersistentVolumeClaim]{Destination: decide.Destination{Target: fieldtest.Mapped, Local: "team", Open: true}, Wanted: !l.unwanted}
	if l.local != "none" {
		fieldtest.Merged(t, usual, l.local)
		s.Local = usual
	}
	if l.remote != "none" {
		fieldtest.Merged(t, remote, l.remote)
		place.Remote = remote
	}
	s.RemoteStates = append(s.RemoteStates, place)
	if l.elsewhere {
		s.RemoteStates[0].Destination.Namespace, s.RemoteStates[0].Remote = "other", nil
		s.RemoteStates = append(s.RemoteStates, decide.RemoteState[*corev1.PersistentVolumeClaim]{Remote: remote})
		s.Local.Annotations["remote.spillway.io/eu"] = "other/data,team-eu/data"
	}
	return s
}

func planInWords(plan decide.Plan) string {
	var words []string
	for _, a := range plan.Actions {
		claim := a.Object.(*corev1.PersistentVolumeClaim)
		switch {
		case a.Verb == decide.Patch && a.Side == decide.Local && claim.Annotations[field.AnnotationSelectedNode] != a.Before.GetAnnotations()[field.AnnotationSelectedNode]:
			words = append(words, "yield")
		case a.Verb == decide.Patch && a.Side == decide.Local:
			words = append(words, map[int]string{0: "release", 1: "protect"}[len(claim.Finalizers)])
		case a.Verb == decide.Patch && claim.Annotations[v1alpha1.AnnotationKeptFor] != "":
			words = append(words, "keep for "+claim.Annotations[v1alpha1.AnnotationKeptFor])
		case a.Verb == decide.Delete:
			words = append(words, fmt.Sprintf("delete %s if %s", claim.UID, confirmed(a)))
		default:
			words = append(words, strings.TrimSuffix(fmt.Sprintf("%s %s of %s as %s", a.Verb, claim.Spec.Resources.Requests.Storage(), *claim.Spec.StorageClassName,
				ptr.Deref(claim.Spec.VolumeAttributesClassName, "")), " as "))
		}
	}
	if plan.Event != nil && len(plan.Actions) == 0 {
		words = append(words, "tell "+plan.Event.Reason)
	}
	if plan.Problem != nil {
		words = append(words, plan.Problem.Reason)
	}
	return strings.Join(words, ", ")
}

// confirmed says what the consumer's API server must confirm before an action.
func confirmed(a decide.Action) string {
	var all []string
	for _, of := range a.Confirms {
		if of.GetResourceVersion() == "" {
			all = append(all, "no "+of.GetName())
		} else {
			all = append(all, of.GetName()+"@"+of.GetResourceVersion())
		}
	}
	if !a.Locked {
		all = append(all, "unlocked")
	}
	return strings.Join(all, " and ")
}

// TestLifeOfAProvidedClaim: the claim in the provider, which has the data, is deleted only if the consumer's claim
// is deleted, and its volume says so.
func TestLifeOfAProvidedClaim(t *testing.T) {
	for name, life := range map[string]claimLife{
		"a node is chosen":                                   {remote: "none", volume: "none", want: "create 1Gi of ssd"},
		"another node is chosen":                             {local: `{metadata: {annotations: {volume.kubernetes.io/selected-node: other}}}`, remote: "none", volume: "none", want: field.ReasonClaimNotBound},
		"a claim without a node, of no provider":             {local: `{metadata: {annotations: {volume.kubernetes.io/selected-node: ""}}}`, remote: "none", volume: "none", want: field.ReasonClaimNotBound},
		"one that names its provider":                        {local: `{metadata: {annotations: {volume.kubernetes.io/selected-node: "", spillway.io/provider: eu}}}`, remote: "none", volume: "none", want: "create 1Gi of ssd"},
		"of another driver":                                  {local: `{metadata: {annotations: {volume.kubernetes.io/storage-provisioner: csi.example.com}}}`, remote: "none", volume: "none", want: field.ReasonClaimNotBound},
		"unmapped":                                           {local: `{spec: {storageClassName: slow}}`, remote: "none", volume: "none", want: "yield, " + v1alpha1.ReasonClassNotMapped},
		"not allowed":                                        {limits: &field.Limits{}, remote: "none", volume: "none", want: "yield, " + v1alpha1.ReasonStorageNotAllowed},
		"not known whether it is allowed":                    {limits: field.NoLimits("Unread", ""), remote: "none", volume: "none", want: "Unread"},
		"not allowed, and named by its owner":                {limits: &field.Limits{}, local: `{metadata: {annotations: {volume.kubernetes.io/selected-node: "", spillway.io/provider: eu}}}`, remote: "none", volume: "none", want: v1alpha1.ReasonStorageNotAllowed},
		"none of its pods is allowed":                        {pods: []string{privileged}, remote: "none", volume: "none", want: "yield, " + field.ReasonPodSecurity},
		"one of its pods is allowed":                         {pods: []string{privileged, plain}, remote: "none", volume: "none", want: "create 1Gi of ssd"},
		"with attributes that are not mapped":                {local: `{spec: {volumeAttributesClassName: gold}}`, remote: "none", volume: "none", want: "yield, " + v1alpha1.ReasonClassNotMapped},
		"a clone":                                            {local: `{spec: {dataSource: {kind: PersistentVolumeClaim, name: other}}}`, remote: "none", volume: "none", want: v1alpha1.ReasonDataSourceNotSent},
		"with a selector":                                    {local: `{spec: {selector: {matchLabels: {a: b}}}}`, remote: "none", volume: "none", want: v1alpha1.ReasonDataSourceNotSent},
		"sent, and not bound here":                           {volume: "none", want: field.ReasonClaimNotBound},
		"bound":                                              {local: bound},
		"bound, and nothing needs it":                        {local: bound, unwanted: true},
		"bound, and no class is mapped or allowed any more":  {local: bound, limits: &field.Limits{}},
		"bound to another volume":                            {local: `{spec: {volumeName: disk}, status: {phase: Bound}}`, want: v1alpha1.ReasonVolumeLost},
		"bound to a volume that was retained":                {local: `{spec: {volumeName: spillway-eu-7b0a3f0e-1c2d-4e5f-8a9b-0c1d2e3f4a5b}, status: {phase: Bound}}`, remote: "none", volume: "none", want: field.ReasonVolumeNotPortable},
		"bound to a volume with a similar name":              {local: `{spec: {volumeName: spillway-disk}, status: {phase: Bound}}`, remote: "none", volume: "none", want: "create 1Gi of fast"},
		"without protection":                                 {local: `{metadata: {finalizers: null}, spec: {volumeName: spillway-eu-claim-uid}, status: {phase: Bound}}`, unwanted: true, want: "protect"},
		"its volume is gone":                                 {local: bound, volume: "none", want: v1alpha1.ReasonVolumeLost},
		"its volume is not read":                             {local: bound, unread: true, want: v1alpha1.ReasonReferenceNotSynced},
		"the provider's claim is replaced":                   {local: bound, remote: `{metadata: {uid: another}}`, want: v1alpha1.ReasonVolumeLost},
		"the provider's claim is being deleted":              {local: bound, remote: deleted, want: v1alpha1.ReasonVolumeLost},
		"the provider's claim is gone":                       {local: bound, remote: "none", want: v1alpha1.ReasonVolumeLost},
		"its namespace goes elsewhere now":                   {local: bound, elsewhere: true, want: v1alpha1.ReasonVolumeLost},
		"it grows":                                           {local: `{spec: {volumeName: spillway-eu-claim-uid, resources: {requests: {storage: 2Gi}}}, status: {phase: Bound}}`, remote: `{spec: {volumeName: pvc-1}}`, want: "patch 2Gi of ssd"},
		"an unbound one is deleted":                          {local: deleted, volume: "none", want: deletedAsUnused},
		"an unbound one is deleted, bound there":             {local: deleted, remote: used, volume: "none", want: "release"},
		"it has moved to another provider":                   {local: `{spec: {volumeName: spillway-us-claim-uid}, status: {phase: Bound}}`, volume: "none", want: deletedAsUnused},
		"it has moved, and is deleted":                       {local: `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}, spec: {volumeName: spillway-us-claim-uid}, status: {phase: Bound}}`, volume: "none", want: deletedAsUnused},
		"it has moved, and is bound there":                   {local: `{spec: {volumeName: spillway-us-claim-uid}, status: {phase: Bound}}`, remote: used, volume: "none", want: v1alpha1.ReasonVolumeLost},
		"it has moved, is bound there, and nothing needs it": {local: `{metadata: {annotations: {pv.kubernetes.io/bind-completed: "yes"}}, spec: {volumeName: spillway-us-claim-uid}, status: {phase: Bound}}`, remote: used, volume: "none", unwanted: true, want: "release"},
		"its owner has named a volume that does not fit":     {local: `{spec: {volumeName: disk}}`, remote: used, volume: "none", unwanted: true, want: field.ReasonClaimNotBound},
		"so has its owner, and it is not protected":          {local: `{metadata: {labels: null, finalizers: null}, spec: null, status: null}`, remote: used, volume: "none", unwanted: true, metadata: true, want: "protect"},
		"it has moved, is bound there, and is not protected": {local: `{metadata: {labels: null, annotations: {pv.kubernetes.io/bind-completed: "yes"}, finalizers: null}, spec: null, status: null}`, remote: used, volume: "none", unwanted: true, metadata: true},
		"it is bound, its volume is gone, nothing needs it":  {local: bound, remote: used, volume: "none", unwanted: true, want: v1alpha1.ReasonVolumeLost},
		"it has moved, is bound there, and deleted":          {local: `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}, spec: {volumeName: spillway-us-claim-uid}, status: {phase: Bound}}`, remote: used, volume: "none", want: "release"},
		"its attributes change":                              {local: `{spec: {volumeName: spillway-eu-claim-uid, volumeAttributesClassName: fine}, status: {phase: Bound}}`, remote: `{spec: {volumeName: pvc-1}, status: {phase: Bound}}`, want: "patch 1Gi of ssd as there-fine"},
		"its attributes change, and are not mapped":          {local: `{spec: {volumeName: spillway-eu-claim-uid, volumeAttributesClassName: gold}, status: {phase: Bound}}`, remote: `{spec: {volumeName: pvc-1}, status: {phase: Bound}}`, want: "tell " + v1alpha1.ReasonClassNotMapped},
		"an unbound one is deleted, its volume not read":     {local: deleted, volume: "none", unread: true},
		"a bound one is deleted":                             {local: `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}, spec: {volumeName: spillway-eu-claim-uid}, status: {phase: Bound}}`, want: "release"},
		"its claim is gone, and its volume bound":            {local: "none"},
		"its claim is gone, and its volume, too":             {local: "none", remote: used, volume: "none"},
		"its claim is gone, and was never bound":             {local: "none", volume: "none", want: "delete remote-uid if no data and no spillway-eu-claim-uid"},
		"its claim is gone, its volume not read":             {local: "none", volume: released, unread: true},
		"its volume is released":                             {local: "none", volume: released, want: deletedAsReleased},
		"its volume is released, and nothing needs it":       {local: "none", volume: released, unwanted: true, want: deletedAsReleased},
		"a volume for another claim is released":             {local: "none", volume: `{spec: {claimRef: {uid: another}}, status: {phase: Released}}`},
		"a volume of another remote claim is released":       {local: "none", volume: `{spec: {csi: {volumeHandle: another}}, status: {phase: Released}}`},
		"a retained volume is released":                      {local: "none", volume: `{spec: {persistentVolumeReclaimPolicy: Retain}, status: {phase: Released}}`, want: "keep for spillway-eu-claim-uid"},
		"it is kept":                                         {local: "none", remote: `{metadata: {annotations: {spillway.io/kept-for: spillway-eu-claim-uid}}}`, volume: `{spec: {persistentVolumeReclaimPolicy: Retain}, status: {phase: Released}}`},
		"it is kept, and the policy changes":                 {local: "none", remote: `{metadata: {annotations: {spillway.io/kept-for: spillway-eu-claim-uid}}}`, volume: released, want: deletedAsReleased},
		"its label is gone in the provider":                  {local: "none", remote: `{metadata: {labels: {spillway.io/volume: null}}, spec: {volumeName: pvc-1}}`, volume: "none"},
	} {
		t.Run(name, func(t *testing.T) {
			s := life.state(t)
			plan := decide.Next(s, Kind().Syncer)
			if early := planInWords(plan); early != strings.TrimPrefix(life.want, "yield, ") {
				t.Errorf("at first: got %q, want %q", early, life.want)
			}
			if plan.Problem != nil {
				s.WaitingFor, s.Waiting = plan.Problem.Reason, time.Minute
				plan = decide.Next(s, Kind().Syncer)
			}
			if got := planInWords(plan); got != life.want {
				t.Errorf("got %q, want %q", got, life.want)
			}
		})
	}
}

// TestNameOfAKeptClaim: data of an earlier claim is neither deleted nor given to the next one of the name.
func TestNameOfAKeptClaim(t *testing.T) {
	for name, test := range map[string]struct{ volume, want string }{
		"without a volume here": {"none", v1alpha1.ReasonNameConflict},
		"given up":              {released, deletedAsReleased},
	} {
		t.Run(name, func(t *testing.T) {
			s := claimLife{local: `{metadata: {uid: next}}`, remote: used, volume: test.volume}.state(t)
			s.Held, s.RemoteStates[0].Remote = []*corev1.PersistentVolumeClaim{s.RemoteStates[0].Remote}, nil
			if got := planInWords(decide.Next(s, Kind().Syncer)); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestSwitchedOff: without the switch, no volume is created.
func TestSwitchedOff(t *testing.T) {
	s := claimLife{remote: "none", volume: "none"}.state(t)
	s.Provides = false
	if got := planInWords(decide.Next(s, Kind().Syncer)); got != field.ReasonClaimNotBound {
		t.Errorf("got %q", got)
	}
}

func TestProvidedFieldsAreComplete(t *testing.T) {
	for f := range reflect.TypeFor[corev1.PersistentVolumeClaimSpec]().Fields() {
		if _, decided := providedFields[f.Name]; !decided {
			t.Errorf("%s is not decided", f.Name)
		}
	}
}
