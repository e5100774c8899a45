// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package inputs_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
)

// describing asks what a module of one file takes.
func describing(text string) evaluate.Request {
	files := fstest.MapFS{"module.cue": {Data: []byte(text)}}
	return evaluate.Request{Module: evaluate.Module{FS: files, Digest: text, Label: "modules/test"}, Operation: evaluate.OpDescribe}
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
		"in its texts": {native + "input: {\n// " + strings.Repeat("ü", 2<<10) + "\na: string | *\"" +
			strings.Repeat("x", 4<<10) + "\"\n}", 1, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := inprocess.New(inprocess.Options{}).Evaluate(t.Context(), describing(c.text))
			require.NoError(t, err)
			require.Len(t, result.Inputs, c.count)
			require.Equal(t, c.first, result.Inputs[0].Path.String())
			for _, in := range result.Inputs {
				require.LessOrEqual(t, len(in.Doc), 2<<10+len("…"))
				require.LessOrEqual(t, len(in.Default), 4<<10)
				require.False(t, in.Required)
			}
		})
	}
}
