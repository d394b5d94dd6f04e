package bind

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	inventory "sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"
	"sigs.k8s.io/cluster-inventory-api/pkg/access"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/plugin/cli"
)

// profileFlags say how the administrator of a provider reaches it through an inventory of clusters.
type profileFlags struct {
	// profile is the NAMESPACE/NAME of a ClusterProfile in the consumer.
	profile string
	// file has the credential plugins of this machine, as the ClusterProfile API defines that.
	file string
}

// theProvider returns the provider to bind: that of a ClusterProfile, or of kubectl's flags.
func (o *options) theProvider(ctx context.Context, f *cli.Factory, consumer *cli.Cluster) (*cli.Provider, error) {
	switch {
	case o.inventory.profile == "":
		return f.Provider(o.provider)
	case o.provider.Given():
		return nil, fmt.Errorf("set either --cluster-profile or --provider-context, not both")
	case o.inventory.file == "":
		return nil, fmt.Errorf("--cluster-profile needs --clusterprofile-provider-file: the credential plugins of this machine")
	}
	namespace, name, both := strings.Cut(o.inventory.profile, "/")
	if !both || namespace == "" || name == "" {
		return nil, fmt.Errorf("--cluster-profile %s: must be NAMESPACE/NAME", o.inventory.profile)
	}
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(inventory.GroupVersion.WithKind("ClusterProfile"))
	if err := consumer.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, found); err != nil {
		return nil, fmt.Errorf("getting ClusterProfile %s in %s: %w", o.inventory.profile, consumer.Name, err)
	}
	return connectTo(found, o.inventory, consumer.Config.UserAgent)
}

// connectTo connects to the cluster of a ClusterProfile, with a credential plugin that runs on this machine. The consumer
// gets none of these credentials.
func connectTo(found *unstructured.Unstructured, with profileFlags, userAgent string) (*cli.Provider, error) {
	raw, err := found.MarshalJSON()
	if err != nil {
		return nil, err
	}
	profile := &inventory.ClusterProfile{}
	if err := json.Unmarshal(raw, profile); err != nil {
		return nil, fmt.Errorf("reading ClusterProfile %s: %w", with.profile, err)
	}
	plugins, err := access.NewFromFile(with.file)
	if err != nil {
		return nil, fmt.Errorf("--clusterprofile-provider-file %s: %w", with.file, err)
	}
	config, err := plugins.BuildConfigFromCP(profile)
	if err != nil {
		return nil, fmt.Errorf("ClusterProfile %s names no access that --clusterprofile-provider-file %s has a plugin for: %w", with.profile, with.file, err)
	}
	for i := range profile.Status.AccessProviders { // The library leaves this out.
		if at := &profile.Status.AccessProviders[i].Cluster; at.Server == config.Host {
			config.ServerName = at.TLSServerName
		}
	}
	cluster, err := cli.Connect(config, "the provider (ClusterProfile "+with.profile+")", userAgent)
	if err != nil {
		return nil, err
	}
	return &cli.Provider{Cluster: cluster, Endpoint: clientcmdapi.Cluster{
		Server: config.Host, CertificateAuthorityData: config.CAData, TLSServerName: config.ServerName,
	}}, nil
}
