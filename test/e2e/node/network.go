package node

import (
	"encoding/json"
	"net/netip"
)

// networkConfig is the configuration of the CNI plugin bridge. The bridge already exists with its address;
// the plugin connects pods to it. Packets to other addresses go to the node, which only forwards those to
// Services.
func networkConfig(subnet netip.Prefix, addresses string) ([]byte, error) {
	return json.Marshal(map[string]any{
		"cniVersion": "0.4.0",
		"name":       "pods",
		"type":       "bridge",
		"bridge":     bridge,
		"ipam": map[string]any{
			"type":    "host-local",
			"dataDir": addresses,
			"ranges": [][]map[string]string{{{
				"subnet":     subnet.String(),
				"rangeStart": nodeAddress(subnet).Next().String(),
			}}},
			"routes": []map[string]string{{"dst": "0.0.0.0/0", "gw": nodeAddress(subnet).String()}},
		},
	})
}
