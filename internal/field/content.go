package field

import (
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// DigestKey is the key of the digest in a map without its content. No API server accepts the character
// '#' in a key.
const DigestKey = "#"

// perEntry is the memory that an entry of a map takes in addition to its key and value, in bytes.
const perEntry = 48

// digestSeed makes digests unpredictable outside of this process. Digests are only compared within the
// process.
var digestSeed = maphash.MakeSeed()

// content is the type of the values in ConfigMaps and Secrets.
type content interface{ ~string | ~[]byte }

// WithoutContent returns what is kept in memory of an object or its copy. For a ConfigMap or Secret, it
// replaces the content by a digest. Other objects stay whole. A cache may apply it twice: the second
// time changes nothing.
func WithoutContent(obj any) any {
	switch full := obj.(type) {
	case *corev1.ConfigMap:
		held := *full
		held.Data, held.BinaryData = DigestOf(full.Data), DigestOf(full.BinaryData)
		return &held
	case *corev1.Secret:
		held := *full
		held.Data, held.StringData = DigestOf(full.Data), nil
		return &held
	default:
		return obj
	}
}

// ContentSize returns the approximate memory, in bytes, of the content that WithoutContent dropped from
// an object.
func ContentSize(obj any) int64 {
	switch held := obj.(type) {
	case *corev1.ConfigMap:
		return Digested(held.Data) + Digested(held.BinaryData)
	case *corev1.Secret:
		return Digested(held.Data)
	default:
		return 0
	}
}

// MergeContent returns the content that a copy should have. It returns held if that is a digest of the
// desired content, otherwise the desired content.
func MergeContent[V content](desired, held map[string]V) map[string]V {
	if maps.EqualFunc(DigestOf(desired), DigestOf(held), func(a, b V) bool { return string(a) == string(b) }) {
		return held
	}
	return desired
}

// LacksContent reports whether after cannot replace before, which may be nil. That is so if after has
// only a digest of some content, and before has another digest or none.
func LacksContent(before, after any) bool {
	switch after := after.(type) {
	case *corev1.ConfigMap:
		was, ok := before.(*corev1.ConfigMap)
		if !ok {
			was = &corev1.ConfigMap{}
		}
		return lacks(was.Data, after.Data) || lacks(was.BinaryData, after.BinaryData)
	case *corev1.Secret:
		was, ok := before.(*corev1.Secret)
		if !ok {
			was = &corev1.Secret{}
		}
		return lacks(was.Data, after.Data)
	default:
		return false
	}
}

func lacks[V content](before, after map[string]V) bool {
	_, is := ParseDigest(after)
	return is && string(before[DigestKey]) != string(after[DigestKey])
}

// DigestOf replaces content by its hash and the memory that it took.
func DigestOf[V content](all map[string]V) map[string]V {
	if len(all) == 0 {
		return nil
	}
	if _, is := ParseDigest(all); is {
		return all
	}
	var hash maphash.Hash
	hash.SetSeed(digestSeed)
	size := 0
	text := func(s string) { // The length makes different contents hash differently.
		_, _ = hash.WriteString(strconv.Itoa(len(s)) + ":")
		_, _ = hash.WriteString(s)
		size += len(s)
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		text(key)
		text(string(all[key]))
		size += perEntry
	}
	return map[string]V{DigestKey: V(strconv.FormatUint(hash.Sum64(), 16) + "/" + strconv.Itoa(size))}
}

// MostDigest limits the length of a digest, because a provider may send something that looks like a
// digest.
const MostDigest = 64

// ParseDigest returns the size that a digest records. is reports whether all is a digest.
func ParseDigest[V content](all map[string]V) (size int64, is bool) {
	value, is := all[DigestKey]
	if !is || len(all) != 1 || len(value) > MostDigest {
		return 0, false
	}
	_, said, is := strings.Cut(string(value), "/")
	size, err := strconv.ParseInt(said, 10, 64)
	return max(size, 0), is && err == nil
}

// Digested returns the size of the content in bytes that a digest stands for, or the size of the content itself.
func Digested[V content](held map[string]V) int64 {
	size, _ := ParseDigest(held)
	return size
}
