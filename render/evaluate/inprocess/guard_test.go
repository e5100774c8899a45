// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

func TestAnEvaluationThatRecursesTooDeeplyIsGivenUp(t *testing.T) {
	stop, ended := make(chan struct{}), make(chan struct{})
	const levels = 3000 // of 64 KiB: more than the limit, and less than what ends the process
	_, err := runGuarded(context.Background(), inline(""), func(context.Context) (byte, error) {
		defer close(ended)
		return descend(stop, levels), nil
	})
	close(stop)
	<-ended // A stack that goes on growing would be taken for one of the next test.
	require.ErrorIs(t, err, evaluate.ErrCrashed)
	require.ErrorContains(t, err, "evaluation recursed too deeply: module ")
	require.NotEmpty(t, object.AsErrors(err, object.StageEvaluate)[0].Hint)
}

// descend waits on a deep stack.
func descend(stop <-chan struct{}, levels int) byte {
	var frame [64 << 10]byte
	if levels == 0 {
		<-stop
		return frame[0]
	}
	frame[levels] = descend(stop, levels-1)
	return frame[levels] + frame[0]
}

func TestTextThatNestsTooDeeplyIsRefusedAtItsLine(t *testing.T) {
	for name, part := range map[string]string{"a million terms": "1+", "a million fields": "x: ", "a million selectors": "x."} {
		t.Run(name, func(t *testing.T) {
			text := "package m\n\nx: " + strings.Repeat(part, 1_000_000) + "1\n"
			files := fstest.MapFS{"m.cue": {Data: []byte(text)}, "other.cue": {Data: []byte("package m\n")}}
			_, err := New(Options{}).Evaluate(t.Context(), evaluate.Request{Spec: "web", Module: evaluate.Module{FS: files, Label: "web"}})
			require.ErrorContains(t, err, "web/m.cue:3:")
			require.ErrorContains(t, err, "too deep to be evaluated")
		})
	}
	files := fstest.MapFS{"m.cue": {Data: []byte("package m\n")}, "cue.mod/module.cue": {Data: []byte("module: \"e.com/m@v0\"\n" + strings.Repeat("x: ", 300_000) + "1\n")}}
	_, err := New(Options{}).Evaluate(t.Context(), evaluate.Request{Spec: "web", Module: evaluate.Module{FS: files, Label: "web"}})
	require.ErrorContains(t, err, "web/cue.mod/module.cue:2:")
}
