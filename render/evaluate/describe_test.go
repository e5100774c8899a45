// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package evaluate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// describing asks what a module of one file takes.
func describing(text string) Request { return Request{Module: oneFile(text), Describe: true} }

func inputNames(r Result) []string {
	var out []string
	for _, in := range r.Inputs {
		out = append(out, in.Path.String())
	}
	return out
}

func TestADescriptionIsBounded(t *testing.T) {
	const native = "package m\nropewalk: apiVersion: \"v1alpha1\"\n"
	var many strings.Builder
	for i := range 300 {
		fmt.Fprintf(&many, "k%03d: int | *%d\n", i, i)
	}
	for name, c := range map[string]struct {
		text  string
		count int
		first string
	}{
		"at 200 names":              {native + "input: {" + many.String() + "}", 200, "k000"},
		"where a schema has itself": {native + "#T: {a?: #T, n?: int}\ninput: #T", 1, "n"},
		"at five steps":             {native + "input: {a?: {b?: {c?: {d?: {e?: {f?: int}, g?: int}}}}}", 2, "a.b.c.d.e"},
		"in its texts": {native + "input: {\n// " + strings.Repeat("ü", maxInputDoc) + "\na: string | *\"" +
			strings.Repeat("x", maxInputDefault) + "\"\n}", 1, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := NewInProcess(Options{}).Evaluate(t.Context(), describing(c.text))
			require.NoError(t, err)
			require.Len(t, result.Inputs, c.count)
			require.Equal(t, c.first, result.Inputs[0].Path.String())
			for _, in := range result.Inputs {
				require.LessOrEqual(t, len(in.Doc), maxInputDoc+len("…"))
				require.LessOrEqual(t, len(in.Default), maxInputDefault)
				require.False(t, in.Required)
			}
		})
	}
}

func TestAModuleThatHangsIsNotDescribedAndHarmsNoOther(t *testing.T) {
	p := newTestPool(t, PoolOptions{Size: 1})
	for name, text := range map[string]string{
		"when it is compiled": hangs,
		"in its memory":       hostileFile(t, "doubled-string"),
	} {
		t.Run(name, func(t *testing.T) {
			req := describing(text)
			req.Limits.Timeout = 300 * time.Millisecond
			began := time.Now()
			_, err := p.Evaluate(t.Context(), req)
			require.True(t, isAny(err, ErrTimeout, ErrMemory), "%v", err)
			require.Less(t, time.Since(began), 3*time.Second)
			result, err := p.Evaluate(t.Context(), describing(goodModule))
			require.NoError(t, err)
			require.Equal(t, []string{"name", "ports", "replicas"}, inputNames(result))
			require.Empty(t, result.Nodes)
		})
	}
}

func TestADescriptionIsRememberedByItsModule(t *testing.T) {
	m := Remember(NewInProcess(Options{}), 1<<20)
	for range 2 {
		result, err := m.Evaluate(t.Context(), describing(goodModule))
		require.NoError(t, err)
		require.Len(t, result.Inputs, 3)
	}
	_, err := m.Evaluate(t.Context(), ask(goodModule))
	require.NoError(t, err)
	require.Equal(t, []int{1, 2}, []int{m.Stats().Hits, m.Stats().Misses}, "a render is another request")
}
