package measure

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/spillway-io/spillway/test/requests"
)

func TestFigureIn(t *testing.T) {
	profile := []byte("heap profile: 1: 2 [3: 4] @ heap/1048576\n\n# runtime.MemStats\n# Alloc = 7\n# HeapAlloc = 4242\n# HeapSys = 9\n# Stack = 5 / 6\n")
	for line, want := range map[string]int64{"# HeapAlloc = %d": 4242, "# Stack = %d /": 5} {
		if got, err := figureIn(profile, line); err != nil || got != want {
			t.Errorf("%s: got %d, %v", line, got, err)
		}
	}
	if _, err := figureIn([]byte("# HeapSys = 9\n"), "# HeapAlloc = %d"); err == nil {
		t.Error("a profile that does not say it is no error")
	}
}

func TestGoroutinesIn(t *testing.T) {
	const profile = "goroutine profile: total %\n" +
		"2 @ 0x1 0x2\n#\t0x1\tsync.runtime_notifyListWait+0x1\t/go/sema.go:1\n#\t0x2\tk8s.io/client-go/tools/cache.(*processorListener).pop+0x2\t/a.go:2\n\n" +
		"1 @ 0x3\n# labels: {\"a\":\"b\"}\n#\t0x3\tnet/http.(*http2ClientConn).readLoop+0x3\t/go/h2.go:3\n\n" +
		"1 @ 0x1 0x2 0x4\n#\t0x2\tk8s.io/client-go/tools/cache.(*processorListener).pop+0x9\t/a.go:3\n"
	got, err := goroutinesIn([]byte(strings.Replace(profile, "%", "4", 1)))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"k8s.io/client-go/tools/cache.(*processorListener).pop": 3, "net/http.(*http2ClientConn).readLoop": 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("goroutines (-want +got):\n%s", diff)
	}
	if _, err := goroutinesIn([]byte(strings.Replace(profile, "%", "5", 1))); err == nil {
		t.Error("one that is not found is no error")
	}
}

func TestConnections(t *testing.T) {
	const heading = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	line := func(remote, state, inode string) string {
		return "   0: 0100007F:9C40 " + remote + " " + state + " 00000000:00000000 00:00000000 00000000  1000        0 " + inode + " 1 0000000000000000 20 4 30 10 -1\n"
	}
	table := heading +
		line("0100007F:192B", "01", "11") + line("0100007F:192B", "01", "12") +
		line("0100007F:192B", "06", "13") + // It is in TIME_WAIT.
		line("0100007F:192B", "01", "99") + // It belongs to another process.
		line("0000000000000000FFFF00000100007F:01BB", "01", "14") +
		line("00000000:0000", "0A", "15") // It listens.
	count := map[int]int{}
	own := sets.New("socket:[11]", "socket:[12]", "socket:[13]", "socket:[14]", "socket:[15]", "/dev/null")
	if err := countEstablished(count, []byte(table), own); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[int]int{0x192B: 2, 443: 1}, count); diff != "" {
		t.Errorf("connections (-want +got):\n%s", diff)
	}
	for what, broken := range map[string]string{"a short line": "0: 1 2 3\n", "no port": line("0100007F", "01", "11")} {
		if err := countEstablished(count, []byte(heading+broken), own); err == nil {
			t.Errorf("%s is no error", what)
		}
	}
}

const (
	watched  = `{"auditID":"w","stage":"ResponseStarted","verb":"watch","requestURI":"/api/v1/pods?watch=true","userAgent":"spillway-manager","requestReceivedTimestamp":"2026-01-02T03:04:05.000001Z","objectRef":{"resource":"pods","apiVersion":"v1"},"responseStatus":{"code":200}}`
	asked    = `{"auditID":"p","stage":"ResponseComplete","verb":"get","requestURI":"/api/v1/namespaces/kube-system","userAgent":"spillway-manager","requestReceivedTimestamp":"2026-01-02T03:04:06.000001Z","objectRef":{"resource":"namespaces","namespace":"kube-system","name":"kube-system"},"responseStatus":{"code":200}}`
	patched  = `{"auditID":"s","stage":"ResponseComplete","verb":"patch","requestURI":"/api/v1/namespaces/a/pods/b/status","userAgent":"spillway-manager","requestReceivedTimestamp":"2026-01-02T03:04:07.000001Z","objectRef":{"resource":"pods","subresource":"status","namespace":"a","name":"b"},"responseStatus":{"code":409}}`
	elected  = `{"auditID":"l","stage":"ResponseComplete","verb":"update","requestURI":"/apis","userAgent":"spillway-manager/leader-election","requestReceivedTimestamp":"2026-01-02T03:04:08.000001Z","objectRef":{"resource":"leases"},"responseStatus":{"code":200}}`
	version  = `{"auditID":"v","stage":"ResponseComplete","verb":"get","requestURI":"/version?timeout=32s","userAgent":"spillway-manager","requestReceivedTimestamp":"2026-01-02T03:04:09.000001Z","responseStatus":{"code":200}}`
	somebody = `{"auditID":"k","stage":"ResponseComplete","verb":"list","userAgent":"kubectl","objectRef":{"resource":"pods"}}`
)

