// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/plugin/host/release"
)

// syncDocument is a document of one artifact, and mistaken one whose line 4 is wrong.
const syncDocument = `apiVersion: ropewalk.dev/v1alpha1
kind: ArtifactSync
metadata: {name: all}
spec: {artifacts: [{from: oci://build.example/a:v1, to: oci://registry.example/a}]}
`

var mistaken = strings.Replace(syncDocument, "v1, to", "v1, into", 1)

func TestDocumentsOfAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sync.yaml")
	a := Commands{command.New(command.Streams{})}
	for name, c := range map[string]struct {
		text  string
		count int
		want  []string
	}{
		"one":                             {syncDocument, 1, nil},
		"two":                             {syncDocument + "---\n" + syncDocument, 2, nil},
		"empty ones beside":               {"---\n\n---  # the first\n" + syncDocument + "---\n---\n", 1, nil},
		"lines of Windows":                {syncDocument + "---\r\n" + syncDocument, 2, nil},
		"a line that only begins so":      {syncDocument + "---x\n", 0, []string{"sync.yaml:5:"}},
		"no document":                     {"", 0, []string{"it is none of ArtifactSync"}},
		"a mistake in the second":         {syncDocument + "---\n" + mistaken, 0, []string{"sync.yaml:9:"}},
		"mistakes in several are counted": {mistaken + "---\n" + mistaken, 0, []string{"sync.yaml:4:", "sync.yaml:9:"}},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(file, []byte(c.text), 0o600))
			documents, err := a.readDocuments(file)
			if c.want == nil {
				require.NoError(t, err)
				require.Len(t, documents, c.count)
				return
			}
			for _, want := range c.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

func TestAnArtifactThatSeveralDocumentsListIsCopiedOnce(t *testing.T) {
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one.yaml"), filepath.Join(dir, "two.yaml")
	for _, file := range []string{one, two} {
		require.NoError(t, os.WriteFile(file, []byte(syncDocument), 0o600))
	}
	items, err := Commands{command.New(command.Streams{})}.syncItems([]string{one, two})
	require.NoError(t, err)
	require.Len(t, items, 1)

	_, err = itemsOf("plan.yaml", &release.BuildPlan{})
	require.ErrorContains(t, err, "plan.yaml: expected a document of kind ArtifactSync or Installation")
}
