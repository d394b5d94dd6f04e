package transport

import (
	"errors"
	"mime"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/provider/transport/decoded"
)

// isProtobuf reports whether an answer is Protobuf. A successful answer of any other type is read as JSON, so
// that nobody decodes it as a type that was not measured. Answers with an error may be text for people.
func isProtobuf(resp *http.Response) bool {
	mediaType, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case err == nil && mediaType == runtime.ContentTypeProtobuf:
		return true
	case err == nil && (mediaType == runtime.ContentTypeJSON || resp.StatusCode >= http.StatusBadRequest && strings.HasPrefix(mediaType, "text/")):
		return false // Its parameters are kept.
	}
	resp.Header.Set("Content-Type", runtime.ContentTypeJSON)
	return false
}

// asksForMaps reports whether a request asks for JSON instead of Protobuf, as for objects without a Go type,
// which are decoded as maps.
func asksForMaps(req *http.Request) bool {
	accept := req.Header.Get("Accept")
	return accept != "" && !strings.Contains(accept, runtime.ContentTypeProtobuf)
}

// meterOf returns a meter for an object or a list.
func (b *bounded) meterOf(req *http.Request, isProtobuf bool) decoded.Meter {
	if isProtobuf {
		return decoded.NewObject()
	}
	return b.text(req)
}

// text returns a meter for JSON. Routes are requested in JSON although they have Go types.
func (b *bounded) text(req *http.Request) *decoded.JSON {
	group, _ := target(req, b.prefix)
	routes := group == gatewayv1.GroupName
	return &decoded.JSON{AnyKind: asksForMaps(req) && !routes, Routes: routes}
}

// ofOne limits the memory of an answer that is neither a list nor a watch.
func ofOne(meter decoded.Meter) func([]byte) error {
	var sum int64
	return func(p []byte) error {
		took, err := meter.Read(p)
		if err != nil {
			return notMeasured(err, "an answer")
		}
		if sum += took; sum > maxDecoded {
			return tooLarge("an answer takes more than %s of memory", inMiB(maxDecoded))
		}
		return nil
	}
}

// ofEvents limits each event of a watch.
func (b *bounded) ofEvents(req *http.Request, isProtobuf bool, resource string) func([]byte) error {
	found := &events{isProtobuf: isProtobuf, text: *b.text(req)}
	found.text.Event = true
	return func(p []byte) error {
		excess, err := found.read(p)
		switch {
		case err != nil:
			return b.excess.report(notMeasured(err, "an event of the watch of "+resource))
		case excess != "":
			return b.excess.report(tooLarge("an event of the watch of %s %s", resource, excess))
		}
		return nil
	}
}

// mustBeProtobuf refuses an answer that an API server would give in Protobuf, unless the request asks for maps,
// or the answer has no content. If the answer is for a cache, the connection ends.
func (b *bounded) mustBeProtobuf(req *http.Request, resp *http.Response, kind requestKind) (refuse func([]byte) error) {
	mediaType, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	group, path := target(req, b.prefix)
	if mediaType == runtime.ContentTypeProtobuf || resp.StatusCode >= http.StatusMultipleChoices || path == nil || !decoded.InProtobuf(group) || asksForMaps(req) {
		return nil
	}
	err := &ExcessError{Reason: v1alpha1.ReasonUnreachable, Message: notKubernetes}
	if mediaType == runtime.ContentTypeJSON {
		err.Message = "the provider answers in JSON, although the manager asks for Protobuf; a proxy in front of it must pass on the header Accept"
	}
	return func(p []byte) error {
		switch {
		case len(p) == 0:
			return nil
		case kind == single:
			return err
		}
		return b.excess.report(err)
	}
}

// notMeasured is the error of an answer that cannot be recognized, or has a quantity that must not be decoded.
// The connection ends: the caches would repeat the request for ever.
func notMeasured(err error, what string) *ExcessError {
	var quantity *decoded.QuantityError
	if errors.As(err, &quantity) {
		return tooLarge("%s %s", what, quantity)
	}
	return &ExcessError{Reason: v1alpha1.ReasonUnreachable, Message: notKubernetes}
}
