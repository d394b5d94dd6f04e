package fleet

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// inspector reads the caches of the clusters it is engaged with.
type inspector struct{ found chan error }

func (i *inspector) Engage(ctx context.Context, name multicluster.ClusterName, cl cluster.Cluster) error {
	var err error
	for _, kind := range []client.Object{&corev1.Namespace{}, &corev1.Node{}} {
		informer, getErr := cl.GetCache().GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if getErr != nil {
			err = getErr
		} else if !informer.HasSynced() {
			err = fmt.Errorf("%s is engaged, and has not read %T", name, kind)
		}
	}
	i.found <- err
	return nil
}

// TestEngagedWithFullCaches runs on one processor, so that the goroutine that starts the
// caches runs last.
func TestEngagedWithFullCaches(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	f := New(Options{Origin: "consumer"})
	i := &inspector{found: make(chan error, 1)}
	go func() { _ = f.Start(t.Context(), i) }()
	go remember(t.Context(), f)
	for n := range 5 {
		f.Connect(target("eu", fmt.Sprint(n), providerUID))
		select {
		case err := <-i.found:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("waiting until the provider is engaged: the state is %+v", f.State("eu"))
		}
	}
}

// TestTheAccountGoesWithTheConnection connects as a ServiceAccount of the
// namespace that the policies know, and with a certificate.
func TestTheAccountGoesWithTheConnection(t *testing.T) {
	f, _ := startFleet(t)
	f.Connect(target("certificate", "1", providerUID))
	token := target("token", "1", providerUID)
	token.Config = tokenOf(t, "consumer-2")
	f.Connect(token)
	for name, want := range map[string]string{"certificate": "", "token": "consumer-2"} {
		eventually(t, f, name, "is connected", connected)
		cl, err := f.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := cl.Account; got != want {
			t.Errorf("the account of the %s is %q, want %q", name, got, want)
		}
	}
}

// tokenOf makes a ServiceAccount, among those that the policies know, that may read
// what the fleet does.
func tokenOf(t *testing.T, name string) *rest.Config {
	t.Helper()
	c := admin(t)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.ProviderNamespace, Name: name}}
	temporary(t, c, account)
	temporary(t, c, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: name}},
	})
	request := &authenticationv1.TokenRequest{}
	if err := c.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	config := rest.CopyConfig(provider)
	config.CertData, config.KeyData, config.BearerToken = nil, nil, request.Status.Token
	return config
}
