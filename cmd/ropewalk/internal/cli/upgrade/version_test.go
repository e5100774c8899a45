// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAReferenceIsCutAroundItsVersion(t *testing.T) {
	hex := strings.Repeat("ab", 32)
	for ref, want := range map[string]struct{ version, at, within string }{
		"oci oci://h:5000/a/b:v1.2.3":               {"v1.2.3", "oci://h:5000/a/b:v9.0.0", "oci://h:5000/a/b?semver=%3E=1"},
		"oci oci://h/b:1.2.3@sha256:" + hex:         {"1.2.3", "oci://h/b:v9.0.0@sha256:new", "oci://h/b?semver=%3E=1"},
		"oci oci://h:5000/b:latest":                 {"", "oci://h:5000/b:v9.0.0", "oci://h:5000/b?semver=%3E=1"},
		"oci oci://h:5000/b":                        {"", "oci://h:5000/b:v9.0.0", "oci://h:5000/b?semver=%3E=1"},
		"oci oci://h/b?semver=^1":                   {"", "oci://h/b:v9.0.0", "oci://h/b?semver=%3E=1"},
		"oci oci://h/b:v1":                          {"", "oci://h/b:v9.0.0", "oci://h/b?semver=%3E=1"},
		"git https://h/b.git?tag=v1.2.3":            {"v1.2.3", "https://h/b.git?tag=v9.0.0", "https://h/b.git?semver=%3E=1"},
		"git https://h/b?submodules=true&tag=1.0.0": {"1.0.0", "https://h/b?submodules=true&tag=v9.0.0", "https://h/b?submodules=true&semver=%3E=1"},
		"git https://h/b?tag=1.0.0&submodules=true": {"1.0.0", "https://h/b?tag=v9.0.0&submodules=true", "https://h/b?semver=%3E=1&submodules=true"},
		"git git@h:b.git":                           {"", "git@h:b.git?tag=v9.0.0", "git@h:b.git?semver=%3E=1"},
		"git https://h/b?branch=main":               {"", "https://h/b?tag=v9.0.0", "https://h/b?semver=%3E=1"},
		"helm https://h/b?chart=c&version=1.2.3":    {"1.2.3", "https://h/b?chart=c&version=v9.0.0", "https://h/b?chart=c&version=%3E=1"},
		"helm https://h/b?chart=c":                  {"", "https://h/b?chart=c&version=v9.0.0", "https://h/b?chart=c&version=%3E=1"},
	} {
		kind, text, _ := strings.Cut(ref, " ")
		v, ok := versionedOf(kind, text)
		require.True(t, ok, ref)
		require.Equal(t, want.version, v.version, ref)
		require.Equal(t, want.at, v.at("v9.0.0", "sha256:new"), ref)
		require.Equal(t, want.within, v.within(">=1"), ref)
	}
	for _, ref := range []string{
		"oci oci://h/b@sha256:" + hex, "oci oci://h/b:v1@sha256:" + hex, "git https://h/b?commit=" + hex, "helm https://h/b?chart=c&version=1.0.0&digest=sha256:" + hex,
		"http https://h/b.yaml",
	} {
		kind, text, _ := strings.Cut(ref, " ")
		_, ok := versionedOf(kind, text)
		require.False(t, ok, ref)
	}
}

func TestHowFarAnUpgradeGoes(t *testing.T) {
	for _, c := range []struct{ from, to, tag string }{
		{"v1.2.3", toPatch, "v1.2.9"}, {"v1.2.3", toMinor, "1.9.0"}, {"1.2.3", toMajor, "v3.0.0"}, {"0.2.3", toMinor, "0.2.9"}, {"0.2.3", toMajor, "0.3.0"},
		{"1.2.0-rc.1", toMinor, "1.2.0-rc.2"}, {"1.2.0-rc.1", toMinor, "1.3.0"}, {"1.2.0-rc.1", toMajor, "2.0.0-rc.1"}, {"1.2.3_build", toMinor, "1.2.4_build"},
	} {
		require.True(t, later(c.tag, c.from), c)
		require.True(t, inRange(upTo(c.from, c.to), c.tag), c)
		require.True(t, inRange(upTo(c.from, c.to), strings.ReplaceAll(c.from, "_", "+")), c)
	}
	for _, c := range []struct{ from, to, tag string }{
		{"v1.2.3", toPatch, "v1.3.0"}, {"v1.2.3", toMinor, "2.0.0"}, {"0.2.3", toMinor, "0.3.0"}, {"1.2.0-rc.1", toMinor, "2.0.0-rc.1"}, {"1.2.3", toMajor, "2.0.0-rc.1"},
		{"1.2.3", toMajor, "latest"}, {"1.2.3", toMajor, "1.2"},
	} {
		require.False(t, inRange(upTo(c.from, c.to), c.tag), c)
	}
	require.False(t, later("v1.2.3", "1.2.3"), "a v is no difference")
}
