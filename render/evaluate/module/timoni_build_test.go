// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"fmt"
	"math/rand"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

func TestValuesAreMergedInTheOrderOfTimoni(t *testing.T) {
	tests := map[string]struct{ base, over, want string }{
		"outermost, the module's fields come last": {`{b: 1, a: 2}`, `{z: 1, c: 2}`, `{"z":1,"c":2,"a":2,"b":1}`},
		"and from the first common one by name":    {`{d: 1, a: 2}`, `{z: 1, y: 1, d: 3, c: 2}`, `{"z":1,"y":1,"c":2,"d":3,"a":2}`},
		"below, where their names belong":          {`{m: {k: 1, a: 1}}`, `{m: {z: 1, c: 2}}`, `{"m":{"a":1,"k":1,"z":1,"c":2}}`},
		"below, one alone comes last":              {`{m: {a: 1}}`, `{m: {z: 1, c: 2}}`, `{"m":{"z":1,"c":2,"a":1}}`},
		"without values the module's are sorted":   {`{z: 1, a: {z: 1, a: 1}}`, `{}`, `{"a":{"z":1,"a":1},"z":1}`},
		"lists are merged by place":                {`{l: [{a: 1, n: 1}, 2]}`, `{l: [{n: 3}, 4]}`, `{"l":[{"a":1,"n":3},4]}`},
		"an empty list gives way":                  {`{l: []}`, `{l: [{n: 3}]}`, `{"l":[{"n":3}]}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tt.want, written(mergeAsTimoni(read(tt.base), read(tt.over), true)))
		})
	}
}

// CUE itself is the measure: Timoni fills the fields of the module's values into those of
// the user, one after the other.
func TestTheOrderOfMergedValuesIsThatOfFillsInCUE(t *testing.T) {
	var fill func(base, over cue.Value) cue.Value
	fill = func(base, over cue.Value) cue.Value {
		if base.IncompleteKind() != cue.StructKind {
			return over
		}
		out := over
		fields, err := base.Fields()
		require.NoError(t, err)
		for fields.Next() {
			at, value := cue.MakePath(fields.Selector()), fields.Value()
			if own := over.LookupPath(at); own.Exists() {
				value = fill(value, own)
			}
			out = out.FillPath(at, value)
		}
		return out
	}
	for seed := range int64(400) {
		r := rand.New(rand.NewSource(seed))
		base, over := random(r, 4, "1"), random(r, 4, "1")
		// One context, and no file names, as Timoni compiles them.
		c := cuecontext.New()
		filled := fill(c.CompileString(base), c.CompileString(over))
		if filled.Validate() != nil {
			continue // A field is a map in one of them and a number in the other.
		}
		// The result is text, which is compiled again.
		again := c.CompileString(fmt.Sprint(filled))
		require.Equal(t, written(readValue(again)), written(mergeAsTimoni(read(base), read(over), true)), "seed %d: %s over %s", seed, over, base)
	}
}

// random is a struct of up to five fields, some of them structs.
func random(r *rand.Rand, depth int, leaf string) string {
	if depth == 0 || depth < 4 && r.Intn(3) == 0 {
		return leaf
	}
	out := "{\n"
	for _, i := range r.Perm(8)[:r.Intn(6)] {
		out += fmt.Sprintf("%c: %s\n", 'a'+i, random(r, depth-1, leaf))
	}
	return out + "}"
}

func read(text string) object.Value { return readValue(cuecontext.New().CompileString(text)) }

// written is v as JSON with its members in their order.
func written(v object.Value) string {
	var parts []string
	if v.Kind == object.KindMap {
		for _, m := range v.Members {
			parts = append(parts, fmt.Sprintf("%q:%s", m.Name, written(m.Value)))
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	if v.Kind == object.KindList {
		for _, item := range v.Items {
			parts = append(parts, written(item))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	return v.Text
}

// instanceModule shows each of the tags that Timoni sets in its one object.
var instanceModule = evaluate.Module{Digest: "sha256:instance", Version: "1.2.3", FS: fstest.MapFS{
	"cue.mod/module.cue": {Data: []byte("module: \"timoni.sh/instance\"\nlanguage: version: \"v0.9.0\"\n")},
	"values.cue":         {Data: []byte("package main\n\nvalues: title: \"none\"\n")},
	"timoni.cue": {Data: []byte(`package main

values: title: string
_tags: {
	name:      string @tag(name)
	namespace: string @tag(namespace)
	kube:      string @tag(kv, var=kubeVersion)
	module:    string @tag(mv, var=moduleVersion)
	own:       *"unset" | string @tag(own)
}
timoni: {
	apiVersion: "v1alpha1"
	instance: {}
	apply: all: [{
		apiVersion: "v1"
		kind:       "ConfigMap"
		metadata: {name: _tags.name, namespace: _tags.namespace}
		data: {title: "\(values.title) of \(_tags.name)", kube: _tags.kube, module: _tags.module, own: _tags.own}
	}]
}
`)},
}}

// sessionOf returns the session of an instance of c.
func sessionOf(c *Compiled, name, title string) *Session {
	req := evaluate.Request{Spec: name, Module: instanceModule, Context: object.Context{Name: name, Namespace: "in-" + name, KubeVersion: "1.36"}}
	req.Input = read(fmt.Sprintf("{title: %q}", title))
	return NewSession(req, instanceModule, c)
}

func TestInstancesThatShareALoadedModuleHaveValuesAndTagsOfTheirOwn(t *testing.T) {
	t.Parallel()
	c, err := Compile(instanceModule, nil, false)
	require.NoError(t, err)
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			name := fmt.Sprint("web-", i)
			nodes, _, err := sessionOf(c, name, fmt.Sprint("title ", i)).Render()
			if assert.NoError(t, err) && assert.Len(t, nodes, 1) {
				assert.Equal(t, map[string]any{"name": name, "namespace": "in-" + name}, nodes[0].Object["metadata"])
				assert.Equal(t, map[string]any{"title": fmt.Sprintf("title %d of %s", i, name), "kube": "1.36.0", "module": "1.2.3", "own": "unset"}, nodes[0].Object["data"])
			}
		})
	}
	wg.Wait()
}

func TestInstancesOfAModuleShareWhatIsLoaded(t *testing.T) {
	t.Parallel()
	c, err := Compile(instanceModule, nil, false)
	require.NoError(t, err)
	const rounds = 20
	seen := map[*shared]bool{}
	for range rounds {
		used := *c
		used.context, used.version = &object.Context{Name: "web", Namespace: "shop", KubeVersion: "1.36"}, "1.2.3"
		require.NotNil(t, used.loadShared(instanceModule))
		seen[used.inUse] = true
		used.release()
	}
	require.Less(t, len(seen), rounds, "the pool forgets one now and then, and not all of them")

	// A tag without a value leaves its field as it is, which is another package.
	used := *c
	used.context = &object.Context{Name: "web", Namespace: "shop"}
	require.Nil(t, used.loadShared(instanceModule))
}

func TestAnInstanceWithAMistakeLeavesTheNextOneAlone(t *testing.T) {
	t.Parallel()
	c, err := Compile(instanceModule, nil, false)
	require.NoError(t, err)
	bad := sessionOf(c, "bad", "")
	bad.Input = read(`{title: 7}`)
	_, _, err = bad.Render()
	require.ErrorContains(t, err, "title")
	nodes, _, err := sessionOf(c, "good", "fine").Render()
	require.NoError(t, err)
	require.Equal(t, "fine of good", nodes[0].Object["data"].(map[string]any)["title"])
}
