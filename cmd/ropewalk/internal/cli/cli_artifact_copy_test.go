// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/test/servers"
)

func TestAnErrorOfACopyNamesItsOwnSide(t *testing.T) {
	alone(t)
	from, to, secure := servers.InProcess(t), servers.InProcess(t), servers.InProcess(t)
	plain := []string{"--plain-http", from.Host, "--plain-http", to.Host}
	a, b := "oci://"+from.Host+"/shop", "oci://"+to.Host+"/mirror"
	good(t, append([]string{"build", shop, "--to", a + ":v1"}, plain...)...)
	dir := t.TempDir()
	good(t, "build", shop, "--to", "oci-layout:"+filepath.Join(dir, "layout")+":v1")
	wanted := servers.Always(servers.Answer(http.StatusUnauthorized, "UNAUTHORIZED", "log in"))
	gone := func(r *http.Request) (http.Handler, bool) {
		return servers.Answer(http.StatusNotFound, "BLOB_UNKNOWN", "gone"), r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/")
	}
	for name, tt := range map[string]struct {
		from, to         string
		fromFault, fault servers.Fault
		want             []string
		not              string
	}{
		"the source is not there":           {a + "-none:v1", b + ":x1", nil, nil, []string{a + "-none:v1: ", "correct the name"}, to.Host},
		"the tag of a layout is not there":  {"oci-layout:" + filepath.Join(dir, "layout"), b, nil, nil, []string{`layout:latest"`, "correct"}, to.Host},
		"the source wants credentials":      {a + ":v1", b + ":x2", wanted, nil, []string{a + ":v1: ", "log in there"}, to.Host},
		"the destination wants credentials": {a + ":v1", b, nil, wanted, []string{b + ":v1: ", "log in there"}, from.Host},
		"the source lost content":           {a + ":v1", b + ":x3", gone, nil, []string{`"` + a + `:v1": `, "is referenced there but missing: copy the artifact again"}, to.Host},
		"the source speaks no https":        {"oci://" + secure.Host + "/shop:v1", b + ":x4", nil, nil, []string{"hint: --plain-http " + secure.Host}, to.Host},
		"the destination speaks no https":   {a + ":v1", "oci://" + secure.Host + "/shop", nil, nil, []string{"oci://" + secure.Host + "/shop:v1: ", "hint: --plain-http " + secure.Host}, from.Host},
	} {
		t.Run(name, func(t *testing.T) {
			from.Fault(tt.fromFault)
			to.Fault(tt.fault)
			code, _, diagnostics := call(t, append([]string{"artifact", "copy", tt.from, tt.to}, plain...)...)
			require.Equal(t, command.Environment, code, diagnostics)
			for _, want := range tt.want {
				require.Contains(t, diagnostics, want)
			}
			require.NotContains(t, diagnostics, tt.not, "the other side")
		})
	}
	from.Fault(nil)
	to.Fault(nil)

	files, err := filepath.Glob(filepath.Join(dir, "layout", "blobs", "sha256", "*"))
	require.NoError(t, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
			data[len(data)/2] ^= 1
			require.NoError(t, os.WriteFile(file, data, 0o600))
		}
	}
	code, _, diagnostics := call(t, append([]string{"artifact", "copy", "oci-layout:" + filepath.Join(dir, "layout") + ":v1", b + ":x5"}, plain...)...)
	require.Equal(t, command.Findings, code, diagnostics)
	require.Contains(t, diagnostics, `layout:v1": `)
	require.Contains(t, diagnostics, "it was altered")
	require.NotContains(t, diagnostics, to.Host)
}

func TestWhatARegistryLostIsNamed(t *testing.T) {
	alone(t)
	server := servers.InProcess(t)
	ref, plain := "oci://"+server.Host+"/shop:v1", []string{"--plain-http", server.Host}
	key := filepath.Join(t.TempDir(), "release")
	good(t, "artifact", "keygen", key)
	good(t, append([]string{"build", shop, "--to", ref, "--sign-key", key + ".key"}, plain...)...)
	var found struct{ Blobs []struct{ Digest string } }
	require.NoError(t, json.Unmarshal([]byte(good(t, append([]string{"artifact", "inspect", ref, "--format", "json"}, plain...)...)), &found))
	lost := found.Blobs[0].Digest
	server.Fault(func(r *http.Request) (http.Handler, bool) {
		return servers.Answer(http.StatusNotFound, "BLOB_UNKNOWN", "gone"), strings.HasSuffix(r.URL.Path, "/blobs/"+lost)
	})
	for _, argv := range [][]string{{"inspect", ref}, {"verify", ref, "--key", key + ".pub"}} {
		code, _, diagnostics := call(t, append(append([]string{"artifact"}, argv...), plain...)...)
		require.Equal(t, command.Environment, code, diagnostics)
		require.Contains(t, diagnostics, lost+" is referenced there but missing: copy the artifact again from a complete source (artifact copy --check), or push it again")
		require.NotContains(t, diagnostics, "correct the name")
	}
}

func TestALayoutThatCannotBeMadeIsNamed(t *testing.T) {
	alone(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "afile")
	require.NoError(t, os.WriteFile(file, []byte("a"), 0o600))
	good(t, "build", shop, "--to", "oci-layout:"+filepath.Join(dir, "layout"))
	for _, to := range []string{"oci-layout:" + file, "oci-layout:" + file + "/x", "oci-archive:" + file + "/x.tar", "oci-archive:" + file} {
		code, _, diagnostics := call(t, "artifact", "copy", "oci-layout:"+filepath.Join(dir, "layout"), to)
		require.Equal(t, command.Environment, code, diagnostics)
		require.Contains(t, diagnostics, file)
		require.Contains(t, diagnostics, "hint: ")
	}
}
