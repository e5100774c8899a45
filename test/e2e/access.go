// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// Namespace makes a namespace, whose pods can run when this returns, and deletes
// it after the test without waiting for that.
func (c *Cluster) Namespace(t testing.TB) string {
	t.Helper()
	c.mu.Lock()
	c.namespaces++
	name := fmt.Sprintf("test-%d", c.namespaces)
	c.mu.Unlock()
	c.namespace(t, name)
	t.Cleanup(func() {
		// The context of the test is done by now.
		c.forget(name)
		_ = c.Client.Delete(c.run.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}) // the test may have deleted it
	})
	return name
}

// forget lets go of the Transforms of a test, whose controller is gone: that of the next
// test would find them, in a namespace that is being deleted and with accounts that have
// lost their rights, and its log would tell of it.
func (c *Cluster) forget(namespace string) {
	var left v1alpha1.TransformList
	_ = c.Client.List(c.run.Context(), &left, client.InNamespace(namespace)) // the kind may not be there
	free := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	for i := range left.Items {
		_ = c.Client.Patch(c.run.Context(), &left.Items[i], free) // it may be gone
		_ = c.Client.Delete(c.run.Context(), &left.Items[i])
	}
}

// namespace makes a namespace and waits for its service account, without which
// the API server takes no pods.
func (c *Cluster) namespace(t testing.TB, name string) {
	t.Helper()
	require.NoError(t, c.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	c.Await(t, startup, "the namespace has a service account", func() bool {
		return c.Client.Get(t.Context(), client.ObjectKey{Namespace: name, Name: "default"}, &corev1.ServiceAccount{}) == nil
	})
}

// Token is a token of a service account, which is there already, for a day.
func (c *Cluster) Token(t testing.TB, namespace, serviceAccount string) string {
	t.Helper()
	day := int64(24 * time.Hour / time.Second)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &day}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: serviceAccount}}
	require.NoError(t, c.Client.SubResource("token").Create(t.Context(), account, request))
	return request.Status.Token
}

// ClientFor is a client that a token of a service account is all the right of.
func (c *Cluster) ClientFor(t testing.TB, namespace, serviceAccount string) client.Client {
	t.Helper()
	config := rest.AnonymousClientConfig(c.Config)
	config.BearerToken = c.Token(t, namespace, serviceAccount)
	config.QPS = -1
	of, err := client.New(config, client.Options{Scheme: c.Client.Scheme()})
	require.NoError(t, err)
	return of
}

// KubeconfigFor is the path of a configuration with a token of a service account:
// a program that runs with it shows which rights it lacks.
func (c *Cluster) KubeconfigFor(t testing.TB, namespace, serviceAccount string) string {
	t.Helper()
	user := &clientcmdapi.AuthInfo{Token: c.Token(t, namespace, serviceAccount)}
	config := c.plane.Authority.Kubeconfig(c.plane.Server, user)
	config.Contexts[config.CurrentContext].Namespace = namespace
	file := filepath.Join(t.TempDir(), serviceAccount+".kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*config, file))
	return file
}

// Kubectl runs the real kubectl as an administrator and gives what it prints.
func (c *Cluster) Kubectl(t testing.TB, args ...string) string {
	t.Helper()
	return c.Command(t, append([]string{c.program(t, "kubectl")}, args...), "KUBECONFIG="+c.Kubeconfig)
}

// Ropewalk runs the command of this project and gives what it prints.
func (c *Cluster) Ropewalk(t testing.TB, args ...string) string {
	t.Helper()
	return c.Command(t, append([]string{c.Program(t, "ropewalk")}, args...))
}

// Command runs a program in an environment of its own with further variables, and
// gives what it prints. The test fails when the program does.
func (c *Cluster) Command(t testing.TB, argv []string, env ...string) string {
	t.Helper()
	var diagnostics bytes.Buffer
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...) //nolint:gosec // tests say what runs
	cmd.Env, cmd.Stderr = c.environment(env...), &diagnostics
	out, err := cmd.Output()
	require.NoError(t, err, "%s: %s", strings.Join(argv, " "), diagnostics.String())
	return string(out)
}
