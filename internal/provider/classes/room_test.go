package classes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/internal/provider/connection"
)

func reportOf(name, class, capacity, largest string) *storagev1.CSIStorageCapacity {
	report := &storagev1.CSIStorageCapacity{ObjectMeta: metav1.ObjectMeta{Namespace: "driver", Name: name}, StorageClassName: class}
	if capacity != "" {
		report.Capacity = ptr.To(resource.MustParse(capacity))
	}
	if largest != "" {
		report.MaximumVolumeSize = ptr.To(resource.MustParse(largest))
	}
	return report
}

func driverOf(name string, reports bool) *storagev1.CSIDriver {
	return &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.CSIDriverSpec{StorageCapacity: &reports}}
}

// TestRoom: the room of a class is that of all parts of the provider, and no volume is larger than the largest part.
func TestRoom(t *testing.T) {
	const gi = int64(1) << 30
	type space = connection.Space
	all := func(of ...any) func(*Room) { return func(r *Room) { _ = r.spaces.Replace(of, "") } }
	drivers := func(r *Room) {
		_ = r.drivers.Replace([]any{driverOf("b.example.com", true), driverOf("a.example.com", true), driverOf("silent.example.com", false)}, "")
	}
	var crowd []any
	for i := range mostReports {
		crowd = append(crowd, reportOf(fmt.Sprint(i), "fast", "1Gi", ""))
	}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Group: "storage.k8s.io", Resource: "csistoragecapacities"}, "", errors.New("no"))
	for name, test := range map[string]struct {
		answers []func(*Room)
		want    map[string]space // Of the classes; nil: nothing is known.
		empty   bool             // It is known that nothing is.
	}{
		"no answer":                {},
		"half an answer":           {answers: []func(*Room){drivers}},
		"one part":                 {answers: []func(*Room){drivers, all(reportOf("1", "fast", "8Gi", ""))}, want: map[string]space{"fast": {Total: 8 * gi, Largest: 8 * gi}}},
		"two parts, and a maximum": {answers: []func(*Room){drivers, all(reportOf("1", "fast", "8Gi", "2Gi"), reportOf("2", "fast", "4Gi", ""), reportOf("3", "slow", "1Gi", ""))}, want: map[string]space{"fast": {Total: 12 * gi, Largest: 4 * gi}, "slow": {Total: gi, Largest: gi}}},
		"rounded down":             {answers: []func(*Room){drivers, all(reportOf("1", "fast", "100Gi", ""))}, want: map[string]space{"fast": {Total: 96 * gi, Largest: 96 * gi}}},
		"too large for a number":   {answers: []func(*Room){drivers, all(reportOf("1", "fast", "8Ei", ""), reportOf("2", "fast", "1e30", ""))}, want: map[string]space{"fast": {Total: 15 << 59, Largest: 15 << 59}}},
		"less than nothing":        {answers: []func(*Room){drivers, all(reportOf("1", "fast", "-5Gi", ""))}, want: map[string]space{"fast": {}}},
		"one without a number":     {answers: []func(*Room){drivers, all(reportOf("1", "fast", "", ""))}, want: map[string]space{"": {}}},
		"one changes, another goes": {answers: []func(*Room){drivers, all(reportOf("1", "fast", "8Gi", ""), reportOf("2", "fast", "8Gi", "")), func(r *Room) {
			_ = r.spaces.Update(reportOf("1", "fast", "2Gi", ""))
			_ = r.spaces.Delete(reportOf("2", "fast", "8Gi", ""))
		}}, want: map[string]space{"fast": {Total: 2 * gi, Largest: 2 * gi}}},
		"no right": {answers: []func(*Room){drivers, func(r *Room) { r.spaces.failed(forbidden) }}, empty: true},
		"too many": {answers: []func(*Room){drivers, all(crowd...)}, empty: true},
	} {
		t.Run(name, func(t *testing.T) {
			now := clocktesting.NewFakeClock(time.Now())
			r := NewRoom(&rest.Config{Host: "https://provider.example.com"}, &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
				<-req.Context().Done()
				return nil, req.Context().Err()
			})}, now)
			var got *connection.Room
			r.Follow(t.Context(), func(room *connection.Room) { got = room })
			r.Want(t.Context(), true)
			for _, answer := range test.answers {
				answer(r)
			}
			now.Step(roomInterval)
			var want *connection.Room
			switch {
			case test.empty:
				want = &connection.Room{}
			case test.want != nil:
				want = &connection.Room{Drivers: []string{"a.example.com", "b.example.com"}, Classes: test.want}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			r.Want(t.Context(), false)
			now.Step(roomInterval)
			if got != nil {
				t.Errorf("nobody wants it any more: %v", got)
			}
		})
	}
	var none *Room
	none.Want(context.Background(), true)
}

// TestRoomOf: only what the provider's scheduler asks for counts.
func TestRoomOf(t *testing.T) {
	room := &connection.Room{Drivers: []string{"a"}, Classes: map[string]connection.Space{"fast": {Total: 5}}}
	for name, test := range map[string]struct {
		room          *connection.Room
		driver, class string
		want          int64
		known         bool
	}{
		"reported":                 {room, "a", "fast", 5, true},
		"no room at all":           {room, "a", "slow", 0, true},
		"a driver without reports": {room, "b", "fast", 0, false},
		"nothing is known":         {nil, "a", "fast", 0, false},
	} {
		if got, known := test.room.Of(test.driver, test.class); got.Total != test.want || known != test.known {
			t.Errorf("%s: got %v, %t", name, got, known)
		}
	}
}
