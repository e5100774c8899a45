// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ladder is the way from plain manifests in Git to Ropewalk, as the README has it.
// On each step every object stays the one that it was.
type ladder struct {
	c       *Cluster
	shop    shop
	journal *journal
	// checkout is a working copy of a repository with the manifests in deploy and
	// the project in shop.
	checkout, url string
	before        map[identity]types.UID
}

// newLadder makes a repository with the shop as plain manifests, in one file that
// knows of no engine, and begins to watch its objects and what is made of them.
func newLadder(t *testing.T, c *Cluster, namespace string) *ladder {
	t.Helper()
	s := theShop(t, c, namespace)
	repository := c.Git(t)
	l := &ladder{c: c, shop: s, checkout: filepath.Join(t.TempDir(), "checkout"), url: repository.URL}
	l.journal = c.journal(t, namespace, kindsOf(s.objects(t, c, "plain"),
		corev1.SchemeGroupVersion.WithKind("Pod"), corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"),
		appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))...)
	c.Command(t, []string{"git", "clone", "--quiet", repository.Git.Dir, l.checkout})
	l.git(t, "checkout", "--quiet", "-b", "main")
	require.NoError(t, os.MkdirAll(filepath.Join(l.checkout, "deploy"), 0o750))
	manifests := c.Ropewalk(t, "render", s.dir, "--dialect", "plain", "-n", namespace)
	require.NoError(t, os.WriteFile(filepath.Join(l.checkout, "deploy", "shop.yaml"), []byte(manifests), 0o600))
	return l
}

func (l *ladder) git(t testing.TB, args ...string) string {
	t.Helper()
	return l.c.Command(t, append([]string{"git", "-C", l.checkout, "-c", "user.name=test", "-c", "user.email=test@example.com"}, args...))
}

// push commits what is in the working copy and gives the hash.
func (l *ladder) push(t testing.TB) string {
	t.Helper()
	l.git(t, "add", "--all")
	l.git(t, "commit", "--quiet", "-m", "change")
	l.git(t, "push", "--quiet", "origin", "main")
	return strings.TrimSpace(l.git(t, "rev-parse", "HEAD"))
}

// project puts the project beside the manifests.
func (l *ladder) project(t testing.TB) {
	t.Helper()
	for name, text := range l.shop.files(t, "shop") {
		path := filepath.Join(l.checkout, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
}

// withProject commits the project beside the manifests.
func (l *ladder) withProject(t testing.TB) (hash string) {
	t.Helper()
	l.project(t)
	return l.push(t)
}

// continuous is the step of the command line in CI: the project comes into the
// repository, and its render into the folder in place of what is there. It is one
// commit, so that no engine sees the folder empty.
func (l *ladder) continuous(t testing.TB, dialect string) (hash string) {
	t.Helper()
	l.project(t)
	deploy := filepath.Join(l.checkout, "deploy")
	require.NoError(t, os.RemoveAll(deploy))
	l.c.Ropewalk(t, "render", filepath.Join(l.checkout, "shop"), "--dialect", dialect, "-o", deploy)
	return l.push(t)
}

// stands requires that all objects are those that were there at the first call, and
// that none was deleted or made again since.
func (l *ladder) stands(t testing.TB, step string, start time.Time) {
	t.Helper()
	l.shop.ready(t, l.c)
	now := l.journal.uids(t)
	if l.before == nil {
		l.before = now
		require.Greater(t, len(now), 45)
	}
	for of, uid := range l.before {
		require.Equal(t, uid, now[of], "%s: %s", step, of)
	}
	require.Empty(t, l.journal.deletions(t), step)
	t.Logf("%-20s %3d objects as they were, after %s", step, len(l.before), time.Since(start).Round(10*time.Millisecond))
}

// byArgoCD is the first step with Argo CD: an Application, called as the namespace of the
// shop, has the manifests of a commit.
func (l *ladder) byArgoCD(t testing.TB, a *ArgoCD, hash string) {
	t.Helper()
	start, name := time.Now(), l.shop.namespace
	a.Application(t, name, fmt.Sprintf(`
project: default
source: {repoURL: %q, targetRevision: main, path: deploy}
destination: {server: "https://kubernetes.default.svc", namespace: %s}
syncPolicy: {automated: {prune: true, selfHeal: true}}
`, l.url, name))
	a.awaitRevision(t, name, hash, l.url, "deploy")
	l.stands(t, "plain manifests", start)
}

// byFlux is the first step with Flux: a Kustomization called shop has the manifests, from
// a GitRepository of that name.
func (l *ladder) byFlux(t testing.TB, namespace string) {
	t.Helper()
	start := time.Now()
	hash := l.push(t)
	l.c.gitRepository(t, namespace, "shop", l.url)
	l.c.Apply(t, fmt.Sprintf(`
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: shop, namespace: %s}
spec: {sourceRef: {kind: GitRepository, name: shop}, path: ./deploy, prune: true, wait: true, interval: 1h, timeout: 2m}
`, namespace))
	l.awaitRevision(t, namespace, hash)
	l.stands(t, "plain manifests", start)
}

// staysSo gives the engine time to delete something after all.
func (l *ladder) staysSo(t testing.TB) {
	t.Helper()
	start := time.Now()
	time.Sleep(5 * time.Second)
	l.stands(t, "and it stays so", start)
}

// TestALiveApplicationOfArgoCDMovesOver: plain manifests in Git, then those of the
// command line, then the artifact, then the plugin.
func TestALiveApplicationOfArgoCDMovesOver(t *testing.T) {
	c := Shared(t)
	a := c.ArgoCD(t)
	a.Plugin(t)
	l := newLadder(t, c, "ladder-argocd")
	name := l.shop.namespace

	l.byArgoCD(t, a, l.push(t))

	start := time.Now()
	hash := l.continuous(t, "argocd")
	a.Refresh(t, name)
	a.awaitRevision(t, name, hash, l.url, "deploy")
	l.stands(t, "command line in CI", start)

	start = time.Now()
	digest := l.shop.build(t, c, "argocd", "v1")
	repository := fmt.Sprintf("oci://%s/%s", c.Registry, name)
	a.source(t, name, map[string]any{"repoURL": repository, "targetRevision": "v1", "path": "."})
	a.awaitRevision(t, name, digest, repository, ".")
	l.stands(t, "artifact", start)

	start = time.Now()
	a.source(t, name, map[string]any{"repoURL": l.url, "targetRevision": "main", "path": "shop", "plugin": map[string]any{"name": "ropewalk"}})
	a.awaitRevision(t, name, hash, l.url, "shop")
	l.stands(t, "plugin", start)
	l.staysSo(t)
}

// source changes the source of an Application.
func (a *ArgoCD) source(t testing.TB, name string, source map[string]any) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"source": source}})
	require.NoError(t, err)
	require.NoError(t, a.cluster.Client.Patch(t.Context(), a.object(name), client.RawPatch("application/merge-patch+json", patch)))
}