func key(verb, resource, subresource string, class requests.Class) requests.Key {
	return requests.Key{Cluster: "eu", Verb: verb, Resource: resource, Subresource: subresource, Class: class}
}

func TestAudit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.log")
	write := func(lines ...string) {
		t.Helper()
		log, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		if _, err := log.WriteString(strings.Join(lines, "")); err != nil {
			t.Fatal(err)
		}
	}
	audit := NewAudit("eu", file)
	expect := func(counts map[requests.Key]requests.Count, open map[string]int) {
		t.Helper()
		figures, err := audit.Figures()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(counts, figures.Counts); diff != "" {
			t.Errorf("counts (-want +got):\n%s", diff)
		}
		watches, err := audit.OpenWatches()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(open, watches); diff != "" {
			t.Errorf("open watches (-want +got):\n%s", diff)
		}
	}
	write(watched+"\n", somebody+"\n", asked+"\n", patched[:100])
	first := map[requests.Key]requests.Count{
		key("watch", "pods", "", requests.Work):       {Requests: 1},
		key("get", "namespaces", "", requests.Probes): {Requests: 1},
	}
	expect(first, map[string]int{"pods": 1})

	write(patched[100:]+"\n", elected+"\n", version+"\n", strings.Replace(watched, responseStarted, responseComplete, 1)+"\n")
	first[key("patch", "pods", "status", requests.Work)] = requests.Count{Requests: 1, Failed: 1}
	first[key("update", "leases", "", requests.Leases)] = requests.Count{Requests: 1}
	first[key("get", "/version", "", requests.Discovery)] = requests.Count{Requests: 1}
	expect(first, map[string]int{})

	figures, err := audit.Figures()
	if err != nil {
		t.Fatal(err)
	}
	object := requests.Object{Cluster: "eu", Resource: "pods", Subresource: "status", Namespace: "a", Name: "b"}
	if figures.Writes[object] != 1 {
		t.Errorf("writes of objects: %v", figures.Writes)
	}
	last, err := audit.Last(requests.OnlyWork)
	if err != nil || last.UTC().Format("05") != "07" {
		t.Errorf("the last request that is work came at %v, %v", last, err)
	}
	if err := os.WriteFile(file, []byte(asked+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := audit.Figures(); err == nil {
		t.Error("that the log was rotated is no error")
	}
}

func TestAuditOfStrays(t *testing.T) {
	const (
		unwrapped = `{"auditID":"u","stage":"ResponseComplete","verb":"list","userAgent":"manager/v0.0.0","user":{"username":"system:serviceaccount:spillway-provider:spillway-consumer"},"objectRef":{"resource":"secrets"}}`
		user      = `{"auditID":"k","stage":"ResponseComplete","verb":"list","userAgent":"kubectl","user":{"username":"somebody"},"objectRef":{"resource":"pods"}}`
	)
	for what, test := range map[string]struct {
		log  string
		want []string
	}{
		"somebody else":                {user + "\n" + asked + "\n", nil},
		"the manager's, once":          {asked + "\n" + unwrapped + "\n", []string{"1 requests", "list secrets", "manager/v0.0.0"}},
		"the manager's, several times": {unwrapped + "\n" + unwrapped + "\n", []string{"2 requests"}},
	} {
		t.Run(what, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "audit.log")
			if err := os.WriteFile(file, []byte(test.log), 0o600); err != nil {
				t.Fatal(err)
			}
			audit := NewAudit("eu", file)
			_, err := audit.Figures()
			if (err != nil) != (len(test.want) > 0) {
				t.Fatalf("got %v, want an error: %t", err, len(test.want) > 0)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in %v", want, err)
				}
			}
			if _, again := audit.OpenWatches(); (again == nil) != (err == nil) {
				t.Errorf("the next reading: %v, and the first: %v", again, err)
			}
		})
	}
}
