package hosted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/merge"
	"github.com/spillway-io/spillway/hosted/preview"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/follow"
)

var sides = map[string]merge.Side{"spec": merge.Spec, "cloud": merge.Upstream}

type resolveOptions struct {
	take, hash, format string
	dryRun             bool
	timeout            time.Duration
}

func resolveCommand(f *cli.Factory) *cobra.Command {
	o := &resolveOptions{}
	command := &cobra.Command{
		Use:   "resolve NAME PATH --take spec|cloud",
		Short: "Decide whose value of a field holds",
		Long: `Decides whose value of a field holds: the one in the spec, or the one in the cloud. It shows the value before, in the spec and in
the cloud, writes the decision to the HostedCluster, waits for the operator, and says which value was lost.

If both sides have changed the field, the decision is an entry of spec.sync.resolutions. It has the hash of this conflict, so it does not
decide a later one. If the field is Superseded or Drifted, --take cloud writes the cloud's value to the spec. --take spec removes the
field from the spec, waits until the operator has seen that, and sets it again, so that it is sent. If the field is ImmutableDiffers, only
--take cloud is possible.

If the spec is in Git, use -o patch: it prints a patch for the file, and writes nothing.`,
		Example: `  kubectl spillway hosted resolve aks-shop 'tags["owner"]' --take spec
  kubectl spillway hosted resolve eks-shop publicAccessSources --take cloud

  # For GitOps: print what to add to the file
  kubectl spillway hosted resolve aks-shop 'tags["owner"]' --take spec -o patch`,
		Args: func(command *cobra.Command, args []string) error {
			if len(args) == 2 {
				return nil
			}
			return fmt.Errorf("resolve needs a NAME and a PATH\nusage: %s", command.UseLine())
		},
		ValidArgsFunction: o.complete(f),
	}
	command.RunE = func(command *cobra.Command, args []string) error {
		return o.run(command.Context(), f, args[0], args[1])
	}
	flags := command.Flags()
	flags.StringVar(&o.take, "take", "", "whose value holds: spec or cloud")
	flags.StringVar(&o.hash, "hash", "", "fail unless the conflict has this hash, as in status.conflicts")
	flags.StringVarP(&o.format, "output", "o", "", "patch: print a merge patch for the spec, and write nothing")
	flags.BoolVar(&o.dryRun, "dry-run", false, "show the values; write nothing")
	flags.DurationVar(&o.timeout, "timeout", 5*time.Minute, "how long to wait for the operator")
	_ = command.RegisterFlagCompletionFunc("take", cobra.FixedCompletions([]string{"spec", "cloud"}, cobra.ShellCompDirectiveNoFileComp)) // The flag exists.
	return command
}

// complete completes the name, and then the paths of fields that differ.
func (o *resolveOptions) complete(f *cli.Factory) cobra.CompletionFunc {
	return func(command *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return f.CompleteNames(&v1alpha1.HostedClusterList{})(command, args, begun)
		}
		consumer, err := f.Consumer()
		if err != nil || len(args) > 1 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		h := &v1alpha1.HostedCluster{}
		if err := consumer.Get(command.Context(), client.ObjectKey{Name: args[0]}, h); err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var paths []string
		for _, field := range h.Status.Managed {
			if differs(merge.State(field.State)) {
				paths = append(paths, field.Path)
			}
		}
		return paths, cobra.ShellCompDirectiveNoFileComp
	}
}

// differs reports whether somebody may decide about a field in this state.
func differs(state merge.State) bool {
	return slices.Contains([]merge.State{merge.Conflict, merge.Superseded, merge.Drifted, merge.ImmutableDiffers}, state)
}

