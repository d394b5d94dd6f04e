package field

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// The domain of an alias begins and ends with these. The alias of example.com/role is
// label.example.com.spillway.io/role.
const (
	aliasBegins = "label."
	aliasEnds   = "." + v1alpha1.Domain
)

// mostAliased is how long the domain of a label with an alias may be. The domain of a key has at most 253
// characters.
const mostAliased = validation.DNS1123SubdomainMaxLength - len(aliasBegins) - len(aliasEnds)

// noPodHas is a label that no remote pod has.
const noPodHas = "label." + v1alpha1.Domain + "/none"

// Alias returns the key under which remote pods have a label that some provider might not allow, or "" if they
// have it under its own key only, or not at all.
//
// A controller in the provider may treat a key with a domain as a command (Limits.Sends). It does not know the
// alias, which is in Spillway's domain, and does not begin with the domain of the label either. But a selector
// finds the pod by its alias. Pods have the aliases in every provider, and selectors over pods name nothing else
// (PodSelector), whatever the limits allow. So a change of the limits changes no selector, and no Service loses a
// pod because of it.
//
// Two keys never have the same alias. Labels of Spillway are not sent, so nobody else sets an alias.
func Alias(key string) string {
	slash := strings.IndexByte(key, '/')
	if slash <= 0 || slash > mostAliased || isPlain(key, key[:slash+1]) || !IsCopiedLabel(key) {
		return ""
	}
	return aliasBegins + key[:slash] + aliasEnds + key[slash:]
}

// aliased returns the label whose alias a key is.
func aliased(alias string) (key string, is bool) {
	domain, name, _ := strings.Cut(alias, "/")
	domain, begins := strings.CutPrefix(domain, aliasBegins)
	domain, ends := strings.CutSuffix(domain, aliasEnds)
	if !begins || !ends {
		return "", false
	}
	return domain + "/" + name, true
}

// isAlias reports whether a key is the alias of a label. Only Spillway writes such keys.
func isAlias(key string) bool {
	_, is := aliased(key)
	return is
}

// PodLabel returns the key by which a selector finds remote pods that have a label in the consumer. Of labels that
// they are sent without, UnsentKey says so.
func PodLabel(key string) string {
	if alias := Alias(key); alias != "" {
		return alias
	}
	if IsOurs(key) { // Remote pods have other labels of Spillway than local ones.
		return noPodHas
	}
	return key
}

// PodLabels returns the labels of a selector, with the keys of PodLabel.
func PodLabels(local map[string]string) map[string]string {
	if local == nil {
		return nil
	}
	remote := make(map[string]string, len(local))
	for key, value := range local {
		remote[PodLabel(key)] = value
	}
	return remote
}

// PodSelector returns the selector of remote pods for one of local pods. It shares no memory with it. The caller
// asks UnsentLabel first whether remote pods have the labels that the selector names.
func PodSelector(local *metav1.LabelSelector) *metav1.LabelSelector {
	if local == nil {
		return nil
	}
	remote := &metav1.LabelSelector{MatchLabels: PodLabels(local.MatchLabels)}
	for i := range local.MatchExpressions {
		expression := local.MatchExpressions[i].DeepCopy()
		expression.Key = PodLabel(expression.Key)
		remote.MatchExpressions = append(remote.MatchExpressions, *expression)
	}
	return remote
}

// EitherLabels are the labels of a local pod, as selectors of local and of remote pods find them: by their keys,
// and by their aliases. It implements labels.Labels.
type EitherLabels map[string]string

// Lookup returns the value of a label.
func (l EitherLabels) Lookup(key string) (value string, exists bool) {
	if local, is := aliased(key); is {
		key = local
	}
	value, exists = l[key]
	return value, exists
}

// Has reports whether the pod has a label.
func (l EitherLabels) Has(key string) bool {
	_, exists := l.Lookup(key)
	return exists
}

// Get returns the value of a label, or "".
func (l EitherLabels) Get(key string) string {
	value, _ := l.Lookup(key)
	return value
}

// isPlain reports whether a key, which has this domain, with its slash, is sent to every provider.
func isPlain(key, domain string) bool {
	return IsOurs(domain) || slices.Contains(plainKeys, domain) || slices.Contains(plainKeys, key)
}
