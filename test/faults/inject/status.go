package inject

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/spillway-io/spillway/test/faults/recipe"
	"github.com/spillway-io/spillway/test/requests"
)

// retryAfter is in seconds.
const retryAfter = 1

// errInjected is in the messages of all injected errors.
var errInjected = errors.New("injected by a test")

// statusOf returns the Status that an API server would answer.
func statusOf(kind recipe.Kind, target requests.Target) metav1.Status {
	resource := schema.GroupResource{Group: target.Group, Resource: target.Resource}
	var err *apierrors.StatusError
	switch kind {
	case recipe.Conflict:
		err = apierrors.NewConflict(resource, target.Name, errInjected)
	case recipe.TooManyRequests:
		err = apierrors.NewTooManyRequests(errInjected.Error(), retryAfter)
	case recipe.Unavailable:
		err = apierrors.NewServiceUnavailable(errInjected.Error())
	case recipe.TimeoutAfterCommit:
		err = apierrors.NewTimeoutError(errInjected.Error(), 0)
	case recipe.AlreadyExists:
		err = apierrors.NewAlreadyExists(resource, target.Name)
	case recipe.NotFound:
		err = apierrors.NewNotFound(resource, target.Name)
	case recipe.Forbidden:
		err = apierrors.NewForbidden(resource, target.Name, errInjected)
	default:
		err = apierrors.NewInternalError(errInjected)
	}
	return withKind(err.ErrStatus)
}

func withKind(status metav1.Status) metav1.Status {
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	return status
}

// gone returns the Status of a watch that asks for a resource version that is too old.
func gone() metav1.Status {
	return withKind(apierrors.NewResourceExpired("too old resource version: " + errInjected.Error()).ErrStatus)
}

// answer returns a response with a Status.
func answer(r *http.Request, status metav1.Status) (*http.Response, error) {
	raw, err := json.Marshal(status)
	if err != nil {
		return nil, fmt.Errorf("encoding an injected status: %w", err)
	}
	code := int(status.Code)
	response := &http.Response{
		Status: fmt.Sprintf("%d %s", code, http.StatusText(code)), StatusCode: code, Proto: r.Proto, ProtoMajor: r.ProtoMajor, ProtoMinor: r.ProtoMinor,
		Header: http.Header{"Content-Type": {runtime.ContentTypeJSON}}, Body: io.NopCloser(bytes.NewReader(raw)), ContentLength: int64(len(raw)), Request: r,
	}
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		response.Header.Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
	}
	return response, nil
}
