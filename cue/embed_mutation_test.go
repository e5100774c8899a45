// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cue_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// mutations of all inputs together; each has a seed of its own, so that a failure is found
// again by its number.
const mutations = 2000

// Whatever an input holds, what is wrong with it is reported at its lines: a fault of the
// evaluation would hide every mistake.
func TestMutatedInputsNeverCrashTheEvaluation(t *testing.T) {
	e := evaluator()
	seeds := mutationSeeds(t, e)
	const shards = 4
	for shard := range shards {
		t.Run(strconv.Itoa(shard), func(t *testing.T) {
			t.Parallel()
			for i := shard; i < mutations; i += shards {
				chance := mutator{rand.New(rand.NewPCG(14, uint64(i)))} //nolint:gosec // the same each time
				req := mutated(t, seeds[i%len(seeds)], chance)
				_, err := e.Evaluate(context.Background(), req)
				if errors.Is(err, evaluate.ErrCrashed) {
					t.Errorf("mutation %d of %s: %s\n%s", i, req.Module.Label, err, req.Input.JSON())
				}
			}
		})
	}
}

// mutationSeeds are the inputs of the goldens of every embedded module.
func mutationSeeds(t *testing.T, e evaluate.Evaluator) []evaluate.Request {
	var out []evaluate.Request
	for _, module := range []string{"webservice", "database", "workload", "cluster", "policies", "provisioners"} {
		for path, a := range cases(t, module+"/*.txtar") {
			switch {
			case filepath.Base(path) == "mistakes.txtar":
			case module == "provisioners":
				out = append(out, asked(t, e, path, spec.BackendKubernetes, file(t, a, "input.yaml")))
			case module == "policies":
				out = append(out, mistaken(t, module, path, file(t, a, "policy.yaml")))
			default:
				out = append(out, request(t, embedded(t, module), path, file(t, a, "input.yaml")))
			}
		}
	}
	byPos := func(a, b evaluate.Request) int { return strings.Compare(a.Pos.File, b.Pos.File) }
	slices.SortFunc(out, byPos)
	return out
}

// mutated is req with another input, or another one of its policy where it has one.
func mutated(t *testing.T, req evaluate.Request, m mutator) evaluate.Request {
	at := &req.Input
	if len(req.Policies) > 0 {
		req.Policies = slices.Clone(req.Policies)
		at = &req.Policies[0].Input
	}
	v := *at
	for range 1 + m.IntN(3) {
		v = m.mutate(v, 0)
	}
	again, err := spec.ParseValue(spec.File{Name: req.Pos.File, Data: v.JSON()})
	require.NoError(t, err)
	*at = again
	return req
}

// mutator makes mistakes in values.
type mutator struct{ *rand.Rand }

// mutate is v with one mistake, in it or in one of its parts.
func (m mutator) mutate(v object.Value, depth int) object.Value {
	if n := len(v.Members); n > 0 && (depth == 0 || m.IntN(4) > 0) {
		v.Members = slices.Clone(v.Members)
		i := m.IntN(n)
		if m.IntN(2) > 0 {
			v.Members[i].Value = m.mutate(v.Members[i].Value, depth+1)
			return v
		}
		switch name := v.Members[i].Name; m.IntN(4) {
		case 0:
			v.Members = slices.Delete(v.Members, i, i+1)
		case 1:
			v.Members[i].Name = name + "x"
		case 2:
			v.Members[i].Value = m.value(0)
		default:
			v = v.Merge(object.Value{Kind: object.KindMap, Members: []object.Member{{Name: "nope", Value: m.value(0)}}})
		}
		return v
	}
	if n := len(v.Items); n > 0 && m.IntN(4) > 0 {
		v.Items = slices.Clone(v.Items)
		i := m.IntN(n)
		v.Items[i] = m.mutate(v.Items[i], depth+1)
		return v
	}
	return m.value(depth)
}

// value is any value, most often one that is wrong wherever it stands.
func (m mutator) value(depth int) object.Value {
	pick := func(kind object.Kind, texts ...string) object.Value {
		return object.Value{Kind: kind, Text: texts[m.IntN(len(texts))]}
	}
	switch m.IntN(8 - min(depth, 3)) {
	case 0:
		return pick(object.KindNull, "")
	case 1:
		return pick(object.KindBool, "true", "false")
	case 2:
		return pick(object.KindNumber, "0", "-1", "5", "1.5", "1e30")
	case 3, 4:
		return pick(object.KindString, "", "x", "2Gi", "Not A Name", "${a.b}", "\x00é", "true")
	case 5:
		out := object.Value{Kind: object.KindList}
		for range m.IntN(3) {
			out.Items = append(out.Items, m.value(depth+1))
		}
		return out
	default:
		out := object.Value{Kind: object.KindMap}
		for i := range m.IntN(3) {
			out.Members = append(out.Members, object.Member{Name: []string{"size", "name", "a b"}[i], Value: m.value(depth + 1)})
		}
		return out
	}
}
