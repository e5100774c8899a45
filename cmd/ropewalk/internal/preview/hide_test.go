// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/object"
)

func TestSecretsAreHiddenInURLsAndAsAPartOfBase64(t *testing.T) {
	const secret = "pass word/7412"
	for _, text := range []string{
		"postgres://u:" + url.QueryEscape(secret) + "@db", "postgres://u:" + url.PathEscape(secret) + "@db",
		base64.StdEncoding.EncodeToString([]byte("u:" + secret)), base64.StdEncoding.EncodeToString([]byte("us:" + secret + "!")),
		base64.StdEncoding.EncodeToString([]byte("use:" + secret + "@host")), base64.RawStdEncoding.EncodeToString([]byte(secret)),
	} {
		report := diff.Report{Changes: []diff.Change{{Fields: []diff.Field{{Before: text, After: "a"}}}}}
		HideIn(&report, []string{secret})
		require.Contains(t, report.Changes[0].Fields[0].Before, "(hidden 1)", text)
	}
	// A form of few digits would be found in words.
	require.Empty(t, shifted("word"))
}

func TestSecretsAreHiddenWhereverTheyAre(t *testing.T) {
	shared := map[string]any{"c4n4ry": "x-c4n4ry", "list": []any{"c4n4ry", json.Number("7412"), 7412, "abc"}, "short": "ab cab"}
	report := Report{
		Summary: "c4n4ry is gone", Environments: []Environment{{State: Changed, After: &Outline{Totals: diff.Totals{Images: map[string]int{"c4n4ry:1": 7412}}}}},
		Objects: []Object{{Name: "c4n4ry", Variants: []Variant{{
			Change:   diff.Change{Kind: diff.Changed, Fields: []diff.Field{{Path: "data", Before: shared, After: "line\nYzRuNHJ5\n"}}, Object: object.Object(shared)},
			Manifest: "a: c4n4ry",
		}}}},
		pictures: [][]byte{[]byte("<text>c4n4ry</text>")},
	}
	report.Hide([]string{"c4n4ry", "7412", "ab", "changed", "x", "c4n4ry"})
	data, err := json.Marshal(report)
	require.NoError(t, err)
	require.NotContains(t, string(data)+string(report.pictures[0]), "c4n4ry")
	require.NotContains(t, string(data), "YzRuNHJ5")
	require.Equal(t, map[string]any{
		"(hidden 1)": "x-(hidden 1)", "list": []any{"(hidden 1)", "(hidden 2)", "(hidden 2)", "abc"}, "short": "ab cab",
	}, report.Objects[0].Variants[0].Fields[0].Before)
	require.Equal(t, Changed, report.Environments[0].State)
	require.Equal(t, diff.Changed, report.Objects[0].Variants[0].Kind)
	// What a side holds itself stays as it is.
	require.Equal(t, "x-c4n4ry", shared["c4n4ry"])
}
