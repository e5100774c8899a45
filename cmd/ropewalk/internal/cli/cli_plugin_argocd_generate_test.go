// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/plugin"
)

const configMap = `apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: %s}
spec:
  cueRef:
    type: inline
    ref: |
      package m

      text: string
      config: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "%[1]s", data: "text": text}
  input: {text: hello}
`

// unpackedBy is the folder of an application as argocd-cmp-server unpacks it, which is
// the working directory from now on.
func unpackedBy(t *testing.T, files map[string]string) {
	t.Helper()
	alone(t)
	app := filepath.Join(t.TempDir(), "_cmp_server", "0123", "apps", "web")
	require.NoError(t, os.MkdirAll(app, 0o755))
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(app, name), []byte(text), 0o600))
	}
	t.Chdir(app)
	t.Setenv("ARGOCD_APP_SOURCE_PATH", "apps/web")
	t.Setenv("ARGOCD_APP_NAME", "web")
}

// generated runs the command.
func generated(t *testing.T, args ...string) (code int, out, diagnostics string) {
	t.Helper()
	return call(t, append([]string{"plugin", "argocd", "generate", "--workers", "1"}, args...)...)
}

func TestTheStockServerGetsAStream(t *testing.T) {
	unpackedBy(t, map[string]string{"b.yaml": fmt.Sprintf(configMap, "b"), "a.yaml": fmt.Sprintf(configMap, "a")})
	t.Setenv("ARGOCD_APP_PARAMETERS", `[{"name":"a:text","string":"set"}]`)
	code, out, diagnostics := generated(t)
	require.Zero(t, code, diagnostics)
	require.Empty(t, diagnostics)
	_, want, _ := call(t, "render", "--dialect", "argocd", "--set", "a:text=set")
	require.Equal(t, want, out)
}

func TestTheStockServerGetsWarningsWhereItAsksForThem(t *testing.T) {
	unpackedBy(t, map[string]string{"a.yaml": strings.NewReplacer(`"v1"`, `"example.com/v1"`, `"ConfigMap"`, `"Widget"`).Replace(fmt.Sprintf(configMap, "a"))})
	code, _, diagnostics := generated(t)
	require.Zero(t, code, diagnostics)
	require.Empty(t, diagnostics)
	code, _, diagnostics = generated(t, "--verbose")
	require.Zero(t, code, diagnostics)
	require.Contains(t, diagnostics, `ropewalk: application "web": warning: apps/web/a.yaml:`)
}

func TestAnErrorForTheStockServerFitsAndBeginsWithAPlace(t *testing.T) {
	files := map[string]string{}
	for i := range 100 {
		name := fmt.Sprintf("spec-%02d", i)
		files[name+".yaml"] = strings.Replace(fmt.Sprintf(configMap, name), "text: hello", "text: 5", 1)
	}
	unpackedBy(t, files)
	code, out, diagnostics := generated(t)
	require.Equal(t, command.Findings, code)
	require.Empty(t, out)
	require.Regexp(t, `^apps/web/spec-00\.yaml:\d+:\d+: `, diagnostics)
	require.LessOrEqual(t, len(diagnostics), 4<<10)
	require.Greater(t, len(diagnostics), 3<<10)
	require.Regexp(t, `\nand \d+ more\n$`, diagnostics)
}

func TestExitCodesForTheStockServer(t *testing.T) {
	good := map[string]string{"a.yaml": fmt.Sprintf(configMap, "a")}
	absent := map[string]string{"a.yaml": "apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: a}\nspec: {cueRef: {type: oci, ref: \"oci://127.0.0.1:1/m@sha256:" +
		strings.Repeat("0", 64) + "\"}}\n"}
	for name, test := range map[string]struct {
		files map[string]string
		env   string
		args  []string
		code  int
		says  string
	}{
		"a flag that cannot be":          {good, "", []string{"--request-timeout", "0s"}, command.Usage, "expected more than 0"},
		"an argument":                    {good, "", []string{"apps/web"}, command.Usage, "apps/web"},
		"a flag of the server":           {good, "", []string{"--socket-dir", "."}, command.Usage, "unknown flag"},
		"a path that leaves":             {good, "ARGOCD_APP_SOURCE_PATH=../x", nil, command.Environment, `"../x" leaves`},
		"a variable with a slip":         {good, "ARGOCD_ENV_ROPEWALK_ENVIRONMENT=prod", nil, command.Findings, "ROPEWALK_ENVIRONMENT is not known: did you mean ROPEWALK_ENV?"},
		"a registry that is not there":   {absent, "", []string{"--request-timeout", "2s", "--plain-http", "127.0.0.1:1"}, command.Environment, "apps/web/a.yaml:4"},
		"nothing is rendered":            {map[string]string{"ropewalk.yaml": "apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: p}\n"}, "", nil, command.Findings, "nothing was rendered"},
		"a module that is not in a lock": {map[string]string{"a.yaml": strings.Replace(absent["a.yaml"], "@sha256:"+strings.Repeat("0", 64), ":v1", 1)}, "", nil, command.Findings, "ropewalk.lock"},
	} {
		t.Run(name, func(t *testing.T) {
			unpackedBy(t, test.files)
			if variable, value, ok := strings.Cut(test.env, "="); ok {
				t.Setenv(variable, value)
			}
			code, out, diagnostics := generated(t, test.args...)
			require.Equal(t, test.code, code, diagnostics)
			require.Empty(t, out)
			require.Contains(t, diagnostics, test.says)
		})
	}
}

func TestAnInterruptedRenderForTheStockServerEnds(t *testing.T) {
	unpackedBy(t, map[string]string{"a.yaml": fmt.Sprintf(configMap, "a")})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, diagnostics bytes.Buffer
	code := Run(ctx, []string{"plugin", "argocd", "generate"}, command.Streams{In: strings.NewReader(""), Out: &out, Err: &diagnostics})
	require.Equal(t, command.Interrupted, code)
	require.Empty(t, out.String())
}

// TestCredentialsOfTheSourceDoNotReachGit has the variables by which a repo-server
// tells git the credentials of a source.
func TestCredentialsOfTheSourceDoNotReachGit(t *testing.T) {
	unpackedBy(t, map[string]string{"a.yaml": fmt.Sprintf(configMap, "a")})
	for _, name := range []string{
		"GIT_ASKPASS", "GIT_USERNAME", "GIT_PASSWORD", "GIT_SSH_COMMAND", "GIT_SSL_NO_VERIFY", "GIT_CONFIG_COUNT", "SSH_ASKPASS", "ARGOCD_GIT_ASKPASS_NONCE",
	} {
		t.Setenv(name, "canary")
	}
	in, closer, err := plugin.StockRequest()
	require.NoError(t, err)
	defer closer()
	require.Equal(t, "canary", in.Variables["ARGOCD_GIT_ASKPASS_NONCE"])
	require.NotContains(t, strings.Join(os.Environ(), "\n"), "canary")
	require.Equal(t, "apps/web", in.Path)
}

func TestTheStockServerGetsTheParametersOfAnApplication(t *testing.T) {
	unpackedBy(t, map[string]string{"a.yaml": fmt.Sprintf(configMap, "a")})
	code, out, diagnostics := call(t, "plugin", "argocd", "parameters", "--workers", "1")
	require.Zero(t, code, diagnostics)
	require.Contains(t, out, `"name": "text"`)
	require.NotContains(t, out, "allowEmpty", "those of every application are in plugin.yaml")
}
