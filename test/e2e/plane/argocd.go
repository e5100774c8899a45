// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ArgoCDNamespace is where Argo CD lives.
const ArgoCDNamespace = "argocd"

// ArgoCDSettings is what a user, or the API server of Argo CD, makes beside the core
// installation: the project default, which allows everything, and the key without which the
// controller takes no change of argocd-cm.
const ArgoCDSettings = `
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: default, namespace: argocd}
spec:
  sourceRepos: ["*"]
  destinations: [{namespace: "*", server: "*"}]
  clusterResourceWhitelist: [{group: "*", kind: "*"}]
---
apiVersion: v1
kind: Secret
metadata: {name: argocd-secret, namespace: argocd}
stringData: {server.secretkey: a-key-of-a-test}
`

// ArgoCDManifest is the path of the core installation, in the module of Argo CD.
func ArgoCDManifest(module string) string {
	return filepath.Join(module, "manifests", "core-install.yaml")
}

// InstallsArgoCD reports whether an object of the core installation is one that is needed where
// its programs do not run in pods, and gives it the namespace.
func InstallsArgoCD(object *unstructured.Unstructured) bool {
	if !slices.Contains([]string{"CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding"}, object.GetKind()) {
		object.SetNamespace(ArgoCDNamespace)
	}
	return !slices.Contains([]string{"Deployment", "StatefulSet", "Service", "NetworkPolicy"}, object.GetKind())
}

// ArgoCD is the application-controller of Argo CD with a repo-server and redis, as its core
// installation has them. There is no API server and no web page: a user makes an Application.
type ArgoCD struct {
	Controller, RepoServer, Redis *Process

	dir    string
	launch func(name string, argv []string, env ...string) *Process
}

// StartArgoCD starts Argo CD with the program of the module argocd. Its files are in dir. Its
// controller is the user of a kubeconfig.
func StartArgoCD(t testing.TB, dir, program, kubeconfig string, launch func(name string, argv []string, env ...string) *Process) *ArgoCD {
	t.Helper()
	a := &ArgoCD{dir: dir, launch: launch}
	for _, name := range []string{"plugins", "tools", "tmp"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name), 0o700))
	}
	// The name that it is called by is the role of the one program.
	for _, role := range []string{"argocd", "argocd-repo-server", "argocd-application-controller"} {
		require.NoError(t, os.Symlink(program, a.tool(role)))
	}
	redis := a.startRedis(t)
	server := a.startRepoServer(t, redis)
	a.startController(t, redis, server, kubeconfig)
	return a
}

func (a *ArgoCD) tool(name string) string { return filepath.Join(a.dir, "tools", name) }

// Sockets is the folder in which the repo-server finds plugins.
func (a *ArgoCD) Sockets() string { return filepath.Join(a.dir, "plugins") }

// AskPass is the socket at which the repo-server gives plugins its credentials.
func (a *ArgoCD) AskPass() string { return filepath.Join(a.dir, "askpass.sock") }

func (a *ArgoCD) startRedis(t testing.TB) (address string) {
	t.Helper()
	binary, err := exec.LookPath("redis-server")
	require.NoError(t, err, "install the package redis-server, or run make servers")
	port := FreePort(t)
	address = net.JoinHostPort(Loopback, port)
	a.Redis = a.launch("redis", []string{binary, "--bind", Loopback, "--port", port, "--save", "", "--appendonly", "no", "--dir", t.TempDir()})
	a.Redis.Await(t, func() bool {
		connection, err := net.DialTimeout("tcp", address, time.Second)
		return err == nil && connection.Close() == nil
	})
	return address
}

func (a *ArgoCD) startRepoServer(t testing.TB, redis string) (address string) {
	t.Helper()
	// It reports that no commit is signed.
	require.NoError(t, os.WriteFile(a.tool("git-verify-wrapper.sh"), []byte("#!/bin/sh\nexit 0\n"), 0o700)) //nolint:gosec // a program
	port, metrics := FreePort(t), FreePort(t)
	a.RepoServer = a.launch("argocd-repo-server", []string{
		a.tool("argocd-repo-server"), "--disable-tls", "--redis=" + redis, "--logformat=text", "--address=" + Loopback, "--port=" + port,
		"--metrics-address=" + Loopback, "--metrics-port=" + metrics,
	}, "PATH="+filepath.Join(a.dir, "tools")+":"+os.Getenv("PATH"), "TMPDIR="+filepath.Join(a.dir, "tmp"),
		"ARGOCD_PLUGINSOCKFILEPATH="+a.Sockets(), "ARGOCD_ASK_PASS_SOCK="+a.AskPass(), "ARGOCD_GPG_ENABLED=false",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	a.RepoServer.Await(t, func() bool { return Good("http://" + net.JoinHostPort(Loopback, metrics) + "/healthz?full=true") })
	return net.JoinHostPort(Loopback, port)
}

// startController starts the application-controller, which takes its own
// configuration for that of the cluster that it is in.
func (a *ArgoCD) startController(t testing.TB, redis, server, kubeconfig string) {
	t.Helper()
	metrics := FreePort(t)
	a.Controller = a.launch("argocd-application-controller", []string{
		a.tool("argocd-application-controller"), "--namespace=" + ArgoCDNamespace, "--repo-server=" + server, "--repo-server-plaintext",
		"--redis=" + redis, "--metrics-port=" + metrics, "--logformat=text",
	}, "KUBECONFIG="+kubeconfig, "ARGOCD_FAKE_IN_CLUSTER=true", "TMPDIR="+filepath.Join(a.dir, "tmp"))
	a.Controller.Await(t, func() bool { return Good("http://" + net.JoinHostPort(Loopback, metrics) + "/healthz") })
}

// Good reports whether a server answers that all is well.
func Good(url string) bool {
	response, err := http.Get(url) //nolint:gosec,noctx // the loopback
	return err == nil && response.Body.Close() == nil && response.StatusCode == http.StatusOK
}
