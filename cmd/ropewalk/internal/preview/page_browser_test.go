// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package preview_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/draw"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/preview"
	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
	"github.com/ropewalk/ropewalk/test/browser"
)

// open writes the page of a report and opens it.
func open(t testing.TB, r preview.Report, view browser.View) *browser.Page {
	t.Helper()
	page, err := r.Page(preview.Links{Source: "https://git.example.com/acme/shop/blob/main"})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "report.html")
	require.NoError(t, os.WriteFile(file, page, 0o600))
	return browser.Open(t, "file://"+file, view)
}

// attacks are texts that do something where a page or a comment takes them for more than
// text, and that hide something where it shows them as they are.
func attacks() []string {
	return []string{
		`<script>window.pwned = 1</script>`, `</script><script>window.pwned = 1</script>`, `<img src=x onerror="window.pwned = 1">`, `"><svg onload="window.pwned=1">`,
		`' onmouseover='window.pwned=1' x='`, `javascript:window.pwned=1`, `{{constructor.constructor("window.pwned=1")()}}`, `<style>body { display: none }</style>`, `</style><script>window.pwned=1</script>`,
		`</template><script>window.pwned=1</script>`, `<!--<script>`, `]]><script>window.pwned=1</script>`, `</textarea><iframe srcdoc="<script>parent.pwned=1</script>">`, `<base href="https://evil.example/">`,
		`<link rel=stylesheet href=https://evil.example/x.css>`, `url(https://evil.example/x.png)`, `<meta http-equiv=refresh content="0;url=https://evil.example/">`, `<form action=https://evil.example/><button>x`,
		"safe\u202egnp.exe", "a\u2066b\u2069", "a\u200bb\u200cc\u2060", "a\u0000b\u001b[31mc", "\u061cd\u200f\u200e", "e\u00ad\ufeff", "tag\U000e0041", "line\u2028break\u2029end", "שלום-123", "z" + strings.Repeat("\u0301", 60),
		"`code` ``x`` ```", "| a | b |\n|---|", "@acme/everybody #1 !2", "[x](https://evil.example/)", "![x](https://evil.example/x.png)", "https://evil.example www.evil.example", "<details open><summary>x", "-->", "*b* _i_ ~s~ $m$", "\\|", "a\r\n# head",
		strings.Repeat("long-", 400), `__proto__`, `constructor`, `hasOwnProperty`,
	}
}

// hostile is a report in which every text is an attack.
func hostile() preview.Report {
	var before, after []object.Object
	var plan order.Document
	for i, text := range attacks() {
		make := func(version string) object.Object {
			return object.Object{
				"apiVersion": text + "/v1", "kind": text, "metadata": map[string]any{"name": text, "namespace": text},
				"data": map[string]any{text: version + text, "lines": version + "\n" + text + "\nlast"}, "spec": map[string]any{"list": []any{map[string]any{"name": text, "value": version}}},
			}
		}
		before = append(before, make("1"))
		switch i % 3 {
		case 0:
			after = append(after, make("2"))
		case 1:
			after = append(after, object.Object{"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": text}, "spec": map[string]any{"type": "LoadBalancer"}})
		}
		plan.Nodes = append(plan.Nodes, order.NodeDocument{ID: object.ID(text), Object: object.Ref{Kind: text, Name: text}, Reason: text, After: object.ID(text)})
	}
	was, is := side(before...), side(after...)
	for _, s := range []*rendered{was, is} {
		s.Side = preview.NewSide(s.snapshot, plan)
		s.Picture = []byte(`<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><title>x</title><style>.a{}</style><g><title>&lt;script&gt;` + "\u202e" + `</title><rect class="box" width="5" height="5"/><text>a` + "\u202e" + `b</text></g></svg>`)
		for i := range s.snapshot.Items {
			text := attacks()[i%len(attacks())]
			s.snapshot.Items[i].Node, s.snapshot.Items[i].Pos = object.ID(text), object.Pos{File: text, Line: 1}
			s.Findings = append(s.Findings, &object.Error{Policy: text, Node: object.ID(text), Err: errors.New(text), Hint: text, Pos: object.Pos{File: text, Line: 2}})
		}
	}
	var results []preview.Result
	for _, name := range []string{attacks()[2], attacks()[18]} {
		r := result(name, was, is)
		r.Project, r.Path = attacks()[0], attacks()[2]
		results = append(results, r)
	}
	return preview.Gather(attacks()[1], preview.Revision{Name: attacks()[2], Commit: attacks()[3], Problem: attacks()[4]}, preview.Revision{Name: attacks()[18]}, results)
}

