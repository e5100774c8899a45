// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

// TestCases renders the archives of testdata/cases and compares what comes
// out with their file want. The comment of an archive may hold lines "dir: D",
// "tag: K=V", "catalog: true", "describe: true", "inspect: true" (of the inputs in the
// list of input.yaml) and "trace: NODE PATH"; its files are input.yaml, module/… and
// policies/NAME/….
func TestCases(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/cases/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(name)
			require.NoError(t, err)
			got := runCase(t, archive, false)
			golden(t, name, archive, got)
			require.Equal(t, got, runCase(t, archive, true), "CUE's loader must make the same of every module")
		})
	}
}

// golden compares got with the file want of an archive, or writes it there.
func golden(t *testing.T, name string, archive *txtar.Archive, got string) {
	t.Helper()
	for i, f := range archive.Files {
		if f.Name != "want" {
			continue
		}
		if os.Getenv("ROPEWALK_UPDATE") == "" {
			require.Equal(t, string(f.Data), got)
			return
		}
		archive.Files = append(archive.Files[:i], archive.Files[i+1:]...)
		break
	}
	require.NotEmpty(t, os.Getenv("ROPEWALK_UPDATE"), "no file want; run with ROPEWALK_UPDATE=1")
	archive.Files = append(archive.Files, txtar.File{Name: "want", Data: []byte(got)})
	require.NoError(t, os.WriteFile(name, txtar.Format(archive), 0o600))
}

func runCase(t *testing.T, archive *txtar.Archive, slowly bool) string {
	t.Helper()
	req, queries := requestOf(t, archive)
	p := New(Options{Schemas: testSchemas()})
	p.slowly = slowly
	result, err := p.Evaluate(context.Background(), req)
	again, errAgain := p.Evaluate(context.Background(), req)
	require.Equal(t, err, errAgain, "a second render of the same request must give the same errors")
	require.Equal(t, result, again, "a second render of the same request must give the same result")

	var b strings.Builder
	writeResult(&b, result)
	if err != nil {
		writeErrors(&b, err)
	}
	if len(queries) > 0 {
		origins, err := p.Trace(context.Background(), req, queries)
		require.NoError(t, err)
		for i, q := range queries {
			o := origins[i]
			fmt.Fprintf(&b, "trace %s %s: %s %s, module %s\n", q.Node, q.Path, o.Input, o.InputPath, o.Module)
		}
	}
	return b.String()
}

func writeErrors(b *strings.Builder, err error) {
	errs, ok := err.(object.Errors) //nolint:errorlint // the interface promises this very type
	if !ok {
		fmt.Fprintf(b, "NOT object.Errors: %v\n", err)
		return
	}
	for _, e := range errs {
		fmt.Fprintf(b, "error %s\n", e)
		for _, n := range e.Notes {
			fmt.Fprintf(b, "  %s: %s\n", n.Pos, n.Text)
		}
	}
}

func writeResult(b *strings.Builder, r evaluate.Result) {
	if r.Flavour != "" {
		fmt.Fprintf(b, "flavour %s\n", r.Flavour)
	}
	for _, n := range r.Nodes {
		data, _ := json.Marshal(n.Object)
		fmt.Fprintf(b, "node %s at %s, spec %s\n  %s\n", n.ID, n.Pos, n.SpecPos, data)
		for _, d := range n.DependsOn {
			fmt.Fprintf(b, "  depends on %s at %s\n", d.ID, d.Pos)
		}
		for _, r := range n.ReadyWhen {
			data, _ := json.Marshal(r)
			fmt.Fprintf(b, "  ready when %s at %s\n", data, r.Pos)
		}
		if apply, _ := json.Marshal(n.Apply); string(apply) != "{}" {
			fmt.Fprintf(b, "  apply %s\n", apply)
		}
		if n.Set != 0 {
			fmt.Fprintf(b, "  set %d %s\n", n.Set, n.SetName)
		}
	}
	for _, v := range r.Violations {
		fmt.Fprintf(b, "violation %s %s: %s: node %q path %q at %s\n", v.Severity, v.Policy, v.Message, v.Node, v.Path, v.PolicyPos)
	}
	for _, u := range r.Undecided {
		fmt.Fprintf(b, "undecided %s\n", u)
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(b, "warning %s\n", w)
	}
	for _, key := range object.SortedKeys(r.Provisioned) {
		fmt.Fprintf(b, "resource %s %s\n", key, r.Provisioned[key].JSON)
		writeResult(b, evaluate.Result{Nodes: r.Provisioned[key].Nodes})
	}
	for _, in := range r.Inputs {
		kind := string(in.Type)
		if in.Type == evaluate.InputAny {
			kind = "any"
		}
		if in.Collection != evaluate.CollectionNone {
			kind = string(in.Collection) + " of " + kind
		}
		fmt.Fprintf(b, "input %s: %s, %q, default %q, required %v, cut %v, %q\n", in.Path, kind, in.Expected, in.Default, in.Required, in.Cut, in.Doc)
	}
	if r.Inspection != nil {
		mark, _ := json.Marshal(r.Inspection.Mark)
		fmt.Fprintf(b, "mark %s\n", mark)
		for _, f := range r.Inspection.Findings {
			fmt.Fprintf(b, "%s %s %s: %s: %s (%s)\n", f.Pos, f.Severity, f.Rule, f.Path, f.Message, f.Hint)
		}
		for _, p := range r.Inspection.Points {
			fmt.Fprintf(b, "point %s: %s at %s: %v\n", p.Path, p.What, p.Pos, p.Covered)
		}
	}
	for _, p := range r.Catalog {
		fmt.Fprintf(b, "provisioner %d %s class %q id %q: %s\n", p.Index, p.Type, p.Class, p.ID, p.Description)
		for _, q := range p.Params {
			fmt.Fprintf(b, "  param %s: %q, default %q, required %v, %q\n", q.Name, q.Type, q.Default, q.Required, q.Doc)
		}
		fmt.Fprintf(b, "  outputs %q, sensitive %q\n", p.Outputs, p.Sensitive)
	}
}
