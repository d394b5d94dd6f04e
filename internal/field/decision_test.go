package field_test

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

func TestWhatIsUndecidedIsNotSent(t *testing.T) {
	var v corev1.Volume
	fieldtest.Plain.Fill(reflect.ValueOf(&v).Elem())
	if diff := cmp.Diff(corev1.Volume{Name: "x"}, field.PlanFor[corev1.Volume](field.Decisions{"Name": field.Send()}).Allowed(&v)); diff != "" {
		t.Error(diff)
	}
}
