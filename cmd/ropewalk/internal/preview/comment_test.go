// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package preview_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/preview"
	"github.com/ropewalk/ropewalk/render/object"
)

func TestACommentFitsItsForge(t *testing.T) {
	for forge, want := range map[preview.Forge]struct{ limit, least int }{preview.GitHub: {65_536, 55_000}, preview.GitLab: {1_000_000, 900_000}} {
		text := many(5000, "dev", "prod").Comment(forge, preview.Selection{}, preview.Links{})
		require.Less(t, len(text), want.limit, forge)
		require.Greater(t, len(text), want.least, forge)
		require.Equal(t, strings.Count(text, "<details>"), strings.Count(text, "</details>"))
		require.Equal(t, strings.Count(text, "<summary>"), strings.Count(text, "</summary>"))
		require.Regexp(t, `_\d+ (rows|differences) not shown: the comment would be too long._`, text)
	}
}

func TestTheMarkerOfACommentIsThatOfTheSelection(t *testing.T) {
	r := many(1, "dev")
	first := func(s preview.Selection) string {
		line, _, _ := strings.Cut(r.Comment(preview.GitHub, s, preview.Links{}), "\n")
		return line
	}
	require.Equal(t, "<!-- ropewalk-preview projects=all environments=all -->", first(preview.Selection{}))
	require.Equal(t, "<!-- ropewalk-preview projects=apps%2Fshop environments=dev%2Cprod -->", first(preview.Selection{Projects: []string{"apps/shop"}, Environments: []string{"dev", "prod"}}))
	hostile := first(preview.Selection{Projects: []string{"a --> <script>\n", "b--c"}})
	require.Equal(t, 1, strings.Count(hostile, "-->"))
	require.NotContains(t, strings.TrimPrefix(hostile, "<!--"), "<")
}

// TestCommentsForReaders writes comments, into $ROPEWALK_COMMENTS for test/site, which renders
// them as a forge does.
func TestCommentsForReaders(t *testing.T) {
	dir := cmp.Or(os.Getenv("ROPEWALK_COMMENTS"), t.TempDir())
	links := preview.Links{Source: "https://git.example.com/acme/shop/blob/main", Page: "https://git.example.com/page"}
	for name, r := range map[string]preview.Report{"hostile": hostile(), "many": many(60, "dev", "prod")} {
		for _, forge := range []preview.Forge{preview.GitHub, preview.GitLab} {
			text := r.Comment(forge, preview.Selection{}, links)
			require.True(t, strings.HasPrefix(text, "<!-- ropewalk-preview "), name)
			require.NoError(t, os.WriteFile(filepath.Join(dir, name+"-"+string(forge)+".md"), []byte(text), 0o600))
		}
	}
}

func TestACommentSaysAllOnceAndTheWorstFirst(t *testing.T) {
	gone, web := deployment("gone", "prod", 1), deployment("web", "prod", 1)
	is := deployment("web", "prod", 2)
	var results []preview.Result
	for _, name := range []string{"dev", "prod"} {
		before, after := side(web, gone), side(is, deployment("new", "prod", 1))
		after.Findings = object.Errors{
			{Severity: object.SeverityWarning, Policy: "limits", Err: errors.New("no limits")},
			{Severity: object.SeverityError, Policy: "registry", Err: errors.New("no such registry")},
		}
		results = append(results, result(name, before, after))
	}
	text := preview.Gather("v1", preview.Revision{Name: "main"}, preview.Revision{Name: "HEAD"}, results).Comment(preview.GitHub, preview.Selection{}, preview.Links{})
	at := -1
	for _, part := range []string{
		"> [!WARNING]", "`Deployment.apps prod/gone`: its pods", "### 2 new findings", "- **error**: policy `registry`", "- **warning**: policy `limits`", "| `dev` |",
		"### 3 images", "- `ghcr.io/acme/gone`: `:1.1.0` is gone", "- `ghcr.io/acme/new`: `:1.1.0` is new", "- `ghcr.io/acme/web`: `:1.1.0` → `:1.2.0`",
		"### 3 objects", "**Deleted (1)**", "- kind: Deployment", "**Changed (1)**", "From `apps/web.yaml:3:1`", "1.2.0", "**Created (1)**", "+ kind: Deployment",
	} {
		i := strings.Index(text[at+1:], part)
		require.GreaterOrEqual(t, i, 0, "%q does not come next in\n%s", part, text)
		at += 1 + i
	}
	require.NotContains(t, text, " in dev and prod:", "what is true of all that is touched names none")
}

