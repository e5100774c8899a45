// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/plugin/argocd"
	"github.com/ropewalk/ropewalk/test/conformance/cases"
	"github.com/ropewalk/ropewalk/test/reposerver"
)

// argocdOnly: a plugin of Argo CD writes for Argo CD.
func argocdOnly(r request) string {
	if r.Dialect != "argocd" {
		return "the plugin speaks the dialect argocd only"
	}
	return ""
}

// serve runs the plugin of Argo CD until the test ends, and returns its socket.
func (b bench) serve(t *testing.T) string {
	t.Helper()
	// The path of a socket has room for a hundred letters.
	dir, err := os.MkdirTemp("", "rw")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	var said bytes.Buffer
	// The context of a test ends before its cleanup.
	ctx, kill := context.WithCancel(context.WithoutCancel(t.Context()))
	c := exec.CommandContext(ctx, b.command, "plugin", "argocd", "--socket-dir", dir, "--http", "", "--cache-dir", t.TempDir())
	c.Stdout, c.Stderr = &said, &said
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		defer kill()
		defer time.AfterFunc(20*time.Second, kill).Stop()
		require.NoError(t, c.Process.Signal(syscall.SIGTERM))
		require.NoError(t, c.Wait(), "%s", &said)
	})
	socket := filepath.Join(dir, "ropewalk.sock")
	require.Eventually(t, func() bool {
		_, err := reposerver.Check(t.Context(), socket)
		return err == nil
	}, 20*time.Second, 5*time.Millisecond)
	return socket
}

// parameter is one of spec.source.plugin.parameters of an Application.
type parameter struct {
	Name   string   `json:"name"`
	String string   `json:"string,omitempty"`
	Array  []string `json:"array,omitempty"`
}

// variables are a request as a repo-server says it. With paths each value that is
// set is a parameter of its own, else all of them are one, or a variable.
func (r request) variables(t *testing.T, paths, variable bool) map[string]string {
	t.Helper()
	out := map[string]string{
		// A folder without documents is a spec of this name; on the command line it is
		// called like the folder.
		"ARGOCD_APP_NAME": path.Base(r.Dir), "ARGOCD_APP_PROJECT_NAME": "default", "ARGOCD_APP_SOURCE_PATH": r.Dir,
		"ARGOCD_APP_REVISION": "0123456789abcdef", "ARGOCD_APP_NAMESPACE": r.Namespace, "KUBE_VERSION": r.KubeVersion,
		"KUBE_API_VERSIONS": "v1,apps/v1",
	}
	var all []parameter
	switch {
	case paths:
		for _, s := range r.Set {
			name, value, _ := strings.Cut(s, "=")
			all = append(all, parameter{Name: name, String: value})
		}
	case variable:
		out["ARGOCD_ENV_ROPEWALK_SET"] = strings.Join(r.Set, "\n")
	case len(r.Set) > 0:
		all = append(all, parameter{Name: "set", Array: r.Set})
	}
	if len(r.Values) > 0 {
		all = append(all, parameter{Name: "values", Array: r.Values})
	}
	if r.Environment != "" && variable {
		out["ARGOCD_ENV_ROPEWALK_ENV"] = r.Environment
	} else if r.Environment != "" {
		all = append(all, parameter{Name: "environment", String: r.Environment})
	}
	data, err := json.Marshal(all)
	require.NoError(t, err)
	out["ARGOCD_APP_PARAMETERS"] = string(data)
	return out
}

// socket asks the plugin as a repo-server does.
func socket(t *testing.T, b bench, r request) []string {
	out, err := reposerver.Generate(t.Context(), b.socket, reposerver.Request{
		Files: os.DirFS(b.repositories[r.Repository]), Path: r.Dir, Variables: r.variables(t, true, false),
	})
	require.NoError(t, err)
	return parsed(t, []byte(strings.Join(out, "---\n")))
}

// stock is what argocd-cmp-server runs.
func stock(t *testing.T, b bench, r request) []string {
	return parsed(t, b.stock(t, r, r.variables(t, false, true)))
}

// pluginFile is what of plugin.yaml argocd-cmp-server reads.
type pluginFile struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct{ Name string }
	Spec       struct {
		Generate   pluginCommand
		Parameters struct {
			Static  []map[string]any
			Dynamic pluginCommand
		}
		ProvideGitCreds bool `yaml:"provideGitCreds"`
	}
}

type pluginCommand struct{ Command, Args []string }

// plugin reads the file that is shipped for the stock server, strictly.
func plugin(t *testing.T) pluginFile {
	t.Helper()
	data, err := os.ReadFile("../../deploy/argocd/plugin.yaml")
	require.NoError(t, err)
	var p pluginFile
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	require.NoError(t, d.Decode(&p))
	require.ErrorIs(t, d.Decode(&p), io.EOF)
	return p
}

