// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/check"
	"github.com/ropewalk/ropewalk/render/object"
)

// TestEveryKeywordIsWorded holds the path and the words of each error that the
// libraries report. A new version of them may word errors anew.
func TestEveryKeywordIsWorded(t *testing.T) {
	for name, c := range map[string]struct{ schema, value, want string }{
		"a type":                      {`{type: integer}`, `"3"`, `spec.x.y expected an integer, found the string "3" (write it without quotes)`},
		"a list for a text":           {`{type: string}`, `[a]`, `spec.x.y expected a string, found a list`},
		"an integer or a string":      {`{x-kubernetes-int-or-string: true}`, `[1]`, `spec.x.y expected an integer or a string, found a list`},
		"a fraction for an integer":   {`{type: integer}`, `1.5`, `spec.x.y expected an integer, found the number 1.5`},
		"null that has no default":    {`{type: array, items: {type: string}}`, `[null]`, `spec.x.y[0] expected a string, found null`},
		"a format":                    {`{type: string, format: date-time}`, `soon`, `spec.x.y expected a text of the form date-time, found "soon"`},
		"a number out of its format":  {`{type: integer, format: int32}`, `3000000000`, `spec.x.y expected a number of the type integer with format int32, found 3000000000`},
		"an enum of texts":            {`{type: string, enum: [red, blue]}`, `blu`, `spec.x.y expected "red" or "blue", found "blu" (did you mean "blue"?)`},
		"an enum of numbers":          {`{type: integer, enum: [1, 2]}`, `3`, `spec.x.y expected 1 or 2, found 3`},
		"a long text":                 {`{type: string, maxLength: 2}`, `äöü`, `spec.x.y expected at most 2 characters, found 3`},
		"a short text":                {`{type: string, minLength: 1}`, `""`, `spec.x.y expected at least 1 character, found ""`},
		"a pattern":                   {`{type: string, pattern: '^a in body b$'}`, `x`, `spec.x.y expected a text that matches ^a in body b$, found "x"`},
		"a maximum":                   {`{type: integer, maximum: 3}`, `4`, `spec.x.y expected at most 3, found 4`},
		"a minimum":                   {`{type: number, minimum: 0.5}`, `0.25`, `spec.x.y expected at least 0.5, found 0.25`},
		"an exclusive maximum":        {`{type: integer, maximum: 3, exclusiveMaximum: true}`, `3`, `spec.x.y expected less than 3, found 3`},
		"an exclusive minimum":        {`{type: integer, minimum: 3, exclusiveMinimum: true}`, `3`, `spec.x.y expected more than 3, found 3`},
		"a factor":                    {`{type: integer, multipleOf: 5}`, `7`, `spec.x.y should be a multiple of 5, found 7`},
		"many items":                  {`{type: array, maxItems: 1, items: {type: integer}}`, `[1, 2]`, `spec.x.y expected at most 1 item, found 2`},
		"few items":                   {`{type: array, minItems: 2, items: {type: integer}}`, `[1]`, `spec.x.y expected at least 2 items, found 1`},
		"many members":                {`{type: object, maxProperties: 1, additionalProperties: {type: integer}}`, `{a: 1, b: 2}`, `spec.x.y expected at most 1 field, found 2`},
		"few members":                 {`{type: object, minProperties: 1, additionalProperties: {type: integer}}`, `{}`, `spec.x.y expected at least 1 field, found 0`},
		"a required member":           {`{type: object, required: [a], properties: {a: {type: integer}}}`, `{}`, `spec.x.y.a is required`},
		"a member with a dot":         {`{type: object, additionalProperties: {type: integer}}`, `{a.b: x}`, `spec.x.y["a.b"] expected an integer, found the string "x"`},
		"one of":                      {`{type: object, properties: {a: {type: integer}, b: {type: integer}}, oneOf: [{required: [a]}, {required: [b]}]}`, `{a: 1, b: 2}`, `spec.x.y needs exactly one of a or b`},
		"any of":                      {`{type: object, properties: {a: {type: integer}, b: {type: integer}}, anyOf: [{required: [a, b]}]}`, `{a: 1}`, `spec.x.y needs a with b`},
		"any of several":              {`{type: object, required: [c], properties: {a: {type: integer}, b: {type: integer}, c: {type: integer}}, anyOf: [{required: [a]}, {required: [b, c]}]}`, `{}`, `spec.x.y needs a or b with c|spec.x.y.c is required`},
		"one that needs no field":     {`{type: object, properties: {a: {type: integer}, b: {type: integer}}, anyOf: [{required: [a]}, {properties: {b: {minimum: 3}}, not: {required: [c]}, minProperties: 1}]}`, `{}`, `spec.x.y fits none of the alternatives of its schema|spec.x.y.a is required`},
		"other alternatives":          {`{type: string, oneOf: [{pattern: ^a}, {pattern: ^b}]}`, `c`, `spec.x.y expected a text that matches ^a, found "c"|spec.x.y fits none of the alternatives of its schema`},
		"not":                         {`{type: string, not: {pattern: ^a}}`, `abc`, `spec.x.y is of a form that its schema excludes`},
		"a set":                       {`{type: array, x-kubernetes-list-type: set, items: {type: integer}}`, `[1, 1]`, `spec.x.y[1] is in the list already`},
		"a list with keys":            {`{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [a, b], items: {type: object, required: [a, b], properties: {a: {type: integer}, b: {type: string}}}}`, `[{a: 1, b: x}, {a: 1, b: x}]`, `spec.x.y[1] has the same a and b as an earlier item of the list`},
		"keys that differ at the end": {`{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [a], items: {type: object, required: [a], properties: {a: {type: string}}}}`, `[{a: ` + strings.Repeat("n", 100) + `1}, {a: ` + strings.Repeat("n", 100) + `2}]`, ``},
		"a rule":                      {`{type: integer, x-kubernetes-validations: [{rule: self > 3}]}`, `3`, `spec.x.y violates a rule of its CustomResourceDefinition: self > 3`},
		"a rule beyond the limit":     {`{type: array, items: {type: integer}, x-kubernetes-validations: [{rule: "self.all(x, self.all(y, x + y > 0))"}]}`, `[1` + strings.Repeat(", 1", 2000) + `]`, `spec.x.y 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: self.all(x, self.all(y, x + y > 0))`},
	} {
		t.Run(name, func(t *testing.T) {
			crd := parse(t, fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {plural: foos, kind: Foo}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {x: {type: object, properties: {y: %s}}}}}}}}
`, c.schema))
			checker := check.New(check.Options{CRDs: []object.Object{crd}})
			foo := parse(t, "{apiVersion: example.com/v1, kind: Foo, metadata: {name: a}, spec: {x: {y: "+c.value+"}}}")
			var lines []string
			for _, f := range judge(checker, node(foo)) {
				line := f.Path.String() + " " + f.Message
				if f.Hint != "" {
					line += " (" + f.Hint + ")"
				}
				lines = append(lines, line)
			}
			require.Equal(t, c.want, strings.Join(lines, "|"))
		})
	}
}
