// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
	"github.com/ropewalk/ropewalk/test/browser"
)

func openPage(t *testing.T, p Picture, view browser.View) *browser.Page {
	t.Helper()
	file := filepath.Join(t.TempDir(), "graph.html")
	require.NoError(t, os.WriteFile(file, p.HTML(), 0o600))
	page := browser.Open(t, "file://"+file, view)
	if out := os.Getenv("ROPEWALK_SHOTS"); out != "" {
		t.Cleanup(func() { _ = os.WriteFile(filepath.Join(out, t.Name()+".png"), page.Screenshot(false), 0o600) })
	}
	return page
}

func text(page *browser.Page, expression string) (out string) {
	page.Eval(expression, &out)
	return out
}

func TestAPageUnfoldsByKeys(t *testing.T) {
	page := openPage(t, Picture{Plan: many(t, teams(20, 10), func(i int) []int { return []int{i - 1}[:min(i%10, 1)] }), Title: "shop"}, browser.View{})
	boxes := func() (n int) {
		page.Eval(`document.querySelectorAll("#view g[role=button]").length`, &n)
		return n
	}
	require.Equal(t, 20, boxes())
	page.Eval(`document.querySelector("#view g[role=button]").focus()`, nil)
	page.Key("Enter")
	require.Equal(t, 10, boxes(), "one for each spec")
	page.Key("Enter")
	require.Equal(t, 5, boxes(), "one for each object")
	require.Equal(t, "All specs›team00-…›team00-part0", text(page, `document.getElementById("path").textContent`))
	page.Key("Enter")
	require.Contains(t, text(page, `document.getElementById("about").textContent`), "team00-part0/")
	page.Key("Escape")
	page.Key("Escape")
	require.Equal(t, 10, boxes())
	page.Key("Escape")
	require.Equal(t, 20, boxes())
	require.Empty(t, page.Errors)
}

func TestAPageFindsAnObject(t *testing.T) {
	plan := many(t, numbered(1000, "svc%03d"), func(i int) []int { return []int{i - 500}[:i/500] })
	data := Picture{Plan: plan, Title: "shop"}.HTML()
	require.Less(t, len(data), 5_000_000)
	page := openPage(t, Picture{Plan: plan, Title: "shop"}, browser.View{Dark: true})
	page.Key("/")
	for _, key := range "svc777 main" {
		page.Key(string(key))
	}
	require.Equal(t, "svc777/main", text(page, `document.querySelector("#found button").firstChild.textContent`))
	page.Key("Enter")
	require.Equal(t, "svc777/main", text(page, `document.querySelector(".chosen title").textContent.split("\n")[0]`))
	about := text(page, `document.getElementById("about").textContent`)
	require.Contains(t, about, "Deployment.apps shop/svc777")
	require.Contains(t, about, "svc777 → svc277: dependsOn", "what is between specs")
	for _, key := range "/zzz" {
		page.Key(string(key))
	}
	require.Equal(t, "Nothing has all of these words.", text(page, `document.getElementById("status").textContent`))
	require.Equal(t, "rgb(13, 17, 23)", text(page, `getComputedStyle(document.body).backgroundColor`))
	require.Empty(t, page.Errors)
}

// TestNothingInAHostilePageRuns has names that do something where a page takes them for more
// than text.
func TestNothingInAHostilePageRuns(t *testing.T) {
	var nodes []*object.Node
	attacks := []string{
		`<script>window.pwned=1</script>`, `</template><script>window.pwned=1</script>`, `"><img src=x onerror=window.pwned=1>`, `]]><svg onload=window.pwned=1>`,
		`{{views}}{{script}}`, "a\u202egnp", `</title></svg><base href=https://evil.example/>`, `' data-specs='x`, `</style><style>body{display:none}</style>`, `__proto__`,
	}
	for i := range 70 {
		name := attacks[i%len(attacks)]
		n := &object.Node{ID: object.ID(strings.ReplaceAll(name, "/", "|") + "/" + fmt.Sprint(i) + name), Object: object.Object{
			"apiVersion": "v1", "kind": name, "metadata": map[string]any{"name": name + fmt.Sprint(i), "namespace": name},
		}}
		if i > 0 {
			n.DependsOn = []object.Dependency{{ID: nodes[i-1].ID}}
		}
		nodes = append(nodes, n)
	}
	g, err := graph.Build(nodes, nil)
	require.NoError(t, err)
	page := openPage(t, Picture{Plan: order.New(g, many(t, numbered(1, "s%d"), none).Dialect), Title: attacks[0]}, browser.View{})
	var state struct {
		Pwned    any
		Views    int
		Elements []string
		Text     string
		Height   float64
	}
	page.Eval(`(async () => {
		let views = 0;
		const boxes = () => document.querySelectorAll("#view g[role=button]");
		for (let i = 0, n = boxes().length; i < n; i++) { boxes()[i].dispatchEvent(new MouseEvent("click", {bubbles: true})); views++; boxes()[0]?.dispatchEvent(new MouseEvent("click", {bubbles: true})); document.querySelector("#path button")?.click(); }
		const search = document.getElementById("search"); search.value = "script"; search.dispatchEvent(new Event("input"));
		await new Promise((r) => setTimeout(r, 300));
		return {Pwned: window.pwned, Views: views, Elements: [...new Set([...document.querySelectorAll("*")].map((e) => e.localName))], Text: document.body.textContent, Height: document.body.offsetHeight};
	})()`, &state)
	require.Nil(t, state.Pwned)
	require.Equal(t, len(attacks), state.Views)
	for _, name := range []string{"img", "base", "iframe"} {
		require.NotContains(t, state.Elements, name)
	}
	require.NotContains(t, state.Text, "\u202e")
	require.Greater(t, state.Height, 200.0)
	require.Empty(t, page.Errors)
	for _, url := range page.Requests {
		require.True(t, strings.HasPrefix(url, "file://"), url)
	}
}
