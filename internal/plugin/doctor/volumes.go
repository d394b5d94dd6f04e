package doctor

import (
	"context"
	"strings"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/text"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/status"
)

// volumesRole is the ClusterRole for volumes that a provider creates. Nothing binds it as shipped, so the check rights leaves
// it out.
const volumesRole = "spillway-volumes"

// BindVolumes gives the manager the rights of that role.
const BindVolumes = "kubectl create clusterrolebinding " + volumesRole + " --clusterrole=" + volumesRole + " --serviceaccount=" + config.Namespace + ":" + config.Manager

// volumes asks whether the manager may create PersistentVolumes, if a binding maps a StorageClass.
func (i *installation) volumes(ctx context.Context, bindings []v1alpha1.ClusterBinding) {
	var names []string
	for j := range bindings {
		if field.Classes(bindings[j].Spec.Classes).Maps(v1alpha1.ClassStorage) {
			names = append(names, bindings[j].Name)
		}
	}
	if len(names) == 0 {
		return
	}
	roles, err := Granted(i.shipped, volumesRole)
	if err != nil {
		i.found(Finding{Level: Error, Check: Volumes, Message: err.Error()})
		return
	}
	missing, err := i.lacks(ctx, rightsOf(roles))
	if err != nil {
		return // The check rights says so.
	}
	for _, name := range names {
		i.found(ofVolumes(name, missing))
	}
}

// Volumes is the name of that check.
const Volumes = "volumes"

func ofVolumes(name string, missing []cli.Right) Finding {
	if len(missing) == 0 {
		return Finding{Level: OK, Check: Volumes, Object: name, Message: "the manager may create the PersistentVolumes for its StorageClasses"}
	}
	return Finding{
		Level: Error, Check: Volumes, Object: name, Missing: named(missing), Mend: BindVolumes,
		Message: "spec.classes maps a StorageClass, so claims of it wait: the manager may not " + text.Few(named(missing), shown) + " in this cluster",
	}
}

// ofRefused says what to do about writes that this cluster refuses the manager.
func ofRefused(message string) string {
	volumes, rights := field.LacksVolumes(message), field.LacksRights(message)
	var all []string
	if volumes > 0 {
		all = append(all, BindVolumes)
	}
	if rights > volumes {
		all = append(all, "kubectl spillway install applies the roles again")
	}
	if field.Denied(message) || rights == 0 {
		all = append(all, "if the message names a policy or webhook of your own, exempt that account there; otherwise kubectl spillway install applies Spillway's policies again")
	}
	return strings.Join(all, "; ")
}

// repeats reports whether a condition says only what another one, or the check of volumes, says already.
func (p *providers) repeats(binding status.Binding, wait status.Wait) bool {
	for _, other := range binding.Waits {
		if wait.Message == "see the condition "+other.Type {
			return true
		}
		if wait.Type == v1alpha1.BindingVirtualNodeReady && wait.Reason == v1alpha1.ReasonNodeNotReady && other.Type == v1alpha1.BindingConnected {
			return true // Nobody renews the node of a provider that cannot be reached.
		}
	}
	if wait.Type != v1alpha1.BindingWritesRefused || field.Denied(wait.Message) {
		return false
	}
	volumes := field.LacksVolumes(wait.Message)
	for _, f := range p.findings {
		if f.Check == Volumes && f.Object == binding.Name && f.Level == Error {
			return volumes > 0 && volumes == field.LacksRights(wait.Message)
		}
	}
	return false
}
