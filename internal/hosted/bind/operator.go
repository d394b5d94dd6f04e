package bind

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hosted "github.com/spillway-io/spillway/api/hosted/v1alpha1"
	"github.com/spillway-io/spillway/internal/hosted/cloud"
)

// Operator is a Binder for the controller of hosted clusters, which has the client of each
// cluster's cloud. A client that is no cloud.Source gives no access.
type Operator struct{ *Binder }

// Bind implements controller.Binder.
func (o Operator) Bind(ctx context.Context, h *hosted.HostedCluster, c cloud.Client) (*metav1.Condition, time.Duration, error) {
	source, _ := c.(cloud.Source)
	return o.Binder.Bind(ctx, h, source)
}

// Unbind implements controller.Binder.
func (o Operator) Unbind(ctx context.Context, h *hosted.HostedCluster, c cloud.Client, gone bool) (done bool, err error) {
	source, _ := c.(cloud.Source)
	return o.Binder.Unbind(ctx, h, source, gone)
}