// hostilePlan is a plan whose specs are attacks, of so many objects that a picture has a
// box for each spec.
func hostilePlan() *order.Plan {
	plan := &order.Plan{Graph: &graph.Graph{}, Placements: map[object.ID]order.Placement{}}
	var last object.ID
	for i, text := range attacks() {
		for _, part := range []string{"a", "b"} {
			id := object.ID(text + "/" + part)
			plan.Graph.Nodes = append(plan.Graph.Nodes, &object.Node{ID: id, Object: object.Object{"apiVersion": "v1", "kind": text, "metadata": map[string]any{"name": text, "namespace": text}}})
			plan.Placements[id] = order.Placement{Edge: -1, Reason: text}
			if i > 0 {
				plan.Graph.Edges = append(plan.Graph.Edges, graph.Edge{From: id, To: last, Rule: graph.Rule(text)})
				plan.Gates = append(plan.Gates, order.Gate{Reason: text})
			}
			last = id
		}
	}
	plan.Waves = []order.Wave{{Nodes: plan.Graph.Nodes}}
	return plan
}

func TestNothingInAPictureOfHostileSpecsRunsOrHides(t *testing.T) {
	before, after := side(deployment("web", "a", 1)), side(deployment("web", "a", 2))
	after.Picture = draw.Picture{Plan: hostilePlan()}.SVG()
	require.Contains(t, string(after.Picture), "data-specs=", "the boxes are those of specs")
	results := []preview.Result{result("prod", before, after)}
	for i := range results[0].Changes.Changes {
		results[0].Changes.Changes[i].Node = object.ID(attacks()[0] + "/a")
	}
	p := open(t, preview.Gather("v1", preview.Revision{Name: "main"}, preview.Revision{Name: "HEAD"}, results), browser.View{})
	var state struct {
		Pwned       any
		Boxes       int
		Marked      []string
		Elements    []string
		Texts, URLs []string
	}
	p.Eval(`new Promise((r) => setTimeout(r, 300)).then(() => { const svg = document.querySelector(".picture svg"); return {Pwned: window.pwned,
		Boxes: svg.querySelectorAll("[data-specs]").length, Marked: [...svg.querySelectorAll(".box.changed")].map((b) => b.closest("[data-specs]").dataset.specs),
		Elements: [...new Set([...svg.querySelectorAll("*")].map((e) => e.localName))], Texts: [...svg.querySelectorAll("title, text")].map((e) => e.textContent),
		URLs: [...svg.querySelectorAll("*")].flatMap((e) => [...e.attributes]).filter((a) => /^(on|href|src|style|xlink)/.test(a.name)).map((a) => a.name + "=" + a.value)}; })`, &state)
	require.Nil(t, state.Pwned)
	require.Empty(t, p.Errors)
	require.Greater(t, state.Boxes, 10)
	require.NotEmpty(t, state.Marked, "what changes is marked")
	for _, name := range []string{"script", "style", "image", "foreignObject", "use", "iframe", "img", "a", "animate", "set"} {
		require.NotContains(t, state.Elements, name)
	}
	require.Empty(t, state.URLs)
	for _, text := range state.Texts {
		for _, r := range text {
			require.True(t, unicode.IsGraphic(r) || r == '\n', "%q is in %q", r, text)
		}
	}
}

