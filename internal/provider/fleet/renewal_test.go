package fleet

import (
	"net/http"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// lists counts the LISTs at providers, and watches that begin with everything there is.
type lists struct {
	mu    sync.Mutex
	count int
}

func (l *lists) wrap(_ string, next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(req *http.Request) (*http.Response, error) {
		query := req.URL.Query()
		lists := query.Has("limit") && query.Get("watch") == "" || query.Get("sendInitialEvents") == "true"
		l.mu.Lock()
		if lists {
			l.count++
		}
		l.mu.Unlock()
		return next.RoundTrip(req)
	})
}

func (l *lists) counted() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// accounts makes tokens of ServiceAccounts that may do everything.
type accounts struct {
	*testing.T
	client.Client
}

func (a accounts) account(name string) *corev1.ServiceAccount {
	a.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name}}
	temporary(a.T, a.Client, account)
	temporary(a.T, a.Client, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: name}},
	})
	return account
}

// target is the target of a binding with a new token of the account.
func (a accounts) target(account *corev1.ServiceAccount, fingerprint string) Target {
	a.Helper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](3600)}}
	if err := a.SubResource("token").Create(a.Context(), account, request); err != nil {
		a.Fatal(err)
	}
	to := target("eu", fingerprint, providerUID)
	to.Config.CertData, to.Config.KeyData, to.Config.BearerToken = nil, nil, request.Status.Token
	to.Endpoint = "the same"
	return to
}

// TestTokens renews the token of a connection in use, by one of the same account, by one
// of another account, and by one that is none.
func TestTokens(t *testing.T) {
	a := accounts{t, admin(t)}
	ours, other := a.account("ours"), a.account("other")
	counted := &lists{}
	f, m := New(Options{Origin: "consumer", ProbeInterval: 50 * time.Millisecond, Kinds: []Kind{{Object: &corev1.Pod{}}}, WrapTransport: counted.wrap}), &manager{}
	stopped := make(chan struct{})
	go func() { defer close(stopped); _ = f.Start(t.Context(), m) }()
	t.Cleanup(func() { <-stopped })
	go remember(t.Context(), f)
	settled := func(s State) bool { return connected(s) && !s.Untried }
	connect := func(to Target) State {
		t.Helper()
		to.Holder = f.State("eu").Holder // Its ClusterBinding remembers it.
		f.Connect(to)
		return f.State("eu")
	}
	bearer := func() string {
		f.mu.Lock()
		defer f.mu.Unlock()
		token, _ := f.connections["eu"].credentials.bearer.Token()
		return token.AccessToken
	}

	connect(a.target(ours, "1"))
	eventually(t, f, "eu", "is connected", settled)
	first, err := f.Get("eu")
	if err != nil {
		t.Fatal(err)
	}
	before := counted.counted()
	if before == 0 {
		t.Fatal("no LIST is counted")
	}

	renewed := a.target(ours, "2")
	if state := connect(renewed); state.Phase != Connected {
		t.Errorf("while the provider is asked about the token the state is %+v", state)
	}
	eventually(t, f, "eu", "has its token renewed", settled)
	if now, err := f.Get("eu"); err != nil || now != first || m.engaged.Load() != 1 {
		t.Errorf("cluster %v, error %v, engaged %d times", now, err, m.engaged.Load())
	}
	if again := counted.counted(); again != before {
		t.Errorf("%d LISTs before the renewal, %d after it", before, again)
	}
	if bearer() != renewed.Config.BearerToken {
		t.Error("the old token is used")
	}

	connect(a.target(other, "3"))
	eventually(t, f, "eu", "is connected with the other account", settled)
	if now, err := f.Get("eu"); err != nil || now == first || m.engaged.Load() != 2 {
		t.Errorf("another account: cluster %v, error %v, engaged %d times", now, err, m.engaged.Load())
	}
	if again := counted.counted(); again <= before {
		t.Error("what one account has read is used for another")
	}

	broken := a.target(other, "4")
	broken.Config.BearerToken += "broken"
	if state := connect(broken); !state.Untried {
		t.Error("a token that nobody has tried is taken for one that is accepted")
	}
	eventually(t, f, "eu", "is refused", refusedFor(v1alpha1.ReasonUnauthorized))
	connect(a.target(other, "5"))
	eventually(t, f, "eu", "is connected again", settled)
	if got := m.engaged.Load(); got != 3 {
		t.Errorf("engaged %d times, want 3", got)
	}
}

// TestATokenIsTakenBack: only the last one offered counts, and one that was taken back
// before the provider was asked about it does not.
func TestATokenIsTakenBack(t *testing.T) {
	said := &report{}
	k := newCredentials(target("eu", "1", providerUID), said)
	to := func(fingerprint string) Target {
		next := target("eu", fingerprint, providerUID)
		next.Endpoint = "1"
		return next
	}
	if k.goesOn(to("2")) {
		t.Error("a provider that is not in use is offered a token")
	}
	k.setInUse(true)
	for _, fingerprint := range []string{"2", "3"} {
		if !k.goesOn(to(fingerprint)) || k.offer() == nil || k.offer().Fingerprint != fingerprint || !said.now().Untried {
			t.Errorf("%s is not offered: %+v", fingerprint, k.offer())
		}
	}
	if !k.goesOn(to("1")) || k.offer() != nil || said.now().Untried {
		t.Errorf("the token in use is not kept: %+v", k.offer())
	}
	if k.goesOn(target("eu", "2", providerUID)) || k.offer() != nil {
		t.Error("another endpoint is taken for a token")
	}
}

func TestSame(t *testing.T) {
	user := func(name, uid string, groups ...string) authenticationv1.UserInfo {
		return authenticationv1.UserInfo{Username: name, UID: uid, Groups: groups,
			Extra: map[string]authenticationv1.ExtraValue{"authentication.kubernetes.io/credential-id": {name + groups[0]}}}
	}
	ours := user("ours", "1", "a", "b")
	tests := map[string]struct {
		a, b authenticationv1.UserInfo
		want bool
	}{
		"another token of it": {ours, user("ours", "1", "b", "a"), true},
		"another name":        {ours, user("other", "1", "a", "b"), false},
		"made anew":           {ours, user("ours", "2", "a", "b"), false},
		"fewer groups":        {ours, user("ours", "1", "a"), false},
		"nobody knows":        {user("", "", "a"), user("", "", "a"), false},
	}
	for name, test := range tests {
		if got := same(test.a, test.b); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
