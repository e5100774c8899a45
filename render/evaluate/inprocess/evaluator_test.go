// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

// inline is a request for a module of one file.
func inline(module string) evaluate.Request {
	return evaluate.Request{
		Spec: "api", Pos: object.Pos{File: "spec.yaml", Line: 1, Column: 1},
		Module: evaluate.Module{
			FS: fstest.MapFS{"m.cue": {Data: []byte(module)}}, Digest: fmt.Sprintf("%q", module), Label: "modules/m",
		},
		InputPath: object.Fields("spec", "input"),
		Context:   testContext(),
	}
}

func TestAnEvaluationThatDoesNotEndIsGivenUp(t *testing.T) {
	t.Parallel()
	req := inline(`package m
import "list"
n: list.Range(0, 30, 1)
x: [for a in n for b in n for c in n {a + b + c}]
`)
	req.Limits.Timeout = 2 * time.Millisecond
	began := time.Now()
	_, err := New(Options{}).Evaluate(context.Background(), req)
	require.ErrorIs(t, err, evaluate.ErrTimeout)
	require.ErrorContains(t, err, "evaluation exceeded 2ms")
	require.ErrorContains(t, err, "modules/m")
	require.Less(t, time.Since(began), 5*time.Second)
	require.IsType(t, object.Errors{}, err)
}

func TestAnInputOfTooManyFieldsIsNamed(t *testing.T) {
	t.Parallel()
	input := func(n int) object.Value {
		var b strings.Builder
		b.WriteString("name: web\nmore:\n")
		for i := range n {
			fmt.Fprintf(&b, "  imag%d: 1\n", i)
		}
		return parseYAML(t, "spec.yaml", b.String())
	}
	req := inline("package m\n#More: {image?: string}\nname: string\nmore: #More\n")
	req.Limits.Timeout = time.Minute
	req.Input = input(3000)
	_, err := New(Options{}).Evaluate(context.Background(), req)
	var es object.Errors
	require.ErrorAs(t, err, &es)
	require.Len(t, es, 1000, "each explanation walks over the input")
	require.Equal(t, "spec.input.more.imag0", es[0].Path)

	req.Limits.Timeout = time.Millisecond
	req.Input = input(50_000)
	_, err = New(Options{}).Evaluate(context.Background(), req)
	require.ErrorIs(t, err, evaluate.ErrTimeout)
	require.ErrorAs(t, err, &es)
	require.Equal(t, []object.Note{{
		Pos:  object.Pos{File: "spec.yaml", Line: 3, Column: 3},
		Text: `spec.input.more has 50000 fields, from "imag0" to "imag49999": check that the module knows them`,
	}}, es[0].Notes)
}

func TestAnEvaluationThatGrowsTooLargeIsGivenUp(t *testing.T) {
	req := inline("")
	req.Limits.Memory = 8 << 20
	stop := make(chan struct{})
	_, err := runGuarded(context.Background(), req, func(context.Context) (int, error) {
		var held [][]byte
		for {
			select {
			case <-stop:
				return len(held), nil
			default:
				held = append(held, make([]byte, 1<<20))
				runtime.GC()
			}
		}
	})
	close(stop)
	require.ErrorIs(t, err, evaluate.ErrMemory)
	require.ErrorContains(t, err, "evaluation exceeded 8 MiB of memory")
}

// The collector is off in this test: the watch looks for what is in use by itself.
func TestTheHeapIsCollectedForTheLimit(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	req := inline("")
	req.Limits.Memory = 64 << 20
	for _, keep := range []bool{false, true} {
		require.False(t, watchHeap(math.MaxInt64).exceeded())
		var kept atomic.Int64
		_, err := runGuarded(context.Background(), req, func(context.Context) (int, error) {
			var held [][]byte
			for range 60 {
				piece := make([]byte, 4<<20)
				if keep {
					held = append(held, piece)
					kept.Add(int64(len(piece)))
				}
				time.Sleep(20 * time.Millisecond)
			}
			return len(held), nil
		})
		if !keep {
			require.NoError(t, err, "garbage is not counted")
			continue
		}
		require.ErrorIs(t, err, evaluate.ErrMemory)
		require.Less(t, kept.Load(), 3*req.Limits.Memory)
	}
}

