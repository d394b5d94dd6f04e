package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// StreamSeconds is the time, in seconds, from the request for a stream of that kind, such as exec, to its
// end.
var StreamSeconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{
	Name:    "spillway_stream_seconds",
	Help:    "Time from the request for logs, exec, attach or port-forward of an offloaded pod until it has ended, by kind, if it was passed on to the provider.",
	Buckets: prometheus.ExponentialBuckets(0.01, 4, 11), // 10 milliseconds to 3 hours.
}, []string{"kind"})

// StreamsRefused counts the requests that were refused, by the reasons of package kubeletapi.
var StreamsRefused = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "spillway_streams_refused_total",
	Help: "Requests to the kubelet API of virtual nodes that were refused, by the reason.",
}, []string{"reason"})

func init() { metrics.Registry.MustRegister(StreamSeconds, StreamsRefused) }

var (
	streamsDesc = prometheus.NewDesc("spillway_streams",
		"Open streams of logs, exec, attach and port-forward, by provider and kind.", []string{"cluster", "kind"}, nil)
	streamBytesDesc = prometheus.NewDesc("spillway_stream_bytes_total",
		"Bytes that the connections of streams have received from the provider and sent to it, by kind.", []string{"cluster", "kind", "direction"}, nil)
)

// StreamsOf identifies the streams of one kind, such as exec, to the pods of one provider.
type StreamsOf struct {
	ClusterID, Kind string
}

// StreamUsage counts the streams of one kind to one provider, and their bytes.
type StreamUsage struct {
	// Open is how many are open now.
	Open int
	// Received and Sent are the bytes from and to the provider, including ended streams.
	Received, Sent int64
}

// Streams collects what streams use.
type Streams struct {
	Of func() map[StreamsOf]StreamUsage
}

// Describe implements prometheus.Collector.
func (*Streams) Describe(to chan<- *prometheus.Desc) { describe(to, streamsDesc, streamBytesDesc) }

// Collect implements prometheus.Collector.
func (s *Streams) Collect(values chan<- prometheus.Metric) {
	for of, usage := range s.Of() {
		values <- prometheus.MustNewConstMetric(streamsDesc, prometheus.GaugeValue, float64(usage.Open), of.ClusterID, of.Kind)
		for direction, bytes := range map[string]int64{"received": usage.Received, "sent": usage.Sent} {
			values <- prometheus.MustNewConstMetric(streamBytesDesc, prometheus.CounterValue, float64(bytes), of.ClusterID, of.Kind, direction)
		}
	}
}
