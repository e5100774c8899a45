// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// linkHead begins the modules below; linkTail makes a node that shows what v is.
const (
	linkHead = "package a\nropewalk: apiVersion: \"v1alpha1\"\n"
	linkTail = "\ngraph: nodes: n: object: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: \"n\", data: v}\n"
	linkBase = linkHead + "input: #Input\n#Input: {name: string | *\"x\", n?: #Small}\n#Small: int & <5\n"
)

// sameInEveryForm renders a module in all forms that it can be compiled to, and
// requires the same of all. It gives what came out of the linked form, or of the
// next that there was.
func sameInEveryForm(t *testing.T, req Request) (Result, error) {
	t.Helper()
	linked := NewInProcess(Options{Schemas: testSchemas()})
	result, err := linked.Evaluate(t.Context(), req)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			again, errAgain := linked.Evaluate(t.Context(), req)
			assert.Equal(t, result, again)
			assert.Equal(t, err, errAgain)
		})
	}
	wait.Wait()
	for _, f := range []form{formWritten, formLoaded} {
		p := NewInProcess(Options{Schemas: testSchemas()})
		p.form = f
		want, wantErr := p.Evaluate(t.Context(), req)
		require.Equal(t, want, result)
		equalErrors(t, wantErr, err)
		origins, _ := p.Trace(t.Context(), req, anyNodes(want))
		got, _ := linked.Trace(t.Context(), req, anyNodes(want))
		require.Equal(t, origins, got)
	}
	return result, err
}

// isLinked reports whether a module has a linked form.
func isLinked(t *testing.T, m Module) bool {
	t.Helper()
	c, err := compile(m, testSchemas(), formLinked)
	return err == nil && c.written != nil
}

func moduleOf(files map[string]string) Module {
	tree := fstest.MapFS{}
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return Module{FS: tree, Label: "modules/m"}
}

// linkCase is a module with what comes out of it.
type linkCase struct {
	files map[string]string
	input string
	want  string // data of the node
	err   string // part of the error, instead
}

// linkedDefinitions are about what definitions say.
func linkedDefinitions() map[string]linkCase {
	return map[string]linkCase{
		"definitions without the input": {
			files: map[string]string{"a.cue": linkBase + "v: {name: input.name}"}, input: "n: 4", want: `{"name":"x"}`,
		},
		"what a definition allows is checked": {
			files: map[string]string{"a.cue": linkBase + "v: {name: input.name}"}, input: "n: 5", err: "expected an integer less than 5, got 5",
		},
		"a typo in what a definition closes": {
			files: map[string]string{"a.cue": linkBase + "v: {}"}, input: "nme: x", err: "nme",
		},
		"a typo in a closed definition that the module uses": {
			files: map[string]string{"a.cue": linkBase + "#Meta: {a?: string}\nv: #Meta & {if input.n != _|_ {b: input.name}}"},
			input: "n: 1", err: "not known",
		},
		"a definition that refers to the input stays": {
			files: map[string]string{"a.cue": linkBase + "#Meta: {name: input.name, size: #Small & 3}\nv: #Meta"},
			input: "name: y", want: `{"name":"y","size":3}`,
		},
		"a definition that refers to one that stays": {
			files: map[string]string{"a.cue": linkBase + "#B: {a: #A}\n#A: name: input.name\nv: b: #B.a.name"},
			input: "name: y", want: `{"b":"y"}`,
		},
		"definitions that refer to each other": {
			files: map[string]string{"a.cue": linkBase + "#A: {b?: #B, x: 1}\n#B: {a?: #A, y: 2}\nv: {#A, b: #B}"},
			want:  `{"b":{"y":2},"x":1}`,
		},
		"a definition in many places and files": {
			files: map[string]string{
				"a.cue": linkBase + "#P: a: *1 | int\nv: #P & {c: 3}", "b.cue": "package a\n#P: b: *2 | int\n#P: {...}",
			},
			want: `{"a":1,"b":2,"c":3}`,
		},
		"a definition one place of which refers to the input": {
			files: map[string]string{"a.cue": linkBase + "#P: a: 1\nv: #P", "b.cue": "package a\n#P: b: input.name"},
			want:  `{"a":1,"b":"x"}`,
		},
		"a definition that is required in one place": {
			files: map[string]string{"a.cue": linkBase + "#P: a: 1\n#P!: _\nv: #P", "b.cue": "package a\n#P: b: 2"},
			want:  `{"a":1,"b":2}`,
		},
		"conditions and defaults in definitions": {
			files: map[string]string{"a.cue": linkBase + "#P: {on: bool | *true, if on {a: *\"d\" | string}}\nv: {a: (#P & {on: false}).on, b: #P.a}"},
			want:  `{"a":false,"b":"d"}`,
		},
		"disjunctions of definitions": {
			files: map[string]string{"a.cue": linkBase + "#A: {k: \"a\", x: int | *1}\n#B: {k: \"b\", y: int | *2}\n#C: #A | #B\nv: #C & {k: input.name}"},
			input: "name: b", want: `{"k":"b","y":2}`,
		},
	}
}

