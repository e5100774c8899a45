// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestAMistakeInAParameterNamesTheParameter(t *testing.T) {
	_, socket := start(t, options(t))
	packed := archive(t, texts(projectOf("web")))
	const at = "spec.source.plugin.parameters: "
	for name, test := range map[string]struct {
		env  map[string]string
		want string
	}{
		"a number for a text":            {params(`[{"name": "text", "string": "1234567"}]`), at + `text: evaluate: spec.input.text: expected text, got 1234567 (write it in quotes: "1234567")`},
		"true for a text":                {params(`[{"name": "text", "string": "true"}]`), `(write it in quotes: "true")`},
		"a number among texts":           {params(`[{"name": "list", "array": ["a", "7"]}]`), at + `list: evaluate: spec.input.list[1]: expected text, got 7 (write it in quotes: "7")`},
		"a number in a map of texts":     {params(`[{"name": "tags", "map": {"a": "1"}}]`), at + `tags: evaluate: spec.input.tags.a: expected text, got 1 (write it in quotes: "1")`},
		"an input that is none":          {params(`[{"name": "nope", "string": "1"}]`), at + `nope: evaluate: spec.input.nope: unknown field`},
		"of set":                         {params(`[{"name": "set", "array": ["nope=3"]}]`), at + "set: nope: evaluate: spec.input.nope: "},
		"of the variable":                {map[string]string{"ARGOCD_ENV_ROPEWALK_SET": "nope=3"}, "ROPEWALK_SET: nope: evaluate: spec.input.nope: "},
		"an image that nobody takes":     {params(`[{"name": "images", "array": ["x:1"]}]`), at + "images: x:1: spec: there is no workload to set an image of"},
		"an environment":                 {params(`[{"name": "environment", "string": "nope"}]`), at + `environment: spec: environment "nope" is not known`},
		"an environment of the variable": {map[string]string{"ARGOCD_ENV_ROPEWALK_ENV": "nope"}, `ROPEWALK_ENV: spec: environment "nope" is not known`},
		"a preview without rules":        {params(`[{"name": "preview", "string": "12"}]`), at + `preview: spec: the project declares no previews`},
		"a preview of the variable":      {map[string]string{"ARGOCD_ENV_ROPEWALK_PREVIEW": "Feature/x"}, `ROPEWALK_PREVIEW: spec: "Feature/x" may hold only a-z, 0-9 and -`},
		"neither true nor false":         {map[string]string{"ARGOCD_ENV_ROPEWALK_ALLOW_EMPTY": "yes"}, `ROPEWALK_ALLOW_EMPTY: expected true or false, got "yes"`},
		"a name that is no text":         {params(`[{"name": 3}]`), `found a JSON number at "name": expected maps with a name`},
		"a map of numbers":               {params(`[{"name": "n", "map": {"a": 3}}]`), `found a JSON number at "map": expected maps`},
		"a list of numbers":              {params(`[3]`), `found a JSON number at "": expected maps`},
		"no list":                        {params(`{"n": 3}`), `not a JSON list of parameters: found a JSON object at ""`},
		"a parameter given twice":        {params(`[{"name": "n", "string": "1"}, {"name": "n", "string": "2"}]`), `n: the parameter is given twice`},
		"a parameter of two kinds":       {params(`[{"name": "n", "string": "1", "array": ["2"]}]`), `n: the parameter has several values: expected one of string, array and map`},
		"a variable with a slip":         {map[string]string{"ARGOCD_ENV_ROPEWALK_ENVIRONMENT": "prod", "ARGOCD_ENV_ROPEWALK_ENV": "staging"}, "the variable ROPEWALK_ENVIRONMENT is not known: did you mean ROPEWALK_ENV? known: ROPEWALK_ENV, ROPEWALK_SET, ROPEWALK_ALLOW_EMPTY"},
		"a variable of ours":             {map[string]string{"ARGOCD_ENV_ROPEWALK_FOO": ""}, "the variable ROPEWALK_FOO is not known: known: ROPEWALK_ENV, ROPEWALK_SET"},
		"a slip":                         {params(`[{"name": "environmen", "string": "prod"}]`), at + `environmen: the parameter is not known (did you mean "environment"?)`},
		"a version that is none":         {map[string]string{"KUBE_VERSION": "potato"}, `KUBE_VERSION: expected a version such as 1.36 or v1.36.3, got "potato"`},
		"a path of many steps":           {params(`[{"name": "` + strings.Repeat("a.", 200_000) + `a", "string": "1"}]`), `the path has more than 128 steps`},
		"something behind the list":      {params(`[] x`), "after top-level value"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := generate(t, socket, call{archive: packed, path: "apps/web", env: test.env})
			require.Equal(t, codes.InvalidArgument, status.Code(err))
			require.ErrorContains(t, err, test.want)
			require.NotContains(t, err.Error(), "Go ")
			require.NotContains(t, err.Error(), "--")
		})
	}
}