func TestAChangeOfNothingButImagesIsCalledOne(t *testing.T) {
	next := deployment("web", "prod", 1)
	spec := next["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
	spec["containers"].([]any)[0].(map[string]any)["image"] = "ghcr.io/acme/web:2.0.0"
	of := func(after ...object.Object) string {
		r := preview.Gather("v1", preview.Revision{Name: "main"}, preview.Revision{Name: "HEAD"}, []preview.Result{result("prod", side(deployment("web", "prod", 1)), side(after...))})
		return r.Comment(preview.GitHub, preview.Selection{}, preview.Links{})
	}
	text := of(next)
	require.Contains(t, text, "HEAD changes 1 object in prod of shop, and nothing but images.")
	require.Contains(t, text, "- `ghcr.io/acme/web`: `:1.1.0` → `:2.0.0`, **another major version**")
	// An environment variable changes too, and then nothing goes on but a danger.
	require.NotContains(t, of(deployment("web", "prod", 2)), "nothing but")
	require.NotContains(t, of(deployment("web", "prod", 2)), "another major")
	require.NotContains(t, of(deployment("web", "prod", 0)), "nothing but")
	require.NotContains(t, of(next, deployment("new", "prod", 1)), "nothing but")
}

func TestDangersAreTheWorstFirstAndOnceForManyObjects(t *testing.T) {
	older := side(deployment("a", "prod", 1), deployment("b", "prod", 1), deployment("c", "prod", 1))
	r := preview.Gather("v1", preview.Revision{}, preview.Revision{}, []preview.Result{result("prod", older, side(deployment("a", "prod", 0)))})
	require.Contains(t, r.Comment(preview.GitHub, preview.Selection{}, preview.Links{}),
		"> **3 dangers**\n>\n> - `Deployment.apps prod/b` and `Deployment.apps prod/c`: its pods are deleted, and what they serve with them\n> - `Deployment.apps prod/a`: the image of container main goes back")
}

// TestAHostileCommentIsText looks for what a forge would act on, outside of code.
func TestAHostileCommentIsText(t *testing.T) {
	text := hostile().Comment(preview.GitLab, preview.Selection{}, preview.Links{Source: "https://git.example.com/acme/shop/blob/main"})
	for _, r := range text {
		require.True(t, unicode.IsGraphic(r) || r == '\n', "%q is in the comment", r)
	}
	// Blocks of code end where they began, whatever is in them.
	fences := regexp.MustCompile("(?m)^(`{3,})(diff)?$").FindAllStringSubmatch(text, -1)
	require.NotEmpty(t, fences)
	rest, open := []string{}, ""
	for line := range strings.Lines(text) {
		fence := strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "diff")
		switch {
		case open == "" && strings.HasPrefix(line, "```") && strings.Trim(fence, "`") == "":
			open = fence
		case open != "" && strings.TrimSuffix(line, "\n") == open:
			open = ""
		case open == "":
			rest = append(rest, line)
		}
	}
	require.Empty(t, open, "a block of code does not end")
	prose := strings.Join(rest, "")
	// Of the longest fence first, as a reader of Markdown takes them.
	for n := 6; n > 0; n-- {
		fence := strings.Repeat("`", n)
		prose = regexp.MustCompile("(^|[^`])"+fence+"[^`\n](?:[^\n]*?[^`\n])?"+fence+"([^`]|$)").ReplaceAllString(prose, "${1}CODE${2}")
	}
	tags := regexp.MustCompile(`</?[a-zA-Z][^>\n]*>`).FindAllString(prose, -1)
	for _, tag := range tags {
		if strings.HasPrefix(tag, "<https://git.example.com/") { // the target of a link
			continue
		}
		require.Regexp(t, `^</?(details|summary|code|b)>$`, tag)
	}
	// Markdown means nothing in a summary, which is HTML.
	links := regexp.MustCompile(`\]\(<?([^)>]*)`).FindAllStringSubmatch(regexp.MustCompile(`<summary>[^\n]*</summary>`).ReplaceAllString(prose, ""), -1)
	for _, l := range links {
		require.True(t, strings.HasPrefix(l[1], "https://git.example.com/"), l[1])
	}
	require.NotRegexp(t, `@acme`, prose)
	require.NotRegexp(t, `[^&]#\d`, strings.ReplaceAll(prose, "#L", ""))
	require.NotContains(t, prose, "://evil")
}

