// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package browser_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/test/browser"
)

// TestThePageOfTheSiteFindsWhatIsSearched types into the search of a page that lies on a disk, by
// keys alone. ROPEWALK_SITE is the folder of the site.
func TestThePageOfTheSiteFindsWhatIsSearched(t *testing.T) {
	site := os.Getenv("ROPEWALK_SITE")
	if site == "" {
		t.Skip("make pages writes the site")
	}
	page := browser.Open(t, "file://"+filepath.Join(site, "docs", "start.html"), browser.View{Width: 1200, Height: 900})
	page.Key("/")
	for _, key := range "wave" {
		page.Key(string(key))
	}
	var found []string
	page.Eval(`new Promise(done => { const look = () => { const all = [...document.querySelectorAll('#found a')].map(a => a.textContent); all.length ? done(all) : setTimeout(look, 20); }; look(); })`, &found)
	require.Contains(t, found[0], "Graph and waves")
	page.Key("ArrowDown")
	page.Key("ArrowDown")
	var at int
	page.Eval(`[...document.querySelectorAll('#found a')].indexOf(document.activeElement)`, &at)
	require.Equal(t, 1, at)
	page.Key("ArrowUp")
	page.Key("Enter")
	var href string
	page.Eval(`new Promise(done => setTimeout(() => done(location.href), 500))`, &href)
	require.Equal(t, "file://"+filepath.Join(site, "docs", "concepts.html")+"#graph-and-waves", href)
	require.Empty(t, page.Errors)

	nothing := browser.Open(t, "file://"+filepath.Join(site, "index.html"), browser.View{Width: 400, Height: 900})
	nothing.Key("/")
	for _, key := range "xyzzy <b>" {
		nothing.Key(string(key))
	}
	var text string
	nothing.Eval(`new Promise(done => { const look = () => { const t = document.getElementById('found').textContent; t ? done(t) : setTimeout(look, 20); }; look(); })`, &text)
	require.Equal(t, "Nothing has all of these words.", text)
}