func TestAParameterOfNoneOfSeveralSpecsIsNamedAsOne(t *testing.T) {
	_, socket := start(t, options(t))
	files := projectOf("web")
	files["apps/web/more.yaml"] = strings.Replace(files["apps/web/web.yaml"], "name: web", "name: more", 1)
	packed := archive(t, texts(files))
	const at = "spec.source.plugin.parameters: "
	for parameter, want := range map[string]string{
		`{"name": "environmen", "string": "prod"}`: at + `environmen: the parameter is not known (did you mean "environment"?)`,
		`{"name": "replicas", "string": "3"}`:      at + "replicas: there are 2 specs: name the one that the value is for (write SPEC:PATH)",
		`{"name": "web.n", "string": "3"}`:         at + "web.n: there are 2 specs: name the one that the value is for (web is a spec: write web:n)",
		`{"name": "set", "string": "n=3"}`:         at + "set: n: spec: there are 2 specs: name the one that the value is for (write SPEC:PATH=VALUE)",
	} {
		_, err := generate(t, socket, call{archive: packed, path: "apps/web", env: params("[" + parameter + "]")})
		require.Contains(t, status.Convert(err).Message()+"\n", want+"\n")
	}
}

func TestALockThatIsALinkOutSaysSo(t *testing.T) {
	dir := t.TempDir()
	for name, text := range projectOf("web") {
		name = filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o750))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	require.NoError(t, os.Symlink("/etc/hostname", filepath.Join(dir, "apps/web/ropewalk.lock")))
	_, err := New(options(t)).Generate(t.Context(), Request{Files: os.DirFS(dir), Path: "apps/web"})
	require.ErrorContains(t, err, "apps/web/ropewalk.lock: resolve: the lock is not a regular file of the project: the symbolic link cannot be followed: leaves the root of the project by a link")
	require.NoError(t, os.Remove(filepath.Join(dir, "apps/web/ropewalk.lock")))
	require.NoError(t, os.Symlink("lock", filepath.Join(dir, "apps/web/ropewalk.lock")))
	_, err = New(options(t)).Generate(t.Context(), Request{Files: os.DirFS(dir), Path: "apps/web"})
	require.ErrorContains(t, err, "apps/web/ropewalk.lock: resolve: the lock is not a regular file of the project: the symbolic link cannot be followed: no such file or directory")
}

func TestWarningsAreReportedOnceForEachApplication(t *testing.T) {
	opts := options(t)
	var mu sync.Mutex
	var log []string
	opts.Report = func(err error) {
		mu.Lock()
		defer mu.Unlock()
		log = append(log, err.Error())
	}
	files := projectOf("web")
	// Nothing is known of this kind, which is a warning.
	files["modules/m/m.cue"] = strings.NewReplacer(`apiVersion: "v1"`, `apiVersion: "example.com/v1"`, `"ConfigMap"`, `"Widget"`).Replace(module)
	_, socket := start(t, opts)
	packed := archive(t, texts(files))
	for _, app := range []string{"one", "one", "two", "one"} {
		env := maps.Clone(of("shop", app))
		_, err := generate(t, socket, call{archive: packed, path: "apps/web", env: env})
		require.NoError(t, err)
	}
	mu.Lock()
	defer mu.Unlock()
	require.Len(t, log, 2)
	require.Regexp(t, `^application "one": warning: modules/m/m.cue:\d+:\d+: check: .*no schema`, log[0])
	require.Regexp(t, `^application "two": warning: `, log[1])
}
