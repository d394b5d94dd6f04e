package kubeconfig

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// canary stands for every secret of a kubeconfig: it is the token, and part of whatever
// test cases put into a document. No error may contain it.
const canary = "c4narySecret"

// good is a kubeconfig as kubectl and minikube write it. The second cluster, user and
// context are as bad as can be, and unused.
const good = `apiVersion: v1
kind: Config
preferences: {colors: true}
extensions:
- name: top
  extension: {anything: [1, 2, {token: c4narySecret}]}
current-context: main
contexts:
- name: main
  context:
    cluster: main
    user: main
    namespace: team
    extensions:
    - name: context_info
      extension: {provider: minikube.sigs.k8s.io, last-update: 2026-01-01}
- name: other
  context: {cluster: other, user: other}
clusters:
- name: other
  cluster: {server: "http://other", insecure-skip-tls-verify: true, proxy-url: "http://proxy", certificate-authority: /etc/ca}
- name: main
  cluster:
    server: https://provider.example:6443
    certificate-authority-data: $CA
    tls-server-name: kubernetes.default
    disable-compression: true
users:
- name: main
  user:
    token: c4narySecret
    client-certificate-data: $CERT
    client-key-data: $KEY
- name: other
  user: {exec: {command: /bin/sh, args: ["-c"], env: [{name: A, value: b}], provideClusterInfo: true}, username: u, tokenFile: /t}
`

// document returns the good kubeconfig with one part of it replaced.
func document(t testing.TB, old, replacement string) string {
	t.Helper()
	if !strings.Contains(good, old) {
		t.Fatalf("the good kubeconfig has no %q", old)
	}
	text := strings.Replace(good, old, replacement, 1)
	return strings.NewReplacer(
		"$CA", encode(ca.cert), "$CERT", encode(client.cert), "$KEY", encode(client.key),
		"$OTHERKEY", encode(ca.key),
	).Replace(text)
}

