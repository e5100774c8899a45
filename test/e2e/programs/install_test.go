// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// module is a folder with a program that says its version.
func module(t *testing.T, source string) (Modules, project) {
	t.Helper()
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "tiny"), 0o750))
	for name, text := range map[string]string{"go.mod": "module example.com/tiny\n\ngo 1.26\n", "go.sum": "", "main.go": source} {
		require.NoError(t, os.WriteFile(filepath.Join(root, "tiny", name), []byte(text), 0o600))
	}
	return Modules{Root: root, Log: &bytes.Buffer{}}, project{
		folder: "tiny", programs: []program{{"tiny", "."}},
		stamp: func(version string) []string { return []string{"-X main.version=" + version} },
	}
}

const tiny = "package main\n\nvar version string\n\nfunc main() { println(version) }\n"

func TestAProgramIsBuiltWithItsVersionAndSaysSo(t *testing.T) {
	m, p := module(t, tiny)
	binary := filepath.Join(t.TempDir(), "tiny")
	require.NoError(t, m.build(t.Context(), p, p.programs[0], "v1.2.3", binary))
	out, err := exec.Command(binary).CombinedOutput()
	require.NoError(t, err)
	require.Equal(t, "v1.2.3\n", string(out))
	said := m.Log.(*bytes.Buffer).String()
	require.Contains(t, said, "e2e: building tiny v1.2.3")
	require.Contains(t, said, "e2e: built tiny v1.2.3 in ")
}

// TestAProgramThatIsNotWholeIsBuiltAgain has what a machine that stopped leaves behind.
func TestAProgramThatIsNotWholeIsBuiltAgain(t *testing.T) {
	m, p := module(t, tiny)
	binary := filepath.Join(t.TempDir(), "tiny")
	require.False(t, there(binary), "nothing was built")
	require.NoError(t, m.build(t.Context(), p, p.programs[0], "v1", binary))
	require.True(t, there(binary))
	require.NoError(t, os.Truncate(binary, 100))
	require.False(t, there(binary), "the end of it is missing")
	require.NoError(t, m.build(t.Context(), p, p.programs[0], "v1", binary))
	require.True(t, there(binary))
	require.NoError(t, os.Remove(sizeOf(binary)))
	require.False(t, there(binary), "it may not be whole")
}

func TestABuildThatFailsLeavesNothing(t *testing.T) {
	m, p := module(t, "package main\n\nfunc main() { missing() }\n")
	dir := t.TempDir()
	require.ErrorContains(t, m.build(t.Context(), p, p.programs[0], "v1", filepath.Join(dir, "tiny")), "undefined: missing")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestWhatGoesIntoAProgramIsItsIdentity(t *testing.T) {
	m, p := module(t, tiny)
	of := func(version string) string {
		id, err := m.identity(p, version)
		require.NoError(t, err)
		require.Len(t, id, 12)
		return id
	}
	seen := map[string]string{of("v1"): "nothing"}
	fresh := func(what, id string) {
		require.NotContains(t, seen, id, "%s is as before %s changed", what, seen[id])
		seen[id] = what
	}
	require.Contains(t, seen, of("v1"), "it is not the same twice")
	fresh("the flags", of("v2"))
	for _, name := range []string{"go.mod", "go.sum", "main.go"} {
		file := filepath.Join(m.Root, "tiny", name)
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, append(data, "// more\n"...), 0o600))
		fresh(name, of("v1"))
	}
}

func TestOneBuildsAtATime(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lock")
	unlock, err := lock(file)
	require.NoError(t, err)
	second := make(chan error)
	go func() {
		unlock, err := lock(file)
		if err == nil {
			unlock()
		}
		second <- err
	}()
	select {
	case <-second:
		require.Fail(t, "the lock was given twice")
	case <-time.After(50 * time.Millisecond):
	}
	unlock()
	require.NoError(t, <-second)
}

// TestEveryProgramIsPinned: each has a module that requires what its version is
// that of, and names it as a tool where it has no main of ours.
func TestEveryProgramIsPinned(t *testing.T) {
	for _, p := range projects() {
		data, err := os.ReadFile(filepath.Join("..", p.folder, "go.mod"))
		require.NoError(t, err)
		require.Contains(t, string(data), p.module+" v")
		for _, one := range p.programs {
			if one.pkg != "." {
				require.Contains(t, strings.Split(strings.ReplaceAll(string(data), "tool ", "\t"), "\n"), "\t"+one.pkg)
			}
		}
	}
	_, err := Modules{}.Install(t.Context(), "kubelet")
	require.EqualError(t, err, `no module pins a program "kubelet"`)
}

// TestTheLibrariesOfKubernetesAreOfItsRelease: a module of Kubernetes takes them
// from its own folders, which ours cannot.
func TestTheLibrariesOfKubernetesAreOfItsRelease(t *testing.T) {
	data, err := os.ReadFile("../kubernetes/go.mod")
	require.NoError(t, err)
	var version string
	replaced := 0
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 4 && fields[0] == "require" || len(fields) == 5 && fields[0] == "require":
			version = strings.Replace(fields[2], "v1.", "v0.", 1)
		case len(fields) == 4 && fields[1] == "=>":
			require.Equal(t, fields[0], fields[2])
			require.Equal(t, version, fields[3], line)
			replaced++
		}
	}
	require.Equal(t, 33, replaced)
}
