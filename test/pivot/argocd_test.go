// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/test/e2e/plane"
	"github.com/ropewalk/ropewalk/test/pivot/harness"
	"github.com/ropewalk/ropewalk/test/servers"
)

// newArgoFamily is a family whose child has Argo CD, and whose registry gives its tokens for a
// name and a password alone.
func newArgoFamily(t *testing.T) *family {
	t.Helper()
	const user, password = "clusters", "canary-of-the-registry-9d41"
	f := familyOf(t, harness.New(t), servers.WithTokenAuth(user, password))
	f.engine.docker, f.engine.secret = t.TempDir(), password
	login := fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, f.registry, base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
	require.NoError(t, os.WriteFile(filepath.Join(f.engine.docker, "config.json"), []byte(login), 0o600))
	f.engine.before = `
---
apiVersion: v1
kind: Namespace
metadata: {name: ` + f.cluster.Namespace + `}
---
apiVersion: v1
kind: Secret
metadata: {name: registry, namespace: ` + f.cluster.Namespace + `}
type: kubernetes.io/dockerconfigjson
stringData: {.dockerconfigjson: '` + login + `'}
`
	f.engine.namespace, f.engine.overlay = plane.ArgoCDNamespace, "components: [DEPLOY/flux/argocd-alone]\n"
	f.engine.gitOps = ", engine: ArgoCD, pullSecretRef: {name: registry}"
	f.engine.output = ", pushSecretRef: {name: registry}, pullSecretRef: {name: registry}"
	f.engine.start = func(f *family) []*harness.Process {
		a := f.ArgoCD(f.t, f.B)
		f.says("the child has Argo CD, which knows of no registry")
		f.t.Cleanup(f.tellApplications)
		return []*harness.Process{a.Controller, a.RepoServer}
	}
	return f
}

// applications are those of Argo CD on the child.
func (f *family) applications(ctx context.Context) ([]unstructured.Unstructured, error) {
	list, err := f.B.Client.Resource(schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}).
		Namespace(plane.ArgoCDNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// tellApplications prints what Argo CD says of them, where the test has failed.
func (f *family) tellApplications() {
	if !f.t.Failed() {
		return
	}
	all, err := f.applications(context.WithoutCancel(f.t.Context()))
	f.t.Logf("Applications: %v", err)
	for _, o := range all {
		status, _ := yaml.Marshal(o.Object["status"])
		f.t.Logf("%s:\n%s", o.GetName(), status)
	}
}

// TestAChildWithArgoCDBecomesItsOwnAndOutlivesItsParent: the parent has Flux, and the child has
// Argo CD, whose credentials come over the link: a user configures nothing on the child.
func TestAChildWithArgoCDBecomesItsOwnAndOutlivesItsParent(t *testing.T) {
	f := newArgoFamily(t)
	f.becomesItsOwn()
	f.readsRepositories()
	f.destroyParent()
	f.lives()
	f.synced("rw-blue.blue")
	f.rebuildParent()
}

// readsRepositories: Argo CD has read both repositories by the Secrets that the agent made.
func (f *family) readsRepositories() {
	f.t.Helper()
	for name, repository := range map[string]string{"ropewalk-bootstrap": "base", "ropewalk-output": "clusters"} {
		got := f.run(f.B, "", "get", "secret", name, "--namespace="+plane.ArgoCDNamespace, "-o",
			`go-template={{index .metadata.labels "argocd.argoproj.io/secret-type"}} {{.data.type | base64decode}} {{.data.url | base64decode}} {{.data.username | base64decode}}`)
		require.Equal(f.t, "repository oci oci://"+f.registry+"/"+repository+" clusters", got)
	}
	f.synced("ropewalk-bootstrap")
	f.synced("rw-blue.blue")
	require.Empty(f.t, f.run(f.B, "", "get", "clusterrolebinding", "ropewalk-agent-bootstrap", "--ignore-not-found", "-o", "name"), "the rights of the bootstrap are dropped")
}

// synced waits until an Application of the child is Synced and Healthy.
func (f *family) synced(name string) {
	f.t.Helper()
	var sync, health, revision string
	for deadline := time.Now().Add(2 * time.Minute); sync != "Synced" || health != "Healthy"; time.Sleep(time.Second) {
		require.True(f.t, time.Now().Before(deadline), "Application %s is %s, %s", name, sync, health)
		all, err := f.applications(f.t.Context())
		require.NoError(f.t, err)
		for _, o := range all {
			if o.GetName() == name {
				sync, _, _ = unstructured.NestedString(o.Object, "status", "sync", "status")
				health, _, _ = unstructured.NestedString(o.Object, "status", "health", "status")
				revision, _, _ = unstructured.NestedString(o.Object, "status", "sync", "revision")
			}
		}
	}
	f.says("Application %s is %s and %s at %s", name, sync, health, revision)
}
