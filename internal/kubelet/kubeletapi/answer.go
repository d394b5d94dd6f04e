package kubeletapi

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/internal/field/text"
)

// MostOfAnswer limits how many bytes of an error answer are read.
const MostOfAnswer = 64 << 10

// mostQuoted limits, in characters, how much of a provider's message is quoted.
const mostQuoted = 512

// WhoAsks is the refusal of a request of somebody who is not known.
const WhoAsks = "the kubelet API of virtual nodes needs a client certificate or a token of this cluster"

// ProviderError returns the refusal for a provider's error or redirect. Redirects are never followed, because they
// could take the credentials anywhere.
func ProviderError(action Action, clusterID string, code int, body []byte) *Refusal {
	said := quoted(body)
	switch {
	case code < http.StatusBadRequest:
		return refuse(ProviderFailed, http.StatusBadGateway, "provider %s answered %d to %s, which is neither a stream nor an error: redirects are not followed", clusterID, code, action.Subresource())
	case code == http.StatusUnauthorized:
		return refuse(ProviderFailed, http.StatusBadGateway, "provider %s does not accept the credentials of its ClusterBinding", clusterID)
	case code == http.StatusForbidden:
		return refuse(ProviderFailed, http.StatusForbidden, "provider %s does not allow pods/%s, which only its administrator can change. It says: %s", clusterID, action.Subresource(), said)
	case code == http.StatusTooManyRequests:
		return refuse(ProviderFailed, code, "provider %s has too many requests: %s", clusterID, said)
	case code < http.StatusInternalServerError:
		return refuse(ProviderFailed, http.StatusBadRequest, "provider %s: %s", clusterID, said)
	}
	return refuse(ProviderFailed, http.StatusBadGateway, "provider %s: %s", clusterID, said)
}

// quoted returns the message of an answer, on one line.
func quoted(body []byte) string {
	var status metav1.Status
	said := string(body)
	if err := json.Unmarshal(body, &status); err == nil && status.Kind == "Status" && status.Message != "" {
		said = status.Message
	}
	return cmp.Or(text.Bound(strings.TrimSpace(text.Clean(said)), mostQuoted), "it does not say why")
}
