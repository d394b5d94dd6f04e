package ui

import (
	"bufio"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// make test-long PART=ui sets the first.
var (
	required = flag.Bool("browser", false, "fail without Chromium, instead of skipping")
	pictures = flag.String("pictures", "", "write the pictures of the documentation to this folder")
)

// browser is Chromium, which the program in the folder browser drives.
type browser struct {
	*testing.T
	in  *json.Encoder
	out *bufio.Scanner
}

// step is a step of that program.
type step struct {
	Do     string `json:"do"`
	At     string `json:"at,omitempty"`
	Text   string `json:"text,omitempty"`
	Width  int    `json:"width,omitempty"`
	Height int    `json:"height,omitempty"`
}

// chromium returns the path of Chromium, or skips the test.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if *required {
		t.Fatal("there is no Chromium in $PATH: install the package chromium")
	}
	t.Skip("there is no Chromium in $PATH, so nobody looks at the page: install the package chromium")
	return ""
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	path := chromium(t)
	driver := filepath.Join(t.TempDir(), "browser")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", driver, ".")
	build.Dir, build.Env = "browser", append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the driver of the browser: %v\n%s", err, out)
	}
	command := exec.CommandContext(ctxOf(t), driver, "-chromium", path) //nolint:gosec // The test has built it.
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := command.Wait(); err != nil {
			t.Errorf("the browser: %v", err)
		}
	})
	b := &browser{T: t, in: json.NewEncoder(in), out: bufio.NewScanner(out)}
	b.out.Buffer(nil, 1<<20)
	return b
}

func (b *browser) do(s step) string {
	b.Helper()
	var answer struct{ Value, Error string }
	if err := b.in.Encode(s); err != nil {
		b.Fatal(err)
	}
	if !b.out.Scan() {
		b.Fatalf("the browser has ended: %v", b.out.Err())
	}
	if err := json.Unmarshal(b.out.Bytes(), &answer); err != nil {
		b.Fatal(err)
	}
	if answer.Error != "" {
		b.picture("failed")
		b.Fatalf("%+v: %s", s, answer.Error)
	}
	return answer.Value
}

func (b *browser) see(at, text string)  { b.Helper(); b.do(step{Do: "see", At: at, Text: text}) }
func (b *browser) gone(at, text string) { b.Helper(); b.do(step{Do: "gone", At: at, Text: text}) }
func (b *browser) click(at string)      { b.Helper(); b.do(step{Do: "click", At: at}) }

// picture writes a picture of the window, or of an element, if asked to.
func (b *browser) picture(name string, of ...string) {
	b.Helper()
	if *pictures != "" {
		_ = b.in.Encode(step{Do: "shot", At: filepath.Join(*pictures, "ui-"+name+".png"), Text: strings.Join(of, "")})
		b.out.Scan()
	}
}