func TestNothingInAHostilePageRunsOrHides(t *testing.T) {
	p := open(t, hostile(), browser.View{Script: `document.addEventListener("securitypolicyviolation", (e) => { (window.refused ||= []).push(e.violatedDirective + " " + e.blockedURI); });`})
	var rows int
	// On paper all is unfolded.
	p.Eval(`window.dispatchEvent(new Event("beforeprint")), document.querySelectorAll(".row-body:not([hidden])").length`, &rows)
	require.Greater(t, rows, len(attacks()))
	var folded int
	p.Eval(`[...document.querySelectorAll("details")].filter((d) => !d.open || d.children.length < 2).length`, &folded)
	require.Zero(t, folded)
	p.Eval(`document.querySelectorAll("details").forEach((d) => { d.open = true; }), new Promise((r) => setTimeout(r, 300))`, nil)
	var state struct {
		Pwned    any
		Refused  []string
		Elements []string
		Links    []string
		Text     string
		Titles   []string
		Escaped  []string
		Height   float64
	}
	p.Eval(`({Pwned: window.pwned, Refused: window.refused || [],
		Elements: [...new Set([...document.querySelectorAll("*")].map((e) => e.localName))],
		Links: [...document.querySelectorAll("[href], [src]")].map((e) => e.getAttribute("href") || e.getAttribute("src")),
		Text: document.body.innerText, Titles: [...document.querySelectorAll("[title], svg title")].map((e) => e.title || e.textContent),
		Escaped: [...document.querySelectorAll(".escaped")].map((e) => e.textContent), Height: document.body.offsetHeight})`, &state)
	require.Nil(t, state.Pwned)
	require.Empty(t, state.Refused, "the policy had to refuse something")
	require.Empty(t, p.Errors)
	for _, url := range p.Requests {
		require.True(t, strings.HasPrefix(url, "file://") || strings.HasPrefix(url, "about:"), url)
	}
	for _, name := range []string{"img", "iframe", "base", "link", "form", "textarea", "object", "embed"} {
		require.NotContains(t, state.Elements, name)
	}
	for _, to := range state.Links {
		require.True(t, strings.HasPrefix(to, "https://git.example.com/acme/shop/blob/main/") || to == "#objects", to)
	}
	require.Greater(t, state.Height, 1000.0, "a style of others hides the page")
	for _, r := range state.Text {
		require.True(t, unicode.IsGraphic(r) || r == '\n' || r == '\t', "%q is in the text of the page", r)
	}
	for _, title := range state.Titles {
		for _, r := range title {
			require.True(t, unicode.IsGraphic(r) || r == '\n', "%q is in the title %q", r, title)
		}
	}
	for _, want := range []string{`\u202e`, `\u2066`, `\u200b`, `\x00`, `\x1b`, `\u061c`, `\u00ad`, `\U000e0041`, `\u2028`} {
		require.Contains(t, state.Escaped, want)
	}
	require.Contains(t, state.Text, `<script>window.pwned = 1</script>`)
}

func TestThePolicyOfThePageRefusesWhatItsScriptWouldLetThrough(t *testing.T) {
	p := open(t, many(1, "prod"), browser.View{Script: `document.addEventListener("securitypolicyviolation", (e) => { (window.refused ||= []).push(e.violatedDirective); });`})
	var refused []string
	p.Eval(`(async () => {
		const attempt = (f) => { try { f(); } catch { /* refused */ } };
		attempt(() => { document.body.insertAdjacentHTML("beforeend", "<img src=x>"); });
		attempt(() => { const s = document.createElement("script"); s.append("window.pwned = 1"); document.body.append(s); });
		attempt(() => { const s = document.createElement("style"); s.append("body { display: none }"); document.body.append(s); });
		attempt(() => { document.body.setAttribute("style", "display: none"); });
		attempt(() => { const i = document.createElement("img"); i.src = "https://evil.example/x.png"; document.body.append(i); });
		attempt(() => { fetch("https://evil.example/").catch(() => {}); });
		await new Promise((r) => setTimeout(r, 500));
		return window.refused.concat(window.pwned ? ["pwned"] : []);
	})()`, &refused)
	for _, want := range []string{"require-trusted-types-for", "style-src-elem", "style-src-attr", "img-src", "connect-src"} {
		require.Contains(t, refused, want)
	}
	require.NotContains(t, refused, "pwned")
	p.Eval(`1`, nil) // what was refused last is reported before
	for _, url := range p.Requests {
		require.NotContains(t, url, "evil", "it was asked for")
	}
}