func (o *resolveOptions) run(ctx context.Context, f *cli.Factory, name, path string) error {
	take, ok := sides[o.take]
	switch {
	case !ok:
		return errors.New("--take must be spec or cloud: whose value holds")
	case o.format != "" && o.format != "patch":
		return fmt.Errorf("-o %s: must be patch", o.format)
	}
	consumer, err := f.Consumer()
	if err != nil {
		return err
	}
	h, err := get(ctx, consumer, name)
	if err != nil {
		return err
	}
	plan, err := preview.Of(h, h.Spec, time.Now())
	if err != nil {
		return err
	}
	r, err := preview.Resolve(h, plan, path, take)
	if err != nil {
		return err
	}
	if o.hash != "" && o.hash != r.Hash {
		return fmt.Errorf("the conflict of %s is another one by now: its hash is %s, not %s. Look at the values again", path, orNone(r.Hash), o.hash)
	}
	output, err := cli.NewOutput(f, "resolve", "", o.dryRun)
	if err != nil {
		return err
	}
	if o.format == "patch" {
		return patch(f, h, r)
	}
	if err := show(f.Out, &preview.Plan{Name: name, Fields: []preview.Field{r.Field}, Blocked: plan.Blocked}, true); err != nil || o.dryRun {
		return err
	}
	if plan.Blocked != "" {
		return fmt.Errorf("the operator does nothing for now, because %s", plan.Blocked)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.timeout, cli.ErrTime)
	defer cancel()
	return decision{consumer, output, r, take}.write(ctx, h)
}

func orNone(hash string) string {
	if hash == "" {
		return "none"
	}
	return hash
}

// patch prints the change of the spec as a merge patch.
func patch(f *cli.Factory, h *v1alpha1.HostedCluster, r *preview.Resolution) error {
	if len(r.Specs) > 1 {
		return fmt.Errorf("%s is %s, and one patch cannot change that. In Git, remove the field from the spec in one commit. Once the operator has seen that, set it again in the next one", r.Field.Path, r.Field.State)
	}
	after := h.DeepCopy()
	after.Spec = r.Specs[0]
	text, err := client.MergeFrom(h).Data(after)
	if err != nil {
		return err
	}
	if text, err = yaml.JSONToYAML(text); err != nil {
		return err
	}
	_, err = f.Out.Write(text)
	return err
}

// decision is a decision that is written, and then awaited.
type decision struct {
	consumer *cli.Cluster
	output   *cli.Output
	*preview.Resolution
	take merge.Side
}

// write writes the specs. The spec that comes last is awaited until it has done its work.
func (d decision) write(ctx context.Context, h *v1alpha1.HostedCluster) error {
	step := cli.Step{Cluster: "consumer", Object: "hostedcluster.hosted.spillway.io/" + h.Name, Action: "configured"}
	for i, spec := range d.Specs {
		last := i == len(d.Specs)-1
		step.Message = "it has the decision"
		if !last {
			step.Message = d.Field.Path + " changes for a moment, so that its value counts as newly set"
		}
		var err error
		if h, err = d.put(ctx, h, spec); err != nil {
			return d.halfway(i, err)
		}
		d.output.Did(step)
		seen := func(*v1alpha1.HostedCluster) (bool, error) { return true, nil }
		if last {
			seen = d.done
		}
		if h, err = d.await(ctx, h, seen); err != nil {
			return d.halfway(i+1, err)
		}
	}
	d.output.Say("%s: %s's value holds. Lost is %s", d.Field.Path, map[merge.Side]string{merge.Spec: "the spec", merge.Upstream: "the cloud"}[d.take], d.lost(h))
	return nil
}

// put writes a spec, unless somebody has changed the spec since it was read.
func (d decision) put(ctx context.Context, h *v1alpha1.HostedCluster, spec v1alpha1.HostedClusterSpec) (*v1alpha1.HostedCluster, error) {
	for {
		after := h.DeepCopy()
		after.Spec = spec
		err := d.consumer.Patch(ctx, after, client.MergeFromWithOptions(h, client.MergeFromWithOptimisticLock{}), client.FieldOwner(cli.Owner))
		if err == nil {
			return after, nil
		}
		if !apierrors.IsConflict(err) {
			return nil, fmt.Errorf("writing HostedCluster %s: %w", h.Name, err)
		}
		now := &v1alpha1.HostedCluster{}
		if err := d.consumer.Get(ctx, client.ObjectKeyFromObject(h), now); err != nil {
			return nil, fmt.Errorf("reading HostedCluster %s: %w", h.Name, err)
		}
		if now.Generation != h.Generation || now.UID != h.UID {
			return nil, fmt.Errorf("somebody has changed the spec of HostedCluster %s meanwhile; run the command again", h.Name)
		}
		h = now // Only the operator has written its status.
	}
}

