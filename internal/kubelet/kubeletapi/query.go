package kubeletapi

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// streams maps the kubelet's query parameters of exec and attach to the parameters of the Kubernetes API.
var streams = map[string]string{"input": "stdin", "output": "stdout", "error": "stderr", "tty": "tty"}

// ofLogs are the query parameters of logs, which are the same in both APIs. Others, such as
// insecureSkipTLSVerifyBackend, concern the connection to the kubelet.
var ofLogs = []string{"follow", "previous", "timestamps", "sinceSeconds", "sinceTime", "tailLines", "limitBytes", "stream"}

// allStreams is the default of the parameter stream. An API server that is newer than the provider's may send
// it even if the user did not.
const allStreams = "All"

// queryFor translates the query of a kubelet into the query of the Kubernetes API. It leaves out unknown
// parameters.
func queryFor(action Action, container string, from url.Values) (url.Values, *Refusal) {
	to := url.Values{}
	if container != "" {
		to.Set("container", container)
	}
	switch action {
	case Logs:
		for _, key := range ofLogs {
			if value := from.Get(key); value != "" && (key != "stream" || value != allStreams) {
				to.Set(key, value)
			}
		}
		return to, nil
	case PortForward:
		return to, addPorts(to, from["port"])
	}
	for key, name := range streams {
		switch value := from.Get(key); value {
		case "", "0", "false":
		case "1", "true":
			to.Set(name, "true")
		default:
			return nil, refuse(BadRequest, http.StatusBadRequest, "%s must be 1 or 0, not %.16q", key, value)
		}
	}
	if action == Exec {
		if len(from["command"]) == 0 {
			return nil, refuse(BadRequest, http.StatusBadRequest, "exec needs a command")
		}
		to["command"] = from["command"]
	}
	return to, nil
}

// addPorts adds the ports of a forward over a WebSocket, which are separated by commas. With SPDY each stream
// names its own port.
func addPorts(to url.Values, lists []string) *Refusal {
	for _, list := range lists {
		for _, text := range strings.Split(list, ",") {
			port, err := strconv.ParseUint(text, 10, 16)
			if err != nil || port == 0 {
				return refuse(BadRequest, http.StatusBadRequest, "port must be between 1 and 65535, not %.16q", text)
			}
			to.Add("ports", strconv.FormatUint(port, 10))
		}
	}
	return nil
}
