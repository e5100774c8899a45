// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
)

// TestFilesWhoseKeysAreTheSameGetDifferentOnes finds two paths whose short hashes
// are the same, too.
func TestFilesWhoseKeysAreTheSameGetDifferentOnes(t *testing.T) {
	var one, other string
	known := map[string]string{}
	for i := 0; other == ""; i++ {
		path := []byte("/" + strings.Repeat("a.", 24))
		for bit := range 24 {
			if i>>bit&1 == 1 {
				path[2+2*bit] = '/'
			}
		}
		if p, ok := known[object.ShortHash("web"+string(path))]; ok {
			one, other = p, string(path)
		}
		known[object.ShortHash("web"+string(path))] = string(path)
	}
	r := plain()
	hashed := "/b/c-" + object.ShortHash("web/b/c")
	r.Containers[0].Files = []File{
		aFile(one, lit("1")), aFile(other, lit("2")), aFile("/b/c", lit("3")), aFile("/b.c", lit("4")), aFile(hashed, lit("5")), aFile("/b/d", lit("6")),
	}
	input, errs := Input(r)
	require.NoError(t, errs.Err())
	files := cluster{}.run(t, input)["web"].files
	require.Equal(t, map[string]string{
		one: "1", other: "2", "/b/c": "3", "/b.c": "4", hashed: "5", "/b/d": "6",
	}, files)
	data, _ := input.Lookup(object.Fields("configs", "files", "data"))
	require.Len(t, data.Members, 6)
	require.Equal(t, "web.b.d", data.Members[5].Name, "a key that nobody else has is plain")
}
