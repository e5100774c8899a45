// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/test/e2e/plane"
	"github.com/ropewalk/ropewalk/test/pivot/harness"
)

// engine is what a family does otherwise where the child has another engine than Flux, and a
// registry that has to be logged in at.
type engine struct {
	// start starts it on the plane of the child of a family.
	start func(f *family) []*harness.Process
	// gitOps and output are more of a PivotCluster.
	gitOps, output string
	// before are manifests of a parent.
	before string
	// namespace is that of the engine, and overlay is more of the overlay of the child, in which
	// DEPLOY is the folder deploy.
	namespace, overlay string
	// docker is the folder of the configuration by which the base is pushed, and secret is what
	// is in it.
	docker, secret string
}

// kustomized is what kubectl kustomize makes of a folder.
func (f *family) kustomized(folder string) string {
	f.t.Helper()
	cmd := exec.CommandContext(f.t.Context(), f.kubectl, "kustomize", folder) //nolint:gosec // a program of the run
	cmd.Env = f.Environment()
	out, err := cmd.Output()
	require.NoError(f.t, err, "kubectl kustomize %s", folder)
	return string(out)
}

// overlay is that of a parent, as the guide has it. The engine of the child is run by the test.
func (f *family) overlay() (overlay string) {
	f.t.Helper()
	root := f.t.TempDir()
	overlay = filepath.Join(root, "parent")
	child := filepath.Join(root, "child")
	deploy, err := filepath.Abs(filepath.Join("..", "..", "deploy"))
	require.NoError(f.t, err)
	base, err := filepath.Rel(child, deploy)
	require.NoError(f.t, err)
	const head = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
	write := func(dir, name, text string) {
		require.NoError(f.t, os.MkdirAll(dir, 0o700))
		require.NoError(f.t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write(child, "kustomization.yaml", head+`resources: ["`+base+`/pivot/child"]`+"\n"+strings.ReplaceAll(f.engine.overlay, "DEPLOY", base))
	write(overlay, "child.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+f.engine.namespace+"}\n---\n"+f.kustomized(child))
	write(overlay, "kustomization.yaml", head+`resources: ["`+base+`/pivot"]
configMapGenerator:
  - {name: ropewalk-parent, namespace: `+system+`, literals: ["host=`+plane.Loopback+`"], files: [child.yaml]}
`)
	return overlay
}

// install installs a parent, and returns the file that its controller has as --child-manifest.
func (f *family) install(p *harness.Plane) (manifest string) {
	f.t.Helper()
	f.run(p, f.kustomized(f.overlay())+f.engine.before, "apply", "--server-side", "-f", "-")
	// What the kubelet mounts.
	name := f.run(p, "", "get", "deployment", "ropewalk-controller", "--namespace="+system, "-o", `jsonpath={.spec.template.spec.volumes[?(@.name=="parent")].configMap.name}`)
	manifest = filepath.Join(f.t.TempDir(), "mounted.yaml")
	require.NoError(f.t, os.WriteFile(manifest, []byte(f.run(p, "", "get", "configmap", name, "--namespace="+system, "-o", `jsonpath={.data.child\.yaml}`)), 0o600))
	return manifest
}

// flags are those of the controller that is installed on a plane, but for its addresses.
func (f *family) flags(p *harness.Plane, more ...string) []string {
	f.t.Helper()
	args := strings.Fields(f.run(p, "", "get", "deployment", "ropewalk-controller", "--namespace="+system, "-o", "jsonpath={.spec.template.spec.containers[0].args[*]}"))
	args = slices.DeleteFunc(args, func(arg string) bool {
		return !strings.HasPrefix(arg, "--parts=") && !strings.HasPrefix(arg, "--argocd-")
	})
	require.NotEmpty(f.t, args)
	return append(args, more...)
}
