package hosted

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/preview"
	"github.com/spillway-io/spillway/internal/plugin/cli"
)

type adoptOptions struct {
	preview.Choice
	fields                []string
	file, rancher, secret string
	dryRun                bool
}

func adoptCommand(f *cli.Factory) *cobra.Command {
	o := &adoptOptions{}
	command := &cobra.Command{
		Use:   "adopt NAME",
		Short: "Write the cloud's values to the file with the spec",
		Long: `Writes values that the cloud has to your file with the HostedCluster. It changes only the fields that you choose: comments, the
order of keys and everything else in the file stay. It does not write to the cluster.

Before it writes, it plans for the result. If any request would be sent, or a field would be in conflict, it says which, writes nothing,
and fails. Without -f, it prints the HostedCluster with the values.

--fields takes paths; each stands for itself and all below it, such as 'nodePools["workers"]'. --drifted takes the fields that the spec
sets, and of which the cloud has another value that holds. A conflict needs a decision instead: kubectl spillway hosted resolve. --all
takes everything that the cloud has, and so the spec then manages all of it.

--from-rancher converts an EKSClusterConfig, AKSClusterConfig or GKEClusterConfig of Rancher, and prints a HostedCluster. It names each
field that has no counterpart.`,
		Example: `  kubectl spillway hosted adopt eks-shop --drifted -f eks-shop.yaml
  kubectl spillway hosted adopt aks-shop --fields 'tags["owner"],nodePools["workers"]' -f aks-shop.yaml

  # A file with everything that the cloud has
  kubectl spillway hosted adopt gke-shop --all > gke-shop.yaml

  # From Rancher
  kubectl spillway hosted adopt --from-rancher eksclusterconfig.yaml --secret aws > eks-shop.yaml`,
		Args: func(command *cobra.Command, args []string) error {
			if len(args) == 1 || len(args) == 0 && o.rancher != "" {
				return nil
			}
			return fmt.Errorf("adopt needs one NAME\nusage: %s", command.UseLine())
		},
	}
	command.RunE = func(command *cobra.Command, args []string) error {
		for _, list := range o.fields {
			o.Fields = append(o.Fields, apart(list)...)
		}
		if o.rancher != "" {
			return o.convert(f, strings.Join(args, ""))
		}
		return o.run(command.Context(), f, args[0])
	}
	flags := command.Flags()
	flags.StringArrayVar(&o.fields, "fields", nil, "paths of fields, separated by commas")
	flags.BoolVar(&o.Drifted, "drifted", false, "the fields that the spec sets, and of which the cloud's value holds")
	flags.BoolVar(&o.All, "all", false, "everything that the cloud has")
	flags.StringVarP(&o.file, "filename", "f", "", "file with the HostedCluster, which is changed")
	flags.BoolVar(&o.dryRun, "dry-run", false, "say what would be adopted; write nothing")
	flags.StringVar(&o.rancher, "from-rancher", "", "file with an EKSClusterConfig, AKSClusterConfig or GKEClusterConfig of Rancher; - for the standard input")
	flags.StringVar(&o.secret, "secret", "", "with --from-rancher: Secret with the credentials, in the operator's namespace (default: the name of the HostedCluster)")
	_ = command.RegisterFlagCompletionFunc("fields", completeFields(f)) // The flag exists.
	return command
}

// apart splits a list of paths at the commas that are not in the key of a path.
func apart(list string) []string {
	var paths []string
	begin, quoted := 0, false
	for i := 0; i < len(list); i++ {
		switch {
		case list[i] == '\\' && quoted:
			i++
		case list[i] == '"':
			quoted = !quoted
		case list[i] == ',' && !quoted:
			paths, begin = append(paths, list[begin:i]), i+1
		}
	}
	return append(paths, list[begin:])
}

// completeFields completes the paths of everything that the cloud has.
func completeFields(f *cli.Factory) cobra.CompletionFunc {
	return func(command *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		consumer, err := f.Consumer()
		if err != nil || len(args) != 1 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		h, err := get(command.Context(), consumer, args[0])
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		paths, err := preview.Choice{All: true}.Paths(h, &preview.Plan{})
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return paths, cobra.ShellCompDirectiveNoFileComp
	}
}

func (o *adoptOptions) run(ctx context.Context, f *cli.Factory, name string) error {
	if !o.Drifted && !o.All && len(o.Fields) == 0 {
		return errors.New("say what to adopt: --fields, --drifted or --all")
	}
	consumer, err := f.Consumer()
	if err != nil {
		return err
	}
	live, err := get(ctx, consumer, name)
	if err != nil {
		return err
	}
	from, err := o.source(live)
	if err != nil {
		return err
	}
	adopted, err := o.adopt(live, from.h.Spec)
	if err != nil {
		return err
	}
	note, err := check(ctx, consumer, live, adopted.Spec)
	if err != nil {
		return err
	}
	tell(f, adopted.Changes, note)
	switch {
	case o.file != "" && len(adopted.Changes) == 0:
		return nil
	case o.file != "":
		return o.rewrite(f, live, from, adopted)
	case o.dryRun:
		return nil
	default:
		return o.print(f, live, adopted.Spec)
	}
}

// tell says what changes. The result may go to the standard output.
func tell(f *cli.Factory, changes []preview.Change, note string) {
	for _, change := range changes {
		_, _ = fmt.Fprintf(f.ErrOut, "%s\n", changed(change))
	}
	if len(changes) == 0 {
		_, _ = fmt.Fprintln(f.ErrOut, "nothing to adopt: the spec has these values already")
	}
	if note != "" {
		_, _ = fmt.Fprintln(f.ErrOut, "note: "+note)
	}
}

// adopt returns the spec with the chosen values, which leads to no request and no conflict.
func (o *adoptOptions) adopt(live *v1alpha1.HostedCluster, spec v1alpha1.HostedClusterSpec) (preview.Adopted, error) {
	plan, err := preview.Of(live, spec, time.Now())
	if err != nil {
		return preview.Adopted{}, err
	}
	paths, err := o.Paths(live, plan)
	if err != nil {
		return preview.Adopted{}, err
	}
	adopted, err := preview.Adopt(live, spec, paths)
	if err != nil || len(adopted.Changes) == 0 {
		return adopted, err
	}
	return adopted, o.prove(live, adopted.Spec)
}

// prove fails if a spec would change anything.
func (o *adoptOptions) prove(live *v1alpha1.HostedCluster, spec v1alpha1.HostedClusterSpec) error {
	plan, err := preview.Of(live, spec, time.Now())
	if err != nil {
		return err
	}
	if why := preview.Unproven(plan); len(why) > 0 {
		return fmt.Errorf("nothing is written, because the result would not only follow the cloud:\n  %s", strings.Join(why, "\n  "))
	}
	return nil
}

// print prints a HostedCluster for a file.
func (o *adoptOptions) print(f *cli.Factory, live *v1alpha1.HostedCluster, spec v1alpha1.HostedClusterSpec) error {
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "HostedCluster", "metadata": map[string]any{"name": live.Name}, "spec": spec,
	})
	if err != nil {
		return err
	}
	_, err = f.Out.Write(text)
	return err
}
