package field

import (
	"strings"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// DefaultAccount is the ServiceAccount of a pod that names none. It exists in every namespace.
const DefaultAccount = "default"

// Accounts is spec.serviceAccounts of a ClusterBinding. It maps ServiceAccounts of the consumer to
// ServiceAccounts of the provider.
type Accounts []v1alpha1.ServiceAccountMapping

// Of returns the provider's name of a ServiceAccount of the consumer. An item with the namespace takes
// precedence over one for every namespace.
func (a Accounts) Of(namespace, name string) (remote string, mapped bool) {
	for i := range a {
		switch item := &a[i]; {
		case string(item.Name) != name:
		case item.Namespace == namespace:
			return string(item.RemoteName), true
		case item.Namespace == v1alpha1.AllNamespaces:
			remote, mapped = string(item.RemoteName), true
		}
	}
	return remote, mapped
}

// withToken is the end of an item of serviceAccounts that also allows the account's token.
const withToken = "+token"

// Account reports whether pods in a remote namespace may run as a ServiceAccount, and whether they may have
// its token. Every pod may run as DefaultAccount, because pods of accounts that are not mapped do. The
// provider's policy has the same rule.
func (l *Limits) Account(namespace, name string) (allowed, token bool) {
	allowed = name == DefaultAccount
	for _, item := range l.ServiceAccounts {
		pattern, account, _ := strings.Cut(item, "/")
		account, tokenToo := strings.CutSuffix(account, withToken)
		if account == name && matchesStars(pattern, namespace) {
			allowed, token = true, token || tokenToo
		}
	}
	return allowed, token
}

// matchesStars reports whether a text matches a pattern in which each * stands for any characters.
func matchesStars(pattern, text string) bool {
	first, rest, starred := strings.Cut(pattern, All)
	if !starred {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, first)
	if !ok {
		return false
	}
	for {
		part, after, more := strings.Cut(rest, All)
		if !more {
			return strings.HasSuffix(text, rest)
		}
		if _, text, ok = strings.Cut(text, part); !ok {
			return false
		}
		rest = after
	}
}
