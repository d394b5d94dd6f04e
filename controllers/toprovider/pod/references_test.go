package pod

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-io/spillway/controllers/toprovider/pod/needs"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

// A remote pod names exactly the objects that needs.Of returns for the local one, by their remote
// names. So every object that is renamed is sent, and every object that is sent is renamed.
func TestReferencesAreThoseOfTheRemotePod(t *testing.T) {
	for name, target := range map[string]field.Target{"mapped": fieldtest.Mapped, "shared": fieldtest.Shared} {
		t.Run(name, func(t *testing.T) {
			local := fieldtest.PodOf(t, fieldtest.EveryReference)
			remote := sentPod(t, local, target)
			remote.Spec.EphemeralContainers = Update(local, remote, target, fieldtest.Generous).Ephemeral.Spec.EphemeralContainers
			want := needs.Of(local)
			for _, list := range [][]needs.Reference{want.ConfigMaps, want.Secrets, want.PersistentVolumeClaims} {
				for i := range list {
					list[i].Name = target.Name("team", list[i].Name)
				}
			}
			want = needs.References{ConfigMaps: needs.Deduplicated(want.ConfigMaps), Secrets: needs.Deduplicated(want.Secrets), PersistentVolumeClaims: needs.Deduplicated(want.PersistentVolumeClaims)}
			if diff := cmp.Diff(want, needs.Of(remote)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
