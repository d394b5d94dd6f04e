package hosted

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/merge"
	"github.com/spillway-io/spillway/hosted/preview"
	"github.com/spillway-io/spillway/internal/field/text"
	"github.com/spillway-io/spillway/internal/plugin/cli"
)

// Page is what kubectl spillway ui shows of a HostedCluster.
type Page struct {
	Name       string      `json:"name"`
	UID        types.UID   `json:"uid"`
	Conditions []Condition `json:"conditions"`
	// Blocked says why the operator does nothing for now, and Error why the fields are not known.
	Blocked string `json:"blocked,omitempty"`
	Error   string `json:"error,omitempty"`
	// Fields are those that differ. Agree is how many others there are, and More how many are left out.
	Fields []Row `json:"fields"`
	Agree  int   `json:"agree"`
	More   int   `json:"more,omitempty"`
}

// Condition is a condition of a HostedCluster.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
}

// Row is a field that differs, with its three values.
type Row struct {
	Path    string `json:"path"`
	State   string `json:"state"`
	Meaning string `json:"meaning"`
	// Before is what both sides had when they last agreed, Spec the desired value, Cloud the one in the cloud.
	Before string     `json:"before"`
	Spec   string     `json:"spec"`
	Cloud  string     `json:"cloud"`
	Since  *time.Time `json:"since,omitempty"`
	// Takes are the sides that may be chosen: spec, cloud.
	Takes []string `json:"takes,omitempty"`
	// Shown identifies what the row shows.
	Shown string `json:"shown"`
}

const (
	// mostFields and mostText bound what a page shows of a cluster, and of a value.
	mostFields = 200
	mostText   = 300
)

// PageOf returns what a page shows of a HostedCluster, from its status.
func PageOf(h *v1alpha1.HostedCluster, now time.Time) Page {
	p := Page{Name: h.Name, UID: h.UID, Fields: []Row{}, Conditions: []Condition{}}
	for _, c := range h.Status.Conditions {
		p.Conditions = append(p.Conditions, Condition{Type: c.Type, Status: string(c.Status), Reason: c.Reason, Message: text.Clean(c.Message)})
	}
	plan, err := preview.Of(h, h.Spec, now)
	if err != nil {
		p.Error = text.Clean(err.Error())
		return p
	}
	p.Blocked = text.Clean(plan.Blocked)
	for _, f := range plan.Fields {
		switch {
		case f.State == string(merge.Agreed):
			p.Agree++
		case len(p.Fields) == mostFields:
			p.More++
		default:
			p.Fields = append(p.Fields, rowOf(f))
		}
	}
	return p
}

func rowOf(f preview.Field) Row {
	row := Row{
		Path: text.Clean(f.Path), State: f.State, Since: f.Since, Shown: digest(f),
		Before: shortened(f.Base, mostText), Spec: shortened(f.Spec, mostText), Cloud: shortened(f.Cloud, mostText),
	}
	row.Meaning, _, _ = strings.Cut(meaning[f.State], ": kubectl")
	switch state := merge.State(f.State); {
	case !differs(state):
	case state == merge.ImmutableDiffers:
		row.Takes = []string{"cloud"}
	default:
		row.Takes = []string{"spec", "cloud"}
	}
	return row
}

// digest identifies a field with its state and all its values.
func digest(f preview.Field) string {
	content, err := json.Marshal([]any{f.Path, f.State, f.Hash, string(f.Base), string(f.Spec), string(f.Cloud)})
	if err != nil {
		return "" // Strings have no value that JSON lacks.
	}
	return fmt.Sprintf("%x", sha256.Sum256(content))
}

// Choice says whose value of a field holds, and what the user saw when he chose.
type Choice struct {
	Name string    `json:"name"`
	UID  types.UID `json:"uid"`
	Path string    `json:"path"`
	// Take is spec or cloud.
	Take string `json:"take"`
	// Shown is Row.Shown.
	Shown string `json:"shown"`
}

// Decide does what the command resolve does, unless the field has changed since the user saw it.
func Decide(ctx context.Context, consumer *cli.Cluster, output *cli.Output, choice Choice) error {
	take, ok := sides[choice.Take]
	if !ok {
		return errors.New("take must be spec or cloud")
	}
	h, err := get(ctx, consumer, choice.Name)
	if err != nil {
		return err
	}
	plan, r, err := resolution(h, choice.Path, take)
	switch {
	case err != nil:
		return err
	case h.UID != choice.UID || digest(r.Field) != choice.Shown:
		return fmt.Errorf("%s has changed since you looked: nothing is written. Look at the values again", choice.Path)
	}
	if err := blocked(plan); err != nil {
		return err
	}
	return decision{consumer, output, r, take, h.Status.Decisions}.write(ctx, h)
}
