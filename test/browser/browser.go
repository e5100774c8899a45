// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package browser opens pages in a headless Chromium, for the tests of pages that the
// command line writes. It speaks the protocol of the developer tools over two pipes, so
// that nothing listens, and the browser ends with the test.
//
// A test whose browser is missing is skipped with the reason; with
// ROPEWALK_BROWSER=required in the environment it fails, as "make pages" sets it.
//
// Callers: tests of this folder. The product never imports it.
package browser

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Required is the variable of the environment that makes a missing browser a failure when
// it is "required".
const Required = "ROPEWALK_BROWSER"

// deadline is how long one command of the browser may take.
const deadline = 60 * time.Second

// Page is a page in a browser of its own.
type Page struct {
	t       testing.TB
	to      *os.File
	answers chan answer
	session string
	last    int
	// Errors are what the browser reported: uncaught errors, and violations of the content
	// security policy.
	Errors []string
	// Requests are the URLs that were asked for, by the ids of the requests, without those
	// that the content security policy refused.
	Requests map[string]string
}

// View is how a page is looked at. The zero value is a light window of 1280 by 900.
type View struct {
	Width, Height int
	Dark          bool
	// Scale is how many pixels of the picture one of the page is; 1 where 0.
	Scale float64
	// Script, where set, runs before all of the page.
	Script string
}

type answer struct {
	ID        int             `json:"id"`
	Method    string          `json:"method"`
	SessionID string          `json:"sessionId"`
	Params    json.RawMessage `json:"params"`
	Result    json.RawMessage `json:"result"`
	Error     *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// Open opens a file in a browser, and returns when it is loaded.
func Open(t testing.TB, url string, view View) *Page {
	t.Helper()
	program := find(t)
	toRead, to, err := os.Pipe()
	require.NoError(t, err)
	from, fromWrite, err := os.Pipe()
	require.NoError(t, err)
	cmd := exec.Command(program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", //nolint:gosec // it is the browser
		"--no-first-run", "--disable-extensions", "--user-data-dir="+t.TempDir(), "--remote-debugging-pipe", "about:blank")
	cmd.ExtraFiles = []*os.File{toRead, fromWrite} // its descriptors 3 and 4
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, cmd.Start())
	_, _ = toRead.Close(), fromWrite.Close()
	p := &Page{t: t, to: to, answers: make(chan answer, 1024), Requests: map[string]string{}}
	t.Cleanup(func() {
		end(cmd)
		_, _ = to.Close(), from.Close()
	})
	go p.read(from)
	p.attach()
	for _, domain := range []string{"Page.enable", "Runtime.enable", "Log.enable", "Network.enable"} {
		p.call(domain, nil)
	}
	p.look(view)
	p.call("Page.navigate", map[string]any{"url": url})
	p.wait("Page.loadEventFired")
	return p
}

// end ends all processes of a browser, and waits for them: they write to the folder that
// is removed next.
func end(cmd *exec.Cmd) {
	group := cmd.Process.Pid
	_ = syscall.Kill(-group, syscall.SIGKILL)
	_ = cmd.Wait() // It was killed.
	for late := time.Now().Add(deadline); running(group) && time.Now().Before(late); time.Sleep(5 * time.Millisecond) {
		_ = syscall.Kill(-group, syscall.SIGKILL)
	}
}

// running reports whether a process of a group is left. One that has ended and that no
// parent has asked for, as in a container without an init, is not.
func running(group int) bool {
	if syscall.Kill(-group, 0) != nil {
		return false
	}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // The pattern is good.
	for _, name := range stats {
		text, _ := os.ReadFile(name) //nolint:gosec // of /proc; it may have ended by now
		var state string
		var parent, of int
		_, rest, _ := strings.Cut(string(text), ") ")
		if n, _ := fmt.Sscan(rest, &state, &parent, &of); n == 3 && of == group && state != "Z" && state != "X" {
			return true
		}
	}
	return len(stats) == 0
}

// find is the path of the browser.
func find(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv(Required) == "required" {
		t.Fatal("chromium is missing: install the package chromium")
	}
	t.Skip("chromium is missing: install the package chromium, or run make pages")
	return ""
}

// read takes messages until the browser ends; each ends in a zero byte.
func (p *Page) read(from *os.File) {
	r := bufio.NewReaderSize(from, 1<<20)
	for {
		data, err := r.ReadBytes(0)
		if err != nil {
			close(p.answers)
			return
		}
		var a answer
		if json.Unmarshal(data[:len(data)-1], &a) == nil {
			p.answers <- a
		}
	}
}

// attach takes the tab that the browser began with.
func (p *Page) attach() {
	var targets struct {
		TargetInfos []struct {
			TargetID string `json:"targetId"`
			Type     string `json:"type"`
		} `json:"targetInfos"`
	}
	id := ""
	for end := time.Now().Add(deadline); id == "" && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		require.NoError(p.t, json.Unmarshal(p.call("Target.getTargets", nil), &targets))
		for _, t := range targets.TargetInfos {
			if t.Type == "page" {
				id = t.TargetID
			}
		}
	}
	var attached struct {
		SessionID string `json:"sessionId"`
	}
	require.NoError(p.t, json.Unmarshal(p.call("Target.attachToTarget", map[string]any{"targetId": id, "flatten": true}), &attached))
	p.session = attached.SessionID
}