// awaitRevision waits until an Application has a revision of a source, is healthy
// with it, and its last sync is done.
func (a *ArgoCD) awaitRevision(t testing.TB, name, revision, repository, path string) {
	t.Helper()
	a.cluster.Await(t, 2*time.Minute, name+" has "+revision+" of "+repository+" "+path, func() bool {
		object := a.Get(t, name).Object
		text := func(fields ...string) string {
			value, _, _ := unstructured.NestedString(object, append([]string{"status"}, fields...)...)
			return value
		}
		return text("sync", "status") == "Synced" && text("health", "status") == "Healthy" &&
			text("sync", "revision") == revision && text("operationState", "phase") == "Succeeded" &&
			text("sync", "comparedTo", "source", "repoURL") == repository && text("sync", "comparedTo", "source", "path") == path
	})
}

// TestALiveKustomizationOfFluxMovesOver: plain manifests in Git, then those of the
// command line, then the artifact with a Kustomization for each layer.
func TestALiveKustomizationOfFluxMovesOver(t *testing.T) {
	c := Shared(t)
	c.Flags(t, c.KustomizeController, "--requeue-dependency=1s")
	l := newLadder(t, c, "ladder-flux")
	engine := c.Namespace(t) // in which the objects of Flux are

	l.byFlux(t, engine)

	start := time.Now()
	hash := l.continuous(t, "flux")
	c.fetch(t, engine, "shop", hash)
	l.awaitRevision(t, engine, hash)
	l.stands(t, "command line in CI", start)

	// One Kustomization hands over to one for each layer: it is suspended, so that
	// it takes nothing back and prunes nothing when it goes, which it does last.
	start = time.Now()
	l.shop.build(t, c, "flux", "v1", "--folders")
	c.Kubectl(t, "-n", engine, "patch", "kustomization", "shop", "--type", "merge", "-p", `{"spec": {"suspend": true}}`)
	out := filepath.Join(t.TempDir(), "out")
	c.Ropewalk(t, "render", l.shop.dir, "--dialect", "flux", "-n", l.shop.namespace, "-o", out, "--flux-namespace", engine,
		"--repository", fmt.Sprintf("oci://%s/%s:v1", c.Registry, l.shop.namespace), "--plain-http", c.Registry)
	delivery := filepath.Join(out, "flux")
	t.Cleanup(func() { // before their namespace, so that what they have applied goes with them
		_ = c.Client.DeleteAllOf(c.run.Context(), &kustomizev1.Kustomization{}, client.InNamespace(engine))
	})
	c.Kubectl(t, "apply", "-f", delivery)
	c.Kubectl(t, "-n", engine, "wait", "--for=condition=Ready", "--timeout=2m", "-f", delivery)
	c.Kubectl(t, "-n", engine, "delete", "kustomization", "shop")
	require.NoError(t, c.Client.Delete(t.Context(), &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: engine, Name: "shop"}}))
	l.stands(t, "artifact", start)
	l.staysSo(t)

	// The next step is a Transform that the controller renders in the cluster.
}

// awaitRevision waits until the one Kustomization has applied a commit and all of it
// is ready.
func (l *ladder) awaitRevision(t testing.TB, namespace, hash string) {
	t.Helper()
	k := &kustomizev1.Kustomization{}
	k.Namespace, k.Name = namespace, "shop"
	l.c.Await(t, 2*time.Minute, "the Kustomization has applied "+hash, func() bool {
		require.NoError(t, l.c.Client.Get(t.Context(), client.ObjectKeyFromObject(k), k))
		return k.Status.LastAppliedRevision == "main@sha1:"+hash
	})
	l.c.AwaitReady(t, 2*time.Minute, k)
}
