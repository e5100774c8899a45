// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/plugin/pivot"
)

func TestAPlanOfProvidersIsATableDataOrObjects(t *testing.T) {
	var plan pivot.ProviderPlan
	require.NoError(t, json.Unmarshal([]byte(`{"steps": [
		{"kind": "CoreProvider", "name": "cluster-api", "namespace": "capi-system", "installed": "v1.13.2", "version": "v1.14.0", "action": "upgrade"},
		{"kind": "InfrastructureProvider", "name": "aws", "namespace": "capa-system", "version": "v2.13.0", "action": "install"}
	], "notes": ["there is no operator"]}`), &plan))
	printed := func(format string) (string, string) {
		var out, said bytes.Buffer
		require.NoError(t, Commands{command.New(command.Streams{Out: &out, Err: &said})}.printProviders(plan, format))
		return out.String(), said.String()
	}
	table, _ := printed("text")
	require.Regexp(t, `(?m)^KIND +NAME +NAMESPACE +INSTALLED +PLAN +VERSION`, table)
	require.Regexp(t, `(?m)^CoreProvider +cluster-api +capi-system +v1.13.2 +upgrade +v1.14.0`, table)
	require.Regexp(t, `(?m)^InfrastructureProvider +aws +capa-system +- +install +v2.13.0`, table)
	require.Contains(t, table, "note: there is no operator")

	data, _ := printed("json")
	var again pivot.ProviderPlan
	require.NoError(t, json.Unmarshal([]byte(data), &again))
	require.Equal(t, plan, again)

	objects, said := printed("yaml")
	require.Contains(t, objects, "kind: InfrastructureProvider")
	require.NotContains(t, objects, "note")
	require.Contains(t, said, "note: there is no operator")
}
