// Package hosted is kubectl spillway hosted: it shows what the operator of hosted clusters would do, and helps to
// decide whose value of a field holds.
package hosted

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/plugin/cli"
)

// Command returns the command hosted.
func Command(f *cli.Factory) *cobra.Command {
	command := &cobra.Command{
		Use:   "hosted",
		Short: "Plan changes of hosted clusters, and decide whose value of a field holds",
		Long: `Commands for HostedClusters, which are clusters in EKS, AKS and GKE. They read the HostedCluster, and ask no cloud:
its status has the cluster as the operator last read it.`,
		Example: `  kubectl spillway hosted plan eks-shop -f eks-shop.yaml
  kubectl spillway hosted adopt eks-shop --drifted -f eks-shop.yaml
  kubectl spillway hosted resolve aks-shop 'tags["owner"]' --take spec`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(planCommand(f), adoptCommand(f), resolveCommand(f))
	for _, one := range command.Commands() {
		if one.ValidArgsFunction == nil {
			one.ValidArgsFunction = f.CompleteNames(&v1alpha1.HostedClusterList{})
		}
	}
	return command
}

// get reads a HostedCluster. If there is none of that name, the error has those that exist.
func get(ctx context.Context, consumer *cli.Cluster, name string) (*v1alpha1.HostedCluster, error) {
	served, err := consumer.Serves(v1alpha1.GroupVersion.WithKind("HostedCluster"))
	if err != nil {
		return nil, err
	}
	if !served {
		return nil, fmt.Errorf("%s has no HostedClusters: apply dist/hosted.yaml first", consumer.Name)
	}
	h := &v1alpha1.HostedCluster{}
	err = consumer.Get(ctx, client.ObjectKey{Name: name}, h)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("there is no HostedCluster %s; existing ones: %s", name, names(ctx, consumer))
	}
	if err != nil {
		return nil, fmt.Errorf("reading HostedCluster %s: %w", name, err)
	}
	return h, nil
}

func names(ctx context.Context, consumer *cli.Cluster) string {
	list := &v1alpha1.HostedClusterList{}
	if err := consumer.List(ctx, list); err != nil || len(list.Items) == 0 {
		return "none"
	}
	var all []string
	for _, h := range list.Items {
		all = append(all, h.Name)
	}
	return strings.Join(all, ", ")
}

// readFile returns the content of a file, or of the standard input for "-".
func readFile(f *cli.Factory, path string) ([]byte, error) {
	if path == "-" {
		content, err := io.ReadAll(f.In)
		if err != nil {
			return nil, fmt.Errorf("reading the standard input: %w", err)
		}
		return content, nil
	}
	return os.ReadFile(path)
}