// linkedNames are about what names mean.
func linkedNames() map[string]linkCase {
	return map[string]linkCase{
		"names of fields that are names of the module too": {
			files: map[string]string{"a.cue": linkBase + "#P: {input: string | *\"own\", b: input, context: b}\nv: #P"},
			want:  `{"b":"own","context":"own","input":"own"}`,
		},
		"variables that are called as fields are": {
			files: map[string]string{"a.cue": linkBase + "#P: {for input in [\"p\"] {(input): input}}\nv: {#P, for name, input in {q: 1} {(name): input}}"},
			want:  `{"p":"p","q":1}`,
		},
		"aliases inside of definitions": {
			files: map[string]string{"a.cue": linkBase + "#P: {A=a: \"z\", b: A, [N=\"c\"]: N, c: _}\nv: #P"},
			want:  `{"a":"z","b":"z","c":"c"}`,
		},
		"a let clause in a definition": {
			files: map[string]string{"a.cue": linkBase + "#P: {let l = \"q\", a: b: l}\nv: #P.a"}, want: `{"b":"q"}`,
		},
		"hidden definitions and parts of definitions": {
			files: map[string]string{"a.cue": linkBase + "_#H: {a: {b: *7 | int}, _c: 8, d: _c}\nv: {e: _#H.a.b, f: _#H.d, g: {_#H, _c: 8}.d}"},
			want:  `{"e":7,"f":8,"g":8}`,
		},
		"a text that looks like a definition": {
			files: map[string]string{"a.cue": linkBase + "\"#Small\": input.name\nv: {a: #Small & 2}"}, want: `{"a":2}`,
		},
		"imports in two files, by different names": {
			files: map[string]string{
				"a.cue": strings.Replace(linkBase, "\n", "\nimport \"strings\"\n", 1) + "#U: strings.ToUpper(\"u\")\nv: {a: #U, b: low, c: up}",
				"c.cue": "package a\nimport \"strings\"\nup: strings.ToUpper(low)\n",
				"b.cue": "package a\nimport (\n\tl \"list\"\n\ts \"strings\"\n)\nlow: s.ToLower(\"L\") + \"\\(l.Max([1, 2]))\"\n",
			},
			want: `{"a":"U","b":"l2","c":"L2"}`,
		},
		"a field that is called as an import of another file": {
			files: map[string]string{
				"a.cue": linkBase + "strings: ToUpper: \"field\"\nv: {a: strings.ToUpper, b: up}",
				"b.cue": "package a\nimport \"strings\"\nup: strings.ToUpper(\"b\")\n",
			},
			want: `{"a":"field","b":"B"}`,
		},
		"a vendored package, by two names": {
			files: map[string]string{
				"cue.mod/module.cue":                moduleFile,
				"cue.mod/pkg/example.org/one/o.cue": "package one\nimport \"strings\"\n#D: {input: \"one\", s: strings.ToUpper(input), t: #Small}\n#Small: \"tiny\"\nplain: {a: 1}",
				"a.cue":                             strings.Replace(linkBase, "\n", "\nimport \"example.org/one\"\n", 1) + "v: {one.#D, w: two}",
				"b.cue":                             "package a\nimport x \"example.org/one\"\ntwo: {x.plain, one: 1}\n",
			},
			want: `{"input":"one","s":"ONE","t":"tiny","w":{"a":1,"one":1}}`,
		},
		"conditions at the root": {
			files: map[string]string{"a.cue": linkBase + "if input.n != _|_ {v: more: _extra, _extra: input.n}\nv: name: input.name"},
			input: "n: 3", want: `{"more":3,"name":"x"}`,
		},
		"a field that is called as the one for all": {
			files: map[string]string{"a.cue": linkBase + "module: input.name\nv: {m: module}"}, want: `{"m":"x"}`,
		},
	}
}

