// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/check"
)

func TestMistakesInSchemasLieWhereTheyAre(t *testing.T) {
	definition := parse(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {plural: foos, kind: Foo}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: int}
              parts: {type: array, items: {type: list}}
  - name: v2
    served: true
    storage: false
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              color: {type: string}
            x-kubernetes-validations:
            - {rule: "self.color =="}
            - {rule: "self.colour == 'red'"}
  - name: v3
    served: true
    storage: false
    schema:
      openAPIV3Schema:
        type: object
        properties:
          color: {type: string, enum: [red], default: blue}
          size: {type: integer, default: three}
          part: {type: object, default: {a: 1}}
`)
	var lines []string
	for _, f := range judge(check.New(check.Options{}), node(definition)) {
		lines = append(lines, f.Path.String()+" "+f.Message)
	}
	require.Len(t, lines, 7)
	require.Equal(t, `spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.parts.items.type expected "array", "boolean", "integer", "number", "object" or "string", found "list"`, lines[0])
	require.Equal(t, `spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.size.type expected "array", "boolean", "integer", "number", "object" or "string", found "int"`, lines[1])
	require.Contains(t, lines[2], `spec.versions[1].schema.openAPIV3Schema.properties.spec.x-kubernetes-validations[0].rule is not a valid CEL expression: compilation failed: ERROR: <input>:1:14: Syntax error`)
	require.NotContains(t, lines[2], "expecting")
	require.Contains(t, lines[3], `undefined field 'colour'`)
	require.Equal(t, []string{
		`spec.versions[2].schema.openAPIV3Schema.properties.color.default expected "red", found "blue"`,
		`spec.versions[2].schema.openAPIV3Schema.properties.part.default must not have unknown fields`,
		`spec.versions[2].schema.openAPIV3Schema.properties.size.default must be of type integer`,
	}, lines[4:])
}
