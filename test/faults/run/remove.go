package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/test/performance/rig"
	"github.com/spillway-io/spillway/test/requests"
)

// removeWithin is how long the removal of an object may take.
const removeWithin = 5 * time.Second

// errStillThere makes removeNow try again.
var errStillThere = errors.New("it is still there")

// removeNow removes an object as a careless user would: it removes the finalizers, and waits for nothing.
func removeNow(ctx context.Context, admin client.Client, target requests.Target) error {
	kind, err := admin.RESTMapper().KindFor(schema.GroupVersionResource{Group: target.Group, Resource: target.Resource})
	if err != nil {
		return fmt.Errorf("the kind of %s: %w", target.Resource, err)
	}
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: target.Namespace, Name: target.Name}}
	object.SetGroupVersionKind(kind)
	return rig.Eventually(ctx, removeWithin, func(ctx context.Context) error {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		if err := admin.Patch(ctx, object, patch); err != nil {
			return client.IgnoreNotFound(err)
		}
		err := admin.Delete(ctx, object, &client.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errStillThere, err)
	})
}
