package account

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/spillway-io/spillway/config"
)

// TestDue: the first time, everything is applied. Later, what the administrator has deleted stays away. The
// mark of the first time comes last.
func TestDue(t *testing.T) {
	shipped, err := config.Objects("provider")
	if err != nil {
		t.Fatal(err)
	}
	logs, exec, services := "spillway-consumer-logs", "spillway-consumer-exec", "spillway-consumer-services"
	tests := map[string]struct {
		missing []string
		without []string
	}{
		"nothing is there":                   {[]string{config.ProviderAccount, logs, exec, services}, nil},
		"the first time was broken off":      {[]string{config.ProviderAccount, exec}, nil},
		"all is there":                       {nil, nil},
		"a right was taken away":             {[]string{logs}, []string{logs}},
		"one without which it does not work": {[]string{logs, services}, []string{logs}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			due, err := Due(t.Context(), shipped, func(_ context.Context, object *unstructured.Unstructured) (bool, error) {
				return slices.Contains(test.missing, object.GetName()), nil
			})
			if err != nil || !isMark(due[len(due)-1]) {
				t.Fatalf("the last is %v, %v", due[len(due)-1], err)
			}
			for _, object := range shipped {
				want := !slices.Contains(test.without, object.GetName())
				if slices.Contains(due, object) != want {
					t.Errorf("%s %s is due: %v", object.GetKind(), object.GetName(), !want)
				}
			}
		})
	}
	away := errors.New("away")
	if _, err := Due(t.Context(), shipped, func(context.Context, *unstructured.Unstructured) (bool, error) { return false, away }); !errors.Is(err, away) {
		t.Errorf("got %v", err)
	}
}

func TestOf(t *testing.T) {
	token := func(claims string) string {
		return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
	}
	for given, want := range map[string]string{
		token(`{"sub":"system:serviceaccount:spillway-provider:spillway-consumer"}`): "spillway-consumer",
		token(`{"sub":"system:serviceaccount:spillway-provider:second"}`):            "second",
		token(`{"sub":"system:serviceaccount:default:second"}`):                      "",
		token(`{"sub":"alice"}`): "",
		token(`{}`):              "",
		token(`[`):               "",
		"e30.%.c2ln":             "",
		"abc":                    "",
		"":                       "",
	} {
		if got, _, err := Of(given); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %q, %v", given, got, err)
		}
	}
}
