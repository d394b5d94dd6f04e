package hosted

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// operations are the operations that the client uses.
var operations = []string{
	"DescribeCluster", "ListNodegroups", "DescribeNodegroup", "DescribeAddon", "ListUpdates", "DescribeUpdate", "UpdateClusterVersion",
	"UpdateClusterConfig", "UpdateNodegroupVersion", "UpdateNodegroupConfig", "CreateNodegroup", "DeleteNodegroup", "CreateAddon",
	"UpdateAddon", "DeleteAddon", "TagResource", "UntagResource", "ListTagsForResource", "CreateCluster", "DeleteCluster",
}

// names replace the placeholders of the recordings with existing objects.
var names = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`/clusters/__\w+__`), "/clusters/shop"},
	{regexp.MustCompile(`/node-groups/__\w+__`), "/node-groups/a"},
	{regexp.MustCompile(`/addons/__\w+__`), "/addons/present"},
	{regexp.MustCompile(`/updates/__\w+__`), "/updates/update-0"},
	{regexp.MustCompile(`/tags/__\w+__`), "/tags/arn:cluster%2Fshop"},
	{regexp.MustCompile(`(addon|capability|nodegroup)Name=__\w+__&?`), ""},
}

// TestRecordedEKS sends the requests that the SDK's module has recorded, and compares the answers with its
// recordings: every field must exist in EKS.
func TestRecordedEKS(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/aws/aws-sdk-go-v2/service/eks").Output()
	if err != nil {
		t.Fatal(err)
	}
	module := strings.TrimSpace(string(out))
	for _, operation := range operations {
		t.Run(operation, func(t *testing.T) {
			cluster := NewEKS(parse(t, clusterOfEKS), parse(t, groupOfEKS))
			cluster.addons["present"] = true
			switch operation {
			case "CreateCluster":
				cluster.cluster = nil
			case "DeleteCluster":
				cluster.Forget("a")
			}
			cluster.update("", "VersionUpdate", object{"Version": "1.32"})
			server := httptest.NewServer(cluster)
			defer server.Close()
			method, target, body := recorded(t, filepath.Join(module, "request_snapshot", operation+".request.snap"))
			body = allowed(t, operation, body)
			request, err := http.NewRequestWithContext(t.Context(), method, server.URL+target, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			response, err := server.Client().Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			got, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			// The recording of UpdateClusterConfig has all changes at once, which EKS refuses.
			if response.StatusCode != http.StatusOK && (operation != "UpdateClusterConfig" || response.StatusCode != http.StatusBadRequest) {
				t.Fatalf("%s %s: %s: %s", method, target, response.Status, got)
			}
			if response.StatusCode == http.StatusOK {
				_, _, want := recorded(t, filepath.Join(module, "response_snapshot", operation+".response.snap"))
				within(t, "", decode(t, got), decode(t, []byte(want)))
			}
		})
	}
}

// allowed removes from a recording, which has all fields at once, what EKS refuses.
func allowed(t *testing.T, operation, body string) string {
	t.Helper()
	all, ok := decode(t, []byte(body)).(map[string]any)
	switch {
	case ok && operation == "CreateNodegroup":
		// The launch template sets these.
		delete(all, "diskSize")
		delete(all, "remoteAccess")
	case ok && operation == "UpdateNodegroupVersion":
		all["launchTemplate"] = object{"id": "lt-1", "version": "4"}
	default:
		return body
	}
	return text(t, all)
}

// recorded returns the first line of a recording and its body. The line is a method and a target, or a
// status.
func recorded(t *testing.T, path string) (method, target, body string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, body, _ := strings.Cut(string(bytes.TrimSpace(text)), "\n\n")
	_, body, _ = strings.Cut("\n\n"+body, "{")
	if body != "" {
		body = "{" + body
	}
	line, _, _ := strings.Cut(head, "\n")
	method, target, _ = strings.Cut(line, " ")
	for _, n := range names {
		target = n.pattern.ReplaceAllString(target, n.name)
	}
	return method, target, body
}

func decode(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	if len(text) == 0 {
		return map[string]any{}
	}
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// within checks that each field is in the recording, with its type. The recording's maps have the key key0.
func within(t *testing.T, path string, got, want any) {
	t.Helper()
	switch want := want.(type) {
	case map[string]any:
		m, ok := got.(map[string]any)
		if !ok {
			t.Errorf("%s is %v, want an object", path, got)
		}
		for key, value := range m {
			recorded, known := want[key]
			if other, isMap := want["key0"]; isMap {
				recorded, known = other, true
			}
			if !known {
				t.Errorf("%s has %s, which was not recorded", path, key)
				continue
			}
			within(t, path+"."+key, value, recorded)
		}
	case []any:
		list, ok := got.([]any)
		if !ok {
			t.Errorf("%s is %v, want a list", path, got)
		}
		for _, item := range list {
			within(t, path+"[]", item, want[0])
		}
	case string:
		if _, ok := got.(string); !ok {
			t.Errorf("%s is %v, want a text", path, got)
		}
	}
}
