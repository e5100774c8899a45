// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/check"
	"github.com/ropewalk/ropewalk/render/object"
)

func TestResourcesInOthersSayWhatTheyAre(t *testing.T) {
	definition := parse(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lists.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: lists, kind: Bundle}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          items:
            type: array
            items: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
          named:
            type: object
            additionalProperties: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
        x-kubernetes-validations:
        - {rule: "self.items.all(i, i.kind == 'Pod')", message: only pods}
`)
	checker := check.New(check.Options{CRDs: []object.Object{definition}})
	for name, c := range map[string]struct {
		spec string
		want []string
	}{
		"good ones":           {"items: [{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {a: b}}, spec: {}}]", nil},
		"a rule about them":   {"items: [{apiVersion: v1, kind: Job}]", []string{" only pods"}},
		"no kind":             {"items: [{apiVersion: v1}]", []string{"items[0].kind is required"}},
		"an empty apiVersion": {"items: [], named: {a: {apiVersion: '', kind: Pod}}", []string{"named.a.apiVersion is required"}},
		"words for versions":  {"items: [{apiVersion: a/b/c, kind: a b}]", []string{`items[0].apiVersion expected a version such as "v1" or "example.com/v1", found "a/b/c"`, `items[0].kind expected letters, digits and "-" (at most 63) that begin with a letter, found "a b"`}},
		"a number for a kind": {"items: [{apiVersion: v1, kind: 1}]", []string{"items[0].kind expected a string, found the number 1"}},
		"metadata of no form": {"items: [{apiVersion: v1, kind: Pod, metadata: {labels: {a: 1}, title: x}}]", []string{"items[0].metadata.labels.a expected a string, found the number 1", "items[0].metadata.title is not a known field"}},
		"a name with a slash": {"items: [{apiVersion: v1, kind: Pod, metadata: {name: a/b}}]", []string{`items[0].metadata.name must not be "a/b": a name is part of a URL`}},
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			for _, f := range judge(checker, node(parse(t, "{apiVersion: example.com/v1, kind: Bundle, metadata: {name: a}, "+c.spec+"}"))) {
				lines = append(lines, f.Path.String()+" "+f.Message)
			}
			require.Equal(t, c.want, lines)
		})
	}
}
