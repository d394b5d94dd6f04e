package node

import (
	"encoding/json"
	"net/netip"
)

// networkConfig is the configuration of the CNI plugin bridge. The bridge exists
// already and has its address; the plugin connects pods to it and changes
// nothing else on the machine, no forwarding and no firewall.
func networkConfig(bridge string, subnet netip.Prefix, addresses string) ([]byte, error) {
	return json.Marshal(map[string]any{
		"cniVersion": "0.4.0",
		"name":       "pods",
		"type":       "bridge",
		"bridge":     bridge,
		"ipam": map[string]any{
			"type":    "host-local",
			"dataDir": addresses,
			"ranges": [][]map[string]string{{{
				"subnet": subnet.String(),
				// The first one is the node's.
				"rangeStart": nodeAddress(subnet).Next().String(),
			}}},
		},
	})
}
