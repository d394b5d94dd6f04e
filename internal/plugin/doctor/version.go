package doctor

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/version"
)

// bounded has, by minor release of Kubernetes 1, the first patch release that is not affected by
// CVE-2026-35469. In older ones, the API server allocates more memory for a SPDY frame than the frame has;
// spdystream 0.5.1 fixes that. The API server reads frames from a provider in kubectl exec, attach and
// port-forward. No release after lastUnbounded is affected.
var bounded = map[uint]uint{33: 11, 34: 7, 35: 4}

const lastUnbounded = 35

// ofVersion is the finding about the version of the API server.
func ofVersion(found *version.Version) Finding {
	f := Finding{Level: OK, Check: "version", Message: "this cluster has Kubernetes " + found.String()}
	first, mended := bounded[found.Minor()]
	if found.Major() > 1 || found.Minor() > lastUnbounded || mended && found.Patch() >= first {
		return f
	}
	f.Level = Warning
	f.Message += ", with which a provider can make the API server run out of memory while somebody uses kubectl exec, attach or port-forward on a pod there (CVE-2026-35469), unless its distributor has fixed that"
	f.Mend = "update it to 1.33.11, 1.34.7, 1.35.4, 1.36 or later"
	if mended {
		f.Mend = fmt.Sprintf("update it to 1.%d.%d or later", found.Minor(), first)
	}
	f.Mend += "; until then, trust each provider that you bind, or run the manager without --kubelet-address: then there are no logs either"
	return f
}
