// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"io/fs"
	"maps"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/source/pullpolicy"
	"github.com/ropewalk/ropewalk/test/reposerver"
)

const guide = folder + "/README.md"

// fences are the blocks of code of the guide in a language.
func fences(t *testing.T, language string) []string {
	t.Helper()
	var out []string
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(read(t, guide), -1) {
		out = append(out, m[1])
	}
	require.NotEmpty(t, out)
	return out
}

// column is the first column of the table whose head begins with a word; what stands
// in it as code.
func column(t *testing.T, head string) []string {
	t.Helper()
	_, rest, ok := strings.Cut(read(t, guide), "\n| "+head+" |")
	require.True(t, ok, head)
	table, _, _ := strings.Cut(rest, "\n\n")
	var out []string
	for _, row := range strings.Split(strings.TrimRight(table, "\n"), "\n")[2:] {
		cell := strings.TrimSpace(strings.Split(row, "|")[1])
		for _, code := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
			out = append(out, code[1])
		}
	}
	require.NotEmpty(t, out, head)
	return out
}

func TestYAMLOfTheGuideIsTaken(t *testing.T) {
	for _, text := range fences(t, "yaml") {
		for _, o := range documents(t, text, text) {
			switch {
			case o.Kind() == pullpolicy.Kind:
				_, err := pullpolicy.Parse("policy", []byte(text))
				require.NoError(t, err)
			case o.Group() == "kustomize.config.k8s.io":
			case o.Kind() != "":
				require.Empty(t, findings(o), text)
			case o["containers"] != nil:
				require.Empty(t, findings(patched(t, o)), text)
			}
		}
	}
}

// patched is the Deployment with a part of its pods: containers that have an image
// are added to that of Argo CD, and others to what is there with the sidecar.
func patched(t *testing.T, part object.Object) object.Object {
	t.Helper()
	more := part["containers"].([]any)[0].(map[string]any)
	all := documents(t, kustomized, read(t, kustomized))
	deployment := all[slices.IndexFunc(all, func(o object.Object) bool { return o.Kind() == "Deployment" })]
	if more["image"] != nil {
		deployment = only(t, root+"/test/kustomize/testdata/argocd/repo-server.yaml")
	}
	spec := at(t, deployment, "spec", "template", "spec").(map[string]any)
	spec["volumes"] = append(spec["volumes"].([]any), part["volumes"].([]any)...)
	if more["image"] != nil {
		spec["containers"] = append(spec["containers"].([]any), more)
		return deployment
	}
	there := container(t, deployment, more["name"].(string))
	there["volumeMounts"] = append(there["volumeMounts"].([]any), more["volumeMounts"].([]any)...)
	return deployment
}

func commandsHaveTheirFlags(t *testing.T, command string, _ sidecar) {
	commands := 0
	for _, text := range fences(t, "sh") {
		for line := range strings.Lines(text) {
			line, _, _ = strings.Cut(line, " # ")
			words := strings.Fields(line)
			if len(words) == 0 || words[0] != "ropewalk" {
				continue
			}
			commands++
			for i, word := range words {
				words[i] = strings.Trim(word, `'"`)
			}
			// With --help nothing is done, but flags are parsed.
			help := run(t, command, append(words[1:], "--help")...)
			require.Contains(t, help, "Usage:\n  ropewalk "+words[1], line)
		}
	}
	require.Greater(t, commands, 2)
}

func flagsAreThere(t *testing.T, command string, _ sidecar) {
	known := run(t, command, "plugin", "argocd", "--help") + run(t, command, "render", "--help") + run(t, command, "lock", "--help")
	for _, m := range regexp.MustCompile("`(--[a-z-]+)[^`]*`").FindAllStringSubmatch(read(t, guide), -1) {
		require.Regexp(t, regexp.QuoteMeta(m[1])+`\b`, known)
	}
	for _, name := range column(t, "variable") {
		require.Contains(t, known, name)
	}
}

func TestFilesOfTheGuideAreThere(t *testing.T) {
	for _, name := range column(t, "folder") {
		require.True(t, exists(filepath.Join(folder, name)), name)
	}
	for _, m := range regexp.MustCompile("`((?:examples|helm)/[^`]+)`").FindAllStringSubmatch(read(t, guide), -1) {
		require.True(t, exists(filepath.Join(folder, m[1])), m[1])
	}
	for _, m := range regexp.MustCompile(`(?m) (deploy/argocd/[^ \n]+)`).FindAllStringSubmatch(strings.Join(fences(t, "sh"), ""), -1) {
		require.True(t, exists(filepath.Join(root, m[1])), m[1])
	}
}

func TestErrorsOfTheGuideAreThoseOfTheCode(t *testing.T) {
	// These are Argo CD's.
	theirs := []string{"could not find cmp-server plugin", "Manifest generation error", "is not permitted in project", "context deadline exceeded"}
	var code strings.Builder
	for _, dir := range []string{"internal", "plugin", "source", "render"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, dir), func(file string, d fs.DirEntry, err error) error {
			if err == nil && filepath.Ext(file) == ".go" && !strings.HasSuffix(file, "_test.go") {
				code.WriteString(read(t, file))
			}
			return err
		}))
	}
	// A text that goes over several lines, or takes a value, is one all the same.
	text := regexp.MustCompile(`" \+\n\s*"`).ReplaceAllString(code.String(), "")
	text = regexp.MustCompile(`not in %s: run %q`).ReplaceAllString(text, `not in ropewalk.lock: run "ropewalk lock"`)
	text = strings.ReplaceAll(text, `another version of %s wrote the lock`, `another version of ropewalk wrote the lock`)
	for _, message := range column(t, "what you see") {
		if !slices.ContainsFunc(theirs, func(s string) bool { return strings.Contains(message, s) }) {
			require.Contains(t, text, message)
		}
	}
}

func tablesAreComplete(t *testing.T, _ string, s sidecar) {
	page, status := s.get(t.Context(), "/metrics")
	require.Equal(t, http.StatusOK, status)
	metrics := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+) `).FindAllStringSubmatch(page, -1) {
		metrics[m[1]] = true
	}
	// These are absent before a request, a refusal, a collection of garbage in a worker, and
	// the end of one.
	for _, late := range []string{
		"ropewalk_argocd_requests_total", "ropewalk_argocd_request_seconds", "ropewalk_argocd_policy_refusals_total",
		"ropewalk_worker_heap_bytes", "ropewalk_worker_peak_bytes",
	} {
		metrics[late] = true
	}
	require.ElementsMatch(t, slices.Sorted(maps.Keys(metrics)), column(t, "metric"))

	// A module without #Input announces nothing of its own.
	files := fstest.MapFS{
		"app/spec.yaml": {Data: []byte("apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: any}\nspec: {cueRef: {type: inline, ref: 'a: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: \"a\"}'}}\n")},
	}
	announced, err := reposerver.Parameters(t.Context(), s.socket, reposerver.Request{Files: files, Path: "app"})
	require.NoError(t, err)
	var names []string
	for _, p := range announced {
		names = append(names, p.GetName())
	}
	require.ElementsMatch(t, names, column(t, "parameter"))
}
