// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheRootOfACheckoutIsFoundFromThePath(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	repo := filepath.Join(base, "_cmp_server", "1234")
	for _, dir := range []string{"apps/web", "apps/apps/web", "v2/x", "proc/self/cwd", "a/a", "deep/_cmp_server/x"} {
		require.NoError(t, os.MkdirAll(filepath.Join(repo, dir), 0o755))
	}
	require.NoError(t, os.Symlink("../v2/x", filepath.Join(repo, "apps/current")))
	require.NoError(t, os.Symlink(".", filepath.Join(repo, "here")))
	require.NoError(t, os.Symlink("/", filepath.Join(repo, "away")))
	require.NoError(t, os.WriteFile(filepath.Join(repo, "file"), nil, 0o600))
	for name, test := range map[string]struct{ dir, source, root, app string }{
		"the path that is named":                  {"apps/web", "apps/web", ".", "apps/web"},
		"a path with slashes around it":           {"apps/web", "/apps/web/", ".", "apps/web"},
		"the root":                                {".", ".", ".", "."},
		"no path":                                 {"apps/web", "", "apps/web", "."},
		"a folder that is in itself":              {"apps/apps/web", "apps/apps/web", ".", "apps/apps/web"},
		"the same name twice":                     {"a/a", "a/a", ".", "a/a"},
		"a link to elsewhere":                     {"apps/current", "apps/current", ".", "apps/current"},
		"a link to the root":                      {"here", "here", ".", "here"},
		"only a part of the repository was sent":  {"apps/web", "team/apps/web", ".", "apps/web"},
		"only the application was sent":           {".", "apps/web", ".", "."},
		"another path altogether":                 {"apps/web", "v2/x", "apps/web", "."},
		"a path that leads everywhere by a link":  {".", "proc/self/cwd", ".", "."},
		"a path that is that of the file system":  {".", strings.TrimPrefix(repo, "/"), ".", "."},
		"a folder that is called like that above": {"deep/_cmp_server/x", "deep/_cmp_server/x", "deep/_cmp_server/x", "."},
	} {
		t.Run(name, func(t *testing.T) {
			root, app, err := Checkout(filepath.Join(repo, test.dir), test.source)
			require.NoError(t, err)
			require.Equal(t, filepath.Join(repo, test.root), root)
			require.Equal(t, test.app, app)
		})
	}
	for name, test := range map[string]struct{ dir, source string }{
		"a path that leaves":  {".", "../x"},
		"a folder that is no": {"none", "."},
		"a file":              {"file", "."},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := Checkout(filepath.Join(repo, test.dir), test.source)
			require.Error(t, err)
		})
	}
}

// TestTheRootOfTheFileSystemIsNoRepository has no folder of argocd-cmp-server
// around it.
func TestTheRootOfTheFileSystemIsNoRepository(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, source := range []string{"proc/self/cwd", strings.TrimPrefix(dir, "/")} {
		t.Chdir(dir)
		root, _, err := Checkout(dir, source)
		require.NoError(t, err)
		require.NotEqual(t, "/", root)
	}
}

// TestAModuleThatWasNotSentNamesTheAnnotation sends what a repo-server sends of a
// repository with manifest-generate-paths.
func TestAModuleThatWasNotSentNamesTheAnnotation(t *testing.T) {
	_, socket := start(t, options(t))
	all := projectOf("web")
	const want = `add the missing folder to the annotation argocd.argoproj.io/manifest-generate-paths of the Application`
	for name, test := range map[string]struct{ sent, path, source, mistake string }{
		"the application only":         {"apps/web/", ".", "apps/web", `"../../modules/m" leaves the root of the project`},
		"a folder above":               {"apps/", "web", "apps/web", `"../modules/m" leaves the root of the project`},
		"all but the module":           {"", "apps/web", "apps/web", ""},
		"a folder above both":          {"", "apps/web", "team/apps/web", `there is no folder "modules"`},
		"an older server, no variable": {"apps/web/", ".", "", `"../../modules/m" leaves the root of the project`},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{}
			for file, text := range all {
				if rest, ok := strings.CutPrefix(file, test.sent); ok && !strings.HasPrefix(file, "modules/") {
					files[rest] = text
				}
			}
			_, err := generate(t, socket, call{archive: archive(t, texts(files)), path: test.path, env: map[string]string{"ARGOCD_APP_SOURCE_PATH": test.source}})
			require.ErrorContains(t, err, "web.yaml:5:")
			require.ErrorContains(t, err, test.mistake)
			if sent(test.source, test.path) == "" {
				require.NotContains(t, err.Error(), "manifest-generate-paths")
				return
			}
			require.ErrorContains(t, err, want)
			t.Log(err)
		})
	}
}
