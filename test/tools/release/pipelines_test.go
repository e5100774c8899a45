// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// testPipelines runs the steps of the action for GitHub and of the component for GitLab against a
// server that has the files of the release where its page has them.
func testPipelines(t *testing.T, out, version string) {
	files := http.FileServer(http.Dir(out))
	mux := http.NewServeMux()
	mux.Handle("/releases/latest/download/", http.StripPrefix("/releases/latest/download/", files))
	mux.Handle("/releases/download/"+version+"/", http.StripPrefix("/releases/download/"+version+"/", files))
	server := httptest.NewServer(mux)
	defer server.Close()
	run := func(script string, env ...string) {
		cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", strings.ReplaceAll(script, repository, server.URL))
		cmd.Dir = t.TempDir()
		cmd.Env = append(os.Environ(), append(env, "DOWNLOAD="+server.URL+"/releases/download/"+version, "no_proxy=*", "NO_PROXY=*")...)
		text, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s\n%s", script, text)
	}
	var action struct {
		Runs struct {
			Steps []struct {
				Run string
				Env map[string]string
			}
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, ".github/actions/setup/action.yml")), &action))
	require.Len(t, action.Runs.Steps, 1)
	require.Equal(t, map[string]string{"VERSION": "${{ inputs.version }}", "BIN": "${{ runner.temp }}/ropewalk"}, action.Runs.Steps[0].Env)
	for _, wanted := range []string{"", version} {
		temp := t.TempDir()
		run(action.Runs.Steps[0].Run, "VERSION="+wanted, "RUNNER_TEMP="+temp, "BIN="+temp+"/ropewalk", "GITHUB_PATH="+temp+"/path")
		path, err := os.ReadFile(temp + "/path")
		require.NoError(t, err)
		require.Contains(t, command(t, filepath.Join(strings.TrimSpace(string(path)), "ropewalk"), "version"), "ropewalk "+version+" ")
	}

	text, err := os.ReadFile(filepath.Join(out, "gitlab.yml"))
	require.NoError(t, err)
	_, job, found := strings.Cut(string(text), "\n---\n")
	require.True(t, found)
	bin := t.TempDir()
	job = strings.NewReplacer("$[[ inputs.job ]]", "ropewalk", "$[[ inputs.command ]]", "version >here", "/usr/local/bin", bin).Replace(job)
	var jobs map[string]struct {
		Variables map[string]string
		Before    []string `json:"before_script"`
		Script    []string
	}
	require.NoError(t, yaml.Unmarshal([]byte(job), &jobs))
	component := jobs["ropewalk"]
	require.Equal(t, map[string]string{"VERSION": version, "BIN": bin}, component.Variables)
	run(strings.Join(append(component.Before, component.Script...), "\n")+"\ngrep -q 'ropewalk "+version+"' here\n",
		"VERSION="+version, "BIN="+bin, "PATH="+bin+":"+os.Getenv("PATH"))
}
