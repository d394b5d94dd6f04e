package v1alpha1

// BindingConsumerAPI reports whether spec.consumerAPI leads to the API server of the consumer. It
// is present only if that field is set. It is not part of Ready.
const BindingConsumerAPI = "ConsumerAPI"

// Reasons of BindingConsumerAPI.
const (
	// ReasonVerified: the API server there has a certificate for the host.
	ReasonVerified = "Verified"
	// ReasonCertificateMismatch: the certificate there is not for the host, or no authority of
	// caBundle has signed it. Pods that use the API wait.
	ReasonCertificateMismatch = "CertificateMismatch"
	// ReasonInvalidCABundle: caBundle has no certificate, or one that is invalid. Pods that use the
	// API wait.
	ReasonInvalidCABundle = "InvalidCABundle"
	// ReasonUnverified: the manager does not reach the host. Pods in the provider may reach it.
	ReasonUnverified = "Unverified"
)

// Reasons of PodOffloaded for pods that use the consumer's API.
const (
	// ReasonConsumerAPIMissing: the ClusterBinding has no consumerAPI.
	ReasonConsumerAPIMissing = "ConsumerAPIMissing"
	// ReasonConsumerAPIInvalid: the condition BindingConsumerAPI is False.
	ReasonConsumerAPIInvalid = "ConsumerAPIInvalid"
	// ReasonTokenForbidden: the manager has no right to create tokens in the pod's namespace.
	ReasonTokenForbidden = "TokenForbidden"
	// ReasonTokenRefused: the API server has refused the token. The message quotes it.
	ReasonTokenRefused = "TokenRefused"
	// ReasonServiceAccountNotFound: the pod's ServiceAccount does not exist.
	ReasonServiceAccountNotFound = "ServiceAccountNotFound"
)

// ReasonTokenNotRenewed is the reason of an event of a pod whose token ends soon, because the
// manager could not renew it.
const ReasonTokenNotRenewed = "TokenNotRenewed"

// ConsumerAPI is the API server of the consumer, as pods in the provider reach it.
//
// +kubebuilder:validation:XValidation:rule="!has(self.ip) || !isIP(self.host)",fieldPath=".ip",reason=FieldValueForbidden,message="ip is for a host that is a DNS name"
type ConsumerAPI struct {
	// host is the DNS name or the IP address of the API server. Its certificate must be for that
	// host. Pods get it in the environment variable KUBERNETES_SERVICE_HOST.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="isIP(self) ? ip(self).isGlobalUnicast() : !format.dns1123Subdomain().validate(self).hasValue()",message="host must be a DNS name in lower case, or an IP address that is not loopback, link-local or multicast"
	Host string `json:"host,omitempty"`
	// port of the API server, from 1 to 65535. Defaults to 443.
	// +optional
	// +kubebuilder:default=443
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
	// ip is the address at which pods reach the host. They get it as an entry of their hosts file.
	// If unset, the DNS of the provider must know the host.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=39
	// +kubebuilder:validation:XValidation:rule="isIP(self) && ip(self).isGlobalUnicast()",message="ip must be an IP address that is not loopback, link-local or multicast"
	IP string `json:"ip,omitempty"`
	// caBundle has the certificates, in PEM, of the authorities that sign the certificate of the
	// API server. Pods get it as ca.crt. At most 65536 characters in base64. If unset, they get the
	// certificates with which the manager verifies the API server: in a cluster, those of the
	// ConfigMap kube-root-ca.crt.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	CABundle []byte `json:"caBundle,omitempty"`
}

// ServiceAccountName is the name of a ServiceAccount.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="must be the name of a ServiceAccount: a DNS subdomain"
type ServiceAccountName string

// APIAccess says which pods of a namespace use the API of the consumer from a provider.
type APIAccess struct {
	// serviceAccounts whose pods get their tokens in the provider. A token is bound to its pod, and
	// is valid for an hour. While the pod exists, the administrators of the provider can use it. An
	// administrator of the consumer must allow the manager to create tokens in the namespace. From
	// 1 to 32 items.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	ServiceAccounts []ServiceAccountName `json:"serviceAccounts,omitempty"`
}
