package operator

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// settles is how long an API server may take to apply a policy that was installed together with the operator.
const settles = time.Minute

// confinement says at the start if nothing confines the operator to its own Secrets and ClusterBindings. The shipped
// policy names the account of the operator. If the operator runs as another one, the policy has no effect.
type confinement struct {
	api       client.Client
	namespace string
}

// Start waits until policies have settled, and checks once.
func (c confinement) Start(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(settles):
	}
	log := ctrl.Log.WithName("confinement")
	switch confined, err := Confined(ctx, c.api, c.namespace); {
	case err != nil:
		log.Error(err, "cannot find out whether a policy confines the operator")
	case !confined:
		log.Error(nil, "no policy confines this operator: it could write any Secret in the manager's namespace, and any ClusterBinding. "+
			"The account that it runs as must be in the matchConditions of ValidatingAdmissionPolicy spillway-hosted", "namespace", c.namespace)
	}
	return nil
}

// Confined reports whether the API server refuses a Secret that does not belong to the operator. It asks in a dry run,
// so it changes nothing. namespace is the manager's namespace.
func Confined(ctx context.Context, api client.Client, namespace string) (bool, error) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "is-spillway-hosted-confined-"}}
	err := api.Create(ctx, secret, client.DryRunAll)
	switch {
	case apierrors.IsForbidden(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("creating a Secret in namespace %s, in a dry run: %w", namespace, err)
	default:
		return false, nil
	}
}
