package lease

import (
	"testing"
	"time"
)

func TestCheckDuration(t *testing.T) {
	for d, good := range map[time.Duration]bool{
		-time.Second: false, 0: false, 999 * time.Millisecond: false, 1500 * time.Millisecond: false, longest + time.Second: false,
		time.Second: true, 15 * time.Second: true, longest: true,
	} {
		if err := CheckDuration(d); (err == nil) != good {
			t.Errorf("%s: got %v", d, err)
		}
	}
}
