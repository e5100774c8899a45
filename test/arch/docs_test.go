// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLinksOfTheDocumentationLeadSomewhere follows every link between files of the repository, to its
// heading too. Links to other hosts are not looked at.
func TestLinksOfTheDocumentationLeadSomewhere(t *testing.T) {
	links := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headings := map[string][]string{}
	for _, p := range paths(t) {
		if path.Ext(p) != ".md" || strings.Contains(p, "/testdata/") {
			continue
		}
		for _, m := range links.FindAllStringSubmatch(prose(read(t, p)), -1) {
			target, fragment, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, ":") {
				continue
			}
			to := p
			if target != "" {
				to = path.Join(path.Dir(p), target)
				_, err := os.Stat(filepath.Join(root, to))
				require.NoError(t, err, "%s: the link to %s leads nowhere", p, m[1])
			}
			if fragment == "" || path.Ext(to) != ".md" {
				continue
			}
			if headings[to] == nil {
				headings[to] = anchors(read(t, to))
			}
			require.True(t, slices.Contains(headings[to], fragment), "%s: the link to %s leads to no heading: there are %v", p, m[1], headings[to])
		}
	}
}

// prose is Markdown without its blocks of code.
func prose(text string) string {
	var out strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			inside = !inside
			continue
		}
		if !inside {
			out.WriteString(regexp.MustCompile("`[^`]*`").ReplaceAllString(line, "code"))
		}
	}
	return out.String()
}

// anchors are the names of the headings of a file, as forges and the site make them.
func anchors(text string) (out []string) {
	text = strings.ReplaceAll(text, "`", "")
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		out = append(out, strings.ReplaceAll(name, " ", "-"))
	}
	return out
}
