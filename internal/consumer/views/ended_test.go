package views

import (
	"context"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

// TestAWatchEnds checks that a watch ends although nobody has received its event. synctest checks that no
// goroutine is left: it fails when a goroutine of its bubble waits forever.
func TestAWatchEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := watch.NewRaceFreeFake()
		from := &toolscache.ListWatch{
			ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
				return &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
			},
			WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
				return watch.Filter(source, func(in watch.Event) (watch.Event, bool) { return in, true }), nil
			},
		}
		stream := drainedOf(t, from)
		source.Add(&metav1.PartialObjectMetadata{})
		source.Add(&metav1.PartialObjectMetadata{})
		synctest.Wait()
		stream.Stop()
		synctest.Wait()
	})
}

func drainedOf(t *testing.T, from toolscache.ListerWatcher) watch.Interface {
	t.Helper()
	stream, err := drainedWatch(from)(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return stream
}
