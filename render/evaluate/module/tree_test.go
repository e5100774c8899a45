// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/evaluate"
)

func TestTreesThatAreNoModule(t *testing.T) {
	good := fstest.MapFS{"m.cue": {Data: []byte("package m\n")}, "sub/s.cue": {Data: []byte("package s\n")}}
	for name, c := range map[string]struct {
		module evaluate.Module
		want   string
	}{
		"a module":                {evaluate.Module{FS: good}, ""},
		"a package of it":         {evaluate.Module{FS: good, Dir: "sub"}, ""},
		"no files":                {evaluate.Module{}, "the module has no files"},
		"a folder outside":        {evaluate.Module{FS: good, Dir: "../other"}, `folder "../other" is not inside the module`},
		"a folder that is absent": {evaluate.Module{FS: good, Dir: "none"}, `no .cue file in folder "none"`},
		"no CUE":                  {evaluate.Module{FS: fstest.MapFS{"a.yaml": {}}}, "the folder has no .cue file"},
		"a link":                  {evaluate.Module{FS: fstest.MapFS{"m.cue": {Mode: fs.ModeSymlink}}}, `"m.cue" is a symbolic link`},
		"a pipe":                  {evaluate.Module{FS: fstest.MapFS{"m.cue": {Mode: fs.ModeNamedPipe}}}, `"m.cue" is a named pipe`},
		"a socket":                {evaluate.Module{FS: fstest.MapFS{"m.cue": {Mode: fs.ModeSocket}}}, `"m.cue" is a socket`},
		"text that is not UTF-8":  {evaluate.Module{Label: "modules/m", FS: fstest.MapFS{"m.cue": {Data: []byte("package m\na: \"\xff\"\n")}}}, "modules/m/m.cue:2: evaluate: the line is not valid UTF-8"},
		"other files may be so":   {evaluate.Module{FS: fstest.MapFS{"m.cue": {Data: []byte("package m\n")}, "logo.png": {Data: []byte("\xff")}}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readTree(c.module, nil)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}

// A schema is laid over what a module lacks, and nothing of the module is replaced by one.
func TestASchemaIsLaidOverWhatAModuleLacks(t *testing.T) {
	schemas := map[string]fs.FS{"ropewalk.dev/schema": fstest.MapFS{"schema.cue": {Data: []byte("package schema\n")}}}
	own := "cue.mod/pkg/ropewalk.dev/schema/schema.cue"
	lacking, err := readTree(evaluate.Module{FS: fstest.MapFS{"m.cue": {Data: []byte("package m\n")}}}, schemas)
	require.NoError(t, err)
	holding, err := readTree(evaluate.Module{FS: fstest.MapFS{"m.cue": {Data: []byte("package m\n")}, own: {Data: []byte("package schema\n\na: 1\n")}}}, schemas)
	require.NoError(t, err)
	require.NotEmpty(t, lacking.laid)
	require.Contains(t, string(holding.files[own]), "a: 1")
}