func TestNamesMeanTheSameInALinkedModule(t *testing.T) {
	t.Parallel()
	tests := linkedDefinitions()
	maps.Copy(tests, linkedNames())
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.files["z.cue"] = "package a" + linkTail
			req := inline("")
			req.Module = moduleOf(tt.files)
			if tt.input != "" {
				req.Input = parseYAML(t, "spec.yaml", tt.input)
			}
			require.True(t, isLinked(t, req.Module))
			result, err := sameInEveryForm(t, req)
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			require.Len(t, result.Nodes, 1)
			require.JSONEq(t, tt.want, string(valueOf(result.Nodes[0].Object["data"]).JSON()))
		})
	}
}

func TestAModuleWhosePartsCannotBeMovedIsNotLinked(t *testing.T) {
	t.Parallel()
	vendored := func(text string) map[string]string {
		return map[string]string{
			"cue.mod/module.cue":                moduleFile,
			"cue.mod/pkg/example.org/two/t.cue": "package two\nx: 1",
			"cue.mod/pkg/example.org/one/o.cue": "package one\n" + text,
			"a.cue":                             strings.Replace(linkBase, "\n", "\nimport \"example.org/one\"\n", 1) + "v: got: one.x",
			"z.cue":                             "package a" + linkTail,
		}
	}
	one := func(text string) map[string]string {
		return map[string]string{"a.cue": linkBase + text, "z.cue": "package a" + linkTail}
	}
	require.True(t, isLinked(t, moduleOf(one("v: {}"))), "what the cases add is why they are not linked")
	require.True(t, isLinked(t, moduleOf(vendored("x: 1"))), "what the cases add is why they are not linked")
	tests := map[string]map[string]string{
		"nothing to gain":                           {"a.cue": linkHead + "input: name: string | *\"x\"\nv: {name: input.name}"},
		"a module that is not native":               {"a.cue": "package a\n#A: 1\nv: {a: #A}"},
		"a let clause in the only definition":       {"a.cue": linkHead + "input: name: string | *\"x\"\n#A: {let l = 1, a: l}\n#A: b: 1\nv: #A"},
		"a mark that depends on the input":          {"a.cue": "package a\ninput: #Input\n#Input: {name: string | *\"x\", n?: int}\nif input.n != _|_ {ropewalk: apiVersion: \"v1alpha1\"}\nv: {}"},
		"a let clause at the root":                  one("let l = input.name\nv: {name: l}"),
		"an alias at the root":                      one("X=x: input.name\nv: {name: X}"),
		"an alias of a value at the root":           one("x: X={a: 1, b: X.a}\nv: x"),
		"an embedding at the root":                  one("{v: name: input.name}"),
		"an ellipsis at the root":                   one("...\nv: {name: input.name}"),
		"a pattern at the root":                     one("[=~\"^v$\"]: {more: 1}\nv: {name: input.name}"),
		"a computed name at the root":               one("(\"v\"): {name: input.name}"),
		"a name with text in it at the root":        one("\"v\\(1)\": {name: input.name}\nv: {}"),
		"an attribute at the root":                  one("@go(x)\nv: {name: input.name}"),
		"an attribute of a field at the root":       one("v: {name: input.name} @go(x)"),
		"a condition that adds a definition":        one("if input.name == \"x\" {#Small: >2}\nv: {a: #Small & 3}"),
		"a condition that adds a hidden definition": one("if true {if true {_#S: >2}}\nv: {}"),
		"a condition that embeds":                   one("if true {{#Small: >2}}\nv: {}"),
		"a name that only the link has":             one("_vendored0: 1\nv: a: _vendored0"),
		"a mistake that CUE finds at once":          one("#A: {a: 1, a: 2}\nv: {}"),
		"a definition that may be absent":           {"a.cue": linkHead + "input: name: string | *\"x\"\n#A?: 1\nv: {}", "z.cue": "package a" + linkTail},
		"an import that is not used":                {"a.cue": strings.Replace(linkBase, "\n", "\nimport \"strings\"\n", 1) + "v: {}"},
		"an import that CUE does not have":          {"a.cue": strings.Replace(linkBase, "\n", "\nimport \"nothing\"\n", 1) + "v: {if false {a: nothing.x}}"},
		"imports of two files that have one name": {
			"a.cue": strings.Replace(linkBase, "\n", "\nimport \"strings\"\n", 1) + "v: {a: strings.ToUpper(\"u\"), b: most}",
			"b.cue": "package a\nimport strings \"list\"\nmost: strings.Max([1, 2])\n",
		},
		"a version that does not exist":           {"a.cue": strings.Replace(linkBase, "v1alpha1", "v2", 1) + "v: {}"},
		"a vendored package with hidden fields":   vendored("x: _y\n_y: 1"),
		"a vendored package with a let clause":    vendored("#D: {let l = 1, y: l}\nx: 1"),
		"a vendored package that imports another": vendored("import \"example.org/two\"\nx: two.x"),
		"a vendored package with an embedding":    vendored("{x: 1}"),
	}
	for name, files := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files["z.cue"] = "package a" + linkTail
			req := inline("")
			req.Module = moduleOf(files)
			require.False(t, isLinked(t, req.Module))
			_, err := sameInEveryForm(t, req)
			_ = err // the same in every form is all that is asked
		})
	}
}

