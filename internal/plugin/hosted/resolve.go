package hosted

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/merge"
	"github.com/spillway-io/spillway/hosted/preview"
	"github.com/spillway-io/spillway/internal/plugin/cli"
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

--take cloud writes the cloud's value to the spec. If it is a secret in conflict, the decision is an entry of spec.sync.resolutions instead.

If both sides have changed the field, --take spec is an entry of spec.sync.resolutions. It has the hash of this conflict, so it does not
decide a later one. If the field is Superseded or Drifted, --take spec removes the field from the spec, waits until the operator has seen
that, and sets it again, so that it is sent. If the field is ImmutableDiffers, only --take cloud is possible.

If the spec is in Git, use -o patch: it prints a patch for the file, and writes nothing. For a field of a pool, use adopt with your file.`,
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
	plan, r, err := resolution(h, path, take)
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
	if err := blocked(plan); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.timeout, cli.ErrTime)
	defer cancel()
	return decision{consumer, output, r, take, h.Status.Decisions}.write(ctx, h)
}

// resolution returns how to let one side's value of a field hold.
func resolution(h *v1alpha1.HostedCluster, path string, take merge.Side) (*preview.Plan, *preview.Resolution, error) {
	plan, err := preview.Of(h, h.Spec, time.Now())
	if err != nil {
		return nil, nil, err
	}
	r, err := preview.Resolve(h, plan, path, take)
	return plan, r, err
}

// blocked returns an error if a decision would have no effect now.
func blocked(plan *preview.Plan) error {
	if plan.Blocked == "" {
		return nil
	}
	return fmt.Errorf("the operator does nothing for now, because %s", plan.Blocked)
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
	if !r.Patchable {
		// In a list, a merge patch would have all items, with all that they have.
		return fmt.Errorf("a merge patch cannot change %s alone. Write the cloud's value to your file instead: kubectl spillway hosted adopt %s --fields '%s' -f FILE", r.Field.Path, h.Name, r.Field.Path)
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
