package hosted_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// azure and google name the right that each request needs. The key is the method and the target, as written
// in the code.
var (
	azure = map[string]string{
		"Get c.url()":    "managedClusters/read",
		"Get target":     "managedClusters/agentPools/read",
		"Put c.url()":    "managedClusters/write",
		"Delete c.url()": "managedClusters/delete",
		"Put target":     "managedClusters/agentPools/write",
		"Delete target":  "managedClusters/agentPools/delete",
		`Post c.url("listClusterUserCredential")`: "managedClusters/listClusterUserCredential/action",
	}
	google = map[string]string{
		"Get c.cluster()":                            "clusters.get",
		"Get target":                                 "clusters.get",
		`Get c.location("operations")`:               "operations.list",
		`Get c.location("operations", id)`:           "operations.get",
		`Post c.location("clusters")`:                "clusters.create",
		"Delete c.cluster()":                         "clusters.delete",
		"Put c.cluster()":                            "clusters.update",
		"Put c.pool(name)":                           "clusters.update",
		"Delete c.pool(name)":                        "clusters.update",
		`Post c.cluster() + "/nodePools"`:            "clusters.update",
		`Post c.cluster() + ":setNetworkPolicy"`:     "clusters.update",
		`Post c.cluster() + ":setResourceLabels"`:    "clusters.update",
		`Post c.cluster() + ":setMaintenancePolicy"`: "clusters.update",
		`Post c.pool(name) + ":setManagement"`:       "clusters.update",
		`Post c.pool(name) + ":setSize"`:             "clusters.update",
	}
	request = regexp.MustCompile(`http\.Method(\w+), (c\.\w+\([^)]*\)(?: \+ "[^"]+")?|target)[,}]`)
)

// TestRights compares the rights in the users' page with the requests in the code.
func TestRights(t *testing.T) {
	page := section(t, "hosted-clusters.md", "## Rights in the clouds")
	var got []string
	for line := range strings.Lines(page) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			got = append(got, quoted(cells[1])...)
		}
	}
	want := slices.Concat(callsOfAWS(t), calls(t, "clouds/aks", "Microsoft.ContainerService/", azure), calls(t, "clouds/gke", "container.", google))
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(slices.Compact(want), got); diff != "" {
		t.Errorf("-code +page:\n%s", diff)
	}
}

// TestRightsOfCalls: each right that a plan names is in the page, or in the text below its tables. The other
// rights of the page are to read, to create and delete a cluster, and to bind it.
func TestRightsOfCalls(t *testing.T) {
	page := section(t, "hosted-clusters.md", "## Rights in the clouds")
	named := map[string]bool{}
	for name, cloud := range clouds {
		for _, call := range cloud.table.Calls {
			if len(call.Rights) == 0 {
				t.Errorf("%s: %s takes no right", name, call.Name)
			}
			for _, right := range call.Rights {
				named[right] = true
			}
		}
		for _, field := range cloud.table.Fields {
			for _, right := range field.Rights {
				named[right] = true
			}
		}
	}
	for right := range named {
		if !strings.Contains(page, "`"+right+"`") {
			t.Errorf("the page does not say %s", right)
		}
	}
	for line := range strings.Lines(page) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || strings.TrimSpace(cells[3]) == "always" || strings.Contains(cells[3], "Create`") || strings.Contains(cells[3], "`binding`") {
			continue
		}
		for _, right := range quoted(cells[1]) {
			if cluster := strings.HasSuffix(right, "DeleteCluster") || strings.HasSuffix(right, "lusters/delete") || strings.HasSuffix(right, "clusters.delete"); !named[right] && !cluster && right != "ec2:DescribeImages" && !strings.HasPrefix(right, "ec2:DescribeLaunchTemplate") {
				t.Errorf("no call of a table takes %s", right)
			}
		}
	}
}

// callsOfAWS returns the methods of the libraries' clients that the code calls, also through paginators.
func callsOfAWS(t *testing.T) []string {
	t.Helper()
	services := map[string]string{"api": "eks:", "ec2": "ec2:"}
	pages := regexp.MustCompile(`(eks|ec2)\.New(\w+)Paginator\(`)
	var all []string
	for path, content := range sources(t, "clouds/eks") {
		file, err := parser.ParseFile(token.NewFileSet(), path, content, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if of, ok := call.X.(*ast.SelectorExpr); ok && services[strings.ToLower(of.Sel.Name)] != "" && call.Sel.Name != "Options" {
				all = append(all, services[strings.ToLower(of.Sel.Name)]+call.Sel.Name)
			}
			return true
		})
		for _, m := range pages.FindAllStringSubmatch(content, -1) {
			all = append(all, m[1]+":"+m[2])
		}
	}
	return all
}

// calls returns the rights for the requests of a client that sends them itself.
func calls(t *testing.T, folder, prefix string, rights map[string]string) []string {
	t.Helper()
	var all []string
	found := map[string]bool{}
	for path, content := range sources(t, folder) {
		for _, m := range request.FindAllStringSubmatch(content, -1) {
			what := m[1] + " " + m[2]
			found[what] = true
			if rights[what] == "" {
				t.Errorf("%s: %s takes a right that this test does not know", path, what)
				continue
			}
			all = append(all, prefix+rights[what])
		}
		if named, seen := strings.Count(content, "http.Method"), len(request.FindAllString(content, -1)); named != seen {
			t.Errorf("%s names %d methods, of which this test understands %d", path, named, seen)
		}
	}
	for what := range rights {
		if !found[what] {
			t.Errorf("%s is not in the code of %s", what, folder)
		}
	}
	return all
}

func sources(t *testing.T, folder string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatal("there is no code in "+folder, err)
	}
	all := map[string]string{}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(path, "_test.go") {
			all[path] = string(content)
		}
	}
	return all
}

// TestReasons: the page explains each reason of a HostedCluster.
func TestReasons(t *testing.T) {
	page := section(t, "troubleshooting.md", "## HostedClusters")
	folder := filepath.Join("..", "hosted", "api", "v1alpha1")
	seen := 0
	for _, name := range []string{"conditions.go", "conditions_bound.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(folder, name), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			value, ok := n.(*ast.ValueSpec)
			if !ok || !strings.HasPrefix(value.Names[0].Name, "Reason") {
				return true
			}
			seen++
			reason, err := strconv.Unquote(value.Values[0].(*ast.BasicLit).Value)
			if err != nil || !strings.Contains(page, "`"+reason+"`") {
				t.Errorf("docs/troubleshooting.md does not explain %s (%v)", reason, err)
			}
			return true
		})
	}
	if seen < 20 {
		t.Errorf("there are but %d reasons", seen)
	}
}

// section returns the text below a heading, up to the next heading.
func section(t *testing.T, page, heading string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	_, below, ok := strings.Cut(string(content), "\n"+heading+"\n")
	if !ok {
		t.Fatalf("docs/%s has no %q", page, heading)
	}
	below, _, _ = strings.Cut(below, "\n## ")
	return below
}

func quoted(cell string) []string {
	var all []string
	for i, part := range strings.Split(cell, "`") {
		if i%2 == 1 {
			all = append(all, part)
		}
	}
	return all
}
