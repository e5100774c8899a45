// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"slices"
	"sync"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload"
)

// seen is what workloads that are compiled at the same time leave behind for
// messages about all of them.
type seen struct {
	sync.Mutex
	of map[string]shown // by name of the spec
}

// shown is what one workload leaves behind.
type shown struct {
	// secret is the place of a text from the store that nobody named.
	secret object.Pos
	routes []workload.Route
	// refused is what the module of workloads has against the input of one, where
	// it is not made for workloads at all.
	refused *Error
}

func (s *seen) add(name string, one shown) {
	s.Lock()
	defer s.Unlock()
	s.of[name] = one
}

// together is what is wrong with the workloads as a whole, once: the first of
// them in the order of specs stands for all.
func (j joined) together(specs []Spec) Errors {
	var out Errors
	told := map[string]bool{}
	once := func(what string, e *Error) {
		if !told[what] {
			told[what] = true
			out = append(out, e)
		}
	}
	ways := map[string]workload.Route{}
	for _, s := range specs {
		one := j.seen.of[s.Evaluate.Spec]
		if one.secret.IsValid() {
			once("store", noStore(one.secret, j.Config.Secrets))
		}
		if one.refused != nil {
			once("module", one.refused)
		}
		for _, r := range one.routes {
			way := r.Host + r.Path
			if first, twice := ways[way]; twice {
				out = append(out, twoRoutes(first, r))
				continue
			}
			ways[way] = r
		}
	}
	return out
}

func noStore(pos object.Pos, secrets spec.Secrets) *Error {
	return &Error{
		Stage: object.StageSpec, Severity: object.SeverityWarning, Pos: pos,
		Err:  fmt.Errorf("secrets are read from the %s %q, because no store is named", secrets.StoreKind, secrets.StoreName),
		Hint: "name it in spec.workloads.secrets.store of " + spec.ProjectFile + ", for all environments or in each",
	}
}

func twoRoutes(first, second workload.Route) *Error {
	return &Error{
		Stage: object.StageSpec, Severity: object.SeverityWarning, Pos: second.Pos, Path: second.In,
		Err:   fmt.Errorf("another route is for %s%s too: one of them gets the requests", second.Host, second.Path),
		Hint:  "give them different hosts or paths",
		Notes: []object.Note{{Pos: first.Pos, Text: "the other route"}},
	}
}

// refused is the mistake of a project that names a module for workloads which is
// made for something else: it knows two fields or more not, or not like this,
// that every workload has. Its other complaints are then beside the point.
func (j joined) refused(s *Spec, err error) *Error {
	module := j.Config.Module
	if err == nil || module.Type == spec.RefEmbedded && module.Ref == spec.DefaultWorkloadModule {
		return nil
	}
	var against Errors
	for _, e := range object.AsErrors(err, object.StageEvaluate) {
		if slices.Contains([]string{"kind", "containers", "serviceAccount"}, e.Path) {
			against = append(against, e)
		}
	}
	if len(against) < 2 {
		return nil
	}
	first := against.Sorted()[0]
	notes := []object.Note{{Pos: first.Pos, Text: fmt.Sprintf("%s: %s", first.Path, first.Err)}}
	return &Error{
		Stage: object.StageSpec, Pos: module.Pos, Path: "spec.workloads.module",
		Err:   fmt.Errorf("the module %q does not take the input of a workload", s.Evaluate.Module.Label),
		Hint:  "start with a copy of the module " + spec.DefaultWorkloadModule + " and keep its #Input, or leave the field out",
		Notes: append(notes, first.Notes...),
	}
}
