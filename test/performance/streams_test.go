//go:build bench

package performance

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/spillway-io/spillway/test/clusters"
	"github.com/spillway-io/spillway/test/performance/rig"
	"github.com/spillway-io/spillway/test/player"
)

const (
	// followers is the number of concurrent logs -f, over two bindings.
	followers = 200
	// forwards is the number of port-forward streams, one after the other.
	forwards = 1000
	// openStreams is how many streams are open during the measurement of memory. One binding may have as
	// many; here they use two.
	openStreams = 128
	// streamPatience bounds the wait for the end of streams.
	streamPatience = time.Minute
)

// TestStreams measures streams to pods, and the same streams straight to the API servers of the providers.
// The providers' kubelets are played.
func TestStreams(t *testing.T) {
	s := startStreams(t)
	before := s.open(t)
	show(t, fmt.Sprintf("memory of the manager for each of %d open streams", openStreams),
		s.memory(t, "logs -f", s.idleFollower), s.memory(t, "port-forward", s.idleForward))
	logs := fmt.Sprintf("%d logs -f at once, %d KiB each", followers, player.FollowedSize>>10)
	show(t, "streams",
		s.rate(t, "kubectl cp of 100 MiB from a pod", player.FileSize, s.copyFrom),
		s.rate(t, "kubectl cp of 100 MiB to a pod", player.FileSize, s.copyTo),
		s.rate(t, logs, followers*player.FollowedSize, s.followAll))
	s.awaitEnd(t, before)
	s.say("%d forwards", forwards)
	must(t, rig.ForEach(t.Context(), forwards, s.forwardOnce))
	s.awaitEnd(t, before)
}

// memory measures the memory of openStreams streams. Some are opened and closed before, so that one-time
// costs do not count.
func (s *streamSite) memory(t *testing.T, of string, open opener) column {
	s.say("memory of %s", of)
	s.whileOpen(t, of, openStreams/8, open, func() {})
	usage, heap := s.usage(t)
	each := func(what string, bytes int64) figure { return measured(what, "%.0f", float64(bytes)/openStreams/1024) }
	var figures []figure
	s.whileOpen(t, of, openStreams, open, func() {
		more, moreHeap := s.usage(t)
		figures = []figure{each("heap, KiB", moreHeap-heap), each("RSS, KiB", more.RSS-usage.RSS)}
	})
	return column{of, figures}
}

// whileOpen calls do while n streams are open.
func (s *streamSite) whileOpen(t *testing.T, of string, n int, open opener, do func()) {
	before := s.open(t)
	ends := make([]func() error, n)
	must(t, rig.ForEach(t.Context(), n, func(ctx context.Context, i int) (err error) {
		ends[i], err = open(ctx, i)
		return err
	}))
	must(t, rig.Eventually(t.Context(), streamPatience, func(context.Context) error {
		if now := s.open(t); now.played-before.played != n {
			return fmt.Errorf("%d streams of %s are open, want %d", now.played-before.played, of, n)
		}
		return nil
	}))
	do()
	for _, end := range ends {
		must(t, end())
	}
	s.awaitEnd(t, before)
}

// opener opens the i-th stream, and returns a function that ends it.
type opener func(ctx context.Context, i int) (end func() error, err error)

// rate calls run, which transfers size bytes, twelve times: straight, through Spillway twice, straight, and
// so on.
func (s *streamSite) rate(t *testing.T, what string, size int, run func(t *testing.T, relayed bool) effort) column {
	mega := float64(size) / 1e6
	var speeds [2][]float64 // Straight, and through Spillway.
	var cpu [2]streamCPU    // In seconds for a GB.
	for _, relayed := range []bool{false, true, true, false, false, true, true, false, false, true, true, false} {
		effort, way := run(t, relayed), 0
		if relayed {
			way = 1
		}
		speeds[way] = append(speeds[way], mega/effort.seconds)
		cpu[way].add(effort.cpu, 1e3/mega/6) // Six times each way.
	}
	s.say("%s: MB/s straight and through Spillway: %.0f", what, speeds)
	straight, relayed := median(speeds[0]), median(speeds[1])
	figures := []figure{
		measured("MB/s straight", "%.0f", straight), measured("MB/s through Spillway", "%.0f", relayed),
		measured("ratio", "%.2f", relayed/straight),
		measured("ratio of CPU seconds", "%.2f", cpu[0].all()/cpu[1].all()),
	}
	for way, name := range []string{"straight", "through Spillway"} {
		for i, part := range streamParts {
			figures = append(figures, measured("CPU seconds a GB, "+name+": "+part, "%.1f", cpu[way][i]))
		}
	}
	return column{what, figures}
}

// streamParts are the processes that take part in streams.
var streamParts = [...]string{"kubectl", "kubelets, and clients of logs", "provider's API server", "manager", "consumer's API server"}

// streamCPU has the CPU seconds of each of streamParts.
type streamCPU [len(streamParts)]float64

func (c streamCPU) all() float64 {
	all := 0.0
	for _, one := range c {
		all += one
	}
	return all
}

// add adds more, times a factor.
func (c *streamCPU) add(more streamCPU, factor float64) {
	for i := range c {
		c[i] += more[i] * factor
	}
}

// effort is the wall time of an action, and the CPU seconds in it.
type effort struct {
	seconds float64
	cpu     streamCPU
}

func (s *streamSite) timed(t *testing.T, do func()) effort {
	before, begin := s.usedByAll(t), time.Now()
	do()
	e := effort{seconds: time.Since(begin).Seconds(), cpu: s.usedByAll(t)}
	e.cpu.add(before, -1)
	return e
}

// usedByAll returns the CPU seconds of all processes, in the order of streamParts.
func (s *streamSite) usedByAll(t *testing.T) streamCPU {
	ofServer := func(c *rig.Cluster) float64 {
		seconds, err := apiServerSeconds(c)
		must(t, err)
		return seconds
	}
	providers := 0.0
	for _, provider := range s.Providers {
		providers += ofServer(provider)
	}
	return streamCPU{cpuTime(syscall.RUSAGE_CHILDREN), cpuTime(syscall.RUSAGE_SELF), providers, s.used(t), ofServer(s.Consumer)}
}

// cpuTime returns the CPU seconds of this process, or of its children that have ended.
func cpuTime(who int) float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(who, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

// copyFrom copies a file from a pod, and copyTo to one.
func (s *streamSite) copyFrom(t *testing.T, relayed bool) effort {
	return s.kubectl(t, relayed, "cp", "--retries=0", s.pods[0].name+":/played", filepath.Join(s.files, "copied"))
}

func (s *streamSite) copyTo(t *testing.T, relayed bool) effort {
	return s.kubectl(t, relayed, "cp", filepath.Join(s.files, "copied"), s.pods[0].name+":/played")
}

// kubectl runs kubectl for pods[0], in the consumer or in the provider, and returns the effort.
func (s *streamSite) kubectl(t *testing.T, relayed bool, args ...string) effort {
	root, err := clusters.Root()
	must(t, err)
	where := s.ends(s.pods[0], relayed)
	command := exec.CommandContext(t.Context(), filepath.Join(root, "bin", "kube", "kubectl"),
		append([]string{"--kubeconfig", where.cluster.Kubeconfig, "--namespace", where.namespace}, args...)...)
	return s.timed(t, func() {
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("kubectl %v: %v: %s", args, err, out)
		}
	})
}