// TestALargePageIsFast promises for 5,000 changes a first paint within a second, and a
// filter within a tenth of one. The best of three counts: others run beside it.
func TestALargePageIsFast(t *testing.T) {
	r := many(5000, "dev", "prod", "staging")
	p := open(t, r, browser.View{})
	var figures struct{ Paint, Loaded, Search, Narrow, All float64 }
	p.Eval(`(async () => {
		const frame = () => new Promise((r) => requestAnimationFrame(() => setTimeout(r)));
		for (let i = 0; i < 100 && performance.getEntriesByName("first-contentful-paint").length === 0; i++) await frame();
		await new Promise((r) => setTimeout(r, 1500));
		const search = document.querySelector("input[type=search]");
		const timed = async (text, want) => {
			await frame();
			const from = performance.now();
			search.value = text;
			search.dispatchEvent(new Event("input"));
			document.body.getBoundingClientRect();
			const took = performance.now() - from, status = document.querySelector("[role=status]").textContent;
			if (status !== want) throw new Error(status);
			return took;
		};
		const out = {Paint: performance.getEntriesByName("first-contentful-paint")[0].startTime, Loaded: performance.getEntriesByType("navigation")[0].loadEventEnd, Search: 1e9, Narrow: 1e9, All: 1e9};
		for (const round of [47, 48, 49]) {
			out.Search = Math.min(out.Search, await timed("service-" + round, "100 of 5,000 objects"));
			out.Narrow = Math.min(out.Narrow, await timed("service-" + round + "9 1.2.0", "10 of 5,000 objects"));
			out.All = Math.min(out.All, await timed("", "5,000 objects"));
		}
		return out;
	})()`, &figures)
	t.Logf("ms: %+v", figures)
	require.Less(t, figures.Paint, 1000.0)
	for _, took := range []float64{figures.Search, figures.Narrow, figures.All} {
		require.Less(t, took, 100.0)
	}
}

func TestAPageIsUsedByKeys(t *testing.T) {
	r := many(300, "dev", "prod")
	p := open(t, r, browser.View{})
	focused := func() (name string) {
		p.Eval(`(document.activeElement.querySelector(".name") || document.activeElement).textContent || document.activeElement.type`, &name)
		return name
	}
	p.Key("j")
	p.Key("j")
	require.Equal(t, "service-0001", focused())
	p.Key("k")
	require.Equal(t, "service-0000", focused())
	p.Key("Enter")
	var open string
	p.Eval(`document.activeElement.getAttribute("aria-expanded") + " " + document.activeElement.nextElementSibling.innerText`, &open)
	require.True(t, strings.HasPrefix(open, "true "), open)
	require.Contains(t, open, "spec.template.spec.containers[main].image")
	require.Contains(t, open, "ghcr.io/acme/service-0000:1.2.0")
	p.Key("/")
	require.Equal(t, "search", focused())
	for _, c := range "0299" {
		p.Key(string(c))
	}
	var status, theme string
	p.Eval(`document.querySelector("[role=status]").textContent`, &status)
	require.Equal(t, "1 of 300 objects", status)
	p.Key("Escape")
	p.Key("t")
	p.Eval(`document.documentElement.dataset.theme`, &theme)
	require.Equal(t, "light", theme)
	require.Empty(t, p.Errors)
}

func TestAPageShowsAHundredEnvironments(t *testing.T) {
	var names []string
	for i := range 100 {
		names = append(names, fmt.Sprintf("cluster-%02d", i))
	}
	r := many(3, names...)
	require.Equal(t, "Against main, the working tree changes 3 objects in 100 environments of shop.", r.Summary)
	p := open(t, r, browser.View{Width: 390, Height: 844})
	var wide float64
	p.Eval(`document.documentElement.scrollWidth`, &wide)
	require.LessOrEqual(t, wide, 390.0, "a phone has to scroll to the side")
	require.Empty(t, p.Errors)
	require.NotEmpty(t, p.PDF())
}

