package hosted

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spillway-io/spillway/hosted/merge"
	"github.com/spillway-io/spillway/hosted/preview"
)

// meaning says what becomes of a field in each state.
var meaning = map[string]string{
	string(merge.Pushed):           "the spec is sent to the cloud",
	string(merge.Superseded):       "the cloud's value holds, and the spec has another",
	string(merge.WrittenBack):      "the cloud's value is written to the spec",
	string(merge.Drifted):          "it was changed in the cloud, and is only reported",
	string(merge.Conflict):         "both sides have changed it, so it waits for a decision: kubectl spillway hosted resolve",
	string(merge.Floating):         "it changes by itself, and is not compared",
	string(merge.ImmutableDiffers): "the sides differ, and nothing can change it in the cloud",
}

var guards = map[merge.Guard]string{
	merge.ByVersion:    "the cloud refuses the request if somebody has changed it since the last read",
	merge.ByOperations: "the operator reads the cloud's list of operations before and after, and names what was overwritten",
	merge.ByReading:    "the operator reads the values right before and after",
}

var nodes = map[merge.Nodes]string{
	merge.NodesStay:     "stay",
	merge.NodesResized:  "may be added or removed",
	merge.NodesAdded:    "are created",
	merge.NodesRemoved:  "are deleted with their pool",
	merge.NodesReplaced: "are REPLACED, a few at a time",
}

// show prints a plan.
func show(out io.Writer, plan *preview.Plan, all bool) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, "HostedCluster %s: %s\n", plan.Name, summary(plan))
	showFields(&text, plan.Fields, all)
	for i, request := range plan.InProgress {
		if i == 0 {
			text.WriteString("\nin progress, and taken as done:\n")
		}
		showRequest(&text, "  ", request)
	}
	if len(plan.Requests) > 0 {
		text.WriteString("\nrequests to the cloud, in this order:\n")
		for i, request := range plan.Requests {
			showRequest(&text, fmt.Sprintf("%2d. ", i+1), request)
		}
	}
	if len(plan.SpecWrites) > 0 {
		text.WriteString("\nwritten to the spec (sync.writeBack):\n")
		for _, change := range plan.SpecWrites {
			fmt.Fprintf(&text, "    %s\n", changed(change))
		}
	}
	if len(plan.Lost) > 0 {
		text.WriteString("\nlost, although the author of the value does not know:\n")
		for _, loss := range plan.Lost {
			fmt.Fprintf(&text, "    %s: %s in %s is overwritten with %s\n", loss.Path, short(loss.Lost), other(loss.Take), short(loss.Kept))
		}
	}
	for i, note := range plan.Notes {
		if i == 0 {
			text.WriteString("\n")
		}
		fmt.Fprintf(&text, "note: %s\n", note)
	}
	_, err := out.Write(text.Bytes())
	return err
}

// summary says in a line what would happen.
func summary(plan *preview.Plan) string {
	var parts []string
	count := func(n int, one, many string) {
		switch {
		case n == 1:
			parts = append(parts, one)
		case n > 1:
			parts = append(parts, fmt.Sprintf(many, n))
		}
	}
	waits := 0
	for _, f := range plan.Fields {
		if f.State == string(merge.Conflict) {
			waits++
		}
	}
	count(len(plan.Requests), "1 request to the cloud", "%d requests to the cloud")
	count(len(plan.SpecWrites), "1 field of the spec is overwritten", "%d fields of the spec are overwritten")
	count(waits, "1 field waits for a decision", "%d fields wait for a decision")
	if len(parts) == 0 {
		parts = append(parts, "nothing would change")
	}
	text := strings.Join(parts, ", ")
	if plan.Blocked != "" {
		text = "nothing happens for now, because " + plan.Blocked + ". Otherwise: " + text
	}
	return text
}

func showFields(text *bytes.Buffer, fields []preview.Field, all bool) {
	agree, seen := 0, map[string]bool{}
	table := tabwriter.NewWriter(text, 0, 0, 3, ' ', 0)
	for _, f := range fields {
		if f.State == string(merge.Agreed) && !all {
			agree++
			continue
		}
		if len(seen) == 0 {
			fmt.Fprint(table, "\nFIELD\tBEFORE\tSPEC\tCLOUD\tSTATE\n")
		}
		seen[f.State] = true
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", f.Path, short(f.Base), short(f.Spec), short(f.Cloud), f.State+since(f.Since))
	}
	_ = table.Flush() // A buffer takes everything.
	for _, f := range fields {
		if seen[f.State] && meaning[f.State] != "" {
			fmt.Fprintf(text, "%s: %s\n", f.State, meaning[f.State])
			seen[f.State] = false
		}
	}
	switch {
	case agree == 1:
		text.WriteString("1 field agrees (--all shows it)\n")
	case agree > 1:
		fmt.Fprintf(text, "%d fields agree (--all shows them)\n", agree)
	}
}

func showRequest(text *bytes.Buffer, number string, r preview.Request) {
	fmt.Fprintf(text, "%s%s\n", number, strings.TrimSpace(r.Call+" "+r.Item))
	line := func(format string, args ...any) { fmt.Fprintf(text, "      "+format+"\n", args...) }
	for _, change := range r.Changes {
		line("%s", changed(change))
	}
	if guard := guards[r.Guard]; guard != "" {
		line("guard: %s", guard)
	}
	line("nodes: %s", nodes[r.Nodes])
	line("takes: %s", strings.Join(r.Rights, ", "))
	if r.Together {
		line("together with requests for other pools, at the same time")
	}
	if r.Waits != "" {
		line("WAITS because %s", r.Waits)
	}
	if r.Refused != "" {
		line("REFUSED by the cloud%s: %s", again(r.RetryAt), r.Refused)
	}
}

func again(at *time.Time) string {
	if at == nil {
		return ", and sent again soon"
	}
	return ", and sent again at " + at.UTC().Format(time.TimeOnly) + " UTC"
}

func changed(c preview.Change) string {
	return fmt.Sprintf("%s: %s -> %s", c.Path, short(c.From), short(c.To))
}

func since(at *time.Time) string {
	if at == nil {
		return ""
	}
	return " since " + at.UTC().Format("2006-01-02 15:04:05 UTC")
}

// other names the side that loses.
func other(winner merge.Side) string {
	if winner == merge.Spec {
		return "the cloud"
	}
	return "the spec"
}

// short returns a value in one line. Whoever wants all of a long one uses -o.
func short(value json.RawMessage) string {
	const most = 60
	return shortened(value, most)
}

func shortened(value json.RawMessage, most int) string {
	var text string
	switch err := json.Unmarshal(value, &text); {
	case len(value) == 0:
		return "-"
	case err == nil && (text == "exists" || text == "absent" || strings.HasPrefix(text, "(not shown")):
		return text
	}
	runes := []rune(string(value))
	if len(runes) <= most {
		return string(value)
	}
	return string(runes[:most-1]) + "…"
}
