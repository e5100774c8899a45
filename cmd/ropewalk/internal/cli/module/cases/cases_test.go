// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cases_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/module/cases"
	"github.com/ropewalk/ropewalk/internal/memfs"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
	"github.com/ropewalk/ropewalk/render/object"
)

const web = `package web

ropewalk: apiVersion: "v1alpha1"
#Input: {
	image:     string
	replicas?: int & >=1
}
input: #Input
context: {name: string, namespace: string, ...}
graph: nodes: {
	config: object: {apiVersion: "v1", kind: "ConfigMap", metadata: name: context.name, data: image: input.image}
	web: {
		object: {
			apiVersion: "apps/v1"
			kind:       "Deployment"
			metadata: name: context.name
			spec: {
				if input.replicas != _|_ {replicas: input.replicas}
				selector: matchLabels: app: context.name
				template: {
					metadata: labels: app: context.name
					spec: containers: [{name: "web", image: input.image}, {name: "side", image: "busybox:1"}]
				}
			}
		}
		dependsOn: ["config"]
	}
}
`

// module is the module of web with files of cases, NAME then TEXT.
func module(t *testing.T, files ...string) evaluate.Module {
	tree := map[string][]byte{"web.cue": []byte(web)}
	for i := 0; i < len(files); i += 2 {
		tree["test/"+files[i]] = []byte(files[i+1])
	}
	fsys, err := memfs.New(tree)
	require.NoError(t, err)
	return evaluate.Module{FS: fsys, Label: "web", Digest: fmt.Sprintf("%x", strings.Join(files, "\x00"))}
}

func subject(m evaluate.Module) cases.Subject {
	return cases.Subject{
		Renderer: render.NewRenderer(inprocess.New(inprocess.Options{})),
		Request: render.Request{Emit: emit.Options{Dialect: "plain"}, Specs: []render.Spec{{Evaluate: evaluate.Request{
			Module:  m,
			Context: object.Context{Namespace: "default", Engine: "plain", KubeVersion: "1.36", ClusterDomain: "cluster.local"},
		}}}},
	}
}

// judged is what is wrong with the cases of a file, one line each.
func judged(t *testing.T, text string) (out []string) {
	m := module(t, "a.yaml", text)
	all, err := cases.Read(m)
	require.NoError(t, err)
	for _, c := range all {
		result, err := c.Render(t.Context(), subject(m))
		for _, e := range c.Judge(result, err) {
			out = append(out, e.Error())
		}
	}
	return out
}

func TestCasesThatHoldPass(t *testing.T) {
	require.Empty(t, judged(t, `
input: {image: nginx:1, replicas: 2}
context: {name: shop, engine: argocd, environment: prod, kubeVersion: v1.36, clusterDomain: a.b, namespace: apps}
expect:
  objects:
    - apiVersion: apps/v1
      kind: Deployment
      metadata: {name: shop}
      spec: {replicas: 2.0, paused: null, template: {spec: {containers: [{image: nginx:1}, {name: side}]}}}
  absent: [{kind: Service, metadata: {name: shop}}]
  count: 2
  waves: [[shop/config, deployment/shop]]
  warnings: []
---
name: negative
input: {replicas: 0, imag: x}
expect:
  errors:
    - {message: at least 1, at: input.replicas, line: 16}
    - {message: unknown field}
`))
}