func TestALongWordOfADangerStaysOnAPhone(t *testing.T) {
	claim := func(size string) object.Object {
		return object.Object{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": map[string]any{"name": "db"}, "spec": map[string]any{
			"volumeClaimTemplates": []any{map[string]any{"metadata": map[string]any{"name": "data"}, "spec": map[string]any{"resources": map[string]any{"requests": map[string]any{"storage": size}}}}},
		}}
	}
	r := preview.Gather("v1", preview.Revision{Name: "main", Commit: "fedcba9876543210", Tip: "0123456789"}, preview.Revision{Name: "HEAD"}, []preview.Result{result("prod", side(claim("20Gi")), side(claim("10Gi")))})
	require.Positive(t, r.Counts.Dangers)
	p := open(t, r, browser.View{Width: 390, Height: 844})
	var wide float64
	var text string
	p.Eval(`document.documentElement.scrollWidth`, &wide)
	require.LessOrEqual(t, wide, 390.0)
	p.Eval(`document.body.innerText`, &text)
	require.Contains(t, text, "spec.volumeClaimTemplates[data].spec.resources.requests.storage")
	require.Contains(t, text, "Against main at the merge base fedcba9876, HEAD recreates 1 object in prod of shop.")
	require.Contains(t, text, "main at the merge base fedcba9876 → HEAD")
}

func TestABoxOfSpecsWithADeletedObjectIsMarked(t *testing.T) {
	before, after := side(deployment("web", "a", 1), deployment("db", "a", 1)), side(deployment("db", "a", 2))
	after.Picture = []byte(`<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><title>x</title><g data-specs="web"><title>2 specs</title><rect class="box" width="5" height="5"/></g></svg>`)
	p := open(t, preview.Gather("v1", preview.Revision{Name: "main"}, preview.Revision{Name: "HEAD"}, []preview.Result{result("prod", before, after)}), browser.View{})
	var fill, plain, legend string
	p.Eval(`getComputedStyle(document.querySelector(".picture .box.deleted")).fill`, &fill)
	p.Eval(`getComputedStyle(Object.assign(document.querySelector(".picture .box.deleted").parentElement.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "rect")), {}).ownerSVGElement.lastChild).fill`, &plain)
	require.NotEqual(t, plain, fill, "the legend has a colour that no box has")
	p.Eval(`document.querySelector("figcaption").innerText`, &legend)
	require.Contains(t, legend, "deleted")
	require.NotContains(t, legend, "not drawn")
}

func TestAPageWithoutABaseShowsTheHead(t *testing.T) {
	after := side(deployment("web", "a", 1))
	changes, err := diff.Compare(t.Context(), diff.Snapshot{}, after.snapshot)
	require.NoError(t, err)
	r := preview.Gather("v1", preview.Revision{Name: "main", Problem: "the repository has no such commit"}, preview.Revision{Name: "HEAD"},
		[]preview.Result{{Project: "shop", Path: ".", Before: &preview.Side{}, After: &after.Side, Changes: changes}})
	require.Equal(t, "There is nothing to compare with: 1 object of shop as HEAD renders.", r.Summary)
	require.Zero(t, r.Counts.Dangers)
	p := open(t, r, browser.View{Dark: true})
	var text string
	p.Eval(`document.body.innerText`, &text)
	require.Contains(t, text, "the repository has no such commit")
	require.Contains(t, text, "present")
	require.Empty(t, p.Errors)
}

func TestAPageMarksABoxOfSpecsByTheWorstOfItsChanges(t *testing.T) {
	before := side(deployment("web", "a", 1), deployment("api", "a", 1), deployment("db", "a", 1))
	after := side(deployment("web", "a", 2), deployment("db", "a", 1), deployment("new", "a", 1))
	after.Picture = []byte(`<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><title>x</title><g data-specs="web&#xA;new"><title>2 specs</title><rect class="box"/></g>` +
		`<g data-specs="db"><title>db</title><rect class="box"/></g></svg>`)
	p := open(t, preview.Gather("v1", preview.Revision{Name: "main"}, preview.Revision{Name: "HEAD"}, []preview.Result{result("prod", before, after)}), browser.View{})
	var classes []string
	p.Eval(`[...document.querySelectorAll(".picture .box")].map((b) => b.getAttribute("class"))`, &classes)
	require.Equal(t, []string{"box changed", "box"}, classes)
	require.Empty(t, p.Errors)
}
