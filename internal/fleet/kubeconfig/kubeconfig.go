// Package kubeconfig turns the kubeconfig of a provider into a rest.Config
// that can do nothing but connect to that provider.
//
// A kubeconfig is more than credentials: it can name a program to run, files
// to read, a proxy to send everything through, somebody to impersonate. All of
// that would happen in the manager, with the manager's rights. So Load does
// not take a kubeconfig and remove what is bad; it starts from an empty
// rest.Config and copies into it the few fields that are known to be good:
//
//	clusters[].cluster  server, certificate-authority-data, tls-server-name
//	users[].user        client-certificate-data, client-key-data, token
//
// Everything else that the current context's cluster and user can say is
// either refused, with the field named, or has no effect: extensions and
// preferences, a context's namespace (each of our requests names its own) and
// disable-compression.
//
// The parsing is strict for the whole document: a field that is unknown or
// given twice is an error, not ignored, so that what an administrator reads in
// the file is what is used. YAML's anchors, aliases and explicit tags are
// refused, and so is a second document. The values of contexts, clusters and
// users that the current context does not use are not looked at at all, so
// that a file with several contexts works when its current one is good.
//
// The document is decoded by a small decoder here, with the types of
// k8s.io/client-go/tools/clientcmd/api/v1 as its schema, instead of
// clientcmd's own: that one ignores what it does not know, and quotes the
// document, tokens and all, in its errors. No error of this package contains
// any text of the document but numbers of lines and indices.
package kubeconfig

import (
	"slices"

	"k8s.io/client-go/rest"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
)

// MaxSize is the largest kubeconfig that Load accepts, in bytes. It is the
// size limit of a Secret, so that no Secret's kubeconfig is too large.
const MaxSize = 1 << 20

// Load builds a rest.Config from the current context of a kubeconfig, out of
// the fields that the package comment lists. It reads no file and no
// environment variable. Every error is an *Error, and safe to show.
//
// The rest.Config has no client-side rate limit and drops the warnings of the
// API server. It has no timeouts: those belong to the HTTP client.
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

// restConfig copies the allow-listed fields. It is the only place where
// anything gets from a kubeconfig into a rest.Config.
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
		// Zero means five requests a second, which would make a provider
		// slower than it is without a word. The API server's priority and
		// fairness is what limits us.
		QPS: -1,
		// What a provider puts into Warning headers would go into our log,
		// as much of it as it likes.
		WarningHandler: rest.NoWarnings{},
	}
}
