package run

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// Shard is the K-th, from 1, of the N shards into which all runs are divided. The zero Shard has all runs.
type Shard struct{ K, N int }

// ParseShard parses "k/n". Blank text is the zero Shard.
func ParseShard(text string) (Shard, error) {
	if text == "" {
		return Shard{}, nil
	}
	var s Shard
	var rest string
	if n, _ := fmt.Sscanf(text, "%d/%d%s", &s.K, &s.N, &rest); n != 2 || s.K < 1 || s.K > s.N {
		return Shard{}, fmt.Errorf("the shard %q is not k/n, with k from 1 to n", text)
	}
	return s, nil
}

// String returns the text that ParseShard reads; the zero Shard is "1/1".
func (s Shard) String() string { return fmt.Sprintf("%d/%d", max(1, s.K), max(1, s.N)) }

// whole reports whether the shard has all runs.
func (s Shard) whole() bool { return s.N <= 1 }

// has reports whether the shard has the run with this key. It depends on the key alone. So machines agree
// that know nothing of each other, whatever the order of requests in their reference runs.
func (s Shard) has(key string) bool {
	if s.whole() {
		return true
	}
	sum := sha256.Sum256([]byte(key))
	return binary.BigEndian.Uint64(sum[:])%uint64(s.N) == uint64(s.K-1) //nolint:gosec // Both are positive, as ParseShard has seen to.
}
