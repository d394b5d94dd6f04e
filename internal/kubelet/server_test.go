package kubelet

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes/fake"
	certutil "k8s.io/client-go/util/cert"
)

func TestOptions(t *testing.T) {
	for name, test := range map[string]struct {
		options Options
		says    string // Empty: they are valid.
	}{
		"nothing is served":      {Options{Port: -1}, ""},
		"as shipped":             {Options{Address: "10.0.0.1", Port: DefaultPort}, ""},
		"no port":                {Options{Address: "10.0.0.1"}, "--kubelet-port"},
		"a port that is too big": {Options{Address: "10.0.0.1", Port: 70000}, "--kubelet-port"},
		"a file without its key": {Options{Address: "10.0.0.1", Port: 1, Certificate: File, CertificateFile: "a"}, "needs --kubelet-certificate-file and --kubelet-key-file"},
		"a file for no use":      {Options{Address: "10.0.0.1", Port: 1, KeyFile: "a"}, "need --kubelet-certificate=file"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := test.options.Validate(); (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want: %s", err, test.says)
			}
		})
	}
	if CertificateMode("none").Validate() == nil {
		t.Error("there is no such mode")
	}
}

func TestServingCertificate(t *testing.T) {
	own, key, err := certutil.GenerateSelfSignedCertKey("manager.example", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	files := Options{Address: "10.0.0.1", Certificate: File, CertificateFile: filepath.Join(t.TempDir(), "crt"), KeyFile: filepath.Join(t.TempDir(), "key")}
	if _, err := newServingCertificate(files, nil); err == nil || !strings.Contains(err.Error(), "--kubelet-certificate-file") {
		t.Errorf("without the files: got %v", err)
	}
	for file, content := range map[string][]byte{files.CertificateFile: own, files.KeyFile: key} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		options   Options
		host, err string
	}{
		"self-signed": {Options{Address: "10.0.0.1"}, "10.0.0.1", ""},
		"file":        {files, "manager.example", ""},
		"csr":         {Options{Address: "10.0.0.1", Certificate: CSR}, "", "nobody has approved the CertificateSigningRequest for system:node:spillway-manager"},
	} {
		t.Run(name, func(t *testing.T) {
			serving, err := newServingCertificate(test.options, fake.NewClientset())
			if err != nil {
				t.Fatal(err)
			}
			pair, err := serving.get(nil)
			if test.err != "" {
				if err == nil || err.Error() != test.err {
					t.Errorf("got %v, want %s", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			leaf, err := x509.ParseCertificate(pair.Certificate[0])
			if err != nil {
				t.Fatal(err)
			}
			if err := leaf.VerifyHostname(test.host); err != nil {
				t.Error(err)
			}
		})
	}
}
