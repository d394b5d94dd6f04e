package seeded

// site is where a bug goes in the product. was is in the file exactly once, and the build of the harness
// replaces it with bug.
type site struct{ file, was, bug string }

var sites = map[Bug]site{
	RestartForgetsGoing: {"internal/engine/watch/watch.go", `if !w.concerns(obj.GetNamespace()) {`, `if !w.concerns(obj.GetNamespace()) || seeded.On(seeded.RestartForgetsGoing) && e.Before == nil && !obj.GetDeletionTimestamp().IsZero() {`},
	OrphansUnseen: {"internal/engine/watch/watch.go", `func (w *Watcher[T]) onRemote(ctx context.Context, e informer.Change) {`, `
func (w *Watcher[T]) onRemote(ctx context.Context, e informer.Change) {
	if seeded.On(seeded.OrphansUnseen) && e.Initially {
		return
	}
`},
	UnseenDeletion: {"internal/engine/objects/written.go", `if e.Object() == nil {`, `if e.Object() == nil || e.Unseen && seeded.On(seeded.UnseenDeletion) {`},
	PodMovedWithItsNamespace: {"internal/engine/observe/remote.go", `
		named = provenance.RemoteOf(s.Local)
	}
`, `
		named = provenance.RemoteOf(s.Local)
	}
	if site.Destination.Open && seeded.On(seeded.PodMovedWithItsNamespace) {
		remotes = slices.DeleteFunc(remotes, func(remote T) bool {
			elsewhere := client.ObjectKeyFromObject(remote) != at
			if elsewhere {
				s.Duplicates = append(s.Duplicates, remote)
			}
			return elsewhere
		})
	}
`},
	StatusUnpaced:     {"internal/engine/plan/plan.go", `if wait == 0 || !slices.ContainsFunc(plan.Actions, may) {`, `if wait == 0 || !slices.ContainsFunc(plan.Actions, may) || seeded.On(seeded.StatusUnpaced) {`},
	ForeignRelabelled: {"internal/engine/act/find.go", `case c.recorded(s.Local, found):`, `case c.recorded(s.Local, found), seeded.On(seeded.ForeignRelabelled):`},
	DeleteWithoutUID: {"internal/engine/act/act.go", `	return retry.IgnoreGone(to.Delete(ctx, obj, options))`, `
	if seeded.On(seeded.DeleteWithoutUID) {
		options.Preconditions = nil
	}
	return retry.IgnoreGone(to.Delete(ctx, obj, options))
`},
	RetryLost: {"internal/engine/controller.go", `
		if err != nil {
			return retry.Done(err)
`, `
		if err != nil && seeded.On(seeded.RetryLost) {
			return ctrl.Result{}, nil
		}
		if err != nil {
			return retry.Done(err)
`},
	PodBeforePolicy: {"internal/engine/graph.go", `
	var refs []decide.Ref
	for name, kind := range g.preceding {
`, `
	var refs []decide.Ref
	if seeded.On(seeded.PodBeforePolicy) {
		return nil, nil
	}
	for name, kind := range g.preceding {
`},
	CopyReleasedFirst: {"internal/engine/decide/copies.go", `
		return Plan{} // Remote pods still use it, whatever happens to the namespace.
	}
`, `
		return Plan{} // Remote pods still use it, whatever happens to the namespace.
	}
	if seeded.On(seeded.CopyReleasedFirst) && !s.toBeCopied(s.RemoteState) && c.isProtected(s) {
		return c.unprotect(s)
	}
`},
	CopyStays: {"internal/engine/decide/copies.go", `	if !s.toBeCopied(s.RemoteState) {`, `	if !s.toBeCopied(s.RemoteState) && (!seeded.On(seeded.CopyStays) || !s.Destination.Open) {`},
	AddressTakenAtItsWord: {"internal/decide/network/reach.go", `func (r Reach) Shows(ip netip.Addr) bool {`, `
func (r Reach) Shows(ip netip.Addr) bool {
	if seeded.On(seeded.AddressTakenAtItsWord) {
		return true
	}
`},
	OwnAddressShown:        {"internal/engine/address/address.go", `case own(ip):`, `case own(ip) && !seeded.On(seeded.OwnAddressShown):`},
	UnlistedStays:          {"internal/engine/mapping/mapping.go", `offloading.Spec.Sends(resource)`, `offloading.Spec.Sends(resource) || seeded.On(seeded.UnlistedStays)`},
	DrainForgetsNamespaces: {"internal/decide/drain/provider.go", `s.emptied(left); nothing`, `s.emptied(left) || seeded.On(seeded.DrainForgetsNamespaces); nothing`},
	LostWithoutAsking:      {"controllers/toprovider/pod/lost.go", `if !s.Lost {`, `if !s.Lost && !seeded.On(seeded.LostWithoutAsking) {`},
	TerminalOverwritten: {"controllers/toprovider/pod/decide.go", `
	case terminal(s.Local):
		return cleanUpEnded(s)`, `
	case terminal(s.Local) && !seeded.On(seeded.TerminalOverwritten):
		return cleanUpEnded(s)`},
	LocalPodGoesFirst: {"controllers/toprovider/pod/decide.go", `func deleteRemote(s snapshot) decide.Plan {`, `
func deleteRemote(s snapshot) decide.Plan {
	if seeded.On(seeded.LocalPodGoesFirst) {
		return finishDeletion(s)
	}
`},
	CopiedPodBelieved: {"controllers/toprovider/pod/observed.go", `remote.For != local.UID {`, `remote.For != local.UID && !seeded.On(seeded.CopiedPodBelieved) {`},
	LimitsIgnored:     {"controllers/toprovider/pod/accept/checks.go", `if checks[i].scope > known {`, `if checks[i].scope > known || checks[i].scope > podAlone && known == provider && seeded.On(seeded.LimitsIgnored) {`},
	EndpointsUnchecked: {"controllers/toprovider/endpointslice/remote.go", `func allowsAddress(l *field.Limits, ip netip.Addr) bool {`, `
func allowsAddress(l *field.Limits, ip netip.Addr) bool {
	if seeded.On(seeded.EndpointsUnchecked) {
		return true
	}
`},
	PodWithoutLocalUID: {"internal/field/metadata.go", `	annotations[v1alpha1.AnnotationLocalUID] = string(local.GetUID())`, `
	annotations[v1alpha1.AnnotationLocalUID] = string(local.GetUID())
	if seeded.On(seeded.PodWithoutLocalUID) {
		delete(annotations, v1alpha1.AnnotationLocalUID)
	}
`},
	EntryRemovedFirst: {"internal/inventory/world.go", `if namespaceoffloading.Selects(nso, binding) {`, `if seeded.On(seeded.EntryRemovedFirst) || namespaceoffloading.Selects(nso, binding) {`},
	HeldLeaseIgnored: {"internal/provider/lease/decide.go", `	case fresh && s.Renewed && !s.Sharing:`, `
	case seeded.On(seeded.HeldLeaseIgnored):
		return s.take(generation)
	case fresh && s.Renewed && !s.Sharing:
`},
	IdentityUnchecked: {"internal/provider/fleet/connector.go", `pinned != "" && uid != pinned {`, `pinned != "" && uid != pinned && !seeded.On(seeded.IdentityUnchecked) {`},
	LostForGood: {"internal/provider/fleet/connector.go", `
		s.Untried = s.Untried && !s.CredentialsRefused()
	})
`, `
		s.Untried = s.Untried && !s.CredentialsRefused()
	})
	if seeded.On(seeded.LostForGood) {
		<-ctx.Done()
	}
`},
	RightEndsConnection: {"internal/provider/fleet/caches.go", `kind.Optional`, `kind.Optional && !seeded.On(seeded.RightEndsConnection)`},
	BudgetUnbounded: {"internal/provider/budget/ledger.go", `func (l *Ledger) count(object client.Object) {`, `
func (l *Ledger) count(object client.Object) {
	if seeded.On(seeded.BudgetUnbounded) {
		return
	}
`},
	WatchTakenAtItsWord: {"internal/cache/ownwrites/reader.go", `
	if !ok {
		return err
`, `
	if !ok || seeded.On(seeded.WatchTakenAtItsWord) {
		return err
`},
	StatusForgotten: {"controllers/offloadingstatus/reconciler.go", `	result, err := retry.Done(err)`, `
	if seeded.On(seeded.StatusForgotten) {
		return ctrl.Result{}, nil
	}
	result, err := retry.Done(err)
`},
	EntriesTrusted: {"controllers/namespacemap/keep.go", `if !binding.DeletionTimestamp`, `if seeded.On(seeded.EntriesTrusted) || !binding.DeletionTimestamp`},
	ForeignAccepted: {"controllers/namespacemap/act.go", `	if apierrors.IsAlreadyExists(err) && c.Namespace == "" {`, `
	if apierrors.IsAlreadyExists(err) && seeded.On(seeded.ForeignAccepted) {
		err = nil
	}
	if apierrors.IsAlreadyExists(err) && c.Namespace == "" {
`},
	HostUnchecked: {"internal/field/hosts.go", `		case !provider.Allow(of.Host):
`, `		case !seeded.On(seeded.HostUnchecked) && !provider.Allow(of.Host):
`},
	ElsewhereUncounted: {"controllers/toprovider/poddisruptionbudget/remote.go", `	wanted := max(0, desired-elsewhere)`, `
	if seeded.On(seeded.ElsewhereUncounted) {
		elsewhere = 0
	}
	wanted := max(0, desired-elsewhere)
`},
	BindingHeldLate:         {"controllers/clusterbinding/reconciler.go", `if before := cb.DeepCopy(); controllerutil.AddFinalizer(`, `if before := cb.DeepCopy(); !(seeded.On(seeded.BindingHeldLate) && conditions.Reason(Decide(o.snapshot).Conditions, v1alpha1.BindingReady) != v1alpha1.ReasonReady) && controllerutil.AddFinalizer(`},
	RestartWritesAgain:      {"controllers/clusterbinding/reconciler.go", `o.Binding.Status, status) {`, `o.Binding.Status, status) && !seeded.Once(seeded.RestartWritesAgain, r) {`},
	OffloadingReleasedFirst: {"controllers/namespaceoffloading/lifecycle.go", `if !removable {`, `if !removable && !seeded.On(seeded.OffloadingReleasedFirst) {`},
}
