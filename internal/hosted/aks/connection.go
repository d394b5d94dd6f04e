package aks

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/spillway-io/spillway/internal/hosted/cloud"
)

// serverScope is that of the API servers of all AKS clusters, in Microsoft Entra ID.
const serverScope = "6dae42f8-4368-4678-94ff-3960e28e3630/.default"

// Connection leads to the cluster: with the user's certificate or token that Azure gives
// out, or, in a cluster with Entra ID, with a token of ours. The right to it is
// Microsoft.ContainerService/managedClusters/listClusterUserCredential/action. The
// administrator's credential is not asked for.
func (c *Client) Connection(ctx context.Context) (cloud.Connection, error) {
	var out struct {
		Kubeconfigs []struct {
			Value []byte `json:"value"`
		} `json:"kubeconfigs"`
	}
	err := c.do(ctx, http.MethodPost, c.url("listClusterUserCredential"), nil, "", "", &out)
	if c.notFound(err) {
		err = cloud.ErrNotFound
	}
	if err != nil {
		return cloud.Connection{}, c.wrap(err, "asking for access")
	}
	if len(out.Kubeconfigs) == 0 {
		return cloud.Connection{}, c.wrap(errors.New("there is no kubeconfig"), "asking for access")
	}
	connection, err := connectionOf(out.Kubeconfigs[0].Value)
	if err != nil {
		return cloud.Connection{}, c.wrap(err, "reading the kubeconfig")
	}
	if connection.Token != "" || len(connection.Cert) > 0 {
		return connection, nil
	}
	if c.Credential == nil {
		return cloud.Connection{}, c.wrap(errors.New("it is a cluster with Entra ID, and there is no identity for it"), "asking for access")
	}
	token, err := c.Credential.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{serverScope}})
	if err != nil {
		return cloud.Connection{}, c.wrap(err, "asking for a token")
	}
	connection.Token = token.Token
	return connection, nil
}

// connectionOf takes addresses and credentials out of a kubeconfig, and nothing that could
// be run. Errors do not quote it.
func connectionOf(kubeconfig []byte) (cloud.Connection, error) {
	config, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return cloud.Connection{}, errors.New("it is no kubeconfig")
	}
	current := config.Contexts[config.CurrentContext]
	if current == nil || config.Clusters[current.Cluster] == nil || config.AuthInfos[current.AuthInfo] == nil {
		return cloud.Connection{}, fmt.Errorf("its context %q is not complete", config.CurrentContext)
	}
	cluster, user := config.Clusters[current.Cluster], config.AuthInfos[current.AuthInfo]
	return cloud.Connection{
		Host: cluster.Server, CA: cluster.CertificateAuthorityData,
		Token: user.Token, Cert: user.ClientCertificateData, Key: user.ClientKeyData,
	}, nil
}
