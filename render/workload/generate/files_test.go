// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

func TestAFileOfASecretIsNotInAConfigMapAndRestartsThePods(t *testing.T) {
	hashes := map[string]bool{}
	for _, content := range []string{"\xff one", "\xff two"} {
		r := plain()
		r.Workload.AllowSecrets = []score.Text{{Value: "other"}, {Value: r.Workload.Name.Value + "-f*"}}
		r.Containers[0].Files = []File{
			{Spec: score.File{Target: "/a.p12", Pos: at(17), Secret: at(18)}, Binary: []byte(content)},
			{Spec: score.File{Target: "/pin", Pos: at(19), Secret: at(20)}, IsText: true, Content: write(21, lit("1234"))},
		}
		input, errs := Input(r)
		require.NoError(t, errs.Err())
		_, found := input.Lookup(object.Fields("configs", "files"))
		require.Less(t, found, 2)
		sealed, _ := input.Get("sealedFiles")
		require.JSONEq(t, `{"web.a.p12": "`+base64.StdEncoding.EncodeToString([]byte(content))+`", "web.pin": "MTIzNA=="}`, string(sealed.JSON()))
		hash, _ := input.Get("hash")
		hashes[hash.Text] = true
	}
	require.Len(t, hashes, 2)
}

func TestAFileOfASecretNeedsItsAuthorsWord(t *testing.T) {
	for _, asScore := range []bool{false, true} {
		r := plain()
		r.Workload.Score = asScore
		r.Workload.AllowSecrets = []score.Text{{Value: "other-*"}}
		r.Containers[0].Files = []File{{Spec: score.File{Target: "/a.p12", Pos: at(17), Secret: at(18)}, Binary: []byte("hunter2")}}
		_, errs := Input(r)
		require.Len(t, errs, 1)
		require.Equal(t, at(18), errs[0].Pos)
		require.ErrorContains(t, errs[0], `the file is in the manifests with the Secret "`+r.Workload.Name.Value+`-files", which nothing allows`)
		require.Contains(t, errs[0].Hint, map[bool]string{false: "write spec.allowSecrets: [", true: "write metadata.allowSecrets: ["}[asScore])
		require.NotContains(t, errs[0].Error(), "hunter2")
	}
}

func TestTheFilesOfASecretFitIntoOne(t *testing.T) {
	r := plain()
	r.Workload.AllowSecrets = []score.Text{{Value: "*"}}
	for _, name := range []string{"/a", "/b"} {
		r.Containers[0].Files = append(r.Containers[0].Files, File{Spec: score.File{Target: name, Pos: at(17), Secret: at(18)}, Binary: make([]byte, 600<<10)})
	}
	_, errs := Input(r)
	require.ErrorContains(t, errs, "the Secret of the files in the manifests")
}

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
