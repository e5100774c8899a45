// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/check"
)

// The oracle, which judges the bad expressions of policies and webhooks beside those
// of the corpus, accepts the good ones too; it knows no MutatingAdmissionPolicy and no
// DeviceClass.
func TestExpressionsThatCompileAreAccepted(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/expressions/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Empty(t, judge(check.New(check.Options{}), node(parse(t, string(content)))), file)
	}
}

func TestExpressionsOfMutationsAndDevices(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ file, was, is, want string }{
		"a type that is no part of the object": {
			"mutating", "Object{spec: Object.spec{replicas: 1}}", "Objec{spec: 1}",
			"spec.mutations[0].applyConfiguration.expression is not a valid CEL expression: line 1, column 6: undeclared reference to 'Objec'",
		},
		"a mutation of another type": {
			"mutating", "Object{spec: Object.spec{replicas: 1}}", "object",
			"spec.mutations[0].applyConfiguration.expression must be a CEL expression of type Object, found dyn",
		},
		"a patch with an unknown field": {
			"mutating", "op: 'add'", "opp: 'add'",
			"spec.mutations[1].jsonPatch.expression is not a valid CEL expression: line 1, column 15: expected type of field 'opp' is '' but provided type is 'string'",
		},
		"a variable of a mutation that is not declared": {
			"mutating", "variables.team", "variables.tem",
			"spec.mutations[1].jsonPatch.expression is not a valid CEL expression: line 1, column 95: undefined field 'tem'",
		},
		"an unknown field of a device": {
			"device", "device.driver ==", "device.drivr ==",
			"spec.selectors[0].cel.expression is not a valid CEL expression: line 1, column 7: undefined field 'drivr'",
		},
		"a selector of another type": {
			"device", "device.driver == 'gpu.example.com' && device.attributes['gpu.example.com'].type == 'gpu'", "device.driver",
			"spec.selectors[0].cel.expression must be a CEL expression of type bool or dyn, found string",
		},
		"a variable of another kind of expression": {
			"device", "device.driver ==", "object.driver ==",
			"spec.selectors[0].cel.expression is not a valid CEL expression: line 1, column 1: undeclared reference to 'object'",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile("testdata/expressions/" + tt.file + ".yaml")
			require.NoError(t, err)
			require.Contains(t, string(content), tt.was)
			o := parse(t, strings.Replace(string(content), tt.was, tt.is, 1))
			var got []string
			for _, f := range judge(check.New(check.Options{}), node(o)) {
				got = append(got, fmt.Sprintf("%s %s", f.Path, f.Message))
			}
			require.Equal(t, []string{tt.want}, got)
		})
	}
}
