package virtualnode

import (
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestRestored(t *testing.T) {
	type seen struct{ name, version string }
	for name, test := range map[string]struct {
		leases []seen
		want   string // In the error of the last one.
	}{
		"renewed":                      {[]seen{{"eu", "9"}, {"eu", "12"}, {"eu", "12"}}, ""},
		"two of them, one after other": {[]seen{{"eu", "9"}, {"us", "11"}, {"eu", "10"}, {"us", "12"}}, ""},
		"made":                         {[]seen{{"eu", ""}, {"eu", "12"}}, ""},
		"made again":                   {[]seen{{"eu", "12"}, {"eu", ""}, {"eu", "15"}}, ""},
		"restored":                     {[]seen{{"eu", "120"}, {"us", "121"}, {"eu", "99"}}, "Lease eu went back from 120 to 99"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &restored{}
			var err error
			for _, s := range test.leases {
				err = r.note(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: s.name, ResourceVersion: s.version}})
			}
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if err == nil {
				return
			}
			_ = r.note(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "eu", ResourceVersion: "98"}}) // It blocks nobody.
			select {
			case told := <-r.signal():
				if told.Error() != err.Error() {
					t.Errorf("told %v first", told)
				}
			default:
				t.Error("the manager is not told")
			}
		})
	}
}