func encode(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

func TestLoadCopiesTheAllowedFields(t *testing.T) {
	full := &rest.Config{
		Host:        "https://provider.example:6443",
		BearerToken: canary,
		TLSClientConfig: rest.TLSClientConfig{
			ServerName: "kubernetes.default", CAData: ca.cert, CertData: client.cert, KeyData: client.key,
		},
		QPS:            -1,
		WarningHandler: rest.NoWarnings{},
	}
	with := func(change func(*rest.Config)) *rest.Config {
		config := rest.CopyConfig(full)
		change(config)
		return config
	}
	noCertificate := with(func(c *rest.Config) { c.CertData, c.KeyData = nil, nil })
	tests := map[string]struct {
		old, new string
		want     *rest.Config
	}{
		"everything":      {"kind: Config", "kind: Config", full},
		"token only":      {"    client-certificate-data: $CERT\n    client-key-data: $KEY\n", "", noCertificate},
		"null is absent":  {"client-certificate-data: $CERT\n    client-key-data: $KEY", "client-certificate-data: null\n    client-key-data: ~", noCertificate},
		"null exec":       {userField, addUser("exec: null"), full},
		"zero values":     {userField, addUser("as: ''\n    as-groups: []\n    as-user-extra: {}\n    password: ''"), full},
		"false":           {"tls-server-name", "insecure-skip-tls-verify: false\n    tls-server-name", full},
		"no version":      {"apiVersion: v1\nkind: Config\n", "", full},
		"certificate":     {"    token: c4narySecret\n", "", with(func(c *rest.Config) { c.BearerToken = "" })},
		"no server name":  {"    tls-server-name: kubernetes.default\n", "", with(func(c *rest.Config) { c.ServerName = "" })},
		"IP server name":  {"kubernetes.default", `"10.0.0.1"`, with(func(c *rest.Config) { c.ServerName = "10.0.0.1" })},
		"path":            {":6443", ":6443/k8s/clusters/a", with(func(c *rest.Config) { c.Host += "/k8s/clusters/a" })},
		"IPv6":            {"https://provider.example:6443", `"https://[::1]:6443"`, with(func(c *rest.Config) { c.Host = "https://[::1]:6443" })},
		"document marks":  {"apiVersion: v1", "---\napiVersion: v1", full},
		"folded base64":   {"certificate-authority-data: $CA", "certificate-authority-data: |\n      " + wrapped(ca.cert), full},
		"other is no one": {"{cluster: other, user: other}", "{cluster: nowhere, user: nobody}", full},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Load([]byte(document(t, test.old, test.new)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLoadAcceptsJSON(t *testing.T) {
	text := fmt.Sprintf(`{"current-context":"c","contexts":[{"name":"c","context":{"cluster":"k","user":"u"}}],
		"clusters":[{"name":"k","cluster":{"server":"https://host","certificate-authority-data":%q}}],
		"users":[{"name":"u","user":{"token":"t"}}]}`, encode(ca.cert))
	if _, err := Load([]byte(text)); err != nil {
		t.Error(err)
	}
}

// wrapped is data in base64, in two lines of a YAML block.
func wrapped(data []byte) string {
	text := encode(data)
	return text[:64] + "\n      " + text[64:]
}

// refusal is a document that Load refuses, and the expected error.
type refusal struct {
	old, new string
	reason   string
	field    string
	message  string // part of it
}

const (
	userField    = "    token: c4narySecret\n"
	clusterField = "    tls-server-name: kubernetes.default\n"
	serverURL    = "https://provider.example:6443"
)

// addUser is userField with one more field.
func addUser(field string) string { return userField + "    " + field + "\n" }

func addCluster(field string) string { return clusterField + "    " + field + "\n" }

func refusals() map[string]refusal {
	const invalid, forbidden = v1alpha1.ReasonInvalidKubeconfig, v1alpha1.ReasonForbiddenField
	const user, cluster, context = "users[0].user", "clusters[1].cluster", "contexts[0].context"
	const server, caData = cluster + ".server", cluster + ".certificate-authority-data"
	const certData, keyData = user + ".client-certificate-data", user + ".client-key-data"
	bad := encode([]byte(canary))
	return map[string]refusal{
		"exec":                  {userField, addUser("exec: {command: c4narySecret, args: [], env: []}"), forbidden, user + ".exec", "credential plugin"},
		"empty exec":            {userField, addUser("exec: {}"), forbidden, user + ".exec", "credential plugin"},
		"auth-provider":         {userField, addUser("auth-provider: {name: oidc, config: {id-token: c4narySecret}}"), forbidden, user + ".auth-provider", "provider"},
		"client-certificate":    {userField, addUser("client-certificate: /c4narySecret"), forbidden, user + ".client-certificate", "as client-certificate-data"},
		"client-key":            {userField, addUser("client-key: /c4narySecret"), forbidden, user + ".client-key", "as client-key-data"},
		"tokenFile":             {userField, addUser("tokenFile: /c4narySecret"), forbidden, user + ".tokenFile", "as token"},
		"as":                    {userField, addUser("as: c4narySecret"), forbidden, user + ".as", "impersonation"},
		"as-uid":                {userField, addUser("as-uid: c4narySecret"), forbidden, user + ".as-uid", "impersonation"},
		"as-groups":             {userField, addUser("as-groups: [c4narySecret]"), forbidden, user + ".as-groups", "impersonation"},
		"as-user-extra":         {userField, addUser("as-user-extra: {c4narySecret: [c4narySecret]}"), forbidden, user + ".as-user-extra", "impersonation"},
		"username":              {userField, addUser("username: c4narySecret"), forbidden, user + ".username", "basic"},
		"password":              {userField, addUser("password: c4narySecret"), forbidden, user + ".password", "basic"},
		"insecure":              {clusterField, addCluster("insecure-skip-tls-verify: true"), forbidden, cluster + ".insecure-skip-tls-verify", "verified"},
		"CA file":               {clusterField, addCluster("certificate-authority: /c4narySecret"), forbidden, cluster + ".certificate-authority", "as certificate-authority-data"},
		"proxy-url":             {clusterField, addCluster("proxy-url: http://c4narySecret"), forbidden, cluster + ".proxy-url", "proxy"},
		"http":                  {serverURL, "http://c4narySecret", forbidden, server, "plain http"},
		"userinfo":              {serverURL, "https://a:c4narySecret@host", forbidden, server, "user or password"},
		"query":                 {serverURL, "https://host?c4narySecret", forbidden, server, "query"},
		"empty query":           {serverURL, "https://host?", forbidden, server, "query"},
		"fragment":              {serverURL, "https://host#c4narySecret", forbidden, server, "fragment"},
		"no server":             {"server: " + serverURL, "server: ''", invalid, server, "is missing"},
		"no scheme":             {serverURL, "c4narySecret:6443", invalid, server, "https"},
		"other scheme":          {serverURL, "unix:///c4narySecret", invalid, server, "https"},
		"no host":               {serverURL, "https:///c4narySecret", invalid, server, "host"},
		"opaque":                {serverURL, "https:c4narySecret", invalid, server, "host"},
		"no port":               {serverURL, "'https://host:'", invalid, server, "port"},
		"port 0":                {serverURL, "https://host:0", invalid, server, "port"},
		"port too large":        {serverURL, "https://host:65536", invalid, server, "port"},
		"not a URL":             {serverURL, "https://host:c4narySecret", invalid, server, "URL"},
		"control character":     {serverURL, `"https://host\nc4narySecret"`, invalid, server, "URL"},
		"server name":           {"kubernetes.default", "c4narySecret/*", invalid, cluster + ".tls-server-name", "DNS name"},
		"no CA":                 {"    certificate-authority-data: $CA\n", "", invalid, caData, "is missing"},
		"CA is not base64":      {"$CA", "c4narySecret!", invalid, caData, "line 25: is not valid base64"},
		"CA is not PEM":         {"$CA", bad, invalid, caData, "PEM"},
		"CA is a key":           {"$CA", "$KEY", invalid, caData, "certificates only"},
		"CA is garbage":         {"$CA", encode([]byte(pemOf("CERTIFICATE", canary))), invalid, caData, "parsed"},
		"CA and a key":          {"$CA", encode(append(append([]byte{}, ca.cert...), client.key...)), invalid, caData, "certificates only"},
		"CA cut off":            {"$CA", encode(append(append([]byte{}, ca.cert...), ca.cert[:200]...)), invalid, caData, "PEM"},
		"no credentials":        {userField + "    client-certificate-data: $CERT\n    client-key-data: $KEY\n", "    token: ''\n", invalid, user, "no credentials"},
		"certificate, no key":   {"    client-key-data: $KEY\n", "", invalid, keyData, "is missing"},
		"key, no certificate":   {"    client-certificate-data: $CERT\n", "", invalid, certData, "is missing"},
		"certificate bad":       {"$CERT", bad, invalid, certData, "PEM"},
		"certificate garbage":   {"$CERT", encode([]byte(pemOf("CERTIFICATE", canary))), invalid, certData, "PEM"},
		"key bad":               {"$KEY", bad, invalid, keyData, "private key"},
		"key of another":        {"$KEY", "$OTHERKEY", invalid, keyData, "private key"},
		"key not base64":        {"$KEY", "c4narySecret!", invalid, keyData, "base64"},
		"key not a string":      {"$KEY", "[c4narySecret]", invalid, keyData, "base64"},
		"token with newline":    {userField, "    token: |\n      c4narySecret\n", invalid, user + ".token", "line break"},
		"token with umlaut":     {userField, "    token: c4narySecretä\n", invalid, user + ".token", "character"},
		"token a number":        {userField, "    token: 1234\n", invalid, user + ".token", "line 31: must be a string"},
		"token a mapping":       {userField, "    token: {c4narySecret: 1}\n", invalid, user + ".token", "must be a string"},
		"bool not bool":         {clusterField, addCluster("insecure-skip-tls-verify: c4narySecret"), invalid, cluster + ".insecure-skip-tls-verify", "true or false"},
		"no current-context":    {"current-context: main\n", "", invalid, "current-context", "is missing"},
		"dangling current":      {"current-context: main", "current-context: c4narySecret", invalid, "current-context", "none of the contexts"},
		"dangling cluster":      {"    cluster: main", "    cluster: c4narySecret", invalid, context + ".cluster", "none of the clusters"},
		"dangling user":         {"    user: main", "    user: c4narySecret", invalid, context + ".user", "none of the users"},
		"no cluster":            {"    cluster: main\n", "", invalid, context + ".cluster", "is missing"},
		"no user":               {"    user: main\n", "", invalid, context + ".user", "is missing"},
		"users null":            {"users:\n", "users:\nold:\n", invalid, "", "unknown field"},
		"two contexts":          {"- name: other\n  context", "- name: main\n  context", invalid, "contexts[1].name", "same name"},
		"two clusters":          {"- name: other\n  cluster", "- name: main\n  cluster", invalid, "clusters[1].name", "same name"},
		"two users":             {"- name: other\n  user", "- name: main\n  user", invalid, "users[1].name", "same name"},
		"unknown field":         {userField, addUser("c4narySecret: 1"), invalid, user, "line 32: unknown field"},
		"field in other case":   {userField, addUser("Exec: {command: c4narySecret}"), invalid, user, "unknown field"},
		"merge key":             {userField, addUser("<<: {exec: {command: c4narySecret}}"), invalid, user, "must be a string"},
		"unknown, not used":     {"username: u,", "c4narySecret: u,", invalid, "users[1].user", "unknown field"},
		"field twice":           {userField, userField + userField, invalid, user, "line 32: a field is given twice"},
		"field name a number":   {userField, addUser("1: c4narySecret"), invalid, user, "name must be a string"},
		"field name a mapping":  {userField, addUser("{c4narySecret: 1}: 1"), invalid, user, "name must be a string"},
		"list a mapping":        {"users:\n", "users: {c4narySecret: 1}\nusers:\n", invalid, "users", "must be a list"},
		"mapping a list":        {"context: {cluster: other, user: other}", "context: [c4narySecret]", invalid, "contexts[1].context", "must be a mapping"},
		"extra of a wrong type": {userField, addUser("as-user-extra: {c4narySecret: 1}"), invalid, user + ".as-user-extra", "must be a list"},
		"kind":                  {"kind: Config", "kind: c4narySecret", invalid, "kind", "Config"},
		"apiVersion":            {"apiVersion: v1", "apiVersion: c4narySecret", invalid, "apiVersion", "v1"},
		"anchor":                {userField, "    token: &c4narySecret c4narySecret\n", invalid, "", "line 31: YAML anchors"},
		"anchor not used":       {"{anything:", "&c4narySecret {anything:", invalid, "", "line 6: YAML anchors"},
		"tag":                   {userField, "    token: !!binary YzRuYXJ5U2VjcmV0\n", invalid, "", "tags"},
		"tag of its own":        {userField, "    token: !c4narySecret 1\n", invalid, "", "tags"},
		"not YAML":              {userField, "    token: [c4narySecret\n  : }", invalid, "", "not valid YAML"},
		"tab":                   {userField, "\ttoken: c4narySecret\n", invalid, "", "not valid YAML"},
		"two documents":         {"apiVersion: v1", "a: c4narySecret\n---\napiVersion: v1", invalid, "", "single"},
		"second is not YAML":    {"$KEY\n", "$KEY\n---\n[c4narySecret", invalid, "", "single"},
		"NUL":                   {userField, userField + "\x00", invalid, "", "NUL"},
		"too large":             {userField, userField + strings.Repeat("# c4narySecret\n", MaxSize/15), invalid, "", "1 MiB"},
	}
}

func TestLoadRefuses(t *testing.T) {
	for name, test := range refusals() {
		t.Run(name, func(t *testing.T) {
			_, err := Load([]byte(document(t, test.old, test.new)))
			expectRefusal(t, err, test)
		})
	}
}

func TestLoadRefusesWhatIsNoKubeconfig(t *testing.T) {
	bomb := "a: &a [c4narySecret]\n"
	for i := 'b'; i < 'j'; i++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", i, i, strings.Repeat(fmt.Sprintf("*%c,", i-1), 9))
	}
	tests := map[string]struct{ document, message string }{
		"nothing":       {"", "empty"},
		"comment":       {"# c4narySecret", "empty"},
		"null":          {"null", "must be a YAML mapping"},
		"scalar":        {canary, "must be a YAML mapping"},
		"list":          {"- c4narySecret", "must be a YAML mapping"},
		"bomb":          {bomb, "line 1: YAML anchors"},
		"deep list":     {strings.Repeat("[", MaxSize-1), "not valid YAML"},
		"deep mapping":  {strings.Repeat("{a: ", 20000), "not valid YAML"},
		"UTF-16":        {"\xff\xfec\x004\x00", "NUL"},
		"invalid UTF-8": {"a: c4narySecret\xff", "not valid YAML"},
		"empty mapping": {"{}", "is missing"},
		"alias to self": {"a: &c4narySecret [*c4narySecret]", "anchors"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Load([]byte(test.document))
			expectRefusal(t, err, refusal{reason: v1alpha1.ReasonInvalidKubeconfig, field: fieldOf(err), message: test.message})
		})
	}
}

func expectRefusal(t *testing.T, err error, want refusal) {
	t.Helper()
	var got *Error
	if !errors.As(err, &got) {
		t.Fatalf("got %v, want an *Error", err)
	}
	if got.Reason != want.reason || got.Field != want.field || !strings.Contains(got.Message, want.message) {
		t.Errorf("got %#v, want reason %s, field %q and a message with %q", got, want.reason, want.field, want.message)
	}
	expectNoSecret(t, err)
}

// expectNoSecret looks for secrets in all printed forms of an error.
func expectNoSecret(t testing.TB, err error) {
	t.Helper()
	for _, format := range []string{"%v", "%+v", "%#v", "%q"} {
		text := fmt.Sprintf(format, err)
		for _, secret := range []string{canary, encode([]byte(canary)), encode(client.key)[:32]} {
			if strings.Contains(text, secret) {
				t.Errorf("%s of the error contains the secret %q: %s", format, secret, text)
			}
		}
	}
}

func fieldOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Field
	}
	return ""
}

func TestErrorNamesTheField(t *testing.T) {
	got := forbidden("users[0].user.exec", "is not allowed").Error()
	if want := "users[0].user.exec: is not allowed"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
