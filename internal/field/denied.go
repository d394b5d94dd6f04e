package field

import "strings"

// Denied reports whether an API server's answer to a write comes from an admission policy or webhook. No right helps against
// these.
func Denied(answer string) bool {
	return strings.Contains(answer, "AdmissionPolicy '") || strings.Contains(answer, " denied request") || strings.Contains(answer, "admission webhook \"")
}

// LacksRights counts the answers in a text that say that the account lacks a right, in the words of Kubernetes' authorizers.
func LacksRights(answers string) int { return strings.Count(answers, "is forbidden: User \"") }

// LacksVolumes counts those of them about a right that the manager has only by the ClusterRole spillway-volumes, which
// nothing binds as shipped.
func LacksVolumes(answers string) int {
	count := 0
	for _, right := range []string{`create resource "persistentvolumes"`, `delete resource "persistentvolumes"`, `patch resource "persistentvolumeclaims/status"`} {
		count += strings.Count(answers, " cannot "+right)
	}
	return count
}
