//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// commandsOnPage are the commands in the code blocks of a page of the documentation, with the output that it shows.
type commandsOnPage struct{ commands []commandOnPage }

type commandOnPage struct {
	// text has the document that the command reads, too.
	text string
	// shows reports that the command begins with "$ ": then output is what it must print.
	shows  bool
	output string
	ran    bool
}

// commandsOf reads the commands of a page that begin with kubectl.
func commandsOf(page string) *commandsOnPage {
	GinkgoHelper()
	raw, err := os.ReadFile(filepath.Join(root(), page))
	Expect(err).NotTo(HaveOccurred())
	all := &commandsOnPage{}
	lines := strings.Split(string(raw), "\n")
	for i := 0; i < len(lines); i++ {
		text := strings.TrimLeft(lines[i], " ")
		indent := lines[i][:len(lines[i])-len(text)]
		text, shows := strings.CutPrefix(text, "$ ")
		if len(indent) < 4 || !strings.HasPrefix(text, "kubectl ") {
			continue
		}
		command := commandOnPage{text: text, shows: shows}
		if strings.HasSuffix(text, "<<'END'") {
			for i++; strings.TrimPrefix(lines[i], indent) != "END"; i++ {
				command.text += "\n" + strings.TrimPrefix(lines[i], indent)
			}
			command.text += "\nEND"
		}
		for shows && i+1 < len(lines) && strings.HasPrefix(lines[i+1], indent) && !strings.HasPrefix(lines[i+1], indent+"$ ") {
			i++
			command.output += strings.TrimPrefix(lines[i], indent) + "\n"
		}
		all.commands = append(all.commands, command)
	}
	return all
}

// run runs the only command that begins with a text in the consumer, until it prints what the page shows.
func (c *commandsOnPage) run(beginning string) {
	GinkgoHelper()
	at := slices.IndexFunc(c.commands, func(command commandOnPage) bool { return strings.HasPrefix(command.text, beginning) })
	Expect(at).NotTo(Equal(-1), "the page has no command %s", beginning)
	command := &c.commands[at]
	output := func() (string, error) {
		shell := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-s")
		shell.Stdin = strings.NewReader(command.text)
		shell.Env = append(os.Environ(), "PATH="+filepath.Join(root(), "bin", "kube")+string(os.PathListSeparator)+os.Getenv("PATH"), "KUBECONFIG="+consumer.Kubeconfig())
		out, err := shell.CombinedOutput()
		return string(out), err
	}
	command.ran = true
	if !command.shows {
		out, err := output()
		Expect(err).NotTo(HaveOccurred(), "%s: %s", command.text, out)
		return
	}
	Eventually(output).Should(Equal(command.output), command.text)
}

// notRun returns the commands that run was not called for.
func (c *commandsOnPage) notRun() (left []string) {
	for i := range c.commands {
		if !c.commands[i].ran {
			left = append(left, c.commands[i].text)
		}
	}
	return left
}
