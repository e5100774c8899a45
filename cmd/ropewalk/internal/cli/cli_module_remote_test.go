// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/test/servers"
)

// TestModulesOfOthersAreTestedInProcessesOfTheirOwn: what hangs is killed at its deadline, and
// the lines of cases are shown though their files are on no disk.
func TestModulesOfOthersAreTestedInProcessesOfTheirOwn(t *testing.T) {
	alone(t)
	root := t.TempDir()
	repo := servers.NewGit(t, filepath.Join(root, "web.git"))
	repo.Commit(map[string]string{
		"modules/web/web.cue": `package web

ropewalk: {
	apiVersion: "v1alpha1"
	vet: budget: cpu: "10s"
}

#Input: {
	// n is how much there is to do.
	n: *1 | int
}
input: #Input

let tens = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
_many: [for a in tens for b in tens for c in tens if input.n > 1 for d in tens for e in tens for f in tens for g in tens for h in tens {a}]

graph: nodes: config: object: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "config", data: size: "\(len(_many))"}
`,
		"modules/web/test/a.yaml": "name: quick\nexpect:\n  objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {size: \"1\"}}]\n" +
			"---\nname: slow\ninput: {n: 2}\nexpect: {count: 1}\n---\nname: good\nexpect: {count: 1}\n",
	}, "a module")
	repo.Tag("v1.0.0")
	url := servers.GitHTTP(t, root)
	reference := "git:" + url + "/web.git?tag=v1.0.0//modules/web"

	code, out, diagnostics := call(t, "module", "test", reference, "--plain-http", hostOfURL(url), "--timeout", "2s")
	require.Equal(t, command.Findings, code, diagnostics)
	require.Contains(t, out, "FAIL  quick\n", diagnostics)
	require.Contains(t, out, `/test/a.yaml:3:86: app/config: data.size: expected "1", got "0"`)
	require.Contains(t, out, "objects: [{apiVersion: v1", "the line is shown")
	require.Contains(t, out, "FAIL  slow\n")
	require.Contains(t, out, "/test/a.yaml:5:1: evaluation exceeded 2s")
	require.Contains(t, out, "ok    good\n3 cases, 2 failed\n")

	code, out, diagnostics = call(t, "module", "vet", reference, "--plain-http", hostOfURL(url), "--timeout", "2s", "--format", "json")
	require.Equal(t, command.Findings, code, diagnostics)
	var found []struct{ Rule, Severity, Message string }
	require.NoError(t, json.Unmarshal([]byte(out), &found))
	var rules []string
	for _, f := range found {
		rules = append(rules, f.Severity+" "+f.Rule)
	}
	require.Subset(t, rules, []string{"error render", "warning budget"})
}
