package pod

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/spillway-io/spillway/internal/field"
)

// The parts of a spec that may change while a pod runs, as AnnotationSpecHash names them. The names of
// parts of containers end in the container's name. So a change of one image does not revert what the
// provider's admission changed in another.
const (
	partDeadline    = "activeDeadlineSeconds"
	partTolerations = "tolerations"
	partEphemeral   = "ephemeralContainers"
	partResources   = "resources" // of the pod
	partImageOf     = "image."
	partResourcesOf = "resources."
)

// specHash returns the value of AnnotationSpecHash: a hash of each part, as in
// "image.web=9f86d081884c7d65;tolerations=…". It is deterministic. Ephemeral containers never change,
// so only their names count. Callers pass only ephemeral containers and tolerations that are sent.
func specHash(local *corev1.Pod, ephemeral []corev1.EphemeralContainer, tolerations []corev1.Toleration) string {
	return string(appendSpecHash(make([]byte, 0, 512), local, ephemeral, tolerations))
}

func appendSpecHash(b []byte, local *corev1.Pod, ephemeral []corev1.EphemeralContainer, tolerations []corev1.Toleration) []byte {
	spec := &local.Spec
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		b = appendPart(b, partImageOf, c.Name, newDigest().text(c.Image))
		if isSidecar(c) {
			b = appendPart(b, partResourcesOf, c.Name, newDigest().requirements(&c.Resources))
		}
	}
	for i := range spec.Containers {
		c := &spec.Containers[i]
		b = appendPart(b, partImageOf, c.Name, newDigest().text(c.Image))
		b = appendPart(b, partResourcesOf, c.Name, newDigest().requirements(&c.Resources))
	}
	if spec.Resources != nil {
		b = appendPart(b, partResources, "", newDigest().requirements(spec.Resources))
	}
	b = appendPart(b, partDeadline, "", newDigest().number(spec.ActiveDeadlineSeconds))
	names := newDigest()
	for i := range ephemeral {
		names = names.text(ephemeral[i].Name)
	}
	b = appendPart(b, partEphemeral, "", names)
	tolerated := newDigest()
	for i := range tolerations {
		t := &tolerations[i]
		tolerated = tolerated.text(t.Key).text(string(t.Operator)).text(t.Value).text(string(t.Effect)).number(t.TolerationSeconds)
	}
	return appendPart(b, partTolerations, "", tolerated)
}

func appendPart(b []byte, part, container string, d digest) []byte {
	if len(b) > 0 {
		b = append(b, ';')
	}
	b = append(append(b, part...), container...)
	return strconv.AppendUint(append(b, '='), uint64(d), 16)
}

// changedParts returns the names of the parts whose hash differs from the recorded one. If the record
// is missing or damaged, it returns every part, because it is harmless to send a part again.
func changedParts(recorded, desired string) sets.Set[string] {
	known := sets.New(strings.Split(recorded, ";")...)
	changed := sets.New[string]()
	for part := range strings.SplitSeq(desired, ";") {
		if !known.Has(part) {
			name, _, _ := strings.Cut(part, "=")
			changed.Insert(name)
		}
	}
	return changed
}

// digest is an unfinished 64-bit FNV-1a hash. It distinguishes values of one field of one pod, which
// only the pod's owner chooses. A collision, at a chance of 1 in 2^64, would only keep one change from
// being sent.
type digest uint64

func newDigest() digest { return 14695981039346656037 }

func (d digest) byte(b byte) digest { return (d ^ digest(b)) * 1099511628211 }

// text hashes a string and a terminator, so that two strings never hash as one.
func (d digest) text(s string) digest {
	for i := range len(s) {
		d = d.byte(s[i])
	}
	return d.byte(0)
}

func (d digest) number(n *int64) digest {
	if n == nil {
		return d.text("")
	}
	var b [20]byte
	return d.text(string(strconv.AppendInt(b[:0], *n, 10)))
}

// requirements hashes only CPU and memory, because no other resource may change.
func (d digest) requirements(r *corev1.ResourceRequirements) digest {
	for _, list := range [...]corev1.ResourceList{r.Requests, r.Limits} {
		for _, name := range field.Resizable {
			quantity, set := list[name]
			if !set {
				d = d.text("")
				continue
			}
			var b [32]byte
			digits, suffix := quantity.CanonicalizeBytes(b[:0])
			d = d.text(string(digits)).text(string(suffix))
		}
	}
	return d
}
