// Command site checks the links of the documentation that Hugo has built: each page, file and heading that a
// link names exists, and so does each file of this repository that a link to GitHub names. It asks no network.
// make docs runs this command.
package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// repository is how links to files of this repository begin.
const repository = "https://github.com/spillway-io/spillway/blob/main/"

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: site SITE REPOSITORY")
		os.Exit(2)
	}
	links, broken, err := check(os.DirFS(os.Args[1]), os.DirFS(filepath.Clean(os.Args[2])))
	if err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
	for _, link := range broken {
		fmt.Fprintln(os.Stderr, "site:", link)
	}
	fmt.Printf("%d links of the site, %d of them broken\n", links, len(broken))
	if len(broken) > 0 || links == 0 {
		os.Exit(1)
	}
}

// page has what a page names and what it offers.
type page struct {
	links   []string
	anchors []string
}

// check returns how many links of the site it looked at, and the broken ones.
func check(site, repo fs.FS) (links int, broken []string, err error) {
	pages := map[string]page{}
	err = fs.WalkDir(site, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".html" {
			return err
		}
		text, err := fs.ReadFile(site, name)
		if err != nil {
			return err
		}
		pages[name], err = parse(text)
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	for name, p := range pages {
		for _, link := range p.links {
			links++
			if why := follow(site, repo, pages, name, link); why != "" {
				broken = append(broken, fmt.Sprintf("%s links to %s: %s", name, link, why))
			}
		}
	}
	slices.Sort(broken)
	return links, broken, nil
}

// parse reads a page.
func parse(text []byte) (page, error) {
	root, err := html.Parse(bytes.NewReader(text))
	if err != nil {
		return page{}, err
	}
	var p page
	for node := range root.Descendants() {
		for _, attribute := range node.Attr {
			switch attribute.Key {
			case "href", "src":
				p.links = append(p.links, attribute.Val)
			case "id", "name":
				p.anchors = append(p.anchors, attribute.Val)
			}
		}
	}
	return p, nil
}

// follow returns what is wrong with a link, or nothing.
func follow(site, repo fs.FS, pages map[string]page, from, link string) string {
	to, err := url.Parse(link)
	if err != nil {
		return err.Error()
	}
	if file, ok := strings.CutPrefix(link, repository); ok {
		file, _, _ = strings.Cut(file, "#")
		if _, err := fs.Stat(repo, path.Clean(file)); err != nil {
			return "the repository has no such file"
		}
		return ""
	}
	if to.IsAbs() {
		return "" // Another site.
	}
	name := from
	if to.Path != "" {
		name = path.Join(path.Dir(from), to.Path)
	}
	if _, err := fs.Stat(site, name); err != nil {
		return "there is no such page"
	}
	if to.Fragment != "" && !slices.Contains(pages[name].anchors, to.Fragment) {
		return "there is no such heading"
	}
	return ""
}