// call runs a command of the protocol.
func (p *Page) call(method string, params map[string]any) json.RawMessage {
	p.t.Helper()
	p.last++
	id := p.last
	message := map[string]any{"id": id, "method": method}
	if params != nil {
		message["params"] = params
	}
	if p.session != "" {
		message["sessionId"] = p.session
	}
	data, err := json.Marshal(message)
	require.NoError(p.t, err)
	_, err = p.to.Write(append(data, 0))
	require.NoError(p.t, err)
	a := p.until(method, func(a answer) bool { return a.ID == id })
	require.Nil(p.t, a.Error, "%s: %+v", method, a.Error)
	return a.Result
}

// wait waits for an event.
func (p *Page) wait(event string) {
	p.t.Helper()
	p.until(event, func(a answer) bool { return a.Method == event })
}

func (p *Page) until(what string, is func(answer) bool) answer {
	p.t.Helper()
	late := time.After(deadline)
	for {
		select {
		case a, ok := <-p.answers:
			require.True(p.t, ok, "%s: the browser has ended", what)
			p.note(a)
			if is(a) {
				return a
			}
		case <-late:
			p.t.Fatalf("%s: no answer in %s", what, deadline)
		}
	}
}

// note keeps what the browser reports.
func (p *Page) note(a answer) {
	switch a.Method {
	case "Runtime.exceptionThrown", "Log.entryAdded":
		p.Errors = append(p.Errors, string(a.Params))
	case "Network.requestWillBeSent", "Network.loadingFailed":
		var of struct {
			RequestID string `json:"requestId"`
			Request   struct {
				URL string `json:"url"`
			} `json:"request"`
			BlockedReason string `json:"blockedReason"`
		}
		_ = json.Unmarshal(a.Params, &of) // It is what the browser writes.
		if of.BlockedReason == "csp" {
			delete(p.Requests, of.RequestID)
		} else if of.Request.URL != "" {
			p.Requests[of.RequestID] = of.Request.URL
		}
	}
}

// look sets size, scheme and first script of the page.
func (p *Page) look(v View) {
	if v.Width == 0 {
		v.Width, v.Height = 1280, 900
	}
	if v.Scale == 0 {
		v.Scale = 1
	}
	scheme := "light"
	if v.Dark {
		scheme = "dark"
	}
	p.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": v.Width, "height": v.Height, "deviceScaleFactor": v.Scale, "mobile": v.Width < 600})
	p.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}})
	if v.Script != "" {
		p.call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": v.Script})
	}
}

// Eval runs an expression in the page, waits for it where it is a promise, and decodes
// what it is.
func (p *Page) Eval(expression string, into any) {
	p.t.Helper()
	var out struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		ExceptionDetails json.RawMessage `json:"exceptionDetails"`
	}
	require.NoError(p.t, json.Unmarshal(p.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}), &out))
	require.Empty(p.t, out.ExceptionDetails, "%s: %s", expression, out.ExceptionDetails)
	if into != nil {
		require.NoError(p.t, json.Unmarshal(out.Result.Value, into), "%s is %s", expression, out.Result.Value)
	}
}

// Key presses a key.
func (p *Page) Key(key string) {
	p.t.Helper()
	event := map[string]any{"type": "keyDown", "key": key}
	if len(key) == 1 {
		event["text"] = key
	}
	if key == "Enter" {
		event["text"], event["windowsVirtualKeyCode"] = "\r", 13
	}
	p.call("Input.dispatchKeyEvent", event)
	p.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key})
}

// Screenshot is the page as PNG: the window, or all of the page.
func (p *Page) Screenshot(all bool) []byte {
	p.t.Helper()
	return p.data("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": all, "fromSurface": true, "clip": p.clip(all)})
}

func (p *Page) clip(all bool) map[string]any {
	var size struct{ W, H, Y float64 }
	p.Eval(`({W: innerWidth, H: innerHeight, Y: scrollY})`, &size)
	if all {
		p.Eval(`({W: document.documentElement.clientWidth, H: document.documentElement.scrollHeight, Y: 0})`, &size)
	}
	return map[string]any{"x": 0, "y": size.Y, "width": size.W, "height": size.H, "scale": 1}
}

// PDF is the page as it is printed.
func (p *Page) PDF() []byte {
	p.t.Helper()
	return p.data("Page.printToPDF", map[string]any{"printBackground": true, "paperWidth": 8.27, "paperHeight": 11.69})
}

func (p *Page) data(method string, params map[string]any) []byte {
	p.t.Helper()
	var out struct {
		Data string `json:"data"`
	}
	require.NoError(p.t, json.Unmarshal(p.call(method, params), &out))
	data, err := base64.StdEncoding.DecodeString(out.Data)
	require.NoError(p.t, err)
	require.NotEmpty(p.t, data, fmt.Sprint(method, " gave nothing"))
	return data
}
