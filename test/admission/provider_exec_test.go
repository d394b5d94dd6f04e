package admission

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// TestConsumerRunsCommands: a consumer may exec, attach and port-forward only to pods in its own namespaces,
// whatever the pod's own labels say. The pods have no node, so an allowed request fails with another error.
func TestConsumerRunsCommands(t *testing.T) {
	clientset, err := kubernetes.NewForConfig(server(t).accountConfig(v1alpha1.ProviderNamespace, shippedAccount))
	if err != nil {
		t.Fatal(err)
	}
	const unmarked = "the namespace lacks the labels of Spillway"
	for name, test := range map[string]struct {
		labels map[string]string
		want   string // If empty, it is allowed.
	}{
		"its own":            {held(mark()), ""},
		"of no consumer":     {nil, unmarked},
		"of another account": {held(markOf("other")), `belongs to account "other"`},
		"of no account":      {held(markBut(v1alpha1.LabelAccount, "")), `belongs to account ""`},
		"of no origin":       {held(markBut(v1alpha1.LabelOrigin, "")), unmarked},
	} {
		t.Run(name, func(t *testing.T) {
			namespace := namespaceOf(t, test.labels)
			made(t, podOf(metav1.ObjectMeta{Namespace: namespace, Name: "pod", Labels: mark()}))
			tries := map[string]try{}
			for _, subresource := range []string{"exec", "attach", "portforward"} {
				for _, verb := range []string{"POST", "GET"} {
					tries[verb+" "+subresource] = try{func(ctx context.Context) error {
						err := clientset.CoreV1().RESTClient().Verb(verb).Namespace(namespace).Resource("pods").Name("pod").SubResource(subresource).
							Param("command", "date").Param("stdout", "true").Do(ctx).Error()
						if test.want == "" && !apierrors.IsForbidden(err) {
							return nil
						}
						return err
					}, test.want}
				}
			}
			attempt(t, tries)
		})
	}
}