// halfway adds to an error that the field is unset.
func (d decision) halfway(written int, err error) error {
	if len(d.Specs) == 2 && written == 1 {
		return fmt.Errorf("%w\nThe spec does not have %s as it was. Set it to %s again, so that it is sent", err, d.Field.Path, short(d.Field.Spec))
	}
	return err
}

// await waits until the operator has processed the spec, and more.
func (d decision) await(ctx context.Context, of *v1alpha1.HostedCluster, more func(*v1alpha1.HostedCluster) (bool, error)) (*v1alpha1.HostedCluster, error) {
	h, waits := of, ""
	watched := []follow.Watched{{List: &v1alpha1.HostedClusterList{}, Options: []client.ListOption{client.MatchingFields{"metadata.name": of.Name}}}}
	err := follow.Until(ctx, d.consumer, watched, func(ctx context.Context) (bool, error) {
		now := &v1alpha1.HostedCluster{}
		if err := d.consumer.Get(ctx, client.ObjectKeyFromObject(of), now); err != nil {
			return false, follow.Again(fmt.Errorf("reading HostedCluster %s: %w", of.Name, err))
		}
		h = now
		h = now
		if now.Status.ObservedGeneration < of.Generation {
			waits = "the operator has not processed the spec yet" + busy(now)
			d.output.Waiting(waits)
			return false, nil
		}
		done, err := more(now)
		if !done && err == nil {
			waits = d.Field.Path + " is " + stateOf(now, d.Field.Path) + busy(now)
			d.output.Waiting(waits)
		}
		return done, err
	})
	if errors.Is(err, cli.ErrTime) {
		err = cli.GaveUp(err, "the operator continues", waits)
	}
	return h, err
}

// done reports whether the decision has done its work. It fails if the cloud refuses the request.
func (d decision) done(h *v1alpha1.HostedCluster) (bool, error) {
	for _, op := range h.Status.Operations {
		sends := slices.ContainsFunc(op.Sent, func(sent v1alpha1.SentField) bool { return sent.Path == d.Field.Path })
		if sends && op.Message != "" && op.Reason != v1alpha1.ReasonBusy {
			return false, fmt.Errorf("the decision is made, but the cloud refuses the request, which the operator repeats: %s", op.Message)
		}
	}
	state := stateOf(h, d.Field.Path)
	if d.take == merge.Upstream {
		return state != string(merge.Conflict), nil
	}
	return state == string(merge.Agreed) || state == "", nil
}

// lost returns the value that was lost: the one that the operator has noted, if it says more than the plan.
func (d decision) lost(h *v1alpha1.HostedCluster) string {
	planned := short(json.RawMessage(d.Lost))
	if d.Field.Item || strings.HasPrefix(planned, "(not shown") {
		return planned
	}
	for _, one := range slices.Backward(h.Status.Decisions) {
		if one.Path == d.Field.Path && string(one.Take) == string(d.take) {
			return short(json.RawMessage(one.Lost))
		}
	}
	return planned
}

func stateOf(h *v1alpha1.HostedCluster, path string) string {
	for _, field := range h.Status.Managed {
		if field.Path == path {
			return field.State
		}
	}
	return ""
}

// busy says what the operator is doing.
func busy(h *v1alpha1.HostedCluster) string {
	var parts []string
	for _, c := range h.Status.Conditions {
		bad := c.Type == v1alpha1.HostedUpdating && c.Status == "True" || c.Type == v1alpha1.HostedSynced && c.Status == "False"
		if bad {
			parts = append(parts, "; "+c.Reason+": "+c.Message)
		}
	}
	return strings.Join(parts, "")
}
