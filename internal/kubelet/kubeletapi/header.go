package kubeletapi

import (
	"net/http"
	"strings"
)

// bearerProtocol is the prefix of a WebSocket protocol that contains a token of the consumer.
const bearerProtocol = "base64url.bearer.authorization.k8s.io."

// Header returns the header for the request to the provider's API server. It copies only what a stream needs:
// no credentials, no user names, and nothing that another HTTP server might interpret differently.
func Header(action Action, from http.Header) (http.Header, *Refusal) {
	to := http.Header{}
	if action == Logs {
		return to, nil
	}
	upgrade := from["Upgrade"]
	switch {
	case len(upgrade) != 1:
		return nil, refuse(BadRequest, http.StatusBadRequest, "%s needs a request to upgrade the connection, to a WebSocket or to SPDY/3.1", action)
	case strings.EqualFold(upgrade[0], "websocket"):
		to.Set("Upgrade", "websocket")
		for _, key := range []string{"Sec-Websocket-Key", "Sec-Websocket-Version"} {
			if len(from[key]) != 1 {
				return nil, refuse(BadRequest, http.StatusBadRequest, "a WebSocket request must have the header %s exactly once", key)
			}
			to.Set(key, from.Get(key))
		}
		if protocols := protocolsOf(from["Sec-Websocket-Protocol"]); len(protocols) > 0 {
			to.Set("Sec-Websocket-Protocol", strings.Join(protocols, ", "))
		}
	case strings.EqualFold(upgrade[0], "SPDY/3.1"):
		to.Set("Upgrade", "SPDY/3.1")
		for _, version := range from["X-Stream-Protocol-Version"] {
			to.Add("X-Stream-Protocol-Version", version)
		}
	default:
		return nil, refuse(BadRequest, http.StatusBadRequest, "a connection can be upgraded to a WebSocket or to SPDY/3.1, not to %.32q", upgrade[0])
	}
	to.Set("Connection", "Upgrade")
	return to, nil
}

func protocolsOf(lines []string) []string {
	var protocols []string
	for _, protocol := range strings.Split(strings.Join(lines, ","), ",") {
		if protocol = strings.TrimSpace(protocol); protocol != "" && !strings.HasPrefix(protocol, bearerProtocol) {
			protocols = append(protocols, protocol)
		}
	}
	return protocols
}