func TestWhatWasTakenApartCanBePutBack(t *testing.T) {
	t.Parallel()
	m := shipped(t, "webservice", "{}").Module
	read, err := readTree(m, map[string]fs.FS{"ropewalk.dev/schema": os.DirFS("../../cue/schema")})
	require.NoError(t, err)
	inst := read.quick(m)
	linked, _, undo := link(inst, func(string) bool { return false })
	require.NotNil(t, linked)
	require.NoError(t, newContext(false).BuildInstance(linked).Err())
	require.Len(t, linked.Files, 1)
	undo()
	require.NoError(t, newContext(false).BuildInstance(inst).Err())
}

// shipped is a request for a module that Ropewalk ships.
func shipped(t *testing.T, module, input string) Request {
	t.Helper()
	req := inline("")
	req.Module = Module{FS: os.DirFS("../../cue/modules/" + module), Digest: module, Label: module}
	req.Input = parseYAML(t, "spec.yaml", input)
	return req
}

func TestTheModulesThatShipAreLinkedAndGiveTheSame(t *testing.T) {
	t.Parallel()
	schemas := map[string]fs.FS{"ropewalk.dev/schema": os.DirFS("../../cue/schema")}
	for _, module := range []string{"webservice", "database", "policies"} {
		c, err := compile(shipped(t, module, "{}").Module, schemas, formLinked)
		require.NoError(t, err)
		require.NotNil(t, c.written, "%s must be linked", module)
	}
	for _, module := range []string{"webservice", "database"} {
		archives, err := filepath.Glob("../../cue/testdata/*/*.txtar")
		require.NoError(t, err)
		for _, name := range archives {
			if !strings.Contains(name, module) {
				continue
			}
			archive, err := txtar.ParseFile(name)
			require.NoError(t, err)
			for _, f := range archive.Files {
				if filepath.Ext(f.Name) != ".yaml" || f.Name == "want.yaml" {
					continue
				}
				t.Run(filepath.Base(name)+"/"+f.Name, func(t *testing.T) {
					t.Parallel()
					req := shipped(t, module, string(f.Data))
					req.Policies = []Policy{{Name: "all", Module: shipped(t, "policies", "{}").Module, Input: parseYAML(t, "p.yaml", "{}")}}
					sameShipped(t, req, schemas)
				})
			}
		}
	}
}

func sameShipped(t *testing.T, req Request, schemas map[string]fs.FS) {
	t.Helper()
	linked, written := NewInProcess(Options{Schemas: schemas}), NewInProcess(Options{Schemas: schemas})
	written.form = formWritten
	want, wantErr := written.Evaluate(t.Context(), req)
	for range 2 {
		got, err := linked.Evaluate(t.Context(), req)
		require.Equal(t, want, got)
		equalErrors(t, wantErr, err)
	}
}

// What is linked is evaluated once and read by all; go test -race knows whether
// it is only read.
func TestALinkedModuleServesManyAtOnce(t *testing.T) {
	t.Parallel()
	p := NewInProcess(Options{Schemas: map[string]fs.FS{"ropewalk.dev/schema": os.DirFS("../../cue/schema")}})
	archive, err := txtar.ParseFile("../../cue/testdata/webservice/everything.txtar")
	require.NoError(t, err)
	good := shipped(t, "webservice", string(archive.Files[0].Data))
	good.Policies = []Policy{{Name: "all", Module: shipped(t, "policies", "{}").Module, Input: parseYAML(t, "p.yaml", "{}")}}
	small, bad := good, good
	small.Input = parseYAML(t, "spec.yaml", "image: registry.example.com/web")
	bad.Input = parseYAML(t, "spec.yaml", "image: registry.example.com/web\nport: {}\nreplicas: two")
	requests := []Request{good, small, bad, renderWeb(t, 1), renderWeb(t, 2)}
	alone := NewInProcess(Options{Schemas: p.schemas})
	alone.form = formWritten
	var wait sync.WaitGroup
	for i := range 40 {
		req := requests[i%len(requests)]
		want, wantErr := alone.Evaluate(t.Context(), req)
		wait.Go(func() {
			got, err := p.Evaluate(t.Context(), req)
			if (err == nil) != (wantErr == nil) || !assert.ObjectsAreEqual(want, got) {
				t.Errorf("request %d gave %v, %v", i, got, err)
			}
		})
	}
	wait.Wait()
}

