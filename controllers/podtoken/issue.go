package podtoken

import (
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/token"
	"github.com/spillway-io/spillway/internal/engine/act"
	engdecide "github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/text"
)

const (
	// requestTimeout bounds one request for a token.
	requestTimeout = 15 * time.Second
	// mostMessage is the most characters of an API server's message that is repeated.
	mostMessage = 512
	// hidden replaces a token in a message.
	hidden = "(a token)"
)

// issue requests the tokens of a pod, and writes them into the Secret. It returns after how long they must be
// renewed, or why there are none. A token is in no problem: what API servers say is searched for tokens, and what
// is no answer of an API server is not repeated.
func (r *reconciler) issue(ctx context.Context, s snapshot, p plan) (again time.Duration, problem *field.Problem) {
	authority, problem := r.authority()
	if problem != nil {
		return 0, problem
	}
	data := map[string][]byte{token.KeyAuthority: authority, token.KeyNamespace: []byte(s.Pod.Namespace)}
	var issued []string
	expires := s.Now.Add(longest)
	for _, wanted := range s.Granted {
		granted, err := r.request(ctx, s.Pod, wanted)
		if err != nil {
			return 0, refusalOf(s.Pod, err)
		}
		data[wanted.Key()] = []byte(granted.Token)
		issued = append(issued, granted.Token)
		if until := granted.ExpirationTimestamp.Time; until.Before(expires) {
			expires = until
		}
	}
	renews := renewal(s.Pod.UID, s.Now, expires)
	if err := r.write(ctx, s.Pod, p, data, expires, renews); err != nil {
		return 0, problemOf(p, r.Mark.ClusterID, err, issued)
	}
	return renews.Sub(s.Now), nil
}

// authority returns the certificates by which pods verify the API server.
func (r *reconciler) authority() ([]byte, *field.Problem) {
	if api := r.API().Endpoint; api != nil && len(api.CABundle) > 0 {
		return api.CABundle, nil
	}
	authority, err := r.kind.Authority()
	if err != nil || len(authority) == 0 {
		return nil, field.Refuse(v1alpha1.ReasonConsumerAPIInvalid, "the manager does not know which authorities sign the consumer's certificates; set spec.consumerAPI.caBundle")
	}
	return authority, nil
}

// request requests one token. The policy spillway-manager-tokens requires the label.
func (r *reconciler) request(ctx context.Context, pod *corev1.Pod, wanted token.Wanted) (authenticationv1.TokenRequestStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	request := &authenticationv1.TokenRequest{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBySpillway}},
		Spec: authenticationv1.TokenRequestSpec{
			ExpirationSeconds: ptr.To(wanted.Seconds),
			BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID},
		},
	}
	if wanted.Audience != "" {
		request.Spec.Audiences = []string{wanted.Audience}
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: token.AccountOf(pod)}}
	err := r.kind.Consumer.SubResource("token").Create(ctx, account, request)
	return request.Status, err
}

// write creates the Secret, or replaces its content. It fails if anybody has written the Secret since.
func (r *reconciler) write(ctx context.Context, pod *corev1.Pod, p plan, data map[string][]byte, expires, renews time.Time) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: p.In, Name: field.TokenSecretName(pod.UID), Labels: r.Mark.Labels()}, Type: corev1.SecretTypeOpaque}
	a := engdecide.Action{Verb: engdecide.Create, Side: engdecide.Remote, Object: secret}
	if p.Before != nil {
		secret = p.Before.DeepCopy()
		a = engdecide.Action{Verb: engdecide.Patch, Side: engdecide.Remote, Object: secret, Before: p.Before, Locked: true}
	}
	annotations := maps.Clone(secret.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	maps.Copy(annotations, map[string]string{
		v1alpha1.AnnotationLocalNamespace: pod.Namespace, v1alpha1.AnnotationLocalName: pod.Name, v1alpha1.AnnotationLocalUID: string(pod.UID),
		v1alpha1.AnnotationTokenExpires: expires.UTC().Format(time.RFC3339), v1alpha1.AnnotationTokenRenews: renews.UTC().Format(time.RFC3339),
	})
	secret.Annotations, secret.Data = annotations, data
	if err := act.Send(ctx, r.Provider.GetClient(), secret, a); err != nil {
		return err
	}
	r.Provider.Budget.Sent(secret)
	r.Remote.Expect(secret)
	return nil
}

// refusalOf says why the consumer has issued no token.
func refusalOf(pod *corev1.Pod, err error) *field.Problem {
	account := token.AccountOf(pod)
	message, answered := messageOf(err)
	message = text.Bound(message, mostMessage)
	switch {
	case apierrors.IsForbidden(err):
		return field.Refuse(v1alpha1.ReasonTokenForbidden, "the manager may not create tokens of ServiceAccount %s; ask the consumer's administrator to bind the ClusterRole spillway-pod-tokens in namespace %s: %s",
			account, pod.Namespace, message)
	case apierrors.IsNotFound(err):
		return field.Refuse(v1alpha1.ReasonServiceAccountNotFound, "ServiceAccount %s does not exist: %s", account, message)
	case answered:
		return field.Refuse(v1alpha1.ReasonTokenRefused, "the consumer refuses a token of ServiceAccount %s: %s", account, message)
	default:
		return field.Refuse(v1alpha1.ReasonTokenRefused, "the consumer did not answer the request for a token of ServiceAccount %s", account)
	}
}

// problemOf says why the provider has not taken the Secret. Admission there may repeat what is in it.
func problemOf(p plan, clusterID string, err error, issued []string) *field.Problem {
	message, answered := messageOf(err)
	if !answered {
		message = "it did not answer"
	}
	for _, one := range issued {
		for _, form := range []string{one, base64.StdEncoding.EncodeToString([]byte(one))} {
			message = strings.ReplaceAll(message, form, hidden)
		}
	}
	reason := v1alpha1.ReasonRejected
	if apierrors.IsAlreadyExists(err) {
		reason = v1alpha1.ReasonNameConflict
	}
	return field.Refuse(reason, "provider %s does not take the Secret with the pod's API tokens in namespace %s: %s", clusterID, p.In, text.Bound(message, mostMessage))
}

// messageOf returns what an API server has answered. What a client says of an answer that it cannot read may
// repeat the answer, so messageOf does not return that.
func messageOf(err error) (message string, answered bool) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return "", false
	}
	return status.Status().Message, true
}
