// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package object_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
)

func TestErrorsOfARevisionAreInItsFiles(t *testing.T) {
	is := errors.New("it is wrong")
	given := object.Errors{
		{Pos: object.Pos{File: "web.yaml", Line: 3, Column: 1}, Notes: []object.Note{{Pos: object.Pos{File: "a.cue", Line: 1}, Text: "here"}}, Err: is},
		{Err: is},
	}
	named := given.In("main:")
	require.Equal(t, "main:web.yaml", named[0].Pos.File)
	require.Equal(t, "main:a.cue", named[0].Notes[0].Pos.File)
	require.Empty(t, named[1].Pos.File, "what is in no file stays so")
	require.Equal(t, "web.yaml", given[0].Pos.File, "the errors that were given are not changed")
	require.Equal(t, "a.cue", given[0].Notes[0].Pos.File)
}
