package namespacemap

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/text"
)

// RemoteNamespace is a namespace of the provider with Spillway's mark.
type RemoteNamespace struct {
	Name string
	UID  types.UID
	// LocalNamespace and LocalUID identify the local namespace that it represents.
	LocalNamespace string
	LocalUID       types.UID
	Terminating    bool
	// DeletionBlocker says why the provider cannot finish the deletion, if the provider says so.
	DeletionBlocker string
}

// Snapshot is the input of Decide.
type Snapshot struct {
	Desired []v1alpha1.DesiredMapping
	// Locals are the UIDs of the consumer's namespaces that an entry or a remote namespace names.
	Locals map[string]types.UID
	// Remotes are the provider's namespaces with Spillway's mark, by name.
	Remotes map[string]RemoteNamespace
	// BackingOff are the remote namespaces whose last try was refused and whose next try is not due, by name.
	BackingOff map[string]Outcome
	// Kept are the remote namespaces that stay although they have no entry. An offloading still asks for
	// them, so somebody else has changed the entries.
	Kept sets.Set[string]
	// Rules restrict the names of new remote namespaces; nil: any.
	Rules *Rules
	// Existed are the remote namespaces that existed earlier, by local namespace.
	Existed map[string]string
	// Existing are the remote namespaces that the status says exist, by local namespace.
	Existing map[string]string
	// ManagerNamespace is never a target.
	ManagerNamespace string
}

// Create asks for a remote namespace.
type Create struct {
	Namespace       string
	RemoteNamespace string
	LocalUID        types.UID
}

// Delete asks to delete a remote namespace with Spillway's mark.
type Delete struct {
	Namespace       string
	RemoteNamespace string
	UID             types.UID
	// LocalUID is the UID of the local namespace that it represents.
	LocalUID types.UID
}

// Outcome is what happened to an entry: something already known, or the result of an action.
type Outcome struct {
	Phase   v1alpha1.MappingPhase
	Reason  string
	Message string
}

// Plan is what to do, and what is already known. The actions may be carried out in any order, and any of them
// may wait for the next reconcile.
type Plan struct {
	Creates []Create
	Deletes []Delete
	// Known are the outcomes of the entries that need no action now, by local namespace.
	Known map[string]Known
}

// Known is the outcome of an entry together with its remote namespace.
type Known struct {
	RemoteNamespace string
	Outcome
}

// Decide compares the desired with the actual state.
func Decide(s Snapshot) Plan {
	plan := Plan{Known: make(map[string]Known, len(s.Desired))}
	s.decideKept(&plan)
	desired := make(map[string]string, len(s.Desired)) // remote name → local namespace
	for _, entry := range s.Desired {
		first, taken := desired[entry.RemoteNamespace]
		if !taken {
			desired[entry.RemoteNamespace] = entry.Namespace
		}
		if _, kept := plan.Known[entry.Namespace]; kept {
			continue // No second one is created for it meanwhile.
		}
		outcome, create := s.decideEntry(entry, first)
		switch {
		case create != nil:
			plan.Creates = append(plan.Creates, *create)
		case outcome != nil:
			plan.Known[entry.Namespace] = Known{entry.RemoteNamespace, *outcome}
		}
	}
	s.decideUndesired(&plan, desired)
	return plan
}

