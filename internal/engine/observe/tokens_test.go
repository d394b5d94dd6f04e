package observe

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/kind"
)

// givesTokens counts the pods for which it is asked.
type givesTokens struct{ asked int }

func (g *givesTokens) Need(context.Context, *corev1.Pod, decide.Destination) (decide.Need, error) {
	g.asked++
	return decide.Need{Kind: "token"}, nil
}

// TestTokensAreTheLastNeed: a pod that is not sent for another reason gets no tokens.
func TestTokensAreTheLastNeed(t *testing.T) {
	type state = decide.ObjectState[*corev1.Pod]
	type site = decide.RemoteState[*corev1.Pod]
	yes := func(*corev1.Pod, decide.Inputs) bool { return true }
	no := func(*corev1.Pod, decide.Inputs) bool { return false }
	for name, test := range map[string]struct {
		refused, unwanted bool
		change            func(*state, *site)
		want              int
	}{
		"it is sent otherwise":                {want: 1},
		"what it needs is there":              {change: func(_ *state, at *site) { at.Needs = []decide.Need{{Ready: true}} }, want: 1},
		"it gets none":                        {unwanted: true},
		"it is refused":                       {refused: true},
		"its ConfigMap is not there":          {change: func(_ *state, at *site) { at.Needs = []decide.Need{{}} }},
		"its namespace ends pods too soon":    {change: func(s *state, _ *site) { s.SendBackoff = time.Second }},
		"the provider has just refused it":    {change: func(_ *state, at *site) { at.Refused = &decide.Refused{Wait: time.Second} }},
		"an older pod of its name is leaving": {change: func(s *state, _ *site) { s.Duplicates = []*corev1.Pod{{}} }},
	} {
		t.Run(name, func(t *testing.T) {
			gives := &givesTokens{}
			k := &kind.Kind[*corev1.Pod]{Tokens: yes, Accepts: func(*corev1.Pod, decide.Inputs) (accepted, known bool) { return !test.refused, true }}
			if test.unwanted {
				k.Tokens = no
			}
			o := &Observer[*corev1.Pod]{Kind: k, Tokens: func() Tokens { return gives }}
			s, at := &state{Local: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}}}, &site{}
			if test.change != nil {
				test.change(s, at)
			}
			before := len(at.Needs)
			if err := addTokens(t.Context(), o, s, at); err != nil {
				t.Fatal(err)
			}
			if gives.asked != test.want || len(at.Needs)-before != test.want {
				t.Errorf("it is asked for tokens %d times, and needs %v", gives.asked, at.Needs)
			}
		})
	}
}
