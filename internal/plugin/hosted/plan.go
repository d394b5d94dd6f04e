package hosted

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/preview"
	"github.com/spillway-io/spillway/internal/plugin/cli"
)

type planOptions struct {
	file, format string
	all          bool
}

func planCommand(f *cli.Factory) *cobra.Command {
	o := &planOptions{}
	command := &cobra.Command{
		Use:   "plan NAME",
		Short: "Show what the operator would send to the cloud, and what would be lost",
		Long: `Shows, for each field that the spec sets, the value before (when both sides last agreed), in the spec and in the cloud, and
what becomes of it. Then it shows the requests to the cloud, in order: what they change, what keeps them from overwriting somebody
else's change, what happens to nodes, and which right in the cloud each takes. Last, it shows which values would be lost.

It runs the operator's own merge with what the status of the HostedCluster has. It asks no cloud, and changes nothing. So it does not
know what somebody has changed in the cloud since the operator last read it.

With -f, it plans for the spec in a file. The API server checks that spec, too, if you may update HostedClusters.

The exit code is 2 if something would change, 0 if nothing would, and 1 after an error.`,
		Example: `  kubectl spillway hosted plan eks-shop
  kubectl spillway hosted plan eks-shop -f eks-shop.yaml

  # In a pipeline: which requests would be sent
  kubectl spillway hosted plan eks-shop -f - -o json | jq '.requests[].call'`,
		Args: cobra.ExactArgs(1),
	}
	command.RunE = func(command *cobra.Command, args []string) error { return o.run(command.Context(), f, args[0]) }
	command.Flags().StringVarP(&o.file, "filename", "f", "", "file with the HostedCluster to plan for; - for the standard input")
	command.Flags().BoolVar(&o.all, "all", false, "show fields that agree, too")
	command.Flags().StringVarP(&o.format, "output", "o", "", "json or yaml: print the plan in that format")
	cli.Named(command)
	return command
}

func (o *planOptions) run(ctx context.Context, f *cli.Factory, name string) error {
	if err := cli.CheckFormat(o.format); err != nil {
		return err
	}
	consumer, err := f.Consumer()
	if err != nil {
		return err
	}
	live, err := get(ctx, consumer, name)
	if err != nil {
		return err
	}
	spec, unchecked := live.Spec, ""
	if o.file != "" {
		content, err := readFile(f, o.file)
		if err != nil {
			return err
		}
		candidate, _, _, err := document(content, name)
		if err != nil {
			return fmt.Errorf("%s: %w", o.file, err)
		}
		spec = candidate.Spec
		if unchecked, err = check(ctx, consumer, live, spec); err != nil {
			return err
		}
	}
	plan, err := preview.Of(live, spec, time.Now())
	if errors.Is(err, preview.ErrNotRead) {
		return fmt.Errorf("%w%s", err, why(live))
	}
	if err != nil {
		return err
	}
	if unchecked != "" {
		plan.Notes = append(plan.Notes, unchecked)
	}
	if o.format != "" {
		err = cli.Print(f.Out, o.format, plan)
	} else {
		err = show(f.Out, plan, o.all)
	}
	if err == nil && plan.Changes {
		return cli.Exit(2)
	}
	return err
}

// check asks the API server whether it accepts a spec. It returns a note if the user may not ask.
func check(ctx context.Context, consumer *cli.Cluster, live *v1alpha1.HostedCluster, spec v1alpha1.HostedClusterSpec) (note string, err error) {
	candidate := live.DeepCopy()
	candidate.Spec = spec
	err = consumer.Update(ctx, candidate, client.DryRunAll, client.FieldOwner(cli.Owner))
	switch {
	case apierrors.IsForbidden(err):
		return "the API server has not checked the spec, because you may not update HostedClusters", nil
	case apierrors.IsConflict(err):
		return "", fmt.Errorf("HostedCluster %s has changed meanwhile; run the command again", live.Name)
	case err != nil:
		return "", fmt.Errorf("the API server refuses the spec: %w", err)
	}
	return "", nil
}

// why returns what the conditions say about a cluster that was not read.
func why(h *v1alpha1.HostedCluster) string {
	for _, kind := range []string{v1alpha1.HostedSynced, v1alpha1.HostedCredentialsValid, v1alpha1.HostedReady} {
		for _, c := range h.Status.Conditions {
			if c.Type == kind && c.Status != "True" {
				return fmt.Sprintf(": %s is %s: %s", kind, c.Reason, c.Message)
			}
		}
	}
	return "; does the operator run? kubectl get pods -n spillway-hosted"
}
