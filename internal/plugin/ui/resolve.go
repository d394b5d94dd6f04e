package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/hosted"
)

// resolve decides whose value of a field holds, as the command hosted resolve does. It answers with one JSON object a
// line: what is done, and at the end whether it has succeeded. It goes on if the page closes, because the spec may be
// without the field for a moment.
func (s *server) resolve(w http.ResponseWriter, r *http.Request) {
	const patience = 5 * time.Minute
	choice := hosted.Choice{}
	if err := decode(w, r, &choice); err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	ctx, cancel := context.WithTimeoutCause(s.ctx, patience, cli.ErrTime)
	defer cancel()
	w.Header().Set("Content-Type", "application/x-ndjson")
	lines := &progress{to: w, control: http.NewResponseController(w)}
	output, err := cli.NewOutput(&cli.Factory{IOStreams: genericiooptions.IOStreams{Out: cli.Terminal(lines), ErrOut: cli.Terminal(lines)}}, "resolve", "", false)
	if err == nil {
		err = hosted.Decide(ctx, s.live.scope.consumer, output, choice) //nolint:contextcheck // It ends with the command, and not with the page.
	}
	end := said{Done: true}
	if err != nil {
		end.Error = err.Error()
	}
	lines.say(end)
}

// said is one line of the answer.
type said struct {
	Text  string `json:"text,omitempty"`
	Done  bool   `json:"done,omitempty"`
	Error string `json:"error,omitempty"`
}

// progress sends each line that a command prints.
type progress struct {
	to      http.ResponseWriter
	control *http.ResponseController
}

// Write implements io.Writer. Whether the page is still there does not matter.
func (p *progress) Write(text []byte) (int, error) {
	if line := bytes.TrimSpace(text); len(line) > 0 {
		p.say(said{Text: string(line)})
	}
	return len(text), nil
}

func (p *progress) say(line said) {
	if json.NewEncoder(p.to).Encode(line) == nil {
		_ = p.control.Flush()
	}
}
