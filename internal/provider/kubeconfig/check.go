package kubeconfig

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
)

// entry is an item of one of the lists of a kubeconfig, with its path.
type entry[T any] struct {
	path  string
	value T
}

// currentContext returns the cluster and the user of the current context.
func currentContext(doc *clientcmdv1.Config) (cluster entry[clientcmdv1.Cluster], user entry[clientcmdv1.AuthInfo], err error) {
	if doc.CurrentContext == "" {
		return cluster, user, invalid("current-context", "is missing; it must name the context to use")
	}
	context, err := find("contexts", "context", "current-context", doc.Contexts, doc.CurrentContext,
		func(c clientcmdv1.NamedContext) (string, clientcmdv1.Context) { return c.Name, c.Context })
	if err != nil {
		return cluster, user, err
	}
	cluster, err = find("clusters", "cluster", context.path+".cluster", doc.Clusters, context.value.Cluster,
		func(c clientcmdv1.NamedCluster) (string, clientcmdv1.Cluster) { return c.Name, c.Cluster })
	if err != nil {
		return cluster, user, err
	}
	user, err = find("users", "user", context.path+".user", doc.AuthInfos, context.value.AuthInfo,
		func(u clientcmdv1.NamedAuthInfo) (string, clientcmdv1.AuthInfo) { return u.Name, u.AuthInfo })
	return cluster, user, err
}

// find returns the one item of a list that the field reference names. It refuses
// duplicate names rather than guess which one counts.
func find[N, T any](list, field, reference string, items []N, name string, split func(N) (string, T)) (entry[T], error) {
	var found entry[T]
	if name == "" {
		return found, invalid(reference, fmt.Sprintf("is missing; it must name one of the %s", list))
	}
	for i, item := range items {
		itemName, value := split(item)
		switch {
		case itemName != name:
		case found.path != "":
			return found, invalid(fmt.Sprintf("%s[%d].name", list, i), "another one has the same name")
		default:
			found = entry[T]{path: fmt.Sprintf("%s[%d].%s", list, i, field), value: value}
		}
	}
	if found.path == "" {
		return found, invalid(reference, fmt.Sprintf("names none of the %s", list))
	}
	return found, nil
}

// rule is a field that must not be set.
type rule struct {
	field   string
	set     bool
	message string
}

func checkForbidden(path string, rules []rule) error {
	for _, r := range rules {
		if r.set {
			return forbidden(join(path, r.field), r.message)
		}
	}
	return nil
}

const (
	noFiles       = "files of the manager must not be read; put the content into the kubeconfig, as %s"
	noImpersonate = "impersonation is not allowed; use the credentials of the identity itself"
	noBasicAuth   = "Kubernetes no longer has basic authentication; use a token or a client certificate"
)

func checkCluster(path string, c *clientcmdv1.Cluster) error {
	err := checkForbidden(path, []rule{
		{"insecure-skip-tls-verify", c.InsecureSkipTLSVerify,
			"the provider's certificate must be verified; set certificate-authority-data instead"},
		{"certificate-authority", c.CertificateAuthority != "", fmt.Sprintf(noFiles, "certificate-authority-data")},
		{"proxy-url", c.ProxyURL != "", "a proxy is not allowed; the manager must reach the provider directly"},
	})
	if err != nil {
		return err
	}
	if err := checkServer(join(path, "server"), c.Server); err != nil {
		return err
	}
	if err := checkServerName(join(path, "tls-server-name"), c.TLSServerName); err != nil {
		return err
	}
	return checkCA(join(path, "certificate-authority-data"), c.CertificateAuthorityData)
}

// checkServer accepts https://host[:port][/path]. Errors do not quote the server, which
// may contain a password.
func checkServer(field, server string) error {
	if server == "" {
		return invalid(field, "is missing; it must be the URL of the API server, such as https://host:6443")
	}
	u, err := url.Parse(server)
	switch {
	case err != nil:
		return invalid(field, "is not a valid URL")
	case u.Scheme == "http":
		return forbidden(field, "plain http is not allowed; use https")
	case u.Scheme != "https":
		return invalid(field, "must be an https URL, such as https://host:6443")
	case u.User != nil:
		return forbidden(field, "a user or password in the URL is not allowed; use a token or a client certificate")
	case strings.ContainsAny(server, "?#"):
		return forbidden(field, "a query or fragment in the URL is not allowed")
	case u.Hostname() == "" || u.Opaque != "" || !validPort(u):
		return invalid(field, "must have a host and a valid port, such as https://host:6443")
	}
	return nil
}

func validPort(u *url.URL) bool {
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && port > 0
}

// checkServerName accepts the names that certificates can have. The name weakens nothing:
// the CA must still have signed the certificate.
func checkServerName(field, name string) error {
	if name == "" || net.ParseIP(name) != nil || len(validation.IsDNS1123Subdomain(strings.ToLower(name))) == 0 {
		return nil
	}
	return invalid(field, "must be a DNS name or an IP address")
}

func checkUser(path string, u *clientcmdv1.AuthInfo) error {
	err := checkForbidden(path, []rule{
		{"exec", u.Exec != nil, "running a credential plugin is not allowed; use a token or a client certificate"},
		{"auth-provider", u.AuthProvider != nil,
			"an authentication provider is not allowed; use a token or a client certificate"},
		{"client-certificate", u.ClientCertificate != "", fmt.Sprintf(noFiles, "client-certificate-data")},
		{"client-key", u.ClientKey != "", fmt.Sprintf(noFiles, "client-key-data")},
		{"tokenFile", u.TokenFile != "", fmt.Sprintf(noFiles, "token")},
		{"as", u.Impersonate != "", noImpersonate},
		{"as-uid", u.ImpersonateUID != "", noImpersonate},
		{"as-groups", len(u.ImpersonateGroups) > 0, noImpersonate},
		{"as-user-extra", len(u.ImpersonateUserExtra) > 0, noImpersonate},
		{"username", u.Username != "", noBasicAuth},
		{"password", u.Password != "", noBasicAuth},
	})
	if err != nil {
		return err
	}
	if err := checkToken(join(path, "token"), u.Token); err != nil {
		return err
	}
	return checkClientCertificate(path, u)
}

// checkToken refuses characters that a header cannot have, first of all the line break
// that copying a token often adds.
func checkToken(field, token string) error {
	for _, c := range []byte(token) {
		if c <= ' ' || c > '~' {
			return invalid(field, "has a line break, a space or another character that a token cannot have")
		}
	}
	return nil
}
