// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"encoding/json"
	"strings"
	"testing"
	_ "time/tzdata" // for a Go without the file

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/check/schemas"
)

func TestEveryComponentIsThereAndCanBeRead(t *testing.T) {
	components := map[string]*schema{}
	for line := range strings.Lines(schemas.Components()) {
		name, text, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		require.True(t, ok)
		d := json.NewDecoder(strings.NewReader(text))
		d.DisallowUnknownFields()
		s := &schema{}
		require.NoError(t, d.Decode(s), name)
		components[name] = s
	}
	for name, s := range components {
		requireRefs(t, components, name, s)
	}
	for apiVersion, kind := range eachBuiltIn {
		info, ok := LookupKind(apiVersion, kind)
		require.True(t, ok)
		require.Contains(t, components, info.component)
	}
	_, ok := LookupKind("v1", "Po")
	require.False(t, ok)
}

func requireRefs(t *testing.T, components map[string]*schema, name string, s *schema) {
	if s == nil {
		return
	}
	if s.Ref != "" {
		require.Contains(t, components, s.Ref, name)
	}
	for _, check := range s.Checks {
		require.NotNil(t, checkFor(check), "%s: %s", name, check)
	}
	require.False(t, s.Max != nil && s.Min == nil, "%s: no bound below", name)
	requireRefs(t, components, name, s.Items)
	requireRefs(t, components, name, s.Values)
	for _, p := range s.Properties {
		require.Nil(t, p.Properties, "only components have members: %s", name)
		requireRefs(t, components, name, p)
	}
}
