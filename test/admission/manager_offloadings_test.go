package admission

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/manifests"
)

func TestManagerOffloadings(t *testing.T) {
	needsNoManager(t)
	manager := inConsumer(t)
	asks := map[string]string{v1alpha1.LabelOffload: v1alpha1.OffloadTrue}
	asking, silent, made, ended := namespaceOf(t, asks), namespaceOf(t, nil), namespaceOf(t, asks), namespaceOf(t, nil)
	byLabel := temporary(t, offloadingOf(made, v1alpha1.CreatedByNamespaceLabel))
	left := temporary(t, offloadingOf(ended, v1alpha1.CreatedByNamespaceLabel))
	byTeam := temporary(t, offloadingOf(namespaceOf(t, nil), ""))
	binding := temporary(t, &v1alpha1.ClusterBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "guarded"},
		Spec:       v1alpha1.ClusterBindingSpec{ClusterID: "guarded", KubeconfigSecretRef: v1alpha1.KubeconfigSecretReference{Name: "guarded"}},
	})
	const onlyLabelled = "only NamespaceOffloadings with the label spillway.io/created-by=namespace-label"
	const onlyDefaults = "spec must have the defaults"
	tries := map[string]try{
		"makes what a label asks for":         {creating(manager, offloadingOf(asking, v1alpha1.CreatedByNamespaceLabel)), ""},
		"makes one that nobody asks for":      {creating(manager, offloadingOf(silent, v1alpha1.CreatedByNamespaceLabel)), "namespace " + silent + " does not have the label"},
		"makes one that looks like a team's":  {creating(manager, offloadingOf(asking, "")), onlyLabelled},
		"makes one that says the defaults":    {creating(manager, specified(asking, v1alpha1.MappingDefaultName, v1alpha1.PodsLocalAndRemote, nil)), ""},
		"makes one with another strategy":     {creating(manager, specified(asking, v1alpha1.MappingDefaultName, v1alpha1.PodsRemote, nil)), onlyDefaults},
		"makes one with another name":         {creating(manager, specified(asking, v1alpha1.MappingEnforceSameName, v1alpha1.PodsLocalAndRemote, nil)), onlyDefaults},
		"makes one that sends nothing more":   {creating(manager, sending(asking)), onlyDefaults},
		"makes one for a provider of choice":  {creating(manager, specified(asking, "", "", selecting(labels(eu)))), onlyDefaults},
		"deletes what no label asks for":      {deleting(manager, left.DeepCopy()), ""},
		"deletes what a label still asks for": {deleting(manager, byLabel.DeepCopy()), "namespace " + made + " still has the label"},
		"deletes a team's":                    {deleting(manager, byTeam.DeepCopy()), onlyLabelled},
		"makes a binding":                     {creating(manager, &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "x"}}), "cannot create resource"},
		"writes the status of an offloading":  {patching(manager, byTeam, `{"status":{"observedGeneration":1}}`, "status"), ""},
		"writes the status of a binding":      {patching(manager, binding, `{"status":{"observedGeneration":1}}`, "status"), ""},
		"changes what a team asks for":        {patching(manager, byTeam, `{"spec":{"podOffloadingStrategy":"Remote"}}`), "spec must not change"},
		"leads a binding elsewhere":           {patching(manager, binding, `{"spec":{"kubeconfigSecretRef":{"name":"thief"}}}`), "spec must not change"},
		"gives itself leave to take over":     {patching(manager, binding, `{"metadata":{"annotations":{"spillway.io/take-over":"1"}}}`), "metadata.annotations must not change"},
	}
	for name, object := range map[string]client.Object{"an offloading": byTeam, "a binding": binding} {
		tries["puts a finalizer on "+name] = try{patching(manager, object, `{"metadata":{"finalizers":["offloading.spillway.io/x"]}}`), ""}
		tries["puts a finalizer of others on "+name] = try{patching(manager, object, `{"metadata":{"finalizers":["example.com/x"]}}`), "metadata.finalizers[example.com/x] must not change"}
		tries["makes up an owner of "+name] = try{patching(manager, object, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"a","uid":"b"}]}}`), "metadata.ownerReferences must not change"}
	}
	attempt(t, tries)
}

// sending is an offloading as the label creates it, with other resources.
func sending(namespace string, resources ...v1alpha1.OffloadedResource) *v1alpha1.NamespaceOffloading {
	nso := offloadingOf(namespace, v1alpha1.CreatedByNamespaceLabel)
	nso.Spec.Resources = append([]v1alpha1.OffloadedResource{}, resources...)
	return nso
}

// specified is an offloading as the label creates it, with another spec.
func specified(namespace string, mapping v1alpha1.NamespaceMappingStrategy, pods v1alpha1.PodOffloadingStrategy, selector *v1alpha1.ClusterSelector) *v1alpha1.NamespaceOffloading {
	nso := offloadingOf(namespace, v1alpha1.CreatedByNamespaceLabel)
	nso.Spec = v1alpha1.NamespaceOffloadingSpec{NamespaceMappingStrategy: mapping, PodOffloadingStrategy: pods, ClusterSelector: selector}
	return nso
}

// TestManagerWritesNamespaceMaps tests what only the manager may write.
func TestManagerWritesNamespaceMaps(t *testing.T) {
	manager := inConsumer(t)
	nsm := temporary(t, mapOf("guarded-map"))
	if err := manager.Patch(t.Context(), nsm, merge(`{"spec":{"desiredMapping":[{"namespace":"team","remoteNamespace":"team-home"}]}}`)); err != nil {
		t.Fatal(err)
	}
	const alone = "only the manager may write spec.desiredMapping"
	const emptied = `"spec":{"desiredMapping":[]}`
	attempt(t, map[string]try{
		"the manager makes one":            {creating(manager, mapOf("another", "team")), ""},
		"the manager empties it":           {patching(manager, nsm, "{"+emptied+"}"), ""},
		"the manager deletes it":           {deleting(manager, nsm.DeepCopy()), ""},
		"somebody makes one":               {creating(server(t), mapOf("another", "team")), alone},
		"a manager by another account":     {creating(server(t), mapOf("another", "team")), "needs the kubeconfig of ServiceAccount spillway-manager"},
		"somebody empties it":              {patching(server(t), nsm, "{"+emptied+"}"), alone},
		"somebody renames an entry":        {patching(server(t), nsm, `{"spec":{"desiredMapping":[{"namespace":"team","remoteNamespace":"elsewhere"}]}}`), alone},
		"somebody gives no reason":         {patching(server(t), nsm, `{"metadata":{"annotations":{"spillway.io/break-glass":""}},`+emptied+"}"), alone},
		"somebody breaks the glass":        {patching(server(t), nsm, `{"metadata":{"annotations":{"spillway.io/break-glass":"the manager is gone"}},`+emptied+"}"), ""},
		"somebody labels it":               {patching(server(t), nsm, `{"metadata":{"labels":{"a":"b"}}}`), ""},
		"somebody releases it":             {patching(server(t), nsm, `{"metadata":{"finalizers":null,"ownerReferences":null}}`), ""},
		"Kubernetes deletes it":            {deleting(server(t), nsm.DeepCopy()), ""},
		"somebody makes one without entry": {creating(server(t), mapOf("another")), ""},
	})
}

// TestManagerIsKnownByItsAccount: all policies use the same name of the account.
func TestManagerIsKnownByItsAccount(t *testing.T) {
	shipped, err := manifests.Kustomized(t.Context(), "config/default")
	if err != nil {
		t.Fatal(err)
	}
	policies := 0
	for _, object := range shipped {
		if object.GetKind() == "ServiceAccount" && "system:serviceaccount:"+object.GetNamespace()+":"+object.GetName() != managerName {
			t.Errorf("the account is %s in %s", object.GetName(), object.GetNamespace())
		}
		if object.GetKind() != "ValidatingAdmissionPolicy" {
			continue
		}
		policies++
		spec, _ := object.Object["spec"].(map[string]any)
		conditions, _ := spec["matchConditions"].([]any)
		if first, _ := conditions[0].(map[string]any); !strings.Contains(first["expression"].(string), "'"+managerName+"'") {
			t.Errorf("policy %s knows the manager as %v", object.GetName(), first["expression"])
		}
	}
	if policies != 14 {
		t.Errorf("%d policies, want 14", policies)
	}
}
