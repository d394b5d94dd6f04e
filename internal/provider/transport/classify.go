package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// Classify explains the error of a request to a provider. The reason is one of v1alpha1.ReasonUnauthorized,
// ReasonForbidden, ReasonWrongCA, ReasonTooLarge and ReasonUnreachable. The message is for a condition. Without
// an error, both are empty.
//
// The same problem always gets the same message, without details that change between attempts, such as the port
// of a connection: each change would cause a write. The message never quotes the credentials. It quotes the
// provider only where the form is known.
func Classify(err error) (reason, message string) {
	if err == nil {
		return "", ""
	}
	for _, classify := range []func(error) (string, string){
		classifyExcess, classifyAnswer, classifyCertificate, classifyConnection, classifyContent,
	} {
		if reason, message := classify(err); reason != "" {
			return reason, message
		}
	}
	// client-go has no types for its errors about answers that it does not understand,
	// but has them for connections.
	if from := server(err); from != unnamed {
		return v1alpha1.ReasonUnreachable, "the request to " + from + " failed"
	}
	return v1alpha1.ReasonUnreachable, notKubernetes
}

// unnamed stands for a provider whose URL the error does not have.
const unnamed = "the provider"

// server returns the provider's URL without path and credentials, if err has it.
func server(err error) string {
	var request *url.Error
	if errors.As(err, &request) {
		if u, parseErr := url.Parse(request.URL); parseErr == nil && u.Host != "" {
			return u.Scheme + "://" + u.Host
		}
	}
	return unnamed
}

// classifyExcess explains answers that were too large or too many.
func classifyExcess(err error) (reason, message string) {
	var (
		excess *ExcessError
		answer *SizeError
	)
	switch {
	case errors.As(err, &excess):
		return excess.Reason, excess.Message
	case errors.As(err, &answer):
		return v1alpha1.ReasonTooLarge, answer.Error()
	}
	return "", ""
}

// classifyAnswer explains an answer with an error status.
func classifyAnswer(err error) (reason, message string) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return "", ""
	}
	answer := status.Status()
	switch {
	case answer.Code == http.StatusUnauthorized:
		return v1alpha1.ReasonUnauthorized, "the provider does not accept the credentials (401 Unauthorized)"
	case answer.Code == http.StatusForbidden:
		return v1alpha1.ReasonForbidden, missingRight(answer.Message)
	case answer.Code < 400 || (answer.Code == http.StatusNotFound && isUnexpected(&answer)):
		return v1alpha1.ReasonUnreachable, notKubernetes
	}
	text := fmt.Sprintf("the provider answered %d %s", answer.Code, http.StatusText(int(answer.Code)))
	return v1alpha1.ReasonUnreachable, strings.TrimSpace(text)
}

const notKubernetes = "the answer does not come from a Kubernetes API; check the server of the kubeconfig"

// isUnexpected reports whether client-go created the status itself, because the answer had none.
func isUnexpected(status *metav1.Status) bool {
	return status.Details != nil && slices.ContainsFunc(status.Details.Causes, func(c metav1.StatusCause) bool {
		return c.Type == metav1.CauseTypeUnexpectedServerResponse
	})
}

var (
	// The parts of an authorizer's message that are repeated. Other text is not repeated, because it can be
	// anything.
	deniedResource = regexp.MustCompile(
		`cannot ([a-z]{1,32}) resource "([a-z0-9./-]{1,128})" in API group "([a-z0-9.-]{0,128})"(?: (at the cluster scope|in the namespace "[a-z0-9-]{1,63}"))?`)
	deniedPath = regexp.MustCompile(`cannot ([a-z]{1,32}) path "(/[a-z0-9./-]{0,128})"`)
)

// missingRight returns the text for a 403 answer, without naming the user again.
func missingRight(message string) string {
	const prefix = "the provider accepts the credentials, but they lack a right: "
	if m := deniedResource.FindStringSubmatch(message); m != nil {
		text := fmt.Sprintf(`%scannot %s resource "%s" in API group "%s"`, prefix, m[1], m[2], m[3])
		if m[4] != "" {
			text += " " + m[4]
		}
		return text
	}
	if m := deniedPath.FindStringSubmatch(message); m != nil {
		return fmt.Sprintf(`%scannot %s path "%s"`, prefix, m[1], m[2])
	}
	return "the provider accepts the credentials, but refused a request (403 Forbidden)"
}

// classifyCertificate explains why the client did not trust the provider's certificate.
func classifyCertificate(err error) (reason, message string) {
	var (
		authority    x509.UnknownAuthorityError
		hostname     x509.HostnameError
		invalid      x509.CertificateInvalidError
		verification *tls.CertificateVerificationError
	)
	of := "the certificate of " + server(err)
	switch {
	case errors.As(err, &hostname):
		return v1alpha1.ReasonWrongCA, of + " is for another name; check the server and tls-server-name of the kubeconfig"
	case errors.As(err, &authority):
		return v1alpha1.ReasonWrongCA, of + " is not signed by the certificate authority of the kubeconfig"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return v1alpha1.ReasonWrongCA, of + ", or of its authority, has expired or is not valid yet"
	case errors.As(err, &invalid) || errors.As(err, &verification):
		return v1alpha1.ReasonWrongCA, of + " is not valid"
	}
	return "", ""
}

// brokeOff reports whether the provider ended the TLS connection with an alert. The alert's text is not
// reported, because net/http's error varies. A server that wants a client certificate sends the alert after the
// handshake of TLS 1.3. net/http then returns the alert, a failed start of HTTP/2, or a broken pipe, by chance.
// An API server does none of this: it answers 401.
func brokeOff(err error) bool {
	var operation *net.OpError
	if errors.As(err, &operation) && operation.Op == "remote error" {
		return true
	}
	// The error has no type.
	return strings.Contains(err.Error(), "http2: client conn could not be established")
}

// classifyConnection explains a missing or incomplete answer.
func classifyConnection(err error) (reason, message string) {
	var (
		name        *net.DNSError
		noTLS       tls.RecordHeaderError
		timeout     interface{ Timeout() bool }
		unreachable = v1alpha1.ReasonUnreachable
	)
	switch {
	case errors.Is(err, ErrClosed), errors.Is(err, context.Canceled):
		return unreachable, "the request was cancelled"
	case errors.As(err, &name):
		return unreachable, "the host of " + server(err) + " cannot be resolved"
	case errors.Is(err, syscall.ECONNREFUSED):
		return unreachable, "connection refused by " + server(err)
	case isAny(err, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EHOSTDOWN, syscall.ENETDOWN):
		return unreachable, "there is no route to " + server(err)
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &noTLS):
		return unreachable, server(err) + " does not speak TLS"
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, os.ErrDeadlineExceeded), utilnet.IsHTTP2ConnectionLost(err):
		return unreachable, "no answer from " + server(err) + " in time"
	case brokeOff(err), isAny(err, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE):
		return unreachable, server(err) + " closed the connection"
	}
	return "", ""
}

func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

// classifyContent explains a successful answer that no API server gives.
func classifyContent(err error) (reason, message string) {
	var (
		syntax    *json.SyntaxError
		mediaType runtime.NegotiateError
	)
	if errors.As(err, &syntax) || errors.As(err, &mediaType) ||
		runtime.IsMissingKind(err) || runtime.IsMissingVersion(err) || runtime.IsNotRegisteredError(err) {
		return v1alpha1.ReasonUnreachable, notKubernetes
	}
	return "", ""
}
