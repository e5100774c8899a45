// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/test/pivot/harness"
)

// TestAClusterIsDeletedAsTheGuideSays moves a cluster that is in charge of itself to a management
// cluster, its parent, and deletes it there with its machines, by the commands of the guide.
func TestAClusterIsDeletedAsTheGuideSays(t *testing.T) {
	f := newFamily(t)
	f.becomesItsOwn()
	before, err := f.Cloud.Of(t.Context(), f.cluster.Namespace, f.cluster.Name)
	require.NoError(t, err)
	f.says("the cloud has %d machines", len(before.Machines))

	for plane, kubeconfig := range map[string]string{"blue.yaml": f.B.Kubeconfig, "management.yaml": f.A.Kubeconfig} {
		require.NoError(t, os.Symlink(kubeconfig, filepath.Join(f.guided(), plane)))
	}
	f.repository.Commit(map[string]string{"blue.yaml": "# It was deleted.\n"}, "the cluster ends")
	f.run(f.A, "", "patch", "kustomization", "clusters", "--namespace=flux-system", "--type=merge", `--patch={"spec":{"suspend":true}}`)
	f.follow("- **Delete**")
	for _, kind := range []string{"clusters.cluster.x-k8s.io", "machines.cluster.x-k8s.io"} {
		for _, p := range []*harness.Plane{f.A, f.B} {
			require.Empty(t, f.run(p, "", "get", kind, "--namespace="+f.cluster.Namespace, "-o", "name"), "%s in plane %s", kind, p.Name)
		}
	}
	after, err := f.Cloud.Of(t.Context(), f.cluster.Namespace, f.cluster.Name)
	require.NoError(t, err)
	f.says("the cloud has %d machines", len(after.Machines))
	require.Len(t, before.Machines, 2)
	require.Empty(t, after.Machines)
}

// guided is the folder in which the commands of a guide are run.
func (f *family) guided() string {
	dir := filepath.Join(f.Dir, "guide")
	require.NoError(f.t, os.MkdirAll(dir, 0o700))
	return dir
}

// follow runs the first block of commands that comes after a text of the guide, and stops at the
// first one that fails.
func (f *family) follow(after string) {
	f.t.Helper()
	guide, err := os.ReadFile("../../deploy/pivot/children.md")
	require.NoError(f.t, err)
	_, rest, found := strings.Cut(string(guide), after)
	require.True(f.t, found)
	_, rest, _ = strings.Cut(rest, "```sh\n")
	block, _, found := strings.Cut(rest, "```")
	require.True(f.t, found)
	cmd := exec.CommandContext(f.t.Context(), "sh", "-ex")
	cmd.Dir, cmd.Stdin = f.guided(), strings.NewReader(block)
	cmd.Env = f.Environment("PATH=" + strings.Join([]string{filepath.Dir(f.kubectl), filepath.Dir(f.Program(f.t, "ropewalk")), os.Getenv("PATH")}, ":"))
	out, err := cmd.CombinedOutput()
	f.says("the commands of the guide:\n%s", out)
	require.NoError(f.t, err)
}
