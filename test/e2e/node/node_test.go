package node

import (
	"encoding/json"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestFirstFree(t *testing.T) {
	prefixes := func(texts ...string) (all []netip.Prefix) {
		for _, text := range texts {
			all = append(all, netip.MustParsePrefix(text))
		}
		return all
	}
	for name, test := range map[string]struct {
		taken []netip.Prefix
		want  string
	}{
		"nothing is taken":            {nil, "198.18.0.0/24"},
		"other networks do not count": {prefixes("10.0.0.0/8", "::1/128"), "198.18.0.0/24"},
		"another node has the first":  {prefixes("198.18.0.0/24"), "198.18.1.0/24"},
		"a part of it is taken":       {prefixes("198.18.0.128/25", "198.18.1.7/32"), "198.18.2.0/24"},
		"everything is taken":         {prefixes("198.0.0.0/8"), "invalid Prefix"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := firstFree(test.taken)
			if got.String() != test.want || (err == nil) != got.IsValid() {
				t.Errorf("firstFree returns %s, %v; want %s", got, err, test.want)
			}
		})
	}
}

func TestAbandoned(t *testing.T) {
	const nobody = 1 << 30 // greater than any process ID of Linux
	for id, want := range map[identity]bool{
		newIdentity(): false,
		identity("spw" + strconv.Itoa(nobody) + "n1"):       true,
		identity("spw" + strconv.Itoa(os.Getppid()) + "n1"): false,
		"spw":          false,
		"spwhatever":   false,
		"xspw99999n1x": false,
	} {
		if got := id.abandoned(); got != want {
			t.Errorf("identity %q: abandoned is %t, want %t", id, got, want)
		}
	}
}

func TestNamesOfInterfacesFit(t *testing.T) {
	const longest = "spw4194304n9" // the highest possible process ID
	if got := len(identity(longest).peer()); got > 15 {
		t.Errorf("the name has %d characters, and that of an interface 15 at most", got)
	}
}

func TestNetworkConfig(t *testing.T) {
	raw, err := networkConfig(netip.MustParsePrefix("198.18.3.0/24"), "/somewhere")
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		IPAM struct {
			Ranges [][]struct{ Subnet, RangeStart string }
			Routes []struct{ GW string }
		}
	}
	if err := json.Unmarshal(raw, &config); err != nil {
		t.Fatal(err)
	}
	if config.IPAM.Ranges[0][0].RangeStart != "198.18.3.3" || config.IPAM.Routes[0].GW != "198.18.3.2" {
		t.Errorf("the pods would get the wrong addresses, or send to the wrong one: %s", raw)
	}
}

func TestKubeletConfigIsYAML(t *testing.T) {
	raw, err := yaml.Marshal(kubeletConfig("/dir", "198.18.0.2"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"address: 198.18.0.2", "clientCAFile: /dir/ca.crt", "enforceNodeAllocatable: []"} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("the kubelet's configuration does not have %q:\n%s", want, raw)
		}
	}
}

func TestVisible(t *testing.T) {
	for name, test := range map[string]struct {
		options Options
		want    bool
	}{
		"a home directory":    {Options{Logs: "/home/me/logs", Programs: "/home/me/kube"}, true},
		"logs in /var/log":    {Options{Logs: "/var/log/e2e"}, false},
		"a checkout of a CI":  {Options{Logs: "/logs", Programs: "/var/lib/ci/kube"}, false},
		"drivers in /run":     {Options{Logs: "/logs", CSI: "/run/csi"}, false},
		"an image in /run":    {Options{Logs: "/logs", Images: []string{"/run/image.tar"}}, false},
		"only a similar name": {Options{Logs: "/runner/logs"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := visible(test.options); (err == nil) != test.want {
				t.Errorf("visible returns %v, want visible: %t", err, test.want)
			}
		})
	}
}
