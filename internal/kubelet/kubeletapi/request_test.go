package kubeletapi

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

func parse(t *testing.T, method, target string) (Request, *Refusal) {
	t.Helper()
	u, err := url.ParseRequestURI(target)
	if err != nil {
		t.Fatal(err)
	}
	return Parse(method, u)
}

func TestParse(t *testing.T) {
	web := types.NamespacedName{Namespace: "team", Name: "web.1"}
	tests := map[string]struct {
		method, target string
		want           Request
		code           int
		says           string
	}{
		"logs": {"GET", "/containerLogs/team/web.1/app?follow=true&tailLines=3&sinceTime=2026-01-01T00%3A00%3A00Z&stream=All&insecureSkipTLSVerifyBackend=true&other=x",
			Request{Logs, web, "app", url.Values{"container": {"app"}, "follow": {"true"}, "tailLines": {"3"}, "sinceTime": {"2026-01-01T00:00:00Z"}}}, 0, ""},
		"one of the streams of logs": {"GET", "/containerLogs/team/web.1/app?stream=Stderr",
			Request{Logs, web, "app", url.Values{"container": {"app"}, "stream": {"Stderr"}}}, 0, ""},
		"exec": {"POST", "/exec/team/web.1/app?command=echo&command=a+b%26c&input=1&output=1&tty=1&error=0",
			Request{Exec, web, "app", url.Values{"container": {"app"}, "command": {"echo", "a b&c"}, "stdin": {"true"}, "stdout": {"true"}, "tty": {"true"}}}, 0, ""},
		"attach": {"GET", "/attach/team/web.1/app?error=true&command=ignored",
			Request{Attach, web, "app", url.Values{"container": {"app"}, "stderr": {"true"}}}, 0, ""},
		"port-forward": {"POST", "/portForward/team/web.1?port=80,8080&port=443",
			Request{PortForward, web, "", url.Values{"ports": {"80", "8080", "443"}}}, 0, ""},

		"the container of another query": {"POST", "/exec/team/web.1/app?command=a&container=other", Request{Exec, web, "app", url.Values{"container": {"app"}, "command": {"a"}}}, 0, ""},
		"as proxies are asked":           {"GET", "http://other/containerLogs/team/web.1/app", Request{}, 400, "must be for a path"},
		"of the server itself":           {"OPTIONS", "*", Request{}, 400, "must be for a path"},
		"no path":                        {"GET", "/", Request{}, 404, "serves only containerLogs, exec, attach and portForward"},
		"another path of kubelets":       {"GET", "/pods", Request{}, 404, "serves only containerLogs, exec, attach and portForward"},
		"run, which kubelets had":        {"POST", "/run/team/web.1/app?cmd=x", Request{}, 404, "serves only containerLogs, exec, attach and portForward"},
		"another case":                   {"GET", "/containerlogs/team/web.1/app", Request{}, 404, "serves only containerLogs, exec, attach and portForward"},
		"two slashes":                    {"GET", "//containerLogs/team/web.1/app", Request{}, 404, "serves only containerLogs, exec, attach and portForward"},
		"a name too few":                 {"GET", "/containerLogs/team/web.1", Request{}, 404, "must have 3 names, not 2"},
		"a UID, as kubelets take it":     {"POST", "/exec/team/web.1/uid/app?command=x", Request{}, 404, "must have 3 names, not 4"},
		"a slash at the end":             {"POST", "/portForward/team/web.1/", Request{}, 404, "must have 2 names, not 3"},
		"up":                             {"GET", "/containerLogs/team/../kube-system/etcd/etcd", Request{}, 404, "must have 3 names, not 5"},
		"up, with as many names":         {"GET", "/containerLogs/team/../app", Request{}, 400, `no valid name of a pod: ".."`},
		"here":                           {"GET", "/containerLogs/./web.1/app", Request{}, 400, `no valid name of a namespace: "."`},
		"an empty name":                  {"GET", "/containerLogs//web.1/app", Request{}, 400, `no valid name of a namespace: ""`},
		"upper case":                     {"GET", "/containerLogs/team/Web/app", Request{}, 400, `no valid name of a pod: "Web"`},
		"a container in upper case":      {"GET", "/containerLogs/team/web.1/App", Request{}, 400, `no valid name of a container: "App"`},
		"an encoded slash":               {"GET", "/containerLogs/team/web.1%2Fexec/app", Request{}, 400, "must not have escaped characters"},
		"an encoded letter":              {"GET", "/containerLogs/team/%77eb/app", Request{}, 400, "must not have escaped characters"},
		"encoded twice":                  {"GET", "/containerLogs/team/web%252Fa/app", Request{}, 400, "no valid name of a pod"},
		"an encoded dot":                 {"GET", "/containerLogs/team/%2e%2e/app", Request{}, 400, "must not have escaped characters"},
		"a semicolon":                    {"GET", "/containerLogs/team/web;x/app", Request{}, 400, "no valid name of a pod"},
		"a name of any length":           {"GET", "/containerLogs/team/" + strings.Repeat("a", 300) + "/app", Request{}, 400, "no valid name of a pod"},
		"writing logs":                   {"POST", "/containerLogs/team/web.1/app", Request{}, 405, "does not support the method"},
		"another method":                 {"PUT", "/exec/team/web.1/app?command=x", Request{}, 405, "does not support the method"},
		"no command":                     {"POST", "/exec/team/web.1/app?output=1", Request{}, 400, "exec needs a command"},
		"neither yes nor no":             {"POST", "/attach/team/web.1/app?tty=maybe", Request{}, 400, "tty must be 1 or 0"},
		"a query that cannot be parsed":  {"POST", "/exec/team/web.1/app?command=%zz", Request{}, 400, "the query cannot be parsed"},
		"a query with a semicolon":       {"POST", "/exec/team/web.1/app?command=a;tty=1", Request{}, 400, "the query cannot be parsed"},
		"no port":                        {"POST", "/portForward/team/web.1?port=", Request{}, 400, "port must be between 1 and 65535"},
		"port 0":                         {"POST", "/portForward/team/web.1?port=80,0", Request{}, 400, "port must be between 1 and 65535"},
		"a port that is too large":       {"POST", "/portForward/team/web.1?port=65536", Request{}, 400, "port must be between 1 and 65535"},
		"a port with a parameter in it":  {"POST", "/portForward/team/web.1?port=80%26x", Request{}, 400, "port must be between 1 and 65535"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, refusal := parse(t, test.method, test.target)
			if test.code != 0 {
				if refusal == nil || refusal.Code != test.code || !strings.Contains(refusal.Message, test.says) || len(refusal.Message) > 200 {
					t.Errorf("got %v, %+v, want %d: %s", got, refusal, test.code, test.says)
				}
				return
			}
			if refusal != nil {
				t.Fatal(refusal)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestVerb checks that a user who may only read may read logs, whatever the method.
func TestVerb(t *testing.T) {
	for action, want := range map[Action]string{Logs: "get", Exec: "create", Attach: "create", PortForward: "create"} {
		if got := action.Verb(); got != want {
			t.Errorf("%s needs %s, want %s", action, got, want)
		}
	}
}

// FuzzParse checks that every accepted request has exactly the path that was asked for.
func FuzzParse(f *testing.F) {
	f.Add("/containerLogs/team/web/app?follow=true")
	f.Add("/exec/team/..%2f/app?command=a")
	f.Add("/portForward/team/web?port=1")
	f.Fuzz(func(t *testing.T, target string) {
		u, err := url.ParseRequestURI(target)
		if err != nil {
			return
		}
		got, refusal := Parse(http.MethodGet, u)
		if refusal != nil {
			return
		}
		path, _, _ := strings.Cut(target, "?")
		want := "/" + string(got.Action) + "/" + got.Pod.String()
		if got.Container != "" {
			want += "/" + got.Container
		}
		if path != want || strings.ContainsAny(path, "%.") && strings.Contains(path, "..") {
			t.Errorf("%q is taken for %q", target, want)
		}
	})
}

func TestHeader(t *testing.T) {
	socket := http.Header{"Upgrade": {"websocket"}, "Sec-Websocket-Key": {"k"}, "Sec-Websocket-Version": {"13"},
		"Sec-Websocket-Protocol": {"v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.c2VjcmV0", "v4.channel.k8s.io"}}
	spdy := http.Header{"Upgrade": {"SPDY/3.1"}, "Connection": {"Upgrade"}, "X-Stream-Protocol-Version": {"v5.channel.k8s.io", "v4.channel.k8s.io"}}
	with := func(h http.Header, more ...string) http.Header {
		h = h.Clone()
		for i := 0; i < len(more); i += 2 {
			h.Add(more[i], more[i+1])
		}
		return h
	}
	tests := map[string]struct {
		action Action
		from   http.Header
		want   http.Header
		says   string
	}{
		"logs have none": {Logs, with(spdy, "Authorization", "Bearer secret", "Range", "bytes=0-"), http.Header{}, ""},
		"SPDY":           {Exec, spdy, spdy, ""},
		"a WebSocket, without the token": {Attach, socket, http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Key": {"k"},
			"Sec-Websocket-Version": {"13"}, "Sec-Websocket-Protocol": {"v5.channel.k8s.io, v4.channel.k8s.io"}}, ""},
		"what is smuggled is left out": {Exec, with(spdy, "Authorization", "Bearer secret", "Impersonate-User", "admin", "X-Remote-User", "admin",
			"X-Forwarded-For", "10.0.0.1", "Cookie", "a=b", "Transfer-Encoding", "chunked", "Content-Length", "7", "Connection", "Impersonate-User", "Host", "other"), spdy, ""},
		"no upgrade":                {Exec, http.Header{}, nil, "needs a request to upgrade"},
		"two upgrades":              {Exec, with(spdy, "Upgrade", "websocket"), nil, "needs a request to upgrade"},
		"another upgrade":           {PortForward, http.Header{"Upgrade": {"h2c"}}, nil, "not to \"h2c\""},
		"an upgrade and a list":     {Exec, http.Header{"Upgrade": {"SPDY/3.1, h2c"}}, nil, "not to"},
		"a WebSocket without a key": {Exec, http.Header{"Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}}, nil, "Sec-Websocket-Key exactly once"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, refusal := Header(test.action, test.from)
			if test.says != "" {
				if refusal == nil || refusal.Code != http.StatusBadRequest || !strings.Contains(refusal.Message, test.says) {
					t.Errorf("got %v, %+v, want: %s", got, refusal, test.says)
				}
				return
			}
			if refusal != nil {
				t.Fatal(refusal)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