func TestACancelledContextIsSaidSo(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := New(Options{}).Evaluate(ctx, inline("package m\nx: 1\n"))
	require.ErrorIs(t, err, context.Canceled)
	_, err = New(Options{}).Trace(ctx, inline("package m\nx: 1\n"), nil)
	require.ErrorIs(t, err, context.Canceled)
}

func TestAnInputThatIsTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	req := inline("package m\nx: string\n")
	req.Input = object.Value{Kind: object.KindMap, Members: []object.Member{
		{Name: "x", Value: object.Value{Kind: object.KindString, Text: strings.Repeat("x", 5<<20)}},
	}}
	_, err := New(Options{}).Evaluate(context.Background(), req)
	require.ErrorContains(t, err, "larger than 4 MiB")
}

func TestATreeMayHoldRegularFilesOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "m.cue"), []byte("package m\n"), 0o600))
	require.NoError(t, os.Symlink("/etc/hostname", filepath.Join(dir, "secret.json")))
	req := inline("")
	req.Module.FS = os.DirFS(dir)
	_, err := New(Options{}).Evaluate(context.Background(), req)
	require.ErrorContains(t, err, `"secret.json" is a symbolic link`)
}

func TestBadTreesGiveClearErrors(t *testing.T) {
	t.Parallel()
	file := func(text string) fs.FS { return fstest.MapFS{"m.cue": {Data: []byte(text)}} }
	for _, test := range []struct {
		name   string
		module evaluate.Module
		want   string
	}{
		{"no files at all", evaluate.Module{Label: "m"}, "the module has no files"},
		{"an empty tree", evaluate.Module{Label: "m", FS: fstest.MapFS{}}, `the folder has no .cue file`},
		{"a folder outside", evaluate.Module{Label: "m", FS: file("package m"), Dir: "../up"}, `folder "../up" is not inside the module`},
		{"a folder that is not there", evaluate.Module{Label: "m", FS: file("package m"), Dir: "sub"}, `no .cue file in folder "sub"`},
		{"invalid UTF-8", evaluate.Module{Label: "m", FS: file("package m\nx: \"\xff\"")}, "m/m.cue:2"},
		{"two packages", evaluate.Module{Label: "m", FS: fstest.MapFS{
			"a.cue": {Data: []byte("package a")}, "b.cue": {Data: []byte("package b")},
		}}, "found packages"},
		{"a broken module file", evaluate.Module{Label: "m", FS: fstest.MapFS{
			"a.cue": {Data: []byte("package a")}, "cue.mod/module.cue": {Data: []byte("module: 5\nnope")},
		}}, "cue.mod/module.cue"},
		{"a module file that replaces a dependency by a folder of the host", evaluate.Module{Label: "m", FS: fstest.MapFS{
			"a.cue":                    {Data: []byte("package a\nimport \"x.example/y\"\nz: y")},
			"cue.mod/module.cue":       {Data: []byte("module: \"m.example@v0\"\nlanguage: version: \"v0.17.0\"\n")},
			"cue.mod/local-module.cue": {Data: []byte("deps: \"x.example@v0\": replaceWith: \"/etc\"\n")},
		}}, `vendor it under "cue.mod/pkg/x.example/y"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := New(Options{}).Evaluate(context.Background(), evaluate.Request{Spec: "s", Module: test.module})
			require.ErrorContains(t, err, test.want)
			require.IsType(t, object.Errors{}, err)
			require.NotContains(t, err.Error(), "virtual-root")
		})
	}
}

func TestFilesWithoutAPackageClauseMayImport(t *testing.T) {
	t.Parallel()
	const native = "ropewalk: apiVersion: \"v1alpha1\"\ninput: {}\ncontext: schema.#Context\ngraph: schema.#Graph\n" +
		"graph: nodes: a: object: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: x}\n"
	for name, files := range map[string]map[string]string{
		"one file":                {"m.cue": "import \"ropewalk.dev/schema\"\nx: \"one\"\n" + native},
		"a library of CUE too":    {"m.cue": "import (\n\t\"strings\"\n\t\"ropewalk.dev/schema@v0\"\n)\nx: strings.ToLower(\"ONE\")\n" + native},
		"several files":           {"m.cue": "import \"ropewalk.dev/schema\"\nx: string\n" + native, "n.cue": "x: \"one\"\n"},
		"a file that a tag drops": {"m.cue": "import \"ropewalk.dev/schema\"\nx: \"one\"\n" + native, "n.cue": "@if(two)\n\nx: \"two\"\n"},
		"a file for tests":        {"m.cue": "import \"ropewalk.dev/schema\"\nx: \"one\"\n" + native, "n_test.cue": "x: \"two\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := fstest.MapFS{}
			for file, text := range files {
				tree[file] = &fstest.MapFile{Data: []byte(text)}
			}
			out, err := New(Options{Schemas: testSchemas()}).Evaluate(context.Background(), evaluate.Request{
				Spec: "s", Module: evaluate.Module{FS: tree, Digest: name, Label: "m"}, Context: testContext(),
			})
			require.NoError(t, err)
			require.Len(t, out.Nodes, 1)
			require.Equal(t, "one", out.Nodes[0].Object.Name())
		})
	}
}

func TestPositionsOfInlineModulesAreThoseOfTheUsersFile(t *testing.T) {
	t.Parallel()
	req := inline("package m\n\na: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: 5 & 6}\n")
	req.Module.Sources = map[string]evaluate.Source{"m.cue": {Pos: object.Pos{File: "spec.yaml", Line: 10, Column: 7}, Indent: 6}}
	_, err := New(Options{}).Evaluate(context.Background(), req)
	var one *object.Error
	require.ErrorAs(t, err, &one)
	require.Equal(t, object.Pos{File: "spec.yaml", Line: 12, Column: 64}, one.Pos)
}

func TestAModuleIsCompiledOnceHoweverManyAsk(t *testing.T) {
	t.Parallel()
	c := newModuleCache(2)
	var mu sync.Mutex
	built := 0
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			_, err := c.get(evaluate.Module{Digest: "a"}, func() (*loaded, error) {
				mu.Lock()
				defer mu.Unlock()
				built++
				return &loaded{}, nil
			})
			require.NoError(t, err)
		})
	}
	group.Wait()
	require.Equal(t, 1, built)
}

func TestTheCacheLetsGoOfWhatWasNotUsedForLongest(t *testing.T) {
	t.Parallel()
	c := newModuleCache(2)
	built := map[string]int{}
	get := func(digest string) {
		_, err := c.get(evaluate.Module{Digest: digest}, func() (*loaded, error) {
			built[digest]++
			return &loaded{}, nil
		})
		require.NoError(t, err)
	}
	for _, digest := range []string{"a", "b", "a", "c", "a", "b"} {
		get(digest)
	}
	require.Equal(t, map[string]int{"a": 1, "b": 2, "c": 1}, built)
}

func TestAModuleThatDoesNotCompileIsNotKept(t *testing.T) {
	t.Parallel()
	c := newModuleCache(2)
	_, err := c.get(evaluate.Module{Digest: "a"}, func() (*loaded, error) { return nil, errors.New("bad") })
	require.EqualError(t, err, "bad")
	require.Panics(t, func() { _, _ = c.get(evaluate.Module{Digest: "a"}, func() (*loaded, error) { panic("worse") }) })
	_, err = c.get(evaluate.Module{Digest: "a"}, func() (*loaded, error) { return &loaded{}, nil })
	require.NoError(t, err)
}

func TestTagsAndFoldersArePartOfTheKey(t *testing.T) {
	t.Parallel()
	a := evaluate.Module{Digest: "x", Tags: map[string]string{"env": "a"}}
	b := evaluate.Module{Digest: "x", Tags: map[string]string{"env": "b"}}
	c := evaluate.Module{Digest: "x", Dir: "sub"}
	require.NotEqual(t, cacheKey(a), cacheKey(b))
	require.NotEqual(t, cacheKey(a), cacheKey(c))
	require.Equal(t, cacheKey(evaluate.Module{Digest: "x"}), cacheKey(evaluate.Module{Digest: "x", Dir: ".", Label: "other"}))
}

// TestOneModuleMayBeRenderedByManyAtOnce is for the race detector.
func TestOneModuleMayBeRenderedByManyAtOnce(t *testing.T) {
	t.Parallel()
	p := New(Options{Schemas: testSchemas()})
	var group sync.WaitGroup
	for g := range 2 {
		group.Go(func() {
			for i := range 20 {
				req := renderWeb(t, g*100+i)
				result, err := p.Evaluate(context.Background(), req)
				require.NoError(t, err)
				require.Len(t, result.Nodes, 6)
				_, err = p.Trace(context.Background(), req, []evaluate.Query{{Node: "web/deployment", Path: object.Fields("spec", "replicas")}})
				require.NoError(t, err)
			}
		})
	}
	group.Wait()
}

// TestRendersLeaveNothingBehind holds the promise that a compiled module never
// grows: two thousand renders with different values keep the heap as it was.
func TestRendersLeaveNothingBehind(t *testing.T) {
	p := New(Options{Schemas: testSchemas()})
	render := func(from, to int) {
		for i := from; i < to; i++ {
			_, err := p.Evaluate(context.Background(), renderWeb(t, i))
			require.NoError(t, err)
		}
	}
	staysFlat(t, render)
	runtime.KeepAlive(p)
}

// staysFlat renders two thousand times and requires that the heap stays as it
// was. It does so in a process of its own: what other tests gave up is still running here.
func staysFlat(t *testing.T, render func(from, to int)) {
	t.Helper()
	const own = "ROPEWALK_TEST_ALONE"
	if os.Getenv(own) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", fmt.Sprintf("-test.short=%t", testing.Short())) //nolint:gosec // this program
		cmd.Env = append(os.Environ(), own+"=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "the heap grew by")
		return
	}
	count := 2000
	if testing.Short() {
		count = 200
	}
	render(0, 100)
	before := inUse()
	render(100, 100+count)
	grown := int64(0)
	// What other tests gave up may still be running out.
	require.Eventually(t, func() bool {
		grown = int64(inUse()) - int64(before)
		return grown < 1<<20
	}, 10*time.Second, 100*time.Millisecond)
	t.Logf("the heap grew by %d bytes", grown)
}

func inUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// FuzzNodes feeds the strict decoder with fields of nodes as modules might
// write them: it either takes them or says what is wrong, and never panics.
func FuzzNodes(f *testing.F) {
	for _, seed := range []string{
		`dependsOn: ["a", "b/c"]`, `readyWhen: [{type: "Exists"}]`, `apply: {mode: "Force", prune: true}`,
		`apply: 5`, `readyWhen: [null]`, `needs: [{kind: "Secret", name: "db"}]`, `needs: [{kind: 1}, "db"]`, `dependsOn: [[]]`, `object: []`, `x: {}`, `apply: prune: null`,
	} {
		f.Add(seed)
	}
	p := New(Options{})
	f.Fuzz(func(t *testing.T, field string) {
		if len(field) > 200 || strings.ContainsAny(field, "&|*[({") && strings.Count(field, "for") > 0 {
			t.Skip("only data is decoded")
		}
		req := inline("package m\nropewalk: apiVersion: \"v1alpha1\"\ngraph: nodes: a: {\n" +
			"object: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: \"a\"}\n" + field + "\n}\n")
		req.Module.Digest = ""
		req.Limits.Timeout = 2 * time.Second
		result, err := p.Evaluate(context.Background(), req)
		if err != nil {
			require.IsType(t, object.Errors{}, err)
			require.NotContains(t, err.Error(), "CUE panicked")
			return
		}
		for _, n := range result.Nodes {
			require.NotEmpty(t, n.Object.Kind())
			for _, r := range n.ReadyWhen {
				require.NotEmpty(t, r.Type)
			}
		}
	})
}

func TestTheOrderOfAnInputDoesNotMatter(t *testing.T) {
	t.Parallel()
	p := New(Options{Schemas: testSchemas()})
	req := renderWeb(t, 3)
	want, err := p.Evaluate(context.Background(), req)
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test wants the same order each time
	for range 10 {
		shuffle(random, &req.Input)
		fresh := New(Options{Schemas: testSchemas()})
		for _, e := range []*Evaluator{p, fresh} {
			got, err := e.Evaluate(context.Background(), req)
			require.NoError(t, err)
			require.Equal(t, want.Nodes, got.Nodes)
		}
	}
}

func shuffle(random *rand.Rand, v *object.Value) {
	random.Shuffle(len(v.Members), func(i, j int) { v.Members[i], v.Members[j] = v.Members[j], v.Members[i] })
	for i := range v.Members {
		shuffle(random, &v.Members[i].Value)
	}
}
