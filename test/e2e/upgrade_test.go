// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
)

// descriptor is one of an OCI layout, as far as it is looked at.
type descriptor struct {
	MediaType string `json:"mediaType"`
	Digest    string `json:"digest"`
	Platform  *struct {
		OS, Architecture string
	} `json:"platform"`
	Manifests []descriptor `json:"manifests"`
	Layers    []descriptor `json:"layers"`
}

// layers are the files of the layers in an OCI layout, those for linux/amd64.
func layers(t *testing.T, dir string) (out []string) {
	t.Helper()
	blob := func(d descriptor) string {
		return filepath.Join(dir, "blobs", filepath.FromSlash(strings.Replace(d.Digest, ":", "/", 1)))
	}
	var walk func(file string)
	walk = func(file string) {
		data, err := os.ReadFile(file) //nolint:gosec // of a release of this project
		require.NoError(t, err)
		var d descriptor
		require.NoError(t, json.Unmarshal(data, &d), file)
		for _, l := range d.Layers {
			out = append(out, blob(l))
		}
		for _, m := range d.Manifests {
			if m.Platform == nil || m.Platform.OS == "linux" && m.Platform.Architecture == "amd64" {
				walk(blob(m))
			}
		}
	}
	walk(filepath.Join(dir, "index.json"))
	require.NotEmpty(t, out, dir)
	return out
}

// programsOf unpacks the programs of the image of a release, and returns their folder.
func programsOf(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	for _, name := range layers(t, filepath.Join(dir, "image")) {
		f, err := os.Open(name) //nolint:gosec // of a release of this project
		require.NoError(t, err)
		defer f.Close()
		z, err := gzip.NewReader(f)
		require.NoError(t, err)
		for r := tar.NewReader(z); ; {
			h, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			if program := strings.TrimPrefix(h.Name, "/"); strings.HasPrefix(program, "usr/local/bin/") && h.Typeflag == tar.TypeReg {
				data, err := io.ReadAll(r)
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(filepath.Join(to, filepath.Base(program)), data, 0o755)) //nolint:gosec // a program
			}
		}
	}
	require.FileExists(t, filepath.Join(to, "ropewalk-controller"))
	return to
}

// chartOf is the chart of a release, as a file.
func chartOf(t *testing.T, dir string) string {
	t.Helper()
	all := layers(t, filepath.Join(dir, "chart"))
	require.Len(t, all, 1)
	data, err := os.ReadFile(all[0])
	require.NoError(t, err)
	out := filepath.Join(t.TempDir(), "chart.tgz")
	require.NoError(t, os.WriteFile(out, data, 0o600))
	return out
}

// TestAnUpgradeToTheNextReleaseMakesNothingAgain installs the chart of one release, has it render
// and upgrades it to that of another one, with the programs of their images. ROPEWALK_RELEASES
// names the folders of both, as "make release" writes them.
func TestAnUpgradeToTheNextReleaseMakesNothingAgain(t *testing.T) {
	dirs := filepath.SplitList(os.Getenv("ROPEWALK_RELEASES"))
	if len(dirs) != 2 {
		t.Skip("make release-upgrade writes two releases")
	}
	r := newRelease(t, chartOf(t, dirs[0]))
	r.programs = programsOf(t, dirs[0])
	r.Flags(t, r.KustomizeController, "--feature-gates=ExternalArtifact=true")
	var d appsv1.Deployment
	r.get("ropewalk-controller", &d)
	before := d.Spec.Template.Spec.Containers[0].Image

	events := listen(t)
	n := &tenant{Cluster: r.Cluster, t: t, namespace: r.Cluster.Namespace(t), controller: r.start("controller-of-a-release", events)}
	hello(t, r.Cluster, n.namespace)
	n.transform("layers", "{text: one, replicas: 1}", "")
	n.served("text", "{text: one}", "")
	names := []string{"hello", "layers", "text"}
	for _, name := range names {
		n.ready(name)
	}
	made := n.made(names)
	t.Logf("before:\n%s", made)

	r.chart = chartOf(t, dirs[1])
	r.helm("upgrade", "--wait", "--timeout=2m")
	r.get("ropewalk-controller", &d)
	require.NotEqual(t, before, d.Spec.Template.Spec.Containers[0].Image)
	t.Logf("%s, then %s", before, d.Spec.Template.Spec.Containers[0].Image)
	n.controller.Interrupt()
	require.NoError(t, n.controller.Wait(startup))
	r.programs = programsOf(t, dirs[1])
	n.controller = r.start("controller-of-the-next-release", events)
	n.Kubectl(t, "-n", n.namespace, "annotate", "transform", "--all", "reconcile.fluxcd.io/requestedAt=upgraded", "--overwrite")
	for _, name := range names {
		n.Await(t, startup, name+" is looked at by the next release", func() bool { return n.get(name).Status.LastHandledReconcileAt == "upgraded" })
		n.ready(name)
	}
	n.Kubectl(t, "-n", n.namespace, "annotate", "kustomizations", "--all", "reconcile.fluxcd.io/requestedAt=upgraded", "--overwrite")
	n.Await(t, startup, "Flux has looked at all", func() bool {
		seen := n.Kubectl(t, "-n", n.namespace, "get", "kustomizations", "-o", `jsonpath={range .items[*]}{.status.lastHandledReconcileAt}{"\n"}{end}`)
		return strings.Count(seen, "upgraded\n") == strings.Count(seen, "\n")
	})
	require.Equal(t, made, n.made(names))
	allowed(t, n.controller)

	// And it works on.
	n.Kubectl(t, "-n", n.namespace, "patch", "transform", "hello", "--type=merge", "-p", `{"spec":{"input":{"replicas":2}}}`)
	n.Await(t, soon, "the change is applied", func() bool {
		require.NoError(t, n.Client.Get(t.Context(), client.ObjectKey{Namespace: n.namespace, Name: "hello"}, &d))
		return *d.Spec.Replicas == 2
	})
}

// made is what there is of Transforms: digests of their artifacts, and the identity and the
// generation of all that was made of them, which change when it is made or changed again.
func (n *tenant) made(names []string) string {
	n.t.Helper()
	var out strings.Builder
	for _, name := range names {
		fmt.Fprintln(&out, name, n.get(name).Status.Artifact.Digest)
	}
	var deployments appsv1.DeploymentList
	var configs corev1.ConfigMapList
	var artifacts sourcev1.ExternalArtifactList
	for _, list := range []client.ObjectList{&deployments, &configs, &artifacts} {
		require.NoError(n.t, n.Client.List(n.t.Context(), list, client.InNamespace(n.namespace)))
	}
	line := func(kind string, o metav1.ObjectMeta, more ...any) {
		fmt.Fprintln(&out, append([]any{kind, o.Name, o.UID, o.Generation}, more...)...)
	}
	for _, o := range deployments.Items {
		line("Deployment", o.ObjectMeta)
	}
	for _, o := range configs.Items {
		line("ConfigMap", o.ObjectMeta, o.ResourceVersion)
	}
	for _, o := range artifacts.Items {
		line("ExternalArtifact", o.ObjectMeta, o.Status.Artifact.Revision, o.Status.Artifact.Digest)
	}
	fmt.Fprintln(&out, n.Kubectl(n.t, "-n", n.namespace, "get", "kustomizations", "-o",
		`jsonpath={range .items[*]}{.metadata.name} {.metadata.uid} {.metadata.generation} {.status.lastAppliedRevision}{"\n"}{end}`))
	return out.String()
}
