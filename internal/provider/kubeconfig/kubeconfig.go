// Package kubeconfig turns the kubeconfig of a provider into a rest.Config that can only
// connect to that provider.
//
// A kubeconfig is more than credentials: it can name a program to run, files to read, a proxy for all requests,
// or a user to impersonate. All of that would happen in the manager, with the manager's rights. So Load does
// not remove bad fields. It starts from an empty rest.Config and copies the few fields known to be good:
//
//	clusters[].cluster  server, certificate-authority-data, tls-server-name
//	users[].user        client-certificate-data, client-key-data, token
//
// Any other field of the current context's cluster and user is either refused by name, or
// has no effect: extensions, preferences, a context's namespace (each of our requests
// names its own) and disable-compression.
//
// The whole document is parsed strictly: an unknown or repeated field is an error, so
// that what an administrator reads in the file is what is used. YAML anchors, aliases,
// explicit tags and a second document are refused. Contexts, clusters and users that the
// current context does not use are not checked, so that a file with several contexts
// works if its current one is good.
//
// This package decodes the document with a small decoder of its own. Its schema is the types of
// k8s.io/client-go/tools/clientcmd/api/v1. clientcmd's decoder ignores unknown fields, and quotes the document,
// tokens included, in its errors. Errors of this package contain nothing of the document except line numbers
// and indices.
package kubeconfig

import (
	"slices"

	"k8s.io/client-go/rest"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
)

// MaxSize is the largest kubeconfig that Load accepts, in bytes: the size limit of a
// Secret, so that no Secret's kubeconfig is too large.
const MaxSize = 1 << 20

// Load builds a rest.Config from the current context of a kubeconfig, using the fields
// listed in the package comment. It reads no file and no environment variable. Every
// error is an *Error, and safe to show.
//
// The rest.Config has no client-side rate limit and drops the warnings of the API server.
// It has no timeouts: those belong to the HTTP client.
func Load(data []byte) (*rest.Config, error) {
	doc, err := parse(data)
	if err != nil {
		return nil, err
	}
	cluster, user, err := currentContext(doc)
	if err != nil {
		return nil, err
	}
	if err := checkCluster(cluster.path, &cluster.value); err != nil {
		return nil, err
	}
	if err := checkUser(user.path, &user.value); err != nil {
		return nil, err
	}
	return restConfig(&cluster.value, &user.value), nil
}

// restConfig copies the allowed fields. Nothing else moves anything from a kubeconfig to
// a rest.Config.
func restConfig(cluster *clientcmdv1.Cluster, user *clientcmdv1.AuthInfo) *rest.Config {
	return &rest.Config{
		Host: cluster.Server,
		TLSClientConfig: rest.TLSClientConfig{
			ServerName: cluster.TLSServerName,
			CAData:     slices.Clone(cluster.CertificateAuthorityData),
			CertData:   slices.Clone(user.ClientCertificateData),
			KeyData:    slices.Clone(user.ClientKeyData),
		},
		BearerToken: user.Token,
		// Zero means five requests a second, which would silently slow a provider down. The API server's
		// priority and fairness limits the manager.
		QPS: -1,
		// A provider's Warning headers would fill the manager's log, without limit.
		WarningHandler: rest.NoWarnings{},
	}
}
