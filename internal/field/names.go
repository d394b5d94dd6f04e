package field

// RootCertificate is the ConfigMap with the API server's certificate. Kubernetes creates it in every
// namespace.
const RootCertificate = "kube-root-ca.crt"

// ConsumerOnly says why a field with a name of the consumer is not sent.
const ConsumerOnly = "it names an object of the consumer, which the provider does not have"
