package oracle

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/requests"
)

// clusters are the objects that exist when a request is judged.
type clusters map[string][]*unstructured.Unstructured // by "cluster resource"

func (c clusters) list(cluster, resource string) ([]unstructured.Unstructured, error) {
	var all []unstructured.Unstructured
	for _, obj := range c[cluster+" "+resource] {
		all = append(all, *obj)
	}
	return all, nil
}

func TestJudge(t *testing.T) {
	letGo := Ask{Cluster: Consumer, Verb: requests.Delete, Resource: "pods", Namespace: "team-a", Name: "web", Body: map[string]any{
		"gracePeriodSeconds": int64(0), "preconditions": map[string]any{"uid": "local"},
	}}
	ended := Ask{Cluster: Consumer, Verb: requests.Patch, Resource: "pods", Subresource: "status", Namespace: "team-a", Name: "web", Body: map[string]any{
		"metadata": map[string]any{"uid": "local"}, "status": map[string]any{"phase": "Failed"},
	}}
	release := func(resource, namespace, name string, metadata map[string]any) Ask {
		return Ask{Cluster: Consumer, Verb: requests.Patch, Resource: resource, Namespace: namespace, Name: name, Body: map[string]any{"metadata": metadata}}
	}
	none := map[string]any{"finalizers": nil}
	goes := map[string]any{"uid": "local", "$deleteFromPrimitiveList/finalizers": []any{v1alpha1.FinalizerSync + "p1"}}
	create := func(resource string, obj *unstructured.Unstructured) Ask {
		return Ask{Cluster: "p1", Verb: requests.Create, Resource: resource, Namespace: obj.GetNamespace(), Name: obj.GetName(), Body: obj.Object}
	}
	deletion := Ask{Cluster: "p1", Verb: requests.Delete, Resource: "namespaces", Name: "team-a-c0", Body: map[string]any{"preconditions": map[string]any{"uid": "x"}}}

	remote := object("Pod", "team-a-c0", "web", marked, standsFor("local"), inPhase("Running"))
	remoteSecret := object("Secret", "team-a-c0", "password", marked, standsFor("local"))
	remoteNamespace := object("Namespace", "", "team-a-c0", marked, annotated(v1alpha1.AnnotationLocalNamespace, "team-a"))
	localPod := object("Pod", "team-a", "web", uid("local"))
	localSecret := object("Secret", "team-a", "password", uid("local"))
	held := finalizers(v1alpha1.FinalizerSync + "p1")
	binding := object("ClusterBinding", "", "one", with([]string{"spec", "clusterID"}, "p1"))
	bound := changed(binding, finalizers(v1alpha1.FinalizerBinding))
	patient := changed(bound, with([]string{"spec", "unreachable", "deletionTimeout"}, "1m"))
	orphaning := changed(bound, with([]string{"spec", "deletionPolicy"}, "Orphan"))
	offloading := object("NamespaceOffloading", "team-a", "offloading")
	offloaded := changed(offloading, finalizers(v1alpha1.FinalizerOffloading))

	stored := object("PersistentVolumeClaim", "team-a-c0", "data", marked, uid("x"), with([]string{"spec", "volumeName"}, "pvc-1"), with([]string{"metadata", "labels", v1alpha1.LabelVolume}, "provided"))
	giveUp := Ask{Cluster: "p1", Verb: requests.Delete, Resource: "persistentvolumeclaims", Namespace: "team-a-c0", Name: "data", Body: map[string]any{"preconditions": map[string]any{"uid": "x"}}}
	standsIn := func(policy string) *unstructured.Unstructured {
		return object("PersistentVolume", "", "data", with([]string{"spec", "csi", "volumeHandle"}, "x"), with([]string{"spec", "persistentVolumeReclaimPolicy"}, policy), inPhase("Released"))
	}

	for name, test := range map[string]struct {
		ask   Ask
		there clusters
		want  []string
	}{
		"data is given up":      {ask: giveUp, there: clusters{"p1 persistentvolumeclaims": {stored}, "consumer persistentvolumes": {standsIn("Delete")}}},
		"no data was there yet": {ask: giveUp, there: clusters{"p1 persistentvolumeclaims": {changed(stored, with([]string{"spec", "volumeName"}, ""))}}},
		"data is retained": {
			ask: giveUp, there: clusters{"p1 persistentvolumeclaims": {stored}, "consumer persistentvolumes": {standsIn("Retain")}},
			want: []string{"p1: PersistentVolumeClaim team-a-c0/data is deleted, and nobody has given up its data"},
		},
		"a namespace with data": {
			ask: deletion, there: clusters{"p1 persistentvolumeclaims": {stored}},
			want: []string{"p1: namespace team-a-c0 is deleted with PersistentVolumeClaim team-a-c0/data"},
		},
		"a deletion that means none": {
			ask:  Ask{Cluster: "p1", Verb: requests.Delete, Resource: "secrets", Namespace: "a", Name: "b"},
			want: []string{"p1: the deletion of secrets a/b does not say which UID it means"},
		},

		"made without our mark": {create("pods", object("Pod", "team-a-c0", "web")), nil, []string{"p1: pods team-a-c0/web is made without our mark"}},
		"made with another's": {create("pods", changed(remote, labelled(v1alpha1.LabelOrigin, "another"))), nil,
			[]string{"p1: pods team-a-c0/web is made without our mark"}},
		"made with our mark":   {create("pods", remote), nil, nil},
		"made in the consumer": {Ask{Cluster: Consumer, Verb: requests.Create, Resource: "nodes", Name: "spillway-p1"}, nil, nil},

		"let go while it runs":     {letGo, clusters{"p1 pods": {remote}}, []string{"pod team-a/web is let go, though Pod team-a-c0/web is still in p1"}},
		"let go when it has ended": {letGo, clusters{"p1 pods": {changed(remote, inPhase("Succeeded"))}}, nil},
		"let go when it is gone":   {letGo, clusters{"p1 pods": {changed(remote, standsFor("another"))}}, nil},
		"deleted with a grace":     {changedAsk(letGo, "gracePeriodSeconds", int64(30)), clusters{"p1 pods": {remote}}, nil},
		"ended while it runs":      {ended, clusters{"p2 pods": {remote}}, []string{"pod team-a/web is said to have ended, though Pod team-a-c0/web is still in p2"}},
		"ended when it has":        {ended, clusters{"p1 pods": {changed(remote, inPhase("Failed"))}}, nil},
		"runs":                     {changedAsk(ended, "status", map[string]any{"phase": "Running"}), clusters{"p1 pods": {remote}}, nil},

		"an offloading is released too soon": {release("namespaceoffloadings", "team-a", "offloading", none), clusters{"p1 namespaces": {remoteNamespace}, "consumer clusterbindings": {bound}},
			[]string{"NamespaceOffloading team-a/offloading is released, though Namespace team-a-c0 is still in p1"}},
		"an offloading is released":                  {release("namespaceoffloadings", "team-a", "offloading", none), clusters{"consumer clusterbindings": {bound}}, nil},
		"an offloading is released, and leaves some": {release("namespaceoffloadings", "team-a", "offloading", none), clusters{"p1 namespaces": {remoteNamespace}, "consumer clusterbindings": {patient}}, nil},
		"of another namespace":                       {release("namespaceoffloadings", "team-b", "offloading", none), clusters{"p1 namespaces": {remoteNamespace}}, nil},
		"an offloading gets its finalizer":           {release("namespaceoffloadings", "team-a", "offloading", map[string]any{"finalizers": []any{v1alpha1.FinalizerOffloading}}), clusters{"p1 namespaces": {remoteNamespace}}, nil},

		"a binding is released too soon": {release("clusterbindings", "", "one", none), clusters{"p1 namespaces": {remoteNamespace}, "consumer clusterbindings": {bound}},
			[]string{"ClusterBinding one is released, though Namespace team-a-c0 is still in p1"}},
		"a binding is released":           {release("clusterbindings", "", "one", none), clusters{"consumer clusterbindings": {bound}}, nil},
		"a binding leaves what it made":   {release("clusterbindings", "", "one", none), clusters{"p1 namespaces": {remoteNamespace}, "consumer clusterbindings": {orphaning}}, nil},
		"a duplicate binding is released": {release("clusterbindings", "", "one", none), clusters{"p1 namespaces": {remoteNamespace}, "consumer clusterbindings": {bound, changed(bound, uid("x"))}}, nil},

		"what was copied is released too soon": {release("secrets", "team-a", "password", goes), clusters{"p1 secrets": {remoteSecret}},
			[]string{"secrets team-a/password are released, though Secret team-a-c0/password is still in p1"}},
		"what was copied is released":            {release("secrets", "team-a", "password", goes), clusters{"p1 secrets": {changed(remoteSecret, standsFor("another"))}}, nil},
		"another binding has a copy":             {release("secrets", "team-a", "password", goes), clusters{"p2 secrets": {changed(remoteSecret, labelled(v1alpha1.LabelBinding, "p2"))}}, nil},
		"a copy is made before it is held":       {create("secrets", remoteSecret), clusters{"consumer secrets": {localSecret}}, []string{"p1: secrets team-a-c0/password is made before a finalizer holds Secret team-a/password"}},
		"a copy is made":                         {create("secrets", remoteSecret), clusters{"consumer secrets": {changed(localSecret, held)}}, nil},
		"a namespace is deleted with pods":       {deletion, clusters{"p1 pods": {remote}, "consumer pods": {localPod}}, []string{"p1: namespace team-a-c0 is deleted with Pod team-a-c0/web, which stands for one that is there"}},
		"a namespace is deleted with lost pods":  {deletion, clusters{"p1 pods": {remote}}, nil},
		"a namespace is deleted with others'":    {deletion, clusters{"p1 pods": {object("Pod", "team-a-c0", "theirs")}, "consumer pods": {localPod}}, nil},
		"a namespace is deleted with what ended": {deletion, clusters{"p1 pods": {changed(remote, inPhase("Failed"))}, "consumer pods": {localPod}}, nil},
		"a namespace is made before it is asked for": {create("namespaces", remoteNamespace), clusters{"consumer namespaceoffloadings": {offloading}, "consumer clusterbindings": {bound}},
			[]string{"p1: namespaces team-a-c0 is made before a finalizer holds NamespaceOffloading team-a/offloading"}},
		"a namespace is made before it is bound": {create("namespaces", object("Namespace", "", "mount-c0", marked)), clusters{"consumer clusterbindings": {binding}},
			[]string{"p1: namespaces mount-c0 is made before a finalizer holds ClusterBinding one"}},
		"a namespace is made": {create("namespaces", remoteNamespace), clusters{"consumer namespaceoffloadings": {offloaded}, "consumer clusterbindings": {bound}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := &bench{origin: origin, providers: []string{"p1", "p2"}, list: test.there.list}
			judged, err := b.judge(test.ask)
			if err != nil {
				t.Fatal(err)
			}
			got := append(always(origin, test.ask), judged...)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func changedAsk(a Ask, field string, value any) Ask {
	body := map[string]any{}
	for key, was := range a.Body {
		body[key] = was
	}
	body[field] = value
	a.Body = body
	return a
}
