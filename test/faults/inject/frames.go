package inject

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

// frames reads and writes the events of a watch, in JSON or protobuf, without decoding their objects.
type frames struct {
	info    runtime.SerializerInfo
	decoder streaming.Decoder
	raw     []byte // The last frame.
}

// framesOf returns false if the response is not a watch in a known encoding.
func framesOf(contentType string, source io.ReadCloser) (*frames, bool) {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil, false
	}
	info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), media)
	if !ok || info.StreamSerializer == nil {
		return nil, false
	}
	f := &frames{info: info}
	f.decoder = streaming.NewDecoder(info.StreamSerializer.NewFrameReader(source), keepsRaw{f})
	return f, true
}

// keepsRaw decodes an event except for its object, and keeps the frame.
type keepsRaw struct{ *frames }

// Decode implements runtime.Decoder.
func (k keepsRaw) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	k.raw = slices.Clone(data)
	return k.info.StreamSerializer.Decode(data, defaults, into)
}

// read waits for the next frame. It returns the frame and the type of its event.
func (f *frames) read() ([]byte, watch.EventType, error) {
	var event metav1.WatchEvent
	if _, _, err := f.decoder.Decode(nil, &event); err != nil {
		return nil, "", err
	}
	return f.raw, watch.EventType(event.Type), nil
}

// write writes a frame unchanged into a buffer.
func (f *frames) write(to *bytes.Buffer, frame []byte) error {
	_, err := f.info.StreamSerializer.NewFrameWriter(to).Write(frame)
	return err
}

// writeError writes an event of type ERROR into a buffer.
func (f *frames) writeError(to *bytes.Buffer, status metav1.Status) error {
	object, err := runtime.Encode(scheme.Codecs.EncoderForVersion(f.info.Serializer, metav1.Unversioned), &status)
	if err != nil {
		return fmt.Errorf("encoding an injected status: %w", err)
	}
	event := &metav1.WatchEvent{Type: string(watch.Error), Object: runtime.RawExtension{Raw: object}}
	return streaming.NewEncoder(f.info.StreamSerializer.NewFrameWriter(to), f.info.StreamSerializer.Serializer).Encode(event)
}
