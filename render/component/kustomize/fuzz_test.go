// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize_test

import (
	"testing"
	"time"
)

// FuzzBuild reads any kustomization with any file beside it: it neither crashes nor goes on for
// long.
func FuzzBuild(f *testing.F) {
	f.Add("resources: [web.yaml]\n", deployment)
	f.Add("resources: [web.yaml, github.com/org/repo]\nnamePrefix: a\nlabels: [{pairs: {a: b}, includeSelectors: true}]\n", service)
	f.Add("resources: [web.yaml]\npatches: [{patch: '[{op: remove, path: /spec}]', target: {kind: Deployment}}]\n", deployment)
	f.Add("configMapGenerator: [{name: a, files: [web.yaml], envs: [web.yaml]}]\nreplacements: [{path: web.yaml}]\n", "- source: {kind: ConfigMap}\n")
	f.Add("resources: [web.yaml]\ntransformers: [web.yaml]\nvars: [{name: A, objref: {kind: Deployment, name: web}}]\n", bomb())
	f.Fuzz(func(t *testing.T, kustomization, file string) {
		begin := time.Now()
		out, err := engine(nil)(t.Context(), request(tree(map[string]string{"k/kustomization.yaml": kustomization, "k/web.yaml": file}), nil))
		if took := time.Since(begin); took > 3*time.Second {
			t.Fatal("took ", took)
		}
		if err != nil && len(out.Objects) > 0 {
			t.Fatal("objects and an error")
		}
	})
}