// decideEntry returns what is known about a desired entry, or what to create for it. If it returns neither,
// there is nothing to do or report yet. first is the local namespace that asked for the same remote name
// earlier, or "".
func (s Snapshot) decideEntry(entry v1alpha1.DesiredMapping, first string) (*Outcome, *Create) {
	if err := CheckRemote(entry.RemoteNamespace, s.ManagerNamespace); err != nil {
		return failed(v1alpha1.ReasonNameReserved, err.Error()), nil
	}
	if first != "" {
		return failed(v1alpha1.ReasonNameTaken,
			fmt.Sprintf("local namespace %s already claims remote namespace %s", first, entry.RemoteNamespace)), nil
	}
	localUID, ok := s.Locals[entry.Namespace]
	if !ok {
		return nil, nil
	}
	remote, exists := s.Remotes[entry.RemoteNamespace]
	switch {
	case !exists:
		return s.decideMissing(entry, localUID)
	case remote.LocalNamespace == entry.Namespace && remote.LocalUID == localUID && !remote.Terminating:
		return &Outcome{Phase: v1alpha1.MappingAccepted, Reason: v1alpha1.ReasonNamespaceActive}, nil
	case remote.LocalNamespace == entry.Namespace && remote.LocalUID == localUID:
		return &Outcome{v1alpha1.MappingTerminating, v1alpha1.ReasonNamespaceTerminating, WithBlocker(terminatingMessage, remote.DeletionBlocker)}, nil
	case remote.LocalNamespace == "":
		return failed(v1alpha1.ReasonNameConflict, fmt.Sprintf(
			"remote namespace %s belongs to no local namespace; it may be the mountNamespace of the ClusterBinding", remote.Name)), nil
	case remote.LocalNamespace == entry.Namespace:
		// It belongs to an earlier namespace of that name, unless somebody has edited the annotation. The
		// present namespace must not see its content. Spillway does not delete it, because an edited
		// annotation is no reason for that.
		return failed(v1alpha1.ReasonNameConflict, fmt.Sprintf(
			"remote namespace %s belongs to an earlier local namespace %s with UID %s; if no claim there has data that is needed, delete it in the provider, and Spillway recreates it",
			remote.Name, text.Short(remote.LocalNamespace), text.Short(string(remote.LocalUID)))), nil
	default:
		return failed(v1alpha1.ReasonNameConflict,
			fmt.Sprintf("remote namespace %s belongs to local namespace %s with UID %s, not to this one", remote.Name,
				text.Short(remote.LocalNamespace), text.Short(string(remote.LocalUID)))), nil
	}
}

// decideMissing creates the remote namespace of an entry, if the binding allows the name. A namespace that
// existed before is recreated, whatever the rules say now.
func (s Snapshot) decideMissing(entry v1alpha1.DesiredMapping, localUID types.UID) (*Outcome, *Create) {
	if s.Existed[entry.Namespace] != entry.RemoteNamespace {
		if refusal := s.Rules.refusal(entry); refusal != "" {
			return failed(v1alpha1.ReasonNameNotAllowed, refusal), nil
		}
	}
	if outcome, ok := s.BackingOff[entry.RemoteNamespace]; ok {
		return &outcome, nil
	}
	return nil, &Create{entry.Namespace, entry.RemoteNamespace, localUID}
}

// decideKept reports the kept namespaces as they were before somebody changed the entries.
func (s Snapshot) decideKept(plan *Plan) {
	for _, name := range sets.List(s.Kept) {
		if remote, ok := s.Remotes[name]; ok && !remote.Terminating {
			plan.Known[remote.LocalNamespace] = Known{name, Outcome{Phase: v1alpha1.MappingAccepted, Reason: v1alpha1.ReasonNamespaceActive}}
		}
	}
}

// decideUndesired deletes the remote namespaces with Spillway's mark that nobody asks for. It leaves a
// namespace alone if it does not name its local namespace, or has a name that Spillway would never create.
func (s Snapshot) decideUndesired(plan *Plan, desired map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(s.Remotes)) { // Sorted, so that the same one of several is always reported.
		remote := s.Remotes[name]
		if remote.LocalNamespace == "" || desired[name] == remote.LocalNamespace || CheckRemote(name, s.ManagerNamespace) != nil {
			continue
		}
		if !remote.Terminating {
			if s.Kept.Has(name) {
				continue
			}
			plan.Deletes = append(plan.Deletes, Delete{remote.LocalNamespace, name, remote.UID, remote.LocalUID})
		}
		if _, known := plan.Known[remote.LocalNamespace]; !known && s.mayBeRequested(remote) {
			plan.Known[remote.LocalNamespace] = Known{name, Outcome{v1alpha1.MappingTerminating, v1alpha1.ReasonNotRequired,
				WithBlocker(notRequiredMessage, remote.DeletionBlocker)}}
		}
	}
}

// mayBeRequested reports whether Spillway may have asked for a remote namespace that has no entry. Only then is the
// namespace reported, and only then do deletions in the consumer wait for it. Anybody who may label
// namespaces in the provider can write the mark and the name of any local namespace. The local UID proves
// that Spillway created it, perhaps without reporting that.
func (s Snapshot) mayBeRequested(remote RemoteNamespace) bool {
	if s.Existing[remote.LocalNamespace] == remote.Name {
		return true
	}
	uid, ok := s.Locals[remote.LocalNamespace]
	return ok && uid == remote.LocalUID && len(validation.IsDNS1123Label(remote.Name)) == 0
}

func failed(reason, message string) *Outcome {
	return &Outcome{v1alpha1.MappingCreationLoopBackOff, reason, message}
}
