// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
	dom "golang.org/x/net/html"
)

// comments has cmd/ropewalk/internal/preview write comments: one in which every text is an
// attack, and a long one.
func comments(t *testing.T) (files []string) {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-run=^TestCommentsForReaders$", "./cmd/ropewalk/internal/preview")
	cmd.Dir, cmd.Env = "../..", append(os.Environ(), "ROPEWALK_COMMENTS="+dir)
	log, err := cmd.CombinedOutput()
	require.NoError(t, err, string(log))
	files, err = filepath.Glob(filepath.Join(dir, "*.md"))
	require.NoError(t, err)
	require.Len(t, files, 4)
	return files
}

// rendered is a comment as HTML, before the forge sanitizes it.
func rendered(t *testing.T, file string) *dom.Node {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var page bytes.Buffer
	require.NoError(t, goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithUnsafe())).Convert(text, &page))
	root, err := dom.Parse(&page)
	require.NoError(t, err)
	return root
}

// within are the names of the elements around a node, the nearest first.
func within(n *dom.Node) (names []string) {
	for p := n.Parent; p != nil; p = p.Parent {
		names = append(names, p.Data)
	}
	return names
}

// all are the elements of a name.
func all(root *dom.Node, name string) (out []*dom.Node) {
	for n := range root.Descendants() {
		if n.Type == dom.ElementNode && n.Data == name {
			out = append(out, n)
		}
	}
	return out
}

func content(root *dom.Node) string {
	var b strings.Builder
	for n := range root.Descendants() {
		if n.Type == dom.TextNode {
			b.WriteString(n.Data)
		}
	}
	return b.String()
}

// TestACommentIsForReadersAndNotForServers looks at comments on changes as elements: nothing of others
// is one, leads away, is loaded, mentions anybody, hides what comes after it or breaks a table.
func TestACommentIsForReadersAndNotForServers(t *testing.T) {
	elements := strings.Fields("html head body h2 h3 p ul li blockquote code pre details summary b strong em a table thead tbody tr th td")
	attributes := strings.Fields("href class align style")
	// What a server acts on outside of code: it links, mentions, refers or shows formulas.
	acts := regexp.MustCompile(`@[\w-]|#\d|[!$&]\d|(?i:\bgh-\d)|://|(?i:\bwww\.)|(?m:^/)|\$[^\s$]+\$`)
	for _, file := range comments(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			root := rendered(t, file)
			for n := range root.Descendants() {
				switch n.Type {
				case dom.ElementNode:
					require.Contains(t, elements, n.Data)
					for _, a := range n.Attr {
						require.Contains(t, attributes, a.Key)
						if a.Key == "href" {
							require.Regexp(t, `^https://git\.example\.com/`, a.Val)
						}
					}
				case dom.CommentNode:
					require.Equal(t, " ropewalk-preview projects=all environments=all ", n.Data)
				case dom.TextNode:
					for _, r := range n.Data {
						require.True(t, unicode.IsGraphic(r) || r == '\n' || r == '\u200b', "%q is in %q", r, n.Data)
					}
					if around := within(n); !slices.Contains(around, "code") && !slices.Contains(around, "pre") {
						require.NotRegexp(t, acts, n.Data)
					}
				}
			}
			for _, d := range all(root, "details") {
				require.NotNil(t, d.FirstChild)
				require.Equal(t, "summary", d.FirstChild.Data)
			}
			for _, name := range []string{"h2", "h3", "blockquote", "table"} {
				for _, n := range all(root, name) {
					require.NotContains(t, within(n), "details", "%s is folded away: %s", name, content(n))
				}
			}
			require.Len(t, all(root, "h2"), 1)
			for _, row := range all(root, "tr") {
				require.Len(t, append(all(row, "th"), all(row, "td")...), len(all(all(root, "tr")[0], "th")), content(row))
			}
			if strings.HasPrefix(filepath.Base(file), "hostile") {
				text := content(root)
				for _, attack := range []string{"<script>window.pwned = 1</script>", "[x](https://evil.example/)", "![x](https://evil.example/x.png)", "<details open><summary>x", "-->", `safe\u202egnp.exe`, "`code` ``x`` ```"} {
					require.Contains(t, text, attack, "is shown as it is")
				}
			}
		})
	}
}
