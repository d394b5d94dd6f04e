package syncer

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/translate"
)

// locked is a patch that fails if anybody has written in between.
func locked(before client.Object) client.Patch {
	how := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
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
