// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/artifact"
)

func TestParseLocation(t *testing.T) {
	t.Parallel()
	digest := "sha256:" + strings.Repeat("a", 64)
	for text, want := range map[string]artifact.Location{
		"oci://ghcr.io/org/shop":                 {Kind: artifact.Registry, Name: "ghcr.io/org/shop"},
		"ghcr.io/org/shop:v1":                    {Kind: artifact.Registry, Name: "ghcr.io/org/shop", Tag: "v1"},
		"localhost/shop":                         {Kind: artifact.Registry, Name: "localhost/shop"},
		"oci://registry/shop":                    {Kind: artifact.Registry, Name: "registry/shop"},
		"oci-layout:@x/out":                      {Kind: artifact.LayoutDir, Name: "@x/out"},
		"127.0.0.1:5000/shop":                    {Kind: artifact.Registry, Name: "127.0.0.1:5000/shop"},
		"oci://127.0.0.1:5000/shop:v1@" + digest: {Kind: artifact.Registry, Name: "127.0.0.1:5000/shop", Tag: "v1", Digest: digest},
		"oci-layout:out":                         {Kind: artifact.LayoutDir, Name: "out"},
		"oci-layout:/tmp/a:b/out:v1":             {Kind: artifact.LayoutDir, Name: "/tmp/a:b/out", Tag: "v1"},
		`oci-layout:C:\out`:                      {Kind: artifact.LayoutDir, Name: `C:\out`},
		"oci-layout:../out@" + digest:            {Kind: artifact.LayoutDir, Name: "../out", Digest: digest},
		"oci-archive:out.tar:v1":                 {Kind: artifact.LayoutFile, Name: "out.tar", Tag: "v1"},
	} {
		got, err := artifact.ParseLocation(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for text, want := range map[string]string{
		"":                                   "a host and a lower-case repository name", // names nothing
		"oci-layout:":                        "it names nothing",
		"oci-layout:out:":                    "its tag is empty",
		"oci-archive:out.tar:":               "its tag is empty",
		"oci-layout::":                       "its tag is empty",
		"shop":                               "a host and a lower-case repository name are required",
		"ghcr.io/Org/shop":                   "a host and a lower-case repository name are required",
		"ghcr.io/../shop":                    "a host and a lower-case repository name are required",
		"https://ghcr.io/shop":               "only oci:// names a registry",
		"ghcr.io/shop:a b":                   "its tag contains characters that are not allowed in a tag",
		"ghcr.io/shop@sha256:abc":            "its digest is not sha256:",
		"oci://ann:canary@ghcr.io/shop":      "credentials are not allowed in it",
		"ghcr.io/shop\n":                     "it contains control characters",
		"./out/shop":                         "oci-layout:./out/shop is a layout in that folder",
		"out/shop:v1":                        "oci-layout:out/shop:v1 is a layout in that folder",
		"/out":                               "oci-layout:/out is a layout in that folder",
		"oci://./shop":                       "a host and a lower-case repository name are required",
		"oci-layout:out@sha512:abc":          "only sha256 digests are read",
		"oci://ghcr.io/shop?token=canary#xx": "a host and a lower-case repository name",
	} {
		_, err := artifact.ParseLocation(text)
		require.ErrorIs(t, err, artifact.ErrReference, text)
		if text != "" {
			require.ErrorContains(t, err, want, text)
		}
		require.ErrorContains(t, err, "oci-layout:DIR[:tag]", text)
		if strings.Contains(text, "@") {
			require.NotContains(t, err.Error(), "canary")
		}
	}
	require.Equal(t, "latest", artifact.Location{}.Reference())
	require.Equal(t, "v1", artifact.Location{Tag: "v1"}.Reference())
	require.Equal(t, digest, artifact.Location{Tag: "v1", Digest: digest}.Reference())
}

// FuzzParseLocation wants that what is read is written the same way.
func FuzzParseLocation(f *testing.F) {
	for _, seed := range []string{"oci://a/b:c", "oci-layout:a:b", "oci-archive:x.tar@sha256:" + strings.Repeat("a", 64), "oci-layout:a::b:", "a/b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := artifact.ParseLocation(text)
		if err != nil {
			require.ErrorIs(t, err, artifact.ErrReference)
			return
		}
		again, err := artifact.ParseLocation(l.String())
		require.NoError(t, err)
		require.Equal(t, l, again)
	})
}
