package image

import "runtime"

// The types below are the part of the OCI image specification that this package uses.
const (
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar"
)

type index struct {
	SchemaVersion int          `json:"schemaVersion"`
	Manifests     []descriptor `json:"manifests"`
}

type manifest struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Config        descriptor   `json:"config"`
	Layers        []descriptor `json:"layers"`
}

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

type config struct {
	platform
	Config execution  `json:"config"`
	RootFS filesystem `json:"rootfs"`
}

type execution struct {
	Env []string
	Cmd []string
}

type filesystem struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

// newConfig makes the image wait by default: see the package comment. A signal that cannot be ignored ends
// the sleep. busybox sleeps at most 68 years.
func newConfig(layerDigest string) config {
	return config{
		platform: platform{Architecture: runtime.GOARCH, OS: "linux"},
		Config: execution{
			Env: []string{"PATH=/bin"},
			Cmd: []string{"/bin/busybox", "sleep", "2147483647"},
		},
		RootFS: filesystem{Type: "layers", DiffIDs: []string{layerDigest}},
	}
}
