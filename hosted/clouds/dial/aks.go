package dial

import (
	"cmp"
	"fmt"
	"net/http"
	"os"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	armpolicy "github.com/Azure/azure-sdk-for-go/sdk/azcore/arm/policy"
	armruntime "github.com/Azure/azure-sdk-for-go/sdk/azcore/arm/runtime"
	azcloud "github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/aks"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
)

func (d *Dialer) aks(cluster v1alpha1.AKSConfig, with v1alpha1.Credentials, secret *corev1.Secret, through *http.Client) (cloud.Client, error) {
	options := d.azure(through)
	credential, subscription, err := d.entra(with, secret, options)
	if err != nil {
		return nil, err
	}
	pipeline, err := armruntime.NewPipeline("spillway-hosted", "v1", credential, runtime.PipelineOptions{}, &armpolicy.ClientOptions{
		ClientOptions: options, DisableRPRegistration: true,
	})
	if err != nil {
		return nil, fmt.Errorf("connecting to Azure: %w", err)
	}
	return &aks.Client{
		Pipeline: pipeline, Credential: credential, Endpoint: options.Cloud.Services[azcloud.ResourceManager].Endpoint,
		Cluster: aks.Cluster{Subscription: subscription, ResourceGroup: cluster.ResourceGroup, Name: cluster.ClusterName},
	}, nil
}

func (d *Dialer) azure(through *http.Client) azcore.ClientOptions {
	options := azcore.ClientOptions{Transport: through, Cloud: azcloud.AzurePublic}
	if d.AKS != "" {
		options.Cloud = azcloud.Configuration{
			ActiveDirectoryAuthorityHost: d.Entra,
			Services:                     map[azcloud.ServiceName]azcloud.ServiceConfiguration{azcloud.ResourceManager: {Endpoint: d.AKS, Audience: d.AKS}},
		}
	}
	if d.Once {
		options.Retry = policy.RetryOptions{MaxRetries: -1}
	}
	return options
}

// entra returns the identity in Azure, and the subscription of the cluster.
func (d *Dialer) entra(with v1alpha1.Credentials, secret *corev1.Secret, options azcore.ClientOptions) (azcore.TokenCredential, string, error) {
	if identity := with.WorkloadIdentity; identity != nil {
		subscription := cmp.Or(identity.SubscriptionID, os.Getenv("AZURE_SUBSCRIPTION_ID"))
		if subscription == "" {
			return nil, "", fmt.Errorf("%w: spec.credentials.workloadIdentity.subscriptionID is not set", cloud.ErrCredentials)
		}
		credential, err := azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{
			ClientOptions: options, ClientID: identity.Identity, TenantID: identity.TenantID,
		})
		if err != nil {
			return nil, "", fmt.Errorf("finding the operator's own identity in Azure: %w: %w", cloud.ErrCredentials, err)
		}
		return credential, subscription, nil
	}
	values, err := keys(with, secret, "tenantID", "subscriptionID", "clientID", "clientSecret")
	if err != nil {
		return nil, "", err
	}
	credential, err := azidentity.NewClientSecretCredential(values["tenantID"], values["clientID"], values["clientSecret"], &azidentity.ClientSecretCredentialOptions{
		ClientOptions: options, DisableInstanceDiscovery: d.Entra != "",
	})
	if err != nil {
		return nil, "", fmt.Errorf("%w: %w", ErrSecret, err)
	}
	return credential, values["subscriptionID"], nil
}