func TestWhatDoesNotHoldHasItsLine(t *testing.T) {
	require.Equal(t, []string{
		`web/test/a.yaml:6:32: check: app/web: spec.replicas: expected 3, got 2`,
		`web/test/a.yaml:6:65: check: app/web: spec.template.spec.containers: expected 1 item, got 2: [{"image":"nginx","name":"web"},{"image":"busybox:1","name":"side"}]`,
		`web/test/a.yaml:7:7: check: expect.objects[1]: there is no Deployment ap of apps/v1 (did you mean "Deployment app"?)`,
		`web/test/a.yaml:8:63: check: app/config: metadata.labels: expected {"a":"b"}, and there is no such field`,
		`web/test/a.yaml:8:87: check: app/config: data.imag: expected "x", and there is no such field (did you mean "image"?)`,
		`web/test/a.yaml:9:12: check: expect.absent[0]: expected no such object, got ConfigMap app`,
		`web/test/a.yaml:10:10: check: expect.count: expected 3 objects, got 2: ConfigMap app, Deployment.apps app`,
		`web/test/a.yaml:11:12: check: expect.waves[0]: app/app is not in wave 0, which has app/config, app/web`,
		`web/test/a.yaml:12:14: check: expect.warnings[0]: there is no such warning among the 0 of the render`,
		`web/test/a.yaml:15:33: evaluate: input.replicas: expected an integer of at least 1, got 0`,
		`web/test/a.yaml:20:19: check: expect.errors: expected an error, and the module renders 2: ConfigMap app, Deployment.apps app`,
		`web/test/a.yaml:23:33: evaluate: input.replicas: the case expects no such error: expected an integer of at least 1, got 0`,
		`web/test/a.yaml:24:19: check: expect.errors[0]: there is no such error among the 1 of the render`,
	}, judged(t, `
input: {image: nginx, replicas: 2}
expect:
  objects:
    - {apiVersion: apps/v1, kind: Deployment, metadata: {name: app}, spec: {
       selector: {}, replicas: 3, template: {spec: {containers: [{image: nginx}]}}}}
    - {apiVersion: apps/v1, kind: Deployment, metadata: {name: ap}}
    - {apiVersion: v1, kind: ConfigMap, metadata: {name: app, labels: {a: b}}, data: {imag: x}}
  absent: [{kind: ConfigMap, metadata: {name: app}}]
  count: 3
  waves: [[app/app]]
  warnings: [{message: other}]
---
name: fails
input: {image: nginx, replicas: 0}
expect: {count: 2}
---
name: passes
input: {image: nginx}
expect: {errors: [{message: other}]}
---
name: fails otherwise
input: {image: nginx, replicas: 0}
expect: {errors: [{message: other}]}
`))
}

func TestMistakesInCasesComeAtOnce(t *testing.T) {
	_, err := cases.Read(module(t,
		"a.yaml", "inputs: {}\nexpect: {count: 1}\n---\nexpect: {}\n---\nexpect: {objects: []}\n---\ninput: {}\n",
		"b.yaml", "expect: {errors: [{}], count: 1, wave: []}\n",
		"c.yml", "", "d.yaml", "# nothing\n", "_e.yaml", "x", "f.golden.yaml", "x", "g/h.yaml", "x",
		"i.yaml", "name: one\nexpect: {count: 1}\n---\nname: one\nexpect: {count: -1, golden: a/b.yaml, absent: [{kind: A}]}\n",
	))
	const own = " (give each case a name of its own)"
	require.Equal(t, []string{
		`web/test/a.yaml:1:1: spec: inputs: unknown field "inputs" (did you mean "input"?)`,
		`web/test/a.yaml:4:1: spec: a second case is called "a"; the first is at web/test/a.yaml:1:1` + own,
		`web/test/a.yaml:4:9: spec: expect: the case asserts nothing, and would always pass (write one of objects, absent, count, waves, golden, errors, warnings)`,
		`web/test/a.yaml:6:1: spec: a second case is called "a"; the first is at web/test/a.yaml:1:1` + own,
		`web/test/a.yaml:6:19: spec: expect.objects: it is empty, and asserts nothing (leave it out, or write what it must hold)`,
		`web/test/a.yaml:8:1: spec: a second case is called "a"; the first is at web/test/a.yaml:1:1` + own,
		`web/test/a.yaml:8:1: spec: expect: is missing`,
		`web/test/b.yaml:1:19: spec: expect.errors[0]: it says nothing of the error (write a part of its message, and at: with its path or line: with its line here)`,
		`web/test/b.yaml:1:31: spec: expect.count: a render that fails makes nothing: errors and count exclude each other (make two cases of it)`,
		`web/test/b.yaml:1:34: spec: expect.wave: unknown field "wave" (did you mean "waves"?)`,
		`web/test/c.yml: spec: cases are in files called *.yaml (rename it to end in .yaml, or to begin with _)`,
		`web/test/d.yaml: spec: the file holds no case (write a case, or let the name of the file begin with _)`,
		`web/test/i.yaml:4:7: spec: a second case is called "one"; the first is at web/test/i.yaml:1:7` + own,
		`web/test/i.yaml:5:17: spec: expect.count: expected a whole number from 0 on, got -1`,
		`web/test/i.yaml:5:29: spec: expect.golden: "a/b.yaml" does not end in .golden.yaml, or has a folder (it is a file beside the case, such as small.golden.yaml)`,
		`web/test/i.yaml:5:48: spec: expect.absent[0].metadata: is missing (write metadata: {name: …})`,
	}, strings.Split(err.Error(), "\n"))
}
