package act

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/decide"
	"github.com/spillway-io/spillway/internal/precondition"
	"github.com/spillway-io/spillway/internal/translate"
)

// patch sends the difference between what was seen and what is to be. The UID
// goes with it: another object of that name refuses it. Lists that are merged by
// a key, such as the conditions of a pod, are merged by the API server.
func patch(ctx context.Context, to client.Client, obj client.Object, a decide.Action) error {
	before, ok := a.Before.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("%T is no object", a.Before)
	}
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

// locked is a patch that fails if anybody has written in between.
func locked(before client.Object) client.Patch {
	how := precondition.Locked(before)
	if translate.WithoutContent(before) == any(before) {
		return how // It is held whole.
	}
	return wholeContent{how}
}

// wholeContent is a patch of an object of whose content only a digest is known.
// Content that takes the place of a digest takes the place of all that is there.
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
	for _, field := range fields {
		values, ok := field.(map[string]any)
		if _, replaced := values[translate.DigestKey]; ok && replaced {
			delete(values, translate.DigestKey)
			values["$patch"] = "replace"
		}
	}
	return json.Marshal(fields)
}
