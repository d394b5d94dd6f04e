package dial

import (
	"fmt"
	"net/url"
	"strings"
)

// SetEndpoints replaces the clouds' own endpoints, for endpoints in one's own network or for government
// clouds. The text has the form eks=https://…,gke=https://….
func (d *Dialer) SetEndpoints(text string) error {
	fields := map[string]*string{"eks": &d.EKS, "ec2": &d.EC2, "aks": &d.AKS, "entra": &d.Entra, "gke": &d.GKE}
	for endpoint := range strings.SplitSeq(text, ",") {
		name, address, _ := strings.Cut(endpoint, "=")
		field := fields[name]
		if field == nil {
			return fmt.Errorf("%q is none of eks, ec2, aks, entra and gke", name)
		}
		if parsed, err := url.Parse(address); err != nil || parsed.Scheme != "https" || parsed.Host == "" {
			return fmt.Errorf("%s: %q is not a URL that begins with https://", name, address)
		}
		*field = address
	}
	return nil
}
