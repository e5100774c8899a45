// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/signature"
	"github.com/ropewalk/ropewalk/artifact/statement"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
)

func TestWhatCannotBePushedToIsAMistakeOfTheCommandLine(t *testing.T) {
	digest := "sha256:" + strings.Repeat("a", 64)
	for name, c := range map[string]struct {
		arg  string
		tags []string
		opts artifact.Options
		want string
	}{
		"a tag":                  {arg: "oci://ghcr.io/acme/shop:v1"},
		"no tag":                 {arg: "oci://ghcr.io/acme/shop", tags: []string{"v1", "stable"}},
		"a layout":               {arg: "oci-layout:out/shop:v1"},
		"a digest":               {arg: "oci://ghcr.io/acme/shop@" + digest, want: "nothing can be pushed to a digest"},
		"a name without a host":  {arg: "shop:v1", want: "shop:v1"},
		"a tag that is none":     {arg: "oci://ghcr.io/acme/shop:v1", tags: []string{"v 2"}, want: "v 2"},
		"a source of two lines":  {arg: "oci://ghcr.io/acme/shop:v1", opts: artifact.Options{Source: "https://example.org\nx"}, want: "source"},
		"a source with a secret": {arg: "oci://ghcr.io/acme/shop:v1", opts: artifact.Options{Source: "https://me:hunter2@example.org"}, want: "source"},
	} {
		t.Run(name, func(t *testing.T) {
			err := checkTarget(c.arg, c.tags, c.opts)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			var usage *command.UsageError
			require.ErrorAs(t, err, &usage)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestAnInspectionIsALineForEachPart(t *testing.T) {
	text := inspectionText(artifact.Inspection{
		Reference: "oci://ghcr.io/acme/shop:v1", Digest: "sha256:a", Tree: "sha256:b", MediaType: "m", NotRender: "it is a chart",
		Annotations: map[string]string{artifact.AnnotationRevision: "main\nx", "other": "o"},
		Referrers: []artifact.InspectedReferrer{
			{ArtifactType: signature.BundleType, Digest: "sha256:c", Annotations: map[string]string{"dev.sigstore.bundle.predicateType": statement.PredicateProvenance}},
			{ArtifactType: "t", Digest: "sha256:d"},
		},
	})
	require.Equal(t, []string{
		"oci://ghcr.io/acme/shop:v1",
		"  digest   sha256:a",
		"  tree     sha256:b",
		"  type     m",
		`  revision main\nx`,
		"  attached provenance " + signature.BundleType + " sha256:c (signed, by whom is not checked)",
		"  attached t sha256:d (unsigned)",
		"  files    none: it is a chart",
	}, strings.Split(strings.TrimSpace(text), "\n"))
}
