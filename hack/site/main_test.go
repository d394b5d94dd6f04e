package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestCheck(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	site := fstest.MapFS{
		"index.html": file(`<a href="a.html">a</a> <a href="./adr/b.html#two">b</a> <img src="images/x.svg"> <a href="https://example.com/x">away</a>
			<a href="` + repository + `charts/x">a file</a> <a href="gone.html">1</a> <a href="adr/b.html#three">2</a> <a href="#here">3</a> <a href="` + repository + `charts/y#L1">4</a>`),
		"a.html":       file(`<h2 id="one">One</h2> <a href="#one">here</a>`),
		"adr/b.html":   file(`<h2 id="two">Two</h2> <a href="../a.html#one">up</a> <img src="../images/y.svg">`),
		"images/x.svg": file(""),
	}
	links, broken, err := check(site, fstest.MapFS{"charts/x": file("")})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"adr/b.html links to ../images/y.svg: there is no such page",
		"index.html links to #here: there is no such heading",
		"index.html links to adr/b.html#three: there is no such heading",
		"index.html links to gone.html: there is no such page",
		"index.html links to " + repository + "charts/y#L1: the repository has no such file",
	}
	if diff := cmp.Diff(want, broken); diff != "" || links != 12 {
		t.Errorf("%d links; broken (-want +got):\n%s", links, diff)
	}
}

// TestMenu: the menu has each page of docs/. make docs refuses others, but it takes minutes.
func TestMenu(t *testing.T) {
	menu, err := os.ReadFile("data/menu.yaml")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	for _, page := range pages {
		name := strings.TrimSuffix(filepath.Base(page), ".md")
		if name != "README" && !regexp.MustCompile(`[\[ ]`+regexp.QuoteMeta(name)+`[,\]]`).Match(menu) {
			t.Errorf("data/menu.yaml lacks %s", name)
		}
	}
}
