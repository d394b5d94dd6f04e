package dump

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestWithoutCredentials(t *testing.T) {
	for text, want := range map[string]string{
		"token eyJhbGciOiJSUzI1NiJ9.canary.signature, ends":                           "token (left out), ends",
		"Authorization: Bearer canary.0123456":                                        "Authorization: Bearer (left out)",
		"-----BEGIN RSA PRIVATE KEY-----\ncanary\n-----END RSA PRIVATE KEY-----\nand": "(left out)\nand",
		"-----BEGIN PRIVATE KEY-----\ncanary":                                         "(left out)",
		"AKIAABCDEFGHIJKLMNOP":                                                        "(left out)",
		`DB_PASSWORD="canary", user`:                                                  `DB_PASSWORD="(left out)", user`,
		"aws_secret_access_key = canary":                                              "aws_secret_access_key = (left out)",
		"clientSecret: canary":                                                        "clientSecret: (left out)",
		"https://user:canary@example.com/a":                                           "https://user:(left out)@example.com/a",
		"secretName: web-tls, the basic idea":                                         "secretName: web-tls, the basic idea",
		"Secret team-a/password does not exist":                                       "Secret team-a/password does not exist",
		"-----BEGIN CERTIFICATE-----\npublic\n":                                       "-----BEGIN CERTIFICATE-----\npublic\n",
		"no match for https://10.0.0.1:6443/api/v1":                                   "no match for https://10.0.0.1:6443/api/v1",
	} {
		if got := withoutCredentials(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// TestStrip: whatever form a credential has, none is left where users put them.
func TestStrip(t *testing.T) {
	const pod = `
metadata:
  name: web
  annotations: {example.com/auth: canary, spillway.io/overflow: kept, kubectl.kubernetes.io/last-applied-configuration: canary}
  managedFields: [{manager: canary}]
spec:
  nodeName: kept
  initContainers: [{name: kept, command: [canary], env: [{name: kept, value: canary}]}]
  containers:
  - {name: kept, image: kept, args: [canary], env: [{name: kept, value: canary}, {name: kept, valueFrom: {secretKeyRef: {name: kept}}}],
     livenessProbe: {exec: {command: [canary]}}, readinessProbe: {httpGet: {httpHeaders: [{name: a, value: canary}]}}, lifecycle: {preStop: {exec: {command: [canary]}}}}
  ephemeralContainers: [{name: kept, command: [canary]}]
  template: {metadata: {annotations: {a: canary}}, spec: {containers: [{name: kept, args: [canary]}]}}
status:
  containerStatuses: [{name: kept, state: {terminated: {message: canary, reason: kept}}, lastState: {terminated: {message: canary}}}]
`
	for _, ours := range []bool{false, true} {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(pod), &object.Object); err != nil {
			t.Fatal(err)
		}
		strip(object, ours)
		content, err := yaml.Marshal(object.Object)
		if err != nil {
			t.Fatal(err)
		}
		text := string(content)
		canaries := 0
		if ours {
			canaries = 4 // Commands and arguments of its own programs.
		}
		if got := strings.Count(text, "canary"); got != canaries || strings.Count(text, "kept") != 13 {
			t.Errorf("ours %t: %d canaries, %d things that are kept:\n%s", ours, got, strings.Count(text, "kept"), text)
		}
	}
}
