// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose_test

import (
	"testing"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
)

func TestNamesThatCUEDoesNotKnow(t *testing.T) {
	var files []*ast.File
	for _, text := range []string{
		"package a\nimport \"example.com/web\"\nlet base = 1\n_config: {name: base, nam: 1}\n",
		"package a\nreplicas: 1\nx: {\n",
	} {
		file, _ := parser.ParseFile("a.cue", text) // What there is of one that is no CUE.
		files = append(files, file)
	}
	for message, want := range map[string]string{
		`reference "_confg" not found`:                         `did you mean "_config"?`,
		`reference "bas" not found`:                            `did you mean "base"?`,
		`reference "wb" not found`:                             `did you mean "web"?`,
		`undefined field: nam`:                                 `did you mean "name"?`,
		`undefined field: replica`:                             `did you mean "replicas"?`,
		`undefined field: bas`:                                 ``, // A let is no field.
		`undefined field: elsewhere`:                           ``,
		`undefined field "replica"`:                            `did you mean "replicas"?`,
		`invalid interpolation: undefined field "replica"`:     `did you mean "replicas"?`,
		`builtin package "string" undefined`:                   `did you mean "strings"?`,
		`cannot call non-function strings.ToLowr (type _|_)`:   `did you mean "ToLower"?`,
		`cannot call non-function elsewhere.ToLowr (type _|_)`: ``,
		`conflicting values "_confg" and 1`:                    ``,
		`something else, and reference "_confg" not found`:     ``,
	} {
		require.Equal(t, want, diagnose.Near(message, files), message)
	}
}
