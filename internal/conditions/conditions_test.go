package conditions

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNewBoundsTheMessage(t *testing.T) {
	for name, message := range map[string]string{"none": "", "at the bound": strings.Repeat("ä", 1024), "beyond": strings.Repeat("ä", 1025), "far beyond": strings.Repeat("x", 1<<20)} {
		t.Run(name, func(t *testing.T) {
			got := New("Ready", metav1.ConditionTrue, "Reason", message).Message
			cut := utf8.RuneCountInString(message) > 1024
			if utf8.RuneCountInString(got) > 1024 || strings.HasSuffix(got, "…") != cut || (!cut && got != message) {
				t.Errorf("%d characters, cut: %v", utf8.RuneCountInString(got), cut)
			}
		})
	}
}

func TestSet(t *testing.T) {
	var all []metav1.Condition
	Set(&all, 1, New("Ready", metav1.ConditionFalse, "A", ""))
	all[0].LastTransitionTime = metav1.NewTime(time.Unix(1, 0))
	Set(&all, 2, New("Ready", metav1.ConditionFalse, "B", "x"))
	if c := all[0]; len(all) != 1 || c.Reason != "B" || c.Message != "x" || c.ObservedGeneration != 2 || c.LastTransitionTime.Unix() != 1 {
		t.Errorf("with another reason: %+v", all)
	}
	Set(&all, 2, New("Ready", metav1.ConditionTrue, "C", ""))
	if all[0].LastTransitionTime.Unix() == 1 {
		t.Error("with another status the time stays")
	}
	if got := Reason(all, "Ready") + "/" + Reason(all, "Other") + "/" + Reason(nil, "Ready"); got != "C//" {
		t.Errorf("reasons %s", got)
	}
}
