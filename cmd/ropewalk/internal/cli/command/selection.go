// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/object"
)

// Selection are the flags that choose objects of a render to print. Everything is rendered, so
// that each object is the same as without them.
type Selection struct {
	specs    []string
	selector string
	parsed   labels.Selector
}

// Add adds the flags to a command.
func (s *Selection) Add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSliceVar(&s.specs, "spec", nil, "print the objects of `NAME` alone, one of the specs; may be repeated")
	f.StringVarP(&s.selector, "selector", "l", "", "print the objects with these labels alone: `KEY=VALUE,...` as kubectl takes it")
	group(f, groupRender, "spec", "selector")
}

// ObjectsHere returns the objects of the project among args, or in this folder, for the completion
// of a shell. The mistakes of the project are not printed between the keys of a user.
func (a *App) ObjectsHere(ctx context.Context, flags *ProjectFlags, args []string) []*object.Node {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	quiet := *a
	quiet.Err = io.Discard
	flags.SkipSchemas = true
	r, err := quiet.Render(ctx, flags, args)
	if err != nil {
		return nil
	}
	defer r.Close()
	return r.Plan.Graph.Nodes
}

// CompleteSpecs lets shells complete --spec.
func (a *App) CompleteSpecs(cmd *cobra.Command, flags *ProjectFlags) {
	// It fails only for a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("spec", func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var names []cobra.Completion
		for _, n := range a.ObjectsHere(cmd.Context(), flags, args[:min(len(args), 1)]) {
			names = append(names, n.ID.Spec())
		}
		slices.Sort(names)
		return slices.Compact(names), cobra.ShellCompDirectiveNoFileComp
	})
}

// IsAll reports whether everything is printed.
func (s *Selection) IsAll() bool { return len(s.specs) == 0 && s.selector == "" }

// Check parses the flags, and refuses them for files that are written: an engine that prunes would
// delete the objects that are left out.
func (s *Selection) Check(output string) error {
	if s.IsAll() {
		return nil
	}
	if output != "" && output != "-" {
		return Usagef("leave out -o", "--spec and --selector choose what is printed: an engine that prunes would delete what a folder of them leaves out")
	}
	var err error
	s.parsed, err = labels.Parse(s.selector)
	if err != nil {
		return Usagef("write KEY=VALUE, KEY!=VALUE or KEY in (A,B)", "--selector %s is no selector of labels", s.selector)
	}
	return nil
}

// Has reports whether an object is selected. [Selection.Check] comes first.
func (s *Selection) Has(n *object.Node) bool {
	ofSpecs := len(s.specs) == 0 || slices.Contains(s.specs, n.ID.Spec())
	return s.IsAll() || (ofSpecs && s.parsed.Matches(labels.Set(n.Object.Labels())))
}

// Files returns the files of the selected objects of r. It returns an error if no object is selected,
// or if a spec does not exist.
func (s *Selection) Files(r Rendered) ([]emit.File, error) {
	if s.IsAll() {
		return r.Files, nil
	}
	if err := KnownSpecs(s.specs, r.SpecNames()); err != nil {
		return nil, err
	}
	chosen := map[object.ID]bool{}
	for _, n := range r.Plan.Graph.Nodes {
		chosen[n.ID] = s.Has(n)
	}
	files := slices.DeleteFunc(slices.Clone(r.Files), func(f emit.File) bool { return !chosen[f.Node] })
	if len(files) == 0 {
		return nil, s.noneError(r)
	}
	return files, nil
}

// noneError returns the error that no object of r is selected, with the labels that objects have.
func (s *Selection) noneError(r Rendered) error {
	scope := "this render"
	if len(s.specs) > 0 {
		scope = "--spec " + strings.Join(s.specs, ",")
	}
	if s.selector == "" {
		return Usagef("", "%s has no object", scope)
	}
	known := map[string]bool{}
	for _, n := range r.Plan.Graph.Nodes {
		if len(s.specs) == 0 || slices.Contains(s.specs, n.ID.Spec()) {
			for name, value := range n.Object.Labels() {
				known[name+"="+value] = true
			}
		}
	}
	hint := "labels: " + object.Suggest(s.selector, object.SortedKeys(known))
	return Usagef(hint, "--selector %s: no object of %s has these labels", s.selector, scope)
}

// SpecNames returns the names of the specs of r.
func (r Rendered) SpecNames() (out []string) {
	for _, spec := range r.Request.Specs {
		out = append(out, spec.Evaluate.Spec)
	}
	return out
}

// KnownSpecs refuses names of --spec that are not among the names of the specs.
func KnownSpecs(names, known []string) error {
	for _, name := range names {
		if !slices.Contains(known, name) {
			return Usagef(object.Suggest(name, known), "--spec %s: no spec has this name", name)
		}
	}
	return nil
}
