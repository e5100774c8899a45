// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kinds_test

import (
	"bytes"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/document/kinds"
)

func TestTheSchemaOfEachKindTakesADocumentAndRefusesOthers(t *testing.T) {
	for _, d := range kinds.All() {
		t.Run(d.Kind, func(t *testing.T) {
			require.NotEmpty(t, d.Doc)
			data, err := d.Schema()
			require.NoError(t, err)
			value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
			require.NoError(t, err)
			c := jsonschema.NewCompiler()
			require.NoError(t, c.AddResource("kind.json", value))
			schema, err := c.Compile("kind.json")
			require.NoError(t, err, "%s", data)
			for _, wrong := range []any{nil, "text", []any{}, map[string]any{}, map[string]any{"unknown": "field"}} {
				require.Error(t, schema.Validate(wrong), "%v", wrong)
			}
		})
	}
}

func TestNamesOfSubdomains(t *testing.T) {
	for name, want := range map[string]bool{
		"web": true, "web.shop": true, "1": true, "": false, "Web": false, "web_1": false, "-web": false, "web-": false, "web..shop": false, ".web": false,
	} {
		require.Equal(t, want, kinds.Subdomain(name, 1), name)
	}
}