// A module that is right is evaluated without the schema of its graph; what the
// schema refuses must still be refused, in the same words.
func TestWhatTheSchemaOfAGraphRefusesIsRefusedByALinkedModule(t *testing.T) {
	for _, c := range []struct{ mistake, want string }{
		{"", ""},
		{"graph: node: b: object: _map", "graph.node"},
		{`graph: nodes: a: dependOn: ["b"]`, "dependOn"},
		{`graph: nodes: "A_b": object: _map`, "A_b"},
		{`graph: nodes: b: object: {apiVersion: "v1", kind: 3, metadata: name: "b"}`, "kind"},
		{`graph: nodes: b: object: {apiVersion: "v1", metadata: name: "b"}`, "kind"},
		{`graph: nodes: b: object: {apiVersion: "v1", kind: "ConfigMap", metadata: {}}`, "name"},
		{`graph: nodes: b: object: {apiVersion: "v1", kind: "ConfigMap", metadata: name: 3}`, "name"},
		{`graph: nodes: b: object: {apiVersion: "v1", kind: "ConfigMap", metadata: "b"}`, "metadata"},
		{`graph: nodes: b: {}`, "object"},
		{`graph: nodes: a: apply: mode: "Never"`, "mode"},
		{`graph: nodes: a: apply: mod: "Apply"`, "mod"},
		{`graph: nodes: a: apply: prune: "no"`, "prune"},
		{`graph: nodes: a: readyWhen: [{type: "Exist"}]`, "type"},
		{`graph: nodes: a: readyWhen: [{typ: "Exists"}]`, "typ"},
		{`graph: nodes: a: readyWhen: {type: "Exists"}`, "readyWhen"},
		{`graph: nodes: a: dependsOn: "b"`, "dependsOn"},
		{`graph: nodes: a: dependsOn: [3]`, "dependsOn"},
		{`graph: nodes: a: {_note: 1, #Note: 2}`, ""},
		{`graph: {_note: 1, #Note: 2}`, ""},
		{`graph: nodes: {for i in [1, 2] {"x-\(i)": object: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "x\(i)"}}}`, ""},
		{`graph: nodes: {for i in [1, 2] {"x-\(i)": {object: _map & {data: n: "\(i)"}, dependsOn: ["a"], readyWhen: [{type: "Exists"}]}}}`, ""},
		{`_some: x: {object: _map, dependsOn: ["a"]}
graph: nodes: _some`, ""},
		{`if true {graph: nodes: y: object: _map}`, ""},
	} {
		t.Run(c.mistake, func(t *testing.T) {
			req := inline(`package m

import "ropewalk.dev/schema"

ropewalk: apiVersion: "v1alpha1"
#Input: {}
input: #Input
graph: schema.#Graph
_map: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "a"}
graph: nodes: a: object: _map
` + c.mistake + "\n")
			linked := NewInProcess(Options{Schemas: testSchemas()})
			written := NewInProcess(Options{Schemas: testSchemas()})
			written.form = formWritten
			got, err := linked.Evaluate(t.Context(), req)
			want, wantErr := written.Evaluate(t.Context(), req)
			require.Equal(t, want, got)
			require.Equal(t, wantErr, err)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}

// A schema that somebody else wrote, or of another day, has its own say.
func TestASchemaThatIsNotOursIsNotLeftOut(t *testing.T) {
	req := inline("package m\n\nimport \"ropewalk.dev/schema\"\n\nropewalk: apiVersion: \"v1alpha1\"\n" +
		"#Input: {}\ninput: #Input\ngraph: schema.#Graph\n" +
		"graph: nodes: a: object: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: \"a\"}\n")
	files, ok := req.Module.FS.(fstest.MapFS)
	require.True(t, ok)
	files["cue.mod/pkg/ropewalk.dev/schema/schema.cue"] = &fstest.MapFile{Data: []byte(
		"package schema\n#Graph: nodes: [string]: object: {metadata: {labels: team: *\"none\" | string, ...}, ...}\n")}
	result, err := NewInProcess(Options{Schemas: testSchemas()}).Evaluate(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, "none", result.Nodes[0].Object.Labels()["team"])
}
