package admission

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// notYours is a part of the refusal for another account's object.
const notYours = "(label spillway.io/account)"

// second returns the client of a second consumer with the same rights.
func second(t *testing.T) client.Client {
	t.Helper()
	var roles rbacv1.ClusterRoleList
	if err := server(t).List(t.Context(), &roles); err != nil {
		t.Fatal(err)
	}
	for _, role := range roles.Items {
		part, shipped := strings.CutPrefix(role.Name, shippedAccount)
		if !shipped {
			continue
		}
		err := server(t).Create(t.Context(), &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "spillway-second" + part},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "spillway-provider", Name: "second"}},
		})
		if client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
	}
	c := server(t).consumer(t, "second")
	becomes(t, c, remoteNamespace(held(markOf("second"))), "")
	return c
}

// markOf is the mark that an account writes. Without an account, it is the mark of other kinds of
// credentials.
func markOf(account string) map[string]string { return markBut(v1alpha1.LabelAccount, account) }

func TestConsumerAccountsAndNamespaces(t *testing.T) {
	shipped, other := inProvider(t), second(t)
	for name, test := range map[string]struct {
		as     client.Client
		labels map[string]string
		want   string // Part of the refusal; empty: allowed.
	}{
		"one's own":                         {other, markOf("second"), ""},
		"another's":                         {other, markOf(shippedAccount), notYours},
		"nobody's":                          {other, markOf("nobody"), notYours},
		"one that says nothing":             {other, markOf(""), notYours},
		"the shipped one's own":             {shipped, markOf(shippedAccount), ""},
		"another's, as the shipped one":     {shipped, markOf("second"), notYours},
		"one that says nothing, as shipped": {shipped, markOf(""), notYours},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, test.as.Create(t.Context(), remoteNamespace(held(test.labels)), client.DryRunAll), test.want)
			there := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceOf(t, held(test.labels))}}
			refused(t, test.as.Delete(t.Context(), there, client.DryRunAll), test.want)
		})
	}
}

// TestConsumerAccountsAndObjects: two accounts with the same origin and binding write objects with their own
// label and with the other's.
func TestConsumerAccountsAndObjects(t *testing.T) {
	shipped, other := inProvider(t), second(t)
	const wrong = "metadata.labels[spillway.io/account] must match the namespace's"
	unlabelled, first, its := namespaceOf(t, held(markOf(""))), namespaceOf(t, held(markOf(shippedAccount))), namespaceOf(t, held(markOf("second")))
	for name, test := range map[string]struct {
		as        client.Client
		namespace string
		labels    map[string]string
		want      string // Part of the refusal; empty: allowed.
	}{
		"one's own": {other, its, markOf("second"), ""},
		"without account, in one's own namespace": {other, its, markOf(""), ""},
		"the other's, in one's own namespace":     {other, its, markOf(shippedAccount), wrong},
		"one's own, in the other's namespace":     {other, first, markOf("second"), notYours},
		"the other's":                             {other, first, markOf(shippedAccount), notYours},
		"one's own, where no account is":          {other, unlabelled, markOf("second"), notYours},
		"without account, where none is":          {shipped, unlabelled, markOf(""), notYours},
		"the shipped one's, where no account is":  {shipped, unlabelled, markOf(shippedAccount), notYours},
		"the shipped one's":                       {shipped, first, markOf(shippedAccount), ""},
		"the second's, as the shipped one":        {shipped, its, markOf("second"), notYours},
		"without account, as the shipped one":     {shipped, its, markOf(""), notYours},
	} {
		for kind, object := range inNamespaces {
			meta := metav1.ObjectMeta{Namespace: test.namespace, GenerateName: "object-", Labels: test.labels}
			t.Run(kind+" "+name, func(t *testing.T) {
				refused(t, test.as.Create(t.Context(), object(meta), client.DryRunAll), test.want)
				there := made(t, object(meta))
				refused(t, test.as.Patch(t.Context(), there, merge(`{"metadata":{"annotations":{"a":"b"}}}`), client.DryRunAll), test.want)
				refused(t, test.as.Delete(t.Context(), there, client.DryRunAll), test.want)
			})
		}
	}
}

// TestConsumerAccountsStay: an object's account cannot be changed.
func TestConsumerAccountsStay(t *testing.T) {
	other := second(t)
	its := namespaceOf(t, held(markOf("second")))
	for name, test := range map[string]struct{ before, patch, want string }{
		"to the other":   {"second", `{"metadata":{"labels":{"spillway.io/account":"spillway-consumer"}}}`, "metadata.labels[spillway.io/account] must match the namespace's"},
		"from the other": {shippedAccount, `{"metadata":{"labels":{"spillway.io/account":"second"}}}`, "metadata.labels[spillway.io/account] must match the namespace's"},
		"from nobody":    {"", `{"metadata":{"labels":{"spillway.io/account":"second"}}}`, ""},
	} {
		for kind, object := range inNamespaces {
			t.Run(kind+" "+name, func(t *testing.T) {
				there := made(t, object(metav1.ObjectMeta{Namespace: its, GenerateName: "object-", Labels: markOf(test.before)}))
				refused(t, other.Patch(t.Context(), there, merge(test.patch)), test.want)
			})
		}
	}
	debug := strategic(`{"spec":{"ephemeralContainers":[{"name":"debug","image":"image"}]}}`)
	foreign := made(t, podOf(metav1.ObjectMeta{Namespace: namespaceOf(t, held(mark())), Name: "pod", Labels: mark()}))
	refused(t, other.SubResource("ephemeralcontainers").Patch(t.Context(), foreign, debug), notYours)
}

func TestConsumerAccountsAndVolumes(t *testing.T) {
	shipped, other := inProvider(t), second(t)
	const stays = "metadata.labels of Spillway must not change"
	for name, test := range map[string]struct {
		as     client.Client
		labels map[string]string
		want   string // Part of the refusal; empty: allowed.
	}{
		"one's own":                      {other, markOf("second"), ""},
		"another's":                      {other, markOf(shippedAccount), notYours},
		"without account":                {other, markOf(""), notYours},
		"without account, as shipped":    {shipped, markOf(""), notYours},
		"the shipped one's":              {shipped, markOf(shippedAccount), ""},
		"the second's, as the first one": {shipped, markOf("second"), notYours},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, test.as.Create(t.Context(), volumeOf(metav1.ObjectMeta{Name: volumeName, Labels: test.labels}), client.DryRunAll), test.want)
			there := made(t, volumeOf(metav1.ObjectMeta{GenerateName: "volume-", Labels: test.labels}))
			refused(t, test.as.Patch(t.Context(), there, merge(`{"metadata":{"annotations":{"a":"b"}}}`), client.DryRunAll), test.want)
			if test.want == "" {
				refused(t, test.as.Patch(t.Context(), there, merge(`{"metadata":{"labels":{"spillway.io/account":"else"}}}`), client.DryRunAll), stays)
			}
			refused(t, test.as.Delete(t.Context(), there), test.want)
		})
	}
}
