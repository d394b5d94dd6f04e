package podtoken

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	// placeholder is sent instead of a token, to be told why a Secret is refused.
	placeholder = "no token"
)

// issue requests the tokens of a pod, unless those of the last request are still to be written, and writes them into
// the Secret. It returns after how long they must be renewed, or why the Secret does not have them. A token is in no
// problem: what is no answer of an API server is not repeated, and whyRefused is about a Secret without tokens.
func (r *reconciler) issue(ctx context.Context, s snapshot, p plan) (again time.Duration, problem *field.Problem) {
	authority, problem := r.issuer.authority()
	if problem != nil {
		return 0, problem
	}
	got := s.Issued
	if !got.unwritten(s.Now) {
		if got, problem = r.issuer.requestAll(ctx, s); problem != nil {
			return 0, problem
		}
		r.ledger.requested(s.Pod.UID, got)
	}
	data := maps.Clone(got.tokens)
	data[token.KeyAuthority], data[token.KeyNamespace] = authority, []byte(s.Pod.Namespace)
	secret, a := r.secretOf(s.Pod, p, got, data)
	if err := act.Send(ctx, r.Provider.GetClient(), secret, a); err != nil {
		return 0, r.whyRefused(ctx, s, p, got, err)
	}
	r.ledger.written(s.Pod.UID, secret.UID)
	r.Provider.Budget.Sent(secret)
	r.Remote.Expect(secret)
	return got.renews.Sub(s.Now), nil
}

// issuer requests tokens from the consumer.
type issuer struct {
	*Kind
	api func() field.ConsumerAPI
}

// requestAll requests all tokens of a pod.
func (i issuer) requestAll(ctx context.Context, s snapshot) (issued, *field.Problem) {
	got := issued{tokens: map[string][]byte{}, expires: s.Now.Add(longest)}
	for _, wanted := range s.Granted {
		granted, err := i.request(ctx, s.Pod, wanted)
		if err != nil {
			return issued{}, refusalOf(s.Pod, err)
		}
		got.tokens[wanted.Key()] = []byte(granted.Token)
		if until := lastsUntil(granted.ExpirationTimestamp.Time, s.Now, i.life(wanted)); until.Before(got.expires) {
			got.expires = until
		}
	}
	got.renews = renewal(s.Pod.UID, s.Now, got.expires)
	return got, nil
}

// authority returns the certificates by which pods verify the API server.
func (i issuer) authority() ([]byte, *field.Problem) {
	if api := i.api().Endpoint; api != nil && len(api.CABundle) > 0 {
		return api.CABundle, nil
	}
	authority, err := i.Authority()
	if err != nil || len(authority) == 0 {
		return nil, field.Refuse(v1alpha1.ReasonConsumerAPIInvalid, "the manager does not know which authorities sign the consumer's certificates; set spec.consumerAPI.caBundle")
	}
	return authority, nil
}

// life returns for how long a token is requested.
func (i issuer) life(wanted token.Wanted) time.Duration {
	life := time.Duration(wanted.Seconds) * time.Second
	if i.Life > 0 {
		life = min(life, i.Life)
	}
	return life
}

// lastsUntil returns when a token expires, by the manager's clock. If the clock differs from the API server's by so
// much that what that says cannot be used, the requested life counts.
func lastsUntil(said, now time.Time, life time.Duration) time.Time {
	if rest := said.Sub(now); rest > life || rest < life/2 {
		return now.Add(life)
	}
	return said
}

// request requests one token. The policy spillway-manager-tokens requires the label.
func (i issuer) request(ctx context.Context, pod *corev1.Pod, wanted token.Wanted) (authenticationv1.TokenRequestStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	seconds := int64(i.life(wanted) / time.Second)
	request := &authenticationv1.TokenRequest{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBySpillway}},
		Spec: authenticationv1.TokenRequestSpec{
			ExpirationSeconds: ptr.To(seconds),
			BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID},
		},
	}
	if wanted.Audience != "" {
		request.Spec.Audiences = []string{wanted.Audience}
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: token.AccountOf(pod)}}
	err := i.Consumer.SubResource("token").Create(ctx, account, request)
	return request.Status, err
}

