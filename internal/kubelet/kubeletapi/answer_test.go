package kubeletapi

import (
	"strings"
	"testing"
)

func TestAnswered(t *testing.T) {
	tests := map[string]struct {
		code int
		body string
		want Refusal
	}{
		"it may not": {403, `{"kind":"Status","message":"pods \"web\" is forbidden"}`,
			Refusal{ProviderFailed, 403, `provider eu does not allow pods/exec, which only its administrator can change. It says: pods "web" is forbidden`}},
		"credentials":      {401, "Unauthorized", Refusal{ProviderFailed, 502, "provider eu does not accept the credentials of its ClusterBinding"}},
		"a redirect":       {302, "", Refusal{ProviderFailed, 502, "provider eu answered 302 to exec, which is neither a stream nor an error: redirects are not followed"}},
		"not started":      {400, `{"kind":"Status","message":"container \"app\" in pod \"web\" is waiting to start"}`, Refusal{ProviderFailed, 400, `provider eu: container "app" in pod "web" is waiting to start`}},
		"gone":             {404, "pod does not exist\n", Refusal{ProviderFailed, 400, "provider eu: pod does not exist"}},
		"too many":         {429, "slow down", Refusal{ProviderFailed, 429, "provider eu has too many requests: slow down"}},
		"nothing":          {500, "", Refusal{ProviderFailed, 502, "provider eu: it does not say why"}},
		"escape sequences": {503, "\x1b[31mred\n\u202eback", Refusal{ProviderFailed, 502, "provider eu: [31mred  back"}},
		"other JSON":       {500, `{"kind":"Pod","message":"x"}`, Refusal{ProviderFailed, 502, `provider eu: {"kind":"Pod","message":"x"}`}},
		"a long text":      {500, strings.Repeat("é", 10_000), Refusal{ProviderFailed, 502, "provider eu: " + strings.Repeat("é", mostQuoted-1) + "…"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := ProviderError(Exec, "eu", test.code, []byte(test.body)); *got != test.want {
				t.Errorf("got %+v", *got)
			}
		})
	}
}
