package status

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spillway-io/spillway/internal/field/text"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/follow"
)

// Pending returns what is not as it should be: a manager that is not available, a provider that is not Ready, a
// namespace that is not offloaded yet, and each pod that does not run, except those of
// DaemonSets. It is empty once all of them are.
func (s Status) Pending() []string {
	var pending []string
	add := func(what string, waits []Wait) {
		for _, wait := range waits {
			what += "; " + wait.String()
		}
		pending = append(pending, what)
	}
	if s.Manager != nil && !s.Manager.Available {
		add("the manager is not available: "+s.Manager.Message, nil)
	}
	namespaces := slices.Clone(s.Unplaced)
	for _, binding := range s.Bindings {
		if binding.Name != "" && !binding.Ready {
			add("provider "+binding.Name+" is not Ready", binding.Waits)
		}
		namespaces = append(namespaces, binding.Namespaces...)
	}
	for _, namespace := range namespaces {
		if !namespace.Ready && !namespace.NotOffloaded {
			add("namespace "+namespace.Name+" is not Ready", namespace.Waits)
		}
		for _, pod := range namespace.Pods {
			if !pod.Runs && !pod.DaemonSet {
				add("pod "+namespace.Name+"/"+pod.Name+" does not run", pod.Waits)
			}
		}
	}
	return pending
}

// wait waits until nothing is pending, and prints what is while it changes.
func (o *options) wait(ctx context.Context, f *cli.Factory, consumer *cli.Cluster, namespace string) error {
	output, err := cli.NewOutput(f, "status", o.format, false)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.timeout, cli.ErrTime)
	defer cancel()
	watched, err := readable(ctx, consumer, namespace)
	if err != nil {
		return err
	}
	var last Status
	err = follow.Until(ctx, consumer, watched, func(ctx context.Context) (bool, error) {
		seen, err := readWarned(ctx, consumer, namespace)
		if err != nil {
			return false, follow.Again(err)
		}
		last = Tree(seen)
		pending := last.Pending()
		if len(pending) > 0 {
			output.Waiting(text.Few(pending, most))
		}
		if len(pending) > 0 {
			return false, nil
		}
		if err := seen.ReadObjects(ctx, consumer); err != nil { // Nothing waits for them, so they are read once.
			return false, follow.Again(err)
		}
		last = Tree(seen)
		return true, nil
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		err = cli.GaveUp(err, "not everything runs", text.Few(last.Pending(), most))
	}
	if o.format != "" {
		return errors.Join(cli.Print(f.Out, o.format, last), err)
	}
	_, printed := fmt.Fprint(f.Out, Text(last, o.all))
	return errors.Join(printed, err)
}

// most is how many of the things that are pending a message names.
const most = 3

// longest is how long status --wait waits if nobody says otherwise.
const longest = 5 * time.Minute
