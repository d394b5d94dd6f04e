package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/provider/connection"
)

// failing is a controller whose start fails while it has failures left.
type failing struct{ failures chan error }

func (f *failing) Engage(ctx context.Context, _ multicluster.ClusterName, _ cluster.Cluster) error {
	select {
	case err := <-f.failures:
		go connection.End(ctx, err)
	default:
	}
	return nil
}

func TestAStartThatFailsEndsTheConnectionAndIsTriedAgain(t *testing.T) {
	f := New(Options{Origin: "start", ProbeInterval: 300 * time.Millisecond})
	controllers := &failing{failures: make(chan error, 1)}
	controllers.failures <- errors.New("the view cannot be filled")
	said := make(chan State, 1024)
	go func() { _ = f.Start(t.Context(), controllers) }()
	go remember(t.Context(), f, func(state State) { said <- state })
	f.Connect(target("eu", "1", providerUID))
	for deadline := time.After(30 * time.Second); ; {
		select {
		case state := <-said:
			if state.Reason != v1alpha1.ReasonStartFailed {
				continue
			}
			if state.Phase != Disconnected || !strings.Contains(state.Message, "the view cannot be filled") {
				t.Errorf("the state is %+v", state)
			}
		case <-deadline:
			t.Fatalf("nothing says that the start has failed: %+v", f.State("eu"))
		}
		break
	}
	eventually(t, f, "eu", "is connected again", connected)
}

// hopeless is a controller whose start always fails, each time with another number in its
// error.
type hopeless struct{ starts chan int }

func (h *hopeless) Engage(ctx context.Context, _ multicluster.ClusterName, _ cluster.Cluster) error {
	n := len(h.starts)
	go connection.End(ctx, fmt.Errorf("the view cannot be filled, from port %d", 40000+n))
	h.starts <- n
	return nil
}

// TestAStartThatFailsForGoodIsToldOnce: each session ends likewise, and the binding's
// report never changes after the first.
func TestAStartThatFailsForGoodIsToldOnce(t *testing.T) {
	f := New(Options{Origin: "start-for-good", ProbeInterval: 300 * time.Millisecond})
	controllers := &hopeless{starts: make(chan int, 1024)}
	go func() { _ = f.Start(t.Context(), controllers) }()
	said := make(chan State, 1024)
	go remember(t.Context(), f, func(state State) { said <- state })
	f.Connect(target("eu", "1", providerUID))
	hasBegun := func(n int) {
		t.Helper()
		for deadline := time.After(30 * time.Second); len(controllers.starts) < n; {
			select {
			case <-deadline:
				t.Fatalf("it is tried %d times, want %d", len(controllers.starts), n)
			case <-time.After(time.Millisecond):
			}
		}
	}
	hasBegun(2) // All changes of the first session are reported.
	for len(said) > 0 {
		<-said
	}
	hasBegun(4)
	eventually(t, f, "eu", "says that the start has failed", refusedFor(v1alpha1.ReasonStartFailed))
	if len(said) > 0 {
		t.Errorf("it is told again: %+v, and %d more", <-said, len(said))
	}
}
