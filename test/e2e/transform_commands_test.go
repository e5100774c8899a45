// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheCommandsForTransformsWorkOnACluster runs the command as a user does, beside the real
// controllers, and wants the lines that it prints.
func TestTheCommandsForTransformsWorkOnACluster(t *testing.T) {
	n := newTenant(t)
	ropewalk := func(code int, args ...string) (out, said string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), n.Program(t, "ropewalk"), append(args, "-n", n.namespace, "--kubeconfig", n.Kubeconfig)...) //nolint:gosec // the command of this project
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		if exit := (*exec.ExitError)(nil); err != nil {
			require.ErrorAs(t, err, &exit)
		}
		t.Logf("ropewalk %s\n%s%s", strings.Join(args, " "), stdout.String(), stderr.String())
		require.Equal(t, code, cmd.ProcessState.ExitCode(), "%s", errors.Join(err, errors.New(stderr.String())))
		return stdout.String(), stderr.String()
	}
	repository := n.Git(t)
	hash := repository.Commit(fluxProject("one"))
	n.appOf(repository.URL)
	out, _ := ropewalk(0, "wait", "transform", "app", "--timeout", "4m")
	require.Contains(t, out, "Transform "+n.namespace+"/app is Ready: applied main@sha1:")

	out, _ = ropewalk(0, "get", "transforms")
	require.Regexp(t, `(?m)^app +True +false +1/1 +main@sha1:[0-9a-f]{12} +sha256:[0-9a-f]{12} +applied `, out)

	out, _ = ropewalk(0, "get", "tree", "app")
	require.Regexp(t, `^Transform `+n.namespace+`/app  Ready  main@sha1:`, out)
	require.Contains(t, out, "\n├─ GitRepository "+n.namespace+"/app  Ready  main@sha1:")
	require.Contains(t, out, "\n└─ Kustomization "+n.namespace+"/app-layer-00  Ready  sha256:")
	require.Contains(t, out, "\n   ├─ OCIRepository "+n.namespace+"/app-layer-00  Ready  sha256:")
	require.Contains(t, out, "\n   └─ ConfigMap "+n.namespace+"/greeting\n")

	// From an object back to the commit.
	out, _ = ropewalk(0, "get", "trace", "cm/greeting", "--format", "json")
	var trace struct {
		Chain []struct{ Kind, Name, Ready, Revision string }
		End   string
	}
	require.NoError(t, json.Unmarshal([]byte(out), &trace))
	require.Empty(t, trace.End)
	var kinds []string
	for _, link := range trace.Chain {
		kinds = append(kinds, link.Kind)
	}
	require.Equal(t, []string{"ConfigMap", "Kustomization", "OCIRepository", "Transform", "GitRepository"}, kinds[:5])
	require.Equal(t, hash, strings.TrimPrefix(trace.Chain[4].Revision, "main@sha1:"))
	out, said := ropewalk(1, "get", "trace", "ConfigMap", "kube-root-ca.crt")
	require.Contains(t, out, "ConfigMap "+n.namespace+"/kube-root-ca.crt\n")
	require.Contains(t, said, "has no label of Flux, no annotation of Argo CD and no owner")

	// Flux does not know of this commit before --with-source asks it.
	repository.Commit(fluxProject("two"))
	ropewalk(0, "reconcile", "transform", "app", "--with-source", "--timeout", "4m")
	require.Equal(t, "two", n.configMap("greeting").Data["text"])
	ropewalk(0, "rollback", "transform", "app", "--timeout", "4m")
	require.Equal(t, "one", n.configMap("greeting").Data["text"])
	out, _ = ropewalk(0, "rollback", "transform/app", "--end", "--timeout", "4m")
	require.Contains(t, out, "is Ready: applied ")
	require.Equal(t, "two", n.configMap("greeting").Data["text"])
	_, said = ropewalk(1, "rollback", "transform", "app", "--to", "sha256:none")
	require.Contains(t, said, "hint: its history is, the newest first: sha256:")

	// What is suspended is left alone.
	out, _ = ropewalk(0, "suspend", "transform", "app")
	require.Contains(t, out, "is suspended: it delivers main@sha1:")
	_, said = ropewalk(1, "reconcile", "transform", "app")
	require.Contains(t, said, "is suspended\n  hint: resume it: ropewalk resume transform app -n ")
	ropewalk(1, "wait", "transform", "app")
	ropewalk(0, "resume", "transform", "app", "--timeout", "4m")

	// What a project needs is looked up.
	dir := t.TempDir()
	write := func(name string) string {
		t.Helper()
		file := filepath.Join(dir, name+".yaml")
		require.NoError(t, os.WriteFile(file, []byte("apiVersion: ropewalk.dev/v1alpha1\nkind: Component\nmetadata: {name: need, namespace: "+n.namespace+"}\nspec:\n  manifests:\n    inline: |\n"+
			"      {apiVersion: v1, kind: Pod, metadata: {name: need}, spec: {containers: [{name: a, image: a, envFrom: [{configMapRef: {name: "+name+"}}]}]}}\n"), 0o600))
		return file
	}
	out, _ = ropewalk(0, "doctor", write("greeting"))
	require.Regexp(t, `(?m)^there +Namespace `+n.namespace+` +need/pod-need at metadata.namespace$`, out)
	require.Regexp(t, `(?m)^there +ConfigMap `+n.namespace+`/greeting +need/pod-need at spec.containers`, out)
	out, said = ropewalk(1, "doctor", write("none"))
	require.Regexp(t, `(?m)^missing +ConfigMap `+n.namespace+`/none `, out)
	require.Contains(t, said, "1 of 2 needs are not in the cluster")
	// Quotas are compared in the words of the controller, and do not change the exit code.
	n.Apply(t, "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: none, namespace: "+n.namespace+"}\nspec: {hard: {pods: \"0\"}}\n")
	out, _ = ropewalk(0, "doctor", write("greeting"))
	require.Contains(t, out, "OVER QUOTA\nResourceQuota "+n.namespace+"/none allows 0 of pods, and the pods of this render ask for 1\n")

	// What is not there, and what will never be Ready.
	_, said = ropewalk(3, "wait", "transform", "ap")
	require.Contains(t, said, `hint: did you mean "app"?`)
	_, said = ropewalk(3, "get", "trace", "deploymnt/app")
	require.Contains(t, said, `hint: did you mean "deployment"?`)
	repository.Commit(fluxProject("3"))
	_, said = ropewalk(1, "reconcile", "transform", "app", "--with-source", "--timeout", "4m")
	require.Contains(t, said, "is not Ready: Invalid: ")
	require.Equal(t, "two", n.configMap("greeting").Data["text"])
	allowed(t, n.controller)
}
