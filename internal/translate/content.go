package translate

import (
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// DigestKey is the key of the digest in a map whose content was dropped. No API server
// accepts such a key: '#' is not allowed in one.
const DigestKey = "#"

// perEntry is the memory that an entry of a map takes besides key and value, in bytes.
const perEntry = 48

// digestSeed makes digests that nobody outside of this process can aim at. They are
// only compared within the process.
var digestSeed = maphash.MakeSeed()

// content is what ConfigMaps and Secrets hold.
type content interface{ ~string | ~[]byte }

// WithoutContent returns what is kept in memory of an object or its copy: of a
// ConfigMap or Secret everything but the content, of which it keeps a digest; of others
// everything. Applied to its own result it changes nothing: a cache may apply it twice.
func WithoutContent(obj any) any {
	switch full := obj.(type) {
	case *corev1.ConfigMap:
		held := *full
		held.Data, held.BinaryData = digestOf(full.Data), digestOf(full.BinaryData)
		return &held
	case *corev1.Secret:
		held := *full
		held.Data, held.StringData = digestOf(full.Data), nil
		return &held
	default:
		return obj
	}
}

// ContentSize is the approximate memory, in bytes, of the content that was dropped from
// an object.
func ContentSize(obj any) int64 {
	switch held := obj.(type) {
	case *corev1.ConfigMap:
		return digested(held.Data) + digested(held.BinaryData)
	case *corev1.Secret:
		return digested(held.Data)
	default:
		return 0
	}
}

// MergeContent returns the content that a copy should have: the desired one, or what is
// held of it, if that is a digest of the same.
func MergeContent[V content](desired, held map[string]V) map[string]V {
	if maps.EqualFunc(digestOf(desired), digestOf(held), func(a, b V) bool { return string(a) == string(b) }) {
		return held
	}
	return desired
}

// LacksContent reports whether after cannot replace before, which may be nil: some of
// its content is only known as a digest, and before has another.
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
	_, is := parseDigest(after)
	return is && string(before[DigestKey]) != string(after[DigestKey])
}

// digestOf replaces content by a hash and the memory that it took.
func digestOf[V content](all map[string]V) map[string]V {
	if len(all) == 0 {
		return nil
	}
	if _, is := parseDigest(all); is {
		return all
	}
	var hash maphash.Hash
	hash.SetSeed(digestSeed)
	size := 0
	text := func(s string) { // With its length, so that no other content reads the same.
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

// mostDigest limits the length of a digest: a provider may send something that looks
// like one.
const mostDigest = 64

// parseDigest returns the size in a digest, if all is one.
func parseDigest[V content](all map[string]V) (size int64, is bool) {
	value, is := all[DigestKey]
	if !is || len(all) != 1 || len(value) > mostDigest {
		return 0, false
	}
	_, said, is := strings.Cut(string(value), "/")
	size, err := strconv.ParseInt(said, 10, 64)
	return max(size, 0), is && err == nil
}

func digested[V content](held map[string]V) int64 {
	size, _ := parseDigest(held)
	return size
}