// stock runs generate.command of plugin.yaml as argocd-cmp-server does.
func (b bench) stock(t *testing.T, r request, variables map[string]string) []byte {
	t.Helper()
	out, diagnostics, err := b.exec(t, plugin(t).Spec.Generate, r, variables)
	require.NoError(t, err, "%s", diagnostics)
	return out
}

// exec runs a command of plugin.yaml: no shell, the folder of the application, and
// the variables of the request after those of the server.
func (b bench) exec(t *testing.T, command pluginCommand, r request, variables map[string]string) (out []byte, diagnostics string, err error) {
	t.Helper()
	args := slices.Concat(command.Command[1:], command.Args)
	require.Equal(t, "ropewalk", command.Command[0])
	var stdout, stderr bytes.Buffer
	c := exec.CommandContext(t.Context(), b.command, args...)
	c.Dir, c.Stdout, c.Stderr = b.folder(r), &stdout, &stderr
	home := t.TempDir()
	c.Env = []string{"HOME=" + home, "TMPDIR=" + home, "PATH=" + os.Getenv("PATH"), "ROPEWALK_CACHE=" + home, "ARGOCD_CMP_WORKDIR=" + home}
	for name, value := range variables {
		c.Env = append(c.Env, name+"="+value)
	}
	err = c.Run()
	return stdout.Bytes(), stderr.String(), err
}

// parsed is the objects of a YAML stream.
func parsed(t *testing.T, data []byte) []string {
	t.Helper()
	var objects []map[string]any
	for d := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var o map[string]any
		err := d.Decode(&o)
		if errors.Is(err, io.EOF) {
			return texts(t, objects)
		}
		require.NoError(t, err)
		objects = append(objects, o)
	}
}

func names(all []*argocd.Parameter) []string {
	var out []string
	for _, p := range all {
		out = append(out, p.Name)
	}
	return out
}

func TestThePluginOfTheStockServerIsWhatItReads(t *testing.T) {
	p := plugin(t)
	require.Equal(t, []string{"argoproj.io/v1alpha1", "ConfigManagementPlugin", argocd.DefaultName}, []string{p.APIVersion, p.Kind, p.Metadata.Name})
	require.True(t, p.Spec.ProvideGitCreds)
	// What every application takes is said in two places.
	want, err := json.Marshal(argocd.StaticParameters())
	require.NoError(t, err)
	got, err := json.Marshal(p.Spec.Parameters.Static)
	require.NoError(t, err)
	require.JSONEq(t, string(want), string(got))
}

func TestTheCommandsOfTheStockServer(t *testing.T) {
	b := prepare(t)
	shop := request{cases.Case{Repository: cases.Examples, Dir: "shop"}}
	p := plugin(t)
	t.Run("parameters are a JSON list", func(t *testing.T) {
		out, diagnostics, err := b.exec(t, p.Spec.Parameters.Dynamic, shop, shop.variables(t, false, false))
		require.NoError(t, err, "%s", diagnostics)
		var list []*argocd.Parameter
		require.NoError(t, json.Unmarshal(out, &list), "%s", out)
		require.NotNil(t, list)
		require.Subset(t, names(list), []string{"catalog:replicas", "storefront:autoscaling.max"})
		require.NotContains(t, names(list), "environment", "what every application takes is in plugin.yaml")
	})
	t.Run("a mistake is on standard error, its file and line first", func(t *testing.T) {
		broken := shop
		broken.Set = []string{"storefront:autoscaling.max=many"}
		out, diagnostics, err := b.exec(t, p.Spec.Generate, broken, broken.variables(t, false, false))
		var failed *exec.ExitError
		require.ErrorAs(t, err, &failed)
		require.Equal(t, 1, failed.ExitCode(), "%s", diagnostics)
		require.Empty(t, out)
		require.True(t, strings.HasPrefix(diagnostics, "spec.source.plugin.parameters: set: storefront:autoscaling.max: "), "%s", diagnostics)
		require.LessOrEqual(t, len(diagnostics), 4<<10)
		t.Log(diagnostics)
	})
	t.Run("it prints the bytes of the socket", func(t *testing.T) {
		alone := b.stock(t, shop, shop.variables(t, false, false))
		answer, err := reposerver.Generate(t.Context(), b.socket, reposerver.Request{
			Files: os.DirFS(b.repositories[cases.Examples]), Path: "shop", Variables: shop.variables(t, false, false),
		})
		require.NoError(t, err)
		require.Equal(t, "---\n"+strings.Join(answer, "---\n"), string(alone))
	})
}