func TestWhatIsFoundIsForCodeScanning(t *testing.T) {
	before, after := side(deployment("web", "prod", 2)), side(deployment("web", "prod", 1))
	after.Findings = object.Errors{
		{Severity: object.SeverityWarning, Policy: "limits", Node: "web/object", Err: errors.New("no limits"), Pos: object.Pos{File: "apps/a b.yaml", Line: 7, Column: 3}},
		{Severity: object.SeverityWarning, Policy: "other", Err: errors.New("known"), Pos: object.Pos{File: "embedded:webservice/x.cue", Line: 9}},
	}
	before.Findings = object.Errors{{Severity: object.SeverityWarning, Policy: "gone", Err: errors.New("fixed")}}
	data, err := preview.Gather("v1", preview.Revision{}, preview.Revision{}, []preview.Result{result("prod", before, after)}).SARIF()
	require.NoError(t, err)
	var scan struct {
		Version string
		Runs    []struct {
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
			Results []struct {
				RuleID, Level string
				Message       struct{ Text string }
				Locations     []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ StartLine int }
					}
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal(data, &scan))
	require.Equal(t, "2.1.0", scan.Version)
	var got []string
	for _, r := range scan.Runs[0].Results {
		at := r.Locations[0].PhysicalLocation
		got = append(got, r.RuleID+" "+r.Level+" "+at.ArtifactLocation.URI+":"+string(rune('0'+at.Region.StartLine))+" "+r.Message.Text)
	}
	require.Equal(t, []string{
		"danger/image warning apps/web.yaml:3 Deployment.apps prod/web (prod): the image of container main goes back from 1.2.0 to 1.1.0",
		"policy/limits warning apps/a%20b.yaml:7 web/object: no limits",
		"policy/other warning apps/shop/ropewalk.yaml:1 known",
	}, got)
	require.Len(t, scan.Runs[0].Tool.Driver.Rules, 3)
}

func TestWhatASpecIgnoresIsShownAndIsNoViolation(t *testing.T) {
	before, after := side(deployment("web", "prod", 2)), side(deployment("web", "prod", 2))
	after.Findings = object.Errors{
		{Severity: object.SeverityNote, Policy: "limits", Reason: "moved in May", Err: errors.New("no limits"), Pos: object.Pos{File: "apps/web.yaml", Line: 7, Column: 3}},
		{Severity: object.SeverityWarning, Policy: "owners", Reason: "named in May", Err: errors.New("no team")},
	}
	r := preview.Gather("v1", preview.Revision{}, preview.Revision{}, []preview.Result{result("prod", before, after)})
	require.Equal(t, 1, r.Counts.Violations)
	require.Equal(t, "moved in May", r.Environments[0].Findings[1].Reason)
	require.Contains(t, r.Comment(preview.GitHub, preview.Selection{}, preview.Links{}), "- **note**: policy `limits`")
	data, err := r.SARIF()
	require.NoError(t, err)
	require.Contains(t, string(data), `"justification": "moved in May"`)
	require.NotContains(t, string(data), `"justification": "named in May"`)
}

