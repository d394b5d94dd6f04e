package clusters

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// requestTimeout bounds each request of a wait. So a paused component is reported as the reason, and does not
// block the wait.
const requestTimeout = 3 * time.Second

// WaitReady waits until the API server and every other component are ready. The error names a component that
// is not, and quotes its log.
func (c *Cluster) WaitReady(ctx context.Context) error { return c.waitReady(ctx, defaultTimeout) }

// servers are the components that the others are clients of.
var servers = []Component{Etcd, KubeAPIServer}

// restarts is how often waitReady restarts a component that has ended.
const restarts = 3

func (c *Cluster) waitReady(ctx context.Context, timeout time.Duration) error {
	restarted := 0
	err := poll(ctx, timeout, func(ctx context.Context) error {
		if err := c.checkRunning(servers); err != nil {
			return err
		}
		if err := c.checkAPIServer(ctx); err != nil {
			return err
		}
		// A controller manager gives up 10 seconds after its start. On a busy machine, the API server may not
		// be ready by then.
		if ended := c.checkRunning(c.state.Components); ended != nil {
			if restarted == restarts {
				return ended
			}
			restarted++
			if err := c.startMissing(ctx); err != nil {
				return err
			}
		}
		return c.checkOthers(ctx)
	})
	var notReady *notReadyError
	if errors.As(err, &notReady) {
		return fmt.Errorf("%w\n%s", err, c.logTail(notReady.component))
	}
	return err
}

type notReadyError struct {
	cluster   string
	component Component
	cause     error
}

func (e *notReadyError) Error() string {
	return fmt.Sprintf("cluster %s: %s is not ready: %v", e.cluster, e.component, e.cause)
}

func (e *notReadyError) Unwrap() error { return e.cause }

func (c *Cluster) checkRunning(components []Component) error {
	running, err := c.Running()
	if err != nil {
		return err
	}
	for _, component := range components {
		if !slices.Contains(running, component) {
			return c.ended(component)
		}
	}
	return nil
}

func (c *Cluster) checkAPIServer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if _, err := c.client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx); err != nil {
		return &notReadyError{c.Name, KubeAPIServer, err}
	}
	return nil
}

func (c *Cluster) checkOthers(ctx context.Context) error {
	for _, component := range c.state.Components {
		url, ok := c.state.Health[component]
		if !ok {
			continue
		}
		if err := checkHealth(ctx, url); err != nil {
			return &notReadyError{c.Name, component, err}
		}
	}
	if !slices.Contains(c.state.Components, KubeControllerManager) {
		return nil
	}
	// Its health endpoint says nothing about its controllers. Pods in namespace default need one of them, so
	// check its result.
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if _, err := c.client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{}); err != nil {
		return &notReadyError{c.Name, KubeControllerManager, err}
	}
	return nil
}

// healthClient trusts any certificate: the components sign their own, and the answer is only a yes or no on
// the loopback interface.
var healthClient = &http.Client{
	Timeout:   requestTimeout,
	Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}, //nolint:gosec // see above
}

func checkHealth(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := healthClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(response.Body, 512))
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", url, response.Status, body)
	}
	return nil
}
