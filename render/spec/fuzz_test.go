// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

func FuzzParse(f *testing.F) {
	f.Add([]byte(head))
	f.Add([]byte("a: &a {b: *a}\n---\n? [x]\n: |\n  y\n"))
	f.Add([]byte("{\"a\": \"\\ud83d\\ude00\"}"))
	f.Add([]byte("a: !!binary x\n<<: [{b: 1}]\n\t- \xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file := spec.File{Name: "f", Data: data}
		if _, err := spec.Parse([]spec.File{file}); err != nil {
			for _, e := range object.AsErrors(err, object.StageSpec) {
				require.Equal(t, "f", e.Pos.File)
			}
		}
		if v, err := spec.ParseValue(file); err == nil {
			require.True(t, json.Valid(v.JSON()), "%s", v.JSON())
		}
	})
}

func FuzzParseSet(f *testing.F) {
	for _, s := range []string{"a=1", `api:a["x.y"][0].b={c: [1]}`, "=", "a[=1", `a["=]=`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		set, err := spec.ParseSet(text)
		if err != nil {
			return
		}
		require.NotEmpty(t, set.Path)
		if out, err := set.Over(object.Value{}); err == nil {
			require.True(t, json.Valid(out.JSON()))
			at, found := out.Lookup(set.Path)
			require.Equal(t, len(set.Path), found)
			require.Equal(t, set.Value.JSON(), at.JSON())
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		files := make([]spec.File, n)
		for i := range files {
			text := strings.Replace(head, "name: api", fmt.Sprintf("name: api-%d", i), 1)
			text += "  input:\n    image: ghcr.io/example/api:1.2.3\n    replicas: 2\n    env: {A: x, B: y}\n"
			files[i] = spec.File{Name: fmt.Sprintf("specs/api-%d.yaml", i), Data: []byte(text)}
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := spec.Parse(files); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func ExampleParse() {
	_, err := spec.Parse([]spec.File{{Name: "api.yaml", Data: []byte(`apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: api}
spec:
  cueref: {type: path, ref: ./modules/api}
`)}})
	fmt.Println(err)
	// Output:
	// api.yaml:5:3: spec: spec.cueref: unknown field "cueref" (did you mean "cueRef"?)
}

func ExampleParseSet() {
	set, err := spec.ParseSet("api:ports[0].name=http")
	fmt.Println(set.Spec, set.Path, set.Value.Text, err)
	// Output: api ports[0].name http <nil>
}
