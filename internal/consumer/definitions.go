package consumer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/definitions"
)

const (
	// skewedInterval is how often to compare the kinds while they are of another version, and checkInterval while
	// they are of this version. Most comparisons are one small request.
	skewedInterval, checkInterval = 20 * time.Second, 10 * time.Minute
	// checkTimeout is how long the consumer may take for an answer.
	checkTimeout = 10 * time.Second
)

// Definitions knows how the kinds that the consumer serves differ from the kinds of this version. It reads
// the schemas that the API server publishes, because every authenticated account may read those. The manager
// has no right to read CustomResourceDefinitions.
type Definitions struct {
	Repeats *Repeats
	Clock   clock.Clock
	// API is the client for the consumer.
	API rest.Interface

	events chan event.TypedGenericEvent[*v1alpha1.ClusterBinding]

	mu    sync.Mutex
	known *definitions.Skew
	// read is the address that was last read. It contains a hash of the content.
	read string
}

var (
	_ manager.Runnable               = &Definitions{}
	_ manager.LeaderElectionRunnable = &Definitions{}
)

// NewDefinitions returns Definitions that know nothing yet.
func NewDefinitions(api rest.Interface, repeats *Repeats, c clock.Clock) *Definitions {
	return &Definitions{Repeats: repeats, Clock: c, API: api, events: make(chan event.TypedGenericEvent[*v1alpha1.ClusterBinding], 1)}
}

// NeedLeaderElection is false, because all replicas that share the bindings report.
func (*Definitions) NeedLeaderElection() bool { return false }

// Start compares the kinds until ctx ends.
func (d *Definitions) Start(ctx context.Context) error {
	for {
		if err := d.check(ctx); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).V(1).Info("the schemas of the kinds cannot be read", "error", err.Error())
		}
		wait := checkInterval
		if skew := d.Skew(); skew == nil || *skew != (definitions.Skew{}) {
			wait = skewedInterval
		}
		timer := d.Clock.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
	}
}

// Skew returns how the kinds differ; nil if that is not known yet.
func (d *Definitions) Skew() *definitions.Skew {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.known
}

// Events sends an event with an empty ClusterBinding when the result of Skew has changed.
func (d *Definitions) Events() <-chan event.TypedGenericEvent[*v1alpha1.ClusterBinding] {
	return d.events
}

// check reads the schemas, unless it has already read this version of them.
func (d *Definitions) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	at, err := d.address(ctx)
	if err != nil || at == d.read {
		return err
	}
	served, err := d.served(ctx, at)
	if err != nil {
		return err
	}
	shipped, err := definitions.Shipped()
	if err != nil {
		return err
	}
	skew := definitions.Compare(served, shipped)
	d.Repeats.Forget()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known, d.read = &skew, at
	select {
	case d.events <- event.TypedGenericEvent[*v1alpha1.ClusterBinding]{Object: &v1alpha1.ClusterBinding{}}:
	default: // An event is already pending.
	}
	return nil
}

// address returns the address at which the API server publishes the schemas of Spillway's kinds.
func (d *Definitions) address(ctx context.Context) (string, error) {
	body, err := d.API.Get().AbsPath("/openapi/v3").SetHeader("Accept", "application/json").Do(ctx).Raw()
	if err != nil {
		return "", fmt.Errorf("reading which schemas the consumer publishes: %w", err)
	}
	var index struct {
		Paths map[string]struct {
			ServerRelativeURL string `json:"serverRelativeURL"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(body, &index); err != nil {
		return "", fmt.Errorf("reading which schemas the consumer publishes: %w", err)
	}
	at := index.Paths["apis/"+v1alpha1.GroupVersion.String()].ServerRelativeURL
	if at == "" {
		return "", errors.New("the consumer publishes no schemas of " + v1alpha1.GroupVersion.String())
	}
	return at, nil
}

// served reads the schemas of Spillway's kinds.
func (d *Definitions) served(ctx context.Context, at string) (map[string]definitions.Schema, error) {
	body, err := d.API.Get().RequestURI(at).SetHeader("Accept", "application/json").Do(ctx).Raw()
	if err != nil {
		return nil, fmt.Errorf("reading the schemas of the kinds: %w", err)
	}
	var document struct {
		Components struct {
			Schemas map[string]map[string]any `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(body, &document); err != nil {
		return nil, fmt.Errorf("reading the schemas of the kinds: %w", err)
	}
	served := map[string]definitions.Schema{}
	for _, schema := range document.Components.Schemas {
		kinds, _ := schema["x-kubernetes-group-version-kind"].([]any)
		for _, kind := range kinds {
			if kind, _ := kind.(map[string]any); kind["group"] == v1alpha1.GroupVersion.Group && kind["version"] == v1alpha1.GroupVersion.Version {
				served[fmt.Sprint(kind["kind"])] = definitions.Of(schema)
			}
		}
	}
	return served, nil
}
