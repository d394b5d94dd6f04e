package classes

import (
	"context"
	"net/http"

	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// classResource is a kind of classes that is an object.
type classResource struct {
	name   string
	gvk    schema.GroupVersionKind
	object client.Object
}

var resources = map[v1alpha1.ClassKind]classResource{
	v1alpha1.ClassIngress:          {"ingressclasses", networkingv1.SchemeGroupVersion.WithKind("IngressClass"), &networkingv1.IngressClass{}},
	v1alpha1.ClassRuntime:          {"runtimeclasses", nodev1.SchemeGroupVersion.WithKind("RuntimeClass"), &nodev1.RuntimeClass{}},
	v1alpha1.ClassPriority:         {"priorityclasses", schedulingv1.SchemeGroupVersion.WithKind("PriorityClass"), &schedulingv1.PriorityClass{}},
	v1alpha1.ClassStorage:          {"storageclasses", storagev1.SchemeGroupVersion.WithKind("StorageClass"), &storagev1.StorageClass{}},
	v1alpha1.ClassVolumeAttributes: {"volumeattributesclasses", storagev1.SchemeGroupVersion.WithKind("VolumeAttributesClass"), &storagev1.VolumeAttributesClass{}},
}

// client lists and watches the kind, in Protobuf.
func (r classResource) client(config *rest.Config, httpClient *http.Client) (*toolscache.ListWatch, error) {
	of, err := apiutil.RESTClientForGVK(r.gvk, false, false, config, scheme.Codecs, httpClient)
	if err != nil {
		return nil, err
	}
	return toolscache.NewListWatchFromClient(of, r.name, metav1.NamespaceAll, fields.Everything()), nil
}

// classListWatch lists and watches, and notes lists that fail.
type classListWatch struct {
	*toolscache.ListWatch
	failed func(error)
}

var _ toolscache.ListerWatcherWithContext = &classListWatch{}

// ListWithContext implements ListerWatcherWithContext.
func (a *classListWatch) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	list, err := a.ListWatch.ListWithContext(ctx, options)
	a.failed(err)
	return list, err
}

// IsWatchListSemanticsUnSupported makes the Reflector list. The transport limits the size of a list, but not
// what a streaming list sends before it is complete.
func (*classListWatch) IsWatchListSemanticsUnSupported() bool { return true }
