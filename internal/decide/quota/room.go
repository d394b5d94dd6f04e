package quota

// haveRoom reports whether all pods that wait have room, as far as the quotas of a namespace say. The caller holds the lock.
func haveRoom(b *Book, namespace string) bool {
	for _, i := range b.sums.of(namespace) {
		for name, hard := range b.sums.entries[i].hard {
			if b.sums.used[i][name]+b.kept[i][name] > hard {
				return false
			}
		}
	}
	return true
}

// shortage says why a pod that would fit has no room: older pods wait for it. It returns nil if it has. The caller holds the
// lock.
func shortage(b *Book, a *account) *Shortage {
	held := b.sums.clone()
	for _, older := range b.waiting {
		if older == a {
			break
		}
		if older.state != elsewhere && held.short(&older.Pod) == nil {
			held.add(&older.Pod, 1)
		}
	}
	short := held.short(&a.Pod)
	for _, i := range held.of(a.Namespace) {
		if short != nil && held.entries[i].Name == short.Quota {
			used := b.sums.used[i]
			kept := Amounts{short.Resource: held.used[i][short.Resource] - used[short.Resource]}
			short.Used, short.Kept = text(used, short.Resource), text(kept, short.Resource)
		}
	}
	return short
}
