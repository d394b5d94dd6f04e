package confined

import (
	"errors"
	"strings"
	"testing"
)

func TestJudge(t *testing.T) {
	denies := errors.New("denied: ValidatingAdmissionPolicy 'spillway-consumers-pods' with binding 'x' denied request")
	forbidden := errors.New("forbidden: User cannot create resource")
	for name, test := range map[string]struct {
		answers map[string]error
		known   bool
		ok      bool
		says    string
	}{
		"it refuses":                  {map[string]error{"spillway-consumers-pods": denies}, true, true, "confine"},
		"another one refuses":         {map[string]error{"spillway-consumers": denies}, false, true, ""},
		"it sees no limits":           {map[string]error{"spillway-consumers-pods": errors.New("ValidatingAdmissionPolicy 'spillway-consumers-pods' with binding 'x' denied request: no params found for policy binding with `Deny` parameterNotFoundAction")}, true, false, "refuse everything"},
		"no right":                    {map[string]error{"spillway-consumers-pods": forbidden}, false, true, ""},
		"one of two accepts":          {map[string]error{"spillway-consumers-pods": denies, "spillway-consumers": nil}, true, false, ": spillway-consumers"},
		"one accepts, one is unknown": {map[string]error{"a": forbidden, "c": nil, "b": nil}, true, false, ": b, c"},
	} {
		got, known := Judge("eu", test.answers)
		if known != test.known || known && (got.OK != test.ok || !strings.Contains(got.Message, test.says)) {
			t.Errorf("%s: got %+v, %v", name, got, known)
		}
	}
}
