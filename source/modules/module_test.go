// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
)

// TestADeepModuleFileIsAnError: a stack that overflows would end the process, and with it this test.
func TestADeepModuleFileIsAnError(t *testing.T) {
	for name, part := range map[string]string{
		"fields": "x:", "fields in lines": "x:\n", "structs": "{x:", "lists": "[", "terms": "1+", "selectors": "a.", "calls": "a(", "signs": "-",
		"strings": `"\(`, "optional fields": "x?:", "indices": "x[0]", "alternatives": "1|", "aliases": "x=", "comprehensions": "if x ", "parentheses": "(",
	} {
		t.Run(name, func(t *testing.T) {
			const head = "module: \"e.com/m@v0\"\nlanguage: version: \"v0.14.0\"\ncustom: deps: "
			for _, size := range []int{maxModFile, 1 << 20} {
				text := head + strings.Repeat(part, (size-len(head)-2)/len(part)) + "1\n"
				_, err := readModule(fstest.MapFS{modFile: {Data: []byte(text)}}, ".", nil)
				require.Error(t, err)
				if size > maxModFile {
					require.ErrorContains(t, err, "cue.mod/module.cue: the module file has ")
					require.ErrorContains(t, err, ", and at most 65536 are read")
				}
				_, err = Pack(source.Tree{FS: fstest.MapFS{modFile: {Data: []byte(text)}}}, "v0.1.0")
				require.Error(t, err)
			}
		})
	}
}
