package hosted

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// TokensOfEKS is the webhook with which an API server in EKS checks tokens. It accepts every well-formed
// token as an administrator's, and does not forward the signed request to AWS.
type TokensOfEKS struct {
	// Asked counts the reviews, and Refused makes them fail.
	Asked   atomic.Int32
	Refused atomic.Bool
}

func (t *TokensOfEKS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asks authenticationv1.TokenReview
	if err := json.NewDecoder(r.Body).Decode(&asks); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	asks.Status = authenticationv1.TokenReviewStatus{}
	if encoded, ok := strings.CutPrefix(asks.Spec.Token, "k8s-aws-v1."); ok {
		t.Asked.Add(1)
		if !t.Refused.Load() && wellFormed(encoded) {
			asks.Status.Authenticated = true
			asks.Status.User = authenticationv1.UserInfo{Username: "arn:aws:iam::1:role/operator", Groups: []string{"system:masters"}}
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(asks)
}

func wellFormed(encoded string) bool {
	signed, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return false
	}
	request, err := url.Parse(string(signed))
	return err == nil && request.Query().Get("Action") == "GetCallerIdentity" && strings.Contains(request.Query().Get("X-Amz-SignedHeaders"), "x-k8s-aws-id")
}

// Use makes an API server call the webhook at that URL. It writes the configuration into the folder.
func (t *TokensOfEKS) Use(env *envtest.Environment, folder, url string) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["eks"] = &clientcmdapi.Cluster{Server: url}
	config.AuthInfos["eks"] = &clientcmdapi.AuthInfo{}
	config.Contexts["eks"] = &clientcmdapi.Context{Cluster: "eks", AuthInfo: "eks"}
	config.CurrentContext = "eks"
	file := filepath.Join(folder, "webhook")
	env.ControlPlane.GetAPIServer().Configure().
		Set("authentication-token-webhook-config-file", file).Set("authentication-token-webhook-version", "v1").Set("authentication-token-webhook-cache-ttl", "0s")
	return clientcmd.WriteToFile(*config, file)
}
