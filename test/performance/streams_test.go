//go:build bench

package performance

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spillway-io/spillway/test/clusters"
	"github.com/spillway-io/spillway/test/performance/docs"
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
	report := StreamsReport{Date: today(), Command: "make bench", Commit: commit(t), Machine: docs.ThisMachine(s.version(t)), Forwards: forwards}
	before := s.open(t)
	report.Memory = append(report.Memory, s.memory(t, "logs -f", s.idleFollower), s.memory(t, "port-forward", s.idleForward))
	report.Rates = append(report.Rates,
		s.rate(t, "`kubectl cp` of 100 MiB from a pod", player.FileSize, s.copyFrom),
		s.rate(t, "`kubectl cp` of 100 MiB to a pod", player.FileSize, s.copyTo),
		s.rate(t, fmt.Sprintf("%d `logs -f` at once, %d KiB each", followers, player.FollowedSize>>10), followers*player.FollowedSize, s.followAll),
	)
	s.awaitEnd(t, before)
	s.say("%d forwards", forwards)
	must(t, rig.ForEach(t.Context(), forwards, s.forwardOnce))
	report.LeftOpen = s.awaitEnd(t, before)
	publishPart(t, "streams", report, report.Markdown())
}

// commit returns the repository's commit, with a plus if there are uncommitted changes.
func commit(t *testing.T) string {
	name, err := exec.CommandContext(t.Context(), "git", "rev-parse", "--short=9", "HEAD").Output()
	must(t, err)
	changes, err := exec.CommandContext(t.Context(), "git", "status", "--porcelain").Output()
	must(t, err)
	if len(changes) > 0 {
		return strings.TrimSpace(string(name)) + "+"
	}
	return strings.TrimSpace(string(name))
}

// memory measures the memory of openStreams streams. Some are opened and closed before, so that one-time
// costs do not count.
func (s *streamSite) memory(t *testing.T, of string, open opener) StreamMemory {
	s.say("memory of %s", of)
	s.whileOpen(t, of, openStreams/8, open, func() {})
	usage, heap := s.usage(t)
	m := StreamMemory{Of: of, Streams: openStreams}
	s.whileOpen(t, of, openStreams, open, func() {
		more, moreHeap := s.usage(t)
		m.Heap, m.RSS = moreHeap-heap, more.RSS-usage.RSS
	})
	return m
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
func (s *streamSite) rate(t *testing.T, what string, size int, run func(t *testing.T, relayed bool) effort) StreamRate {
	rate := StreamRate{What: what}
	mega := float64(size) / 1e6
	for _, relayed := range []bool{false, true, true, false, false, true, true, false, false, true, true, false} {
		effort := run(t, relayed)
		speeds, cpu := &rate.Straight, &rate.CPU
		if relayed {
			speeds, cpu = &rate.Relayed, &rate.RelayedCPU
		}
		*speeds = append(*speeds, mega/effort.seconds)
		cpu.add(effort.cpu, 1e3/mega/6) // Six times each way.
	}
	s.say("%s: straight %.0f, through Spillway %.0f MB/s; CPU %.1f and %.1f s/GB", what, rate.Straight, rate.Relayed, rate.CPU, rate.RelayedCPU)
	return rate
}

// effort is the wall time of an action, and the CPU seconds in it.
type effort struct {
	seconds float64
	cpu     StreamCPU
}

func (s *streamSite) timed(t *testing.T, do func()) effort {
	before, begin := s.usedByAll(t), time.Now()
	do()
	e := effort{seconds: time.Since(begin).Seconds(), cpu: s.usedByAll(t)}
	e.cpu.add(before, -1)
	return e
}

// usedByAll returns the CPU seconds of all processes, in the order of streamParts.
func (s *streamSite) usedByAll(t *testing.T) StreamCPU {
	ofServer := func(c *rig.Cluster) float64 {
		seconds, err := apiServerSeconds(c)
		must(t, err)
		return seconds
	}
	providers := 0.0
	for _, provider := range s.Providers {
		providers += ofServer(provider)
	}
	return StreamCPU{cpuTimeOf(syscall.RUSAGE_CHILDREN).Seconds(), cpuTime().Seconds(), providers, s.used(t), ofServer(s.Consumer)}
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
