// Program browser drives headless Chromium for test/ui, which builds it. It is a module of its own, so that neither
// the product nor its other tests depend on chromedp. It reads steps from its standard input, one JSON object a line,
// and answers each with one.
package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// Step is one thing to do. test/ui has the same type.
type Step struct {
	// Do is open, see, gone, click, type, value, shot, size, dark or problems.
	Do string `json:"do"`
	// At is a URL, a CSS selector, or a file.
	At string `json:"at,omitempty"`
	// Text is what to see or to type, a script, or a CSS selector of what the picture is of.
	Text string `json:"text,omitempty"`
	// Width and Height are the size of the window.
	Width  int64 `json:"width,omitempty"`
	Height int64 `json:"height,omitempty"`
}

// Answer is what came of a step.
type Answer struct {
	Value string `json:"value,omitempty"`
	Error string `json:"error,omitempty"`
}

// patience is how long a step may take.
const patience = 90 * time.Second

func main() {
	program := flag.String("chromium", "/usr/bin/chromium", "the program of Chromium")
	flag.Parse()
	if err := run(*program); err != nil {
		fmt.Fprintln(os.Stderr, "browser:", err)
		os.Exit(1)
	}
}

func run(program string) error {
	profile, err := os.MkdirTemp("", "spillway-ui-chromium-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(profile) }()
	allocator, stop := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.UserDataDir(profile), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.WSURLReadTimeout(patience))...)
	defer stop()
	ctx, end := chromedp.NewContext(allocator)
	defer end()
	if err := chromedp.Do(ctx); err != nil {
		return fmt.Errorf("starting %s: %w", program, err)
	}
	b := &browser{}
	go b.listen(chromedp.Console(ctx))
	in, out := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	for in.Scan() {
		var step Step
		if err := json.Unmarshal(in.Bytes(), &step); err != nil {
			return err
		}
		value, err := b.do(ctx, step)
		answer := Answer{Value: value}
		if err != nil {
			answer.Error = err.Error()
		}
		if err := out.Encode(answer); err != nil {
			return err
		}
	}
	return in.Err()
}

// browser keeps what the page has complained about.
type browser struct {
	sync.Mutex
	problems []string
}

// listen keeps exceptions, and what the page or the browser has reported as an error.
func (b *browser) listen(messages iter.Seq2[chromedp.ConsoleMessage, error]) {
	for message, err := range messages {
		if err != nil {
			return
		}
		if message.Type == chromedp.ConsoleException || message.Type == chromedp.ConsoleError {
			b.Lock()
			b.problems = append(b.problems, message.Text)
			b.Unlock()
		}
	}
}

func (b *browser) do(ctx context.Context, step Step) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	at := chromedp.CSS(step.At)
	switch step.Do {
	case "open":
		return "", chromedp.Do(ctx, chromedp.Navigate(step.At))
	case "see", "gone":
		return "", see(ctx, step)
	case "click":
		return "", chromedp.Do(ctx, chromedp.ScrollIntoView(at), chromedp.Click(at, chromedp.NodeVisible))
	case "type":
		return "", chromedp.Do(ctx, chromedp.SendKeys(at, step.Text))
	case "value":
		return chromedp.Run(ctx, chromedp.Evaluate[string](step.Text))
	case "size":
		return "", chromedp.Do(ctx, chromedp.EmulateViewport(step.Width, step.Height))
	case "dark":
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: cmp.Or(step.Text, "dark")}},
		})
		return "", err
	case "shot":
		shot := chromedp.CaptureScreenshot()
		if step.Text != "" {
			shot = chromedp.Screenshot(chromedp.CSS(step.Text))
		}
		picture, err := chromedp.Run(ctx, shot)
		if err != nil {
			return "", err
		}
		return "", os.WriteFile(filepath.Clean(step.At), picture, 0o600)
	case "problems":
		b.Lock()
		defer b.Unlock()
		return strings.Join(b.problems, "\n"), nil
	default:
		return "", fmt.Errorf("unknown step %q", step.Do)
	}
}

// see waits until an element shows a text, or until none does.
func see(ctx context.Context, step Step) error {
	const script = `[...document.querySelectorAll(%q)].filter(e => e.checkVisibility()).map(e => e.innerText).join("\n")`
	shown := ""
	for {
		text, err := chromedp.Run(ctx, chromedp.Evaluate[string](fmt.Sprintf(script, step.At)))
		if err != nil {
			return fmt.Errorf("%w; shown was %q", err, shown)
		}
		shown = text
		if strings.Contains(shown, step.Text) == (step.Do == "see") {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; shown is %q", ctx.Err(), shown)
		case <-time.After(patience / 1000):
		}
	}
}
