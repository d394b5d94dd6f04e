package run

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/faults/proxy"
	"github.com/spillway-io/spillway/test/faults/recipe"
	"github.com/spillway-io/spillway/test/faults/world"
	"github.com/spillway-io/spillway/test/performance/rig"
)

// noticeWithin is how long a manager may take to notice that a cluster is away.
// The intervals at which it looks are set to a second or two.
const noticeWithin = 20 * time.Second

// cut is a cluster that is cut off until the manager has noticed.
type cut struct {
	proxy   *proxy.Proxy
	admin   client.Client
	cluster string
	tries   int
}

// newCut cuts a cluster off.
func newCut(w *world.World, cluster string, kind recipe.Kind) *cut {
	c := &cut{proxy: w.Proxy(cluster), admin: w.Consumer.Admin, cluster: cluster}
	if kind == recipe.CutReset {
		c.proxy.Reset()
	} else {
		c.proxy.BlackHole()
	}
	return c
}

// heal ends the cut once the manager has noticed: it has asked for another
// connection, and of a provider it says that there is none.
func (c *cut) heal(ctx context.Context) error {
	defer c.proxy.Heal()
	err := rig.Eventually(ctx, noticeWithin, c.noticed)
	c.tries = c.proxy.Tries()
	if err != nil {
		return fmt.Errorf("nobody has noticed that %s is away: %w", c.cluster, err)
	}
	return nil
}

func (c *cut) noticed(ctx context.Context) error {
	if c.proxy.Tries() == 0 {
		return fmt.Errorf("nobody has asked for a new connection")
	}
	if c.cluster == world.Consumer {
		return nil
	}
	var binding v1alpha1.ClusterBinding
	err := c.admin.Get(ctx, client.ObjectKey{Name: c.cluster}, &binding)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	case meta.IsStatusConditionTrue(binding.Status.Conditions, v1alpha1.BindingConnected):
		return fmt.Errorf("the ClusterBinding says that it is connected")
	}
	return nil
}
