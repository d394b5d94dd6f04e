package run

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/faults/inject"
	"github.com/spillway-io/spillway/test/faults/proxy"
	"github.com/spillway-io/spillway/test/faults/recipe"
	"github.com/spillway-io/spillway/test/faults/world"
	"github.com/spillway-io/spillway/test/performance/rig"
	"github.com/spillway-io/spillway/test/requests"
)

// noticeWithin is how long a manager may take to notice that a cluster is disconnected. Its checks run every
// second or two.
const noticeWithin = 20 * time.Second

// cut is a cluster that is disconnected until the manager has noticed.
type cut struct {
	proxy   *proxy.Proxy
	admin   client.Client
	cluster string
}

// newCut disconnects a cluster.
func newCut(w *world.World, cluster string, kind recipe.Kind) *cut {
	c := &cut{proxy: w.Proxy(cluster), admin: w.Consumer.Admin, cluster: cluster}
	if kind == recipe.CutReset {
		c.proxy.Reset()
	} else {
		c.proxy.BlackHole()
	}
	return c
}

// wait returns when the manager has noticed: it has tried to connect again, and reports a provider as
// disconnected.
func (c *cut) wait(ctx context.Context) error {
	if err := rig.Eventually(ctx, noticeWithin, c.noticed); err != nil {
		return fmt.Errorf("nobody has noticed that %s is away: %w", c.cluster, err)
	}
	return nil
}

// others returns when the manager has made all those writes since the cut.
func (c *cut) others(ctx context.Context, injector *inject.Injector, meanwhile []recipe.Point) error {
	return rig.Eventually(ctx, noticeWithin, func(context.Context) error {
		made := injector.Points()[cutAt(injector.Fired()):]
		for _, point := range meanwhile {
			if !slices.Contains(made, point) {
				return fmt.Errorf("while %s was away there was no %s", c.cluster, point)
			}
		}
		return nil
	})
}

// missing returns the wanted points that are not in made.
func missing(wanted, made []recipe.Point) []recipe.Point {
	return slices.DeleteFunc(slices.Clone(wanted), func(p recipe.Point) bool { return slices.Contains(made, p) })
}

// cutAt returns how many points came before the cut, including its own.
func cutAt(fired []inject.Firing) int {
	for _, firing := range fired {
		if firing.Kind.IsCut() {
			return firing.Points
		}
	}
	return 0
}

// independent is the scenario in which the two providers have nothing to do with each other within each step.
const independent = "two-providers"

// meanwhile returns the writes that the manager has to make while the recipe cuts off one provider. They come
// after that point in the same step of the reference run. They go to the other provider, or report the status
// of what is created there.
func meanwhile(r Run) []recipe.Point {
	if r.Scenario.Name != independent || r.Want == nil || len(r.Recipe) != 1 || !r.Recipe[0].Kind.IsCut() || r.Recipe[0].At.Cluster == world.Consumer {
		return nil
	}
	at := slices.Index(r.Want.Points, r.Recipe[0].At)
	if at < 0 {
		return nil
	}
	step := r.Want.step(at)
	step = step[slices.Index(step, r.Recipe[0].At)+1:]
	var others []recipe.Point
	made := map[string]bool{}
	for _, point := range step {
		again := point.Verb == requests.Delete && point.Occurrence > 1 // It is gone already.
		if point.Cluster != world.Consumer && point.Cluster != r.Recipe[0].At.Cluster && !again {
			others = append(others, point)
			made[point.Resource+"/"+point.Name] = point.Verb == requests.Create
		}
	}
	for _, point := range step {
		if point.Cluster == world.Consumer && point.Occurrence == 1 && made[point.Resource+"/"+point.Name] {
			others = append(others, point)
		}
	}
	return others
}

// step returns the points of the step with the i-th point.
func (o *Outcome) step(i int) []recipe.Point {
	if i < 0 {
		return nil
	}
	from, to := 0, len(o.Points)
	for _, begin := range o.Steps {
		if begin <= i {
			from = begin
		} else {
			to = min(to, begin)
		}
	}
	return o.Points[from:to]
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