func TestNotesNameVersionsAndBasesThatDoNotRender(t *testing.T) {
	after := side(deployment("web", "a", 1))
	broken := &preview.Side{Findings: object.Errors{{Err: errors.New("it is broken"), Pos: object.Pos{File: "shop/a.yaml", Line: 1}}}}
	var results []preview.Result
	for _, name := range []string{"a", "b"} {
		results = append(results, preview.Result{Project: "shop", Path: "shop", Name: name, Before: broken, After: &after.Side})
	}
	r := preview.Gather("v2", preview.Revision{Name: "oci://r/shop:v1", Ropewalk: "v1"}, preview.Revision{Name: "HEAD"}, results)
	require.Equal(t, []string{
		"The base was rendered by Ropewalk v1 and the head by v2: some differences may come from that.",
		"The base of a and b of shop does not render, so that the head is shown alone: it is broken (shop/a.yaml:1).",
	}, r.Notes)
	require.Empty(t, preview.Gather("v2", preview.Revision{Name: "oci://r/shop:v1", Ropewalk: "v2"}, preview.Revision{}, nil).Notes)
	results[0].Before = nil
	r = preview.Gather("v2", preview.Revision{Problem: "the repository has no such commit", Name: "main"}, preview.Revision{Name: "HEAD"}, results)
	require.Equal(t, []string{"The base main is not there, so that the head is shown alone: the repository has no such commit."}, r.Notes)
}

func TestNotesSayWhyNeitherSideRenders(t *testing.T) {
	mistake := func(severity object.Severity) *preview.Side {
		return &preview.Side{Findings: object.Errors{{Err: errors.New("no answer"), Severity: severity, Pos: object.Pos{File: "web.yaml", Line: 1}}}}
	}
	notes := func(after *preview.Side) []string {
		results := []preview.Result{{Project: "web", Path: "web", Before: mistake(object.SeverityError), After: after}}
		return preview.Gather("v1", preview.Revision{}, preview.Revision{}, results).Notes
	}
	require.Equal(t, []string{"Neither side of web can be rendered: no answer (web.yaml:1)."}, notes(mistake(object.SeverityWarning)))
	require.Empty(t, notes(mistake(object.SeverityError)), "it is an error of the head")
}

func TestEnvironmentsOfEveryKindAreInTheComment(t *testing.T) {
	same := side(deployment("web", "a", 1))
	results := []preview.Result{
		{Project: "shop", Path: "shop", Name: "a"},
		{Project: "shop", Path: "shop", Name: "b", Before: &same.Side, After: &preview.Side{Findings: object.Errors{{Err: errors.New("it is broken"), Pos: object.Pos{File: "shop/a.yaml", Line: 1}}}}},
		result("c", same, same),
	}
	results[2].Project, results[2].Path = "shop", "shop"
	r := preview.Gather("v1", preview.Revision{Name: "main"}, preview.Revision{Name: "HEAD"}, results)
	require.Equal(t, "b of shop cannot be rendered at HEAD; 1 environment is not affected.", r.Summary)
	text := r.Comment(preview.GitHub, preview.Selection{}, preview.Links{})
	require.Contains(t, text, "> [!CAUTION]\n> - b: it is broken (`shop/a.yaml:1`)\n")
	require.Contains(t, text, "| `b` | failed |")
	require.Contains(t, text, "| `c` | 1&nbsp;unchanged |")
	require.NotContains(t, text, "Memory", "no figure moves")
	require.NotContains(t, text, "ghcr.io/acme/web", "an environment that does not render loses no image")
	require.Contains(t, text, "Not affected, and not rendered: 1 environment.")
}
