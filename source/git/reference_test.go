// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
)

func TestReferencesAreRead(t *testing.T) {
	t.Parallel()
	hash := strings.Repeat("0a", 20)
	cases := []struct {
		ref                          string
		scheme, user, host, port     string
		path, by, choice, pinnedPath string
		submodules                   bool
	}{
		{ref: "https://host/org/repo.git", scheme: "https", host: "host", path: "/org/repo.git"},
		{ref: "https://host:8443/repo?tag=v1.2.0", scheme: "https", host: "host", port: "8443", path: "/repo", by: "tag", choice: "v1.2.0"},
		{ref: "ssh://git@host/org/repo.git?branch=main", scheme: "ssh", user: "git", host: "host", path: "/org/repo.git", by: "branch", choice: "main"},
		{ref: "ssh://host:2222/~me/repo.git", scheme: "ssh", host: "host", port: "2222", path: "~me/repo.git"},
		{ref: "git@host:org/repo.git?commit=" + hash, scheme: "ssh", user: "git", host: "host", path: "org/repo.git", by: "commit", choice: hash},
		{ref: "https://host/r?semver=>=1.0.0 <2.0.0", scheme: "https", host: "host", path: "/r", by: "semver", choice: ">=1.0.0 <2.0.0"},
		{ref: "https://host/r?branch=a%2Bb+c&submodules=true", scheme: "https", host: "host", path: "/r", by: "branch", choice: "a+b+c", submodules: true},
		{ref: "https://[::1]:3000/r", scheme: "https", host: "::1", port: "3000", path: "/r"},
	}
	for _, c := range cases {
		r, err := parse(c.ref)
		require.NoError(t, err, c.ref)
		require.Equal(t, []string{c.scheme, c.user, c.host, c.port, c.path, c.by, c.choice}, []string{r.scheme, r.user, r.host, r.port, r.path, r.by, r.choice}, c.ref)
		require.Equal(t, c.submodules, r.submodules)
	}
}

func TestBadReferencesSayTheRightForm(t *testing.T) {
	t.Parallel()
	refs := []string{
		"", "repo", "host/org/repo", "/tmp/repo", "file:///tmp/repo", "ext::sh -c true", "git://host/repo", "https://host", "https://host/", "https://host/a b",
		"https://host/r?tag=", "https://host/r?tag=a&branch=b", "https://host/r?ref=x", "https://host/r?tag=%zz", "https://host/r#main", "https://host/r?branch=-x",
		"https://host/r?branch=a..b", "https://host/r?branch=a.lock", "https://host/r?branch=x\ny", "https://host/r?commit=abc", "https://host/r?submodules=maybe",
		"ssh://-oProxyCommand=x/r", "ssh://-x@host/r", "git@-host:r", "git@host:-r", "git@ho st:r", "ssh://git@host:99999/r", "git@host:", "a/b@host:r", "https://ho$t/r",
		"https://hｏst/r", "https://ho。st/r", "ssh://git@bücher.example/r", "git@hoſt:r", "https://h%ef%bd%8fst/r", "https://host%2eexample/r",
	}
	for _, ref := range refs {
		_, err := parse(ref)
		require.ErrorIs(t, err, source.ErrReference, "%q", ref)
		require.ErrorContains(t, err, "https://host/org/repo.git?tag=v1.2.0", "%q", ref)
	}
	_, err := parse("https://host/r?semver=not a range")
	require.ErrorIs(t, err, source.ErrReference)
	require.ErrorContains(t, err, "?semver=^1.2")
	_, err = (&Fetcher{}).Fetch(t.Context(), source.Ref{Ref: "http://host/r"})
	require.ErrorIs(t, err, source.ErrReference)
	require.ErrorContains(t, err, "not encrypted")
	_, err = (&Fetcher{}).Fetch(t.Context(), source.Ref{Ref: "https://host/" + strings.Repeat("x", 100_000) + " y"})
	require.ErrorIs(t, err, source.ErrReference)
	require.Less(t, len(err.Error()), 800, "a reference that is no good is not repeated without end")
}

func TestCredentialsInAReferenceAreRefusedAndNotRepeated(t *testing.T) {
	t.Parallel()
	refs := []string{
		"https://me:" + canary + "@host/r", "https://" + canary + "@host/r", "ssh://git:" + canary + "@host/r", "https://me:a/" + canary + "@host/r?tag=x",
		"https://me:" + canary + "@ho st/r", "https://me:" + canary + "@host/r?branch=..", "http://me:" + canary + "@host/%zz",
	}
	for _, ref := range refs {
		_, err := (&Fetcher{PlainHTTP: anyHost}).Fetch(t.Context(), source.Ref{Ref: ref})
		require.ErrorIs(t, err, source.ErrReference, ref)
		require.NotContains(t, err.Error(), canary, ref)
	}
}

func TestTheHighestVersionWins(t *testing.T) {
	t.Parallel()
	var adverts []advert
	for _, name := range []string{"v1.9.0", "v1.10.0", "1.2.0", "v2.0.0-rc.1", "v2.0.0+build", "v01.0.0", "v1", "nightly"} {
		adverts = append(adverts, advert{name: tags + name, id: strings.Repeat("1", 40)})
	}
	for text, want := range map[string]string{"^1.2": "v1.10.0", "1.2.x": "1.2.0", "*": "v2.0.0+build", ">=2.0.0-0 <2.0.0": "v2.0.0-rc.1", "<1.10": "v1.9.0"} {
		c, err := chooseHighest(adverts, text)
		require.NoError(t, err, text)
		require.Equal(t, want, c.name, text)
	}
	_, err := chooseHighest(adverts, "^7")
	require.ErrorIs(t, err, source.ErrNotFound)
}

func FuzzReference(f *testing.F) {
	for _, seed := range []string{
		"https://host/org/repo.git?tag=v1.2.0", "ssh://git@host:22/~x/y?branch=a%2Fb&submodules=true", "git@host:org/repo.git?semver=^1.2",
		"https://u:p@host/x", "-oProxyCommand=x:y", "https://[::1]/x?commit=0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		r, err := parse(ref)
		if err != nil {
			require.ErrorIs(t, err, source.ErrReference)
			return
		}
		for _, part := range []string{r.user, r.host, r.path, r.choice} {
			require.False(t, strings.HasPrefix(part, "-") && part != r.choice, "%q would be an option", part)
			require.NotContains(t, part, "\n")
		}
		require.False(t, strings.HasPrefix(r.url, "-"))
		require.True(t, r.scheme == schemeSSH || !strings.Contains(strings.Split(r.url, "/")[2], "@"), "%q holds credentials", r.url)
		again, err := parse(r.at(strings.Repeat("0a", 20)))
		require.NoError(t, err, "a pinned reference can be read")
		require.Equal(t, r.location, again.location)
		require.Equal(t, r.submodules, again.submodules)
	})
}

func FuzzPack(f *testing.F) {
	f.Add([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01\x33x\x9c\x4b\x4c\x4a\x06\x00\x02\x4d\x01\x27"))
	f.Add([]byte("PACK\x00\x00\x00\x02\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		const limit = 1 << 20
		to, err := unpack(data, limit)
		if err != nil {
			return
		}
		var size int64
		for _, o := range to.Objects {
			size += o.Size()
		}
		require.LessOrEqual(t, size, int64(limit))
	})
}
