package integration

import (
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// A manager logs at level 0 what an administrator should know, and at higher levels what helps in debugging.
var _ = Describe("What a manager says of a connection", func() {
	It("is that it begins and ends, and little else; a renewed token is no new connection", func() {
		cb := home.bind(eu, unique("spec"))
		home.bindingIsReady(cb)
		Expect(home.condition(cb, v1alpha1.BindingCredentialsValid)()).To(
			isTrue(v1alpha1.ReasonAccepted, "the token expires at"), "whoever has to renew it should see when")

		By("replacing the credentials")
		home.putKubeconfig(cb.Spec.KubeconfigSecretRef.Name, eu.providerKubeconfig())
		Eventually(home.eventsAbout(cb)).Should(ContainElement(HaveField("Reason", "CredentialsRotated")), "whoever has replaced them should see that they are used")
		home.bindingIsReady(cb)

		By("taking the provider away")
		Expect(home.Delete(ctx, cb)).To(Succeed())
		Eventually(func() error { _, err := home.binding(cb.Name); return err }).ShouldNot(Succeed(), "the binding should go")

		lines := aboutBinding(output.text(), cb.Name)
		var others []string
		begins := 0
		for _, line := range lines {
			switch {
			case strings.Contains(line, `"provider is connected"`):
				begins++
			case !strings.Contains(line, `"provider is not connected"`): // This happens on a slow machine.
				others = append(others, line)
			}
		}
		Expect(begins).To(BeNumerically(">=", 1), "it is connected; there are these lines:\n%s", strings.Join(lines, "\n"))
		Expect(len(others)).To(BeNumerically("<=", 3), "there are these lines:\n%s", strings.Join(lines, "\n"))
		for _, line := range lines {
			keys := keyOfLog.FindAllString(line, -1)
			slices.Sort(keys)
			Expect(slices.Compact(slices.Clone(keys))).To(Equal(keys), "a key is twice in %s", line)
		}
	})
})

// keyOfLog matches a key of a line, not one in a value, whose quotes are escaped.
var keyOfLog = regexp.MustCompile(`(^| )"[a-zA-Z]+"=`)

// aboutBinding returns the lines at level 0 that name the binding.
func aboutBinding(text, name string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, `"level"=0`) && strings.Contains(line, `"`+name+`"`) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}
