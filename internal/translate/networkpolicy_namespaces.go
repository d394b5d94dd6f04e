package translate

import (
	"cmp"
	"slices"
)

// PeerNamespace is a namespace of the consumer whose pods a NetworkPolicy can name in
// the provider.
type PeerNamespace struct {
	// Labels are those that it has in the consumer.
	Labels map[string]string
	// Remote is its name in the provider.
	Remote string
	// Shared reports that both clusters have it, each with pods of its own.
	Shared bool
}

// PeerNamespaces are the local namespaces that have a counterpart in the provider,
// sorted by its name. labels are those of all local namespaces, by name. mapped are the
// names of the remote namespaces that exist and are the consumer's, by the local ones.
// shared exist in both clusters and mean the same; mount is the mount namespace, which
// has the pods of many local ones, or "".
//
// A shared name that is taken by a remote namespace of another local one, or by the
// mount namespace, is not shared: somebody else's pods are behind it.
func PeerNamespaces(labels map[string]map[string]string, mapped map[string]string, shared []string, mount string) []PeerNamespace {
	var all []PeerNamespace
	taken := map[string]bool{mount: true}
	for local, remote := range mapped {
		taken[remote] = true
		if of, exists := labels[local]; exists && remote != mount {
			all = append(all, PeerNamespace{Labels: of, Remote: remote})
		}
	}
	for _, name := range shared {
		if of, exists := labels[name]; exists && !taken[name] {
			all = append(all, PeerNamespace{Labels: of, Remote: name, Shared: true})
			taken[name] = true
		}
	}
	slices.SortFunc(all, func(a, b PeerNamespace) int { return cmp.Compare(a.Remote, b.Remote) })
	return all
}
