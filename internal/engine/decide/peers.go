package decide

import (
	"cmp"
	"slices"
)

// PeerNamespace is a namespace of the consumer that has a counterpart in the provider. A remote
// NetworkPolicy can name it as a peer.
type PeerNamespace struct {
	// Labels are its labels in the consumer.
	Labels map[string]string
	// Remote is the name of its counterpart in the provider.
	Remote string
	// Shared reports that both clusters have a namespace of this name, each with pods of its own.
	Shared bool
}

// PeerNamespaces returns the local namespaces that have a counterpart in the provider, sorted by its
// name. Its arguments:
//
//   - labels has the labels of all local namespaces, by name.
//   - mapped has the names of the consumer's remote namespaces that exist, by local name.
//   - shared are namespaces that exist in both clusters and mean the same.
//   - mount is the mount namespace, which has the pods of many local namespaces, or "".
//
// A name in shared does not count if a remote namespace of another local one has it, or if it is the
// mount namespace. Then the pods there are not those that the policy means.
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