// secretOf returns the Secret to create, or whose content to replace, and the write. The write fails if anybody has
// written the Secret since.
func (r *reconciler) secretOf(pod *corev1.Pod, p plan, got issued, data map[string][]byte) (*corev1.Secret, engdecide.Action) {
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
		v1alpha1.AnnotationTokenExpires: got.expires.UTC().Format(time.RFC3339), v1alpha1.AnnotationTokenRenews: got.renews.UTC().Format(time.RFC3339),
	})
	secret.Annotations, secret.Data = annotations, data
	return secret, a
}

// whyRefused says why the provider has not taken the Secret. Admission there may quote what is in it, in any
// form. So whyRefused repeats only what the provider says of the same write without tokens, in a dry run.
func (r *reconciler) whyRefused(ctx context.Context, s snapshot, p plan, got issued, err error) *field.Problem {
	// An update shows admission the old tokens, too, also in a dry run.
	if _, answered := messageOf(err); !answered || p.Before != nil {
		return problemOf(p, r.Mark.ClusterID, err, nil)
	}
	data := map[string][]byte{}
	for key := range got.tokens {
		data[key] = []byte(placeholder)
	}
	secret, a := r.secretOf(s.Pod, p, got, data)
	return problemOf(p, r.Mark.ClusterID, err, act.Send(ctx, client.NewDryRunClient(r.Provider.GetClient()), secret, a))
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
	case isNoAccount(err):
		return field.Refuse(v1alpha1.ReasonServiceAccountNotFound, "ServiceAccount %s does not exist: %s", account, message)
	case apierrors.IsNotFound(err), apierrors.IsConflict(err): // The cache shows it soon.
		return field.Refuse(v1alpha1.ReasonTokenRefused, "the pod does not exist any more")
	case answered:
		return field.Refuse(v1alpha1.ReasonTokenRefused, "the consumer refuses a token of ServiceAccount %s: %s", account, message)
	default:
		return field.Refuse(v1alpha1.ReasonTokenRefused, "the consumer did not answer the request for a token of ServiceAccount %s", account)
	}
}

// isNoAccount reports whether a request for a token failed because there is no such ServiceAccount. The API server
// says in the same way that there is no such pod.
func isNoAccount(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Kind == "serviceaccounts"
}

// problemOf says why the provider has not taken the Secret. refused is the error of the write, and without that of the
// same write without tokens.
func problemOf(p plan, clusterID string, refused, without error) *field.Problem {
	message, answered := messageOf(without)
	var status apierrors.APIStatus
	switch {
	case answered:
	case errors.As(refused, &status):
		message = fmt.Sprintf("HTTP status %d; what it says is not repeated, because that could have parts of the tokens", status.Status().Code)
	default:
		message = "it did not answer"
	}
	reason := v1alpha1.ReasonRejected
	if apierrors.IsAlreadyExists(refused) {
		reason = v1alpha1.ReasonNameConflict
	}
	return field.Refuse(reason, "provider %s does not take the Secret with the pod's API tokens in namespace %s: %s", clusterID, p.In, text.Bound(message, mostMessage))
}

// lost says that a pod waits for new tokens because the provider keeps losing its Secret.
func lost(p plan, clusterID string) field.Problem {
	return field.Problemf(v1alpha1.ReasonReferenceNotSynced,
		"the Secret with the pod's API tokens in namespace %s of provider %s was deleted or replaced, too often for new tokens to be requested at once", p.In, clusterID)
}

// later adds to a problem when the tokens are requested again.
func later(problem field.Problem, at time.Time) field.Problem {
	problem.Message += "; they are requested again at " + at.UTC().Format(time.RFC3339)
	return problem
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
