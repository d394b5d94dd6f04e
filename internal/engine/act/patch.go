package act

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/precondition"
)

// patch sends the difference between the object that was read and the wanted one. It includes the UID, so
// another object of that name refuses it. The API server merges lists that have a key, such as a pod's
// conditions.
func patch(ctx context.Context, to client.Client, obj client.Object, a decide.Action) error {
	before := shallowCopy(a.Before)
	before.SetUID("")
	obj.SetUID(a.Before.GetUID())
	var how client.Patch
	if a.Locked {
		how = locked(before)
	} else {
		how = precondition.ByEntry(client.StrategicMergeFrom(before), before)
	}
	switch {
	case a.Verb == decide.PatchStatus:
		return to.Status().Patch(ctx, obj, how)
	case a.Subresource != "":
		return to.SubResource(a.Subresource).Patch(ctx, obj, how)
	default:
		return to.Patch(ctx, obj, how)
	}
}

// shallowCopy returns an object whose own fields can be set without changing obj.
func shallowCopy(obj client.Object) client.Object {
	copied := reflect.New(reflect.TypeOf(obj).Elem())
	copied.Elem().Set(reflect.ValueOf(obj).Elem())
	return copied.Interface().(client.Object)
}

// locked returns a patch that fails if anybody has written the object since.
func locked(before client.Object) client.Patch {
	how := precondition.Locked(before)
	if field.WithoutContent(before) == any(before) {
		return how // The caches hold it in full.
	}
	return wholeContent{how}
}

// wholeContent is a patch of an object whose content is known only by its digest. The new content replaces all
// of the old content.
type wholeContent struct{ client.Patch }

// Type implements client.Patch.
func (wholeContent) Type() types.PatchType { return types.StrategicMergePatchType }

// Data implements client.Patch.
func (w wholeContent) Data(obj client.Object) ([]byte, error) {
	diff, err := w.Patch.Data(obj)
	if err != nil {
		return nil, err
	}
	fields := map[string]any{}
	if err := json.Unmarshal(diff, &fields); err != nil {
		return nil, fmt.Errorf("reading a patch: %w", err)
	}
	for _, value := range fields {
		values, ok := value.(map[string]any)
		if _, replaced := values[field.DigestKey]; ok && replaced {
			delete(values, field.DigestKey)
			values["$patch"] = "replace"
		}
	}
	return json.Marshal(fields)
}
