// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/test/servers"
)

const (
	// pushers is the role of AWS that may push.
	pushers = "arn:aws:iam::123456789012:role/pushers"
	// identified is the right to ask for tokens.
	identified = "../../deploy/flux/workload-identity/access.yaml"
	// identityGate is what both controllers are started with.
	identityGate = "--feature-gates=ObjectLevelWorkloadIdentity=true"
)

// clouded is a tenant whose registry is one of AWS, with docker-registry behind it.
type clouded struct {
	*tenant
	cloud    *servers.Cloud
	registry *servers.OCI

	mu sync.Mutex
	// tokens are those that the cloud was shown, by the name of their account.
	tokens map[string][]string
}

// newClouded starts the controller, and Flux's fetcher again, where they reach the cloud.
func newClouded(t *testing.T) *clouded {
	t.Helper()
	c := Shared(t)
	install(t, c)
	n := &clouded{tenant: &tenant{Cluster: c, t: t, namespace: c.Namespace(t)}, tokens: map[string][]string{}}
	n.cloud = servers.NewCloud(t, n.trusts)
	n.registry = servers.Registry(t, servers.WithBasicAuth(n.cloud.User("aws"), n.cloud.Password))
	n.cloud.Serve(servers.AmazonRegistry, n.registry)
	env := []string{"HTTPS_PROXY=" + n.cloud.Proxy.String(), "SSL_CERT_FILE=" + placeFile(t, t.TempDir(), "ca.pem", string(n.cloud.CA))}
	fetcher, before := c.SourceController, c.SourceController.Env
	fetcher.Env = append(slices.Clone(before), env...)
	c.Flags(t, fetcher, identityGate)
	t.Cleanup(func() { fetcher.Env = before }) // before the cleanup of Flags starts it again

	n.controller = startReplica(t, c, "ropewalk-controller", identityGate)
	n.controller.Env = append(n.controller.Env, env...)
	n.controller.Restart(t)
	return n
}

// trusts lets the account pusher be one of the pushers. What the API server says of a
// token is what a cloud finds by its keys.
func (n *clouded) trusts(identity, audience, token string) error {
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{audience}}}
	if err := n.Client.Create(n.t.Context(), review); err != nil {
		return err
	}
	account := review.Status.User.Username
	n.mu.Lock()
	n.tokens[account] = append(n.tokens[account], token)
	n.mu.Unlock()
	switch {
	case !review.Status.Authenticated:
		return errors.New("no token of this cluster: " + token)
	case identity != pushers || account != "system:serviceaccount:"+n.namespace+":pusher":
		return fmt.Errorf("%s is not trusted with %s: %s", account, identity, token)
	}
	return nil
}

// account makes one that may deliver into its namespace, and wants to be a pusher.
func (n *clouded) account(name string) {
	n.t.Helper()
	n.Apply(n.t, fmt.Sprintf(`
apiVersion: v1
kind: ServiceAccount
metadata: {name: %[2]s, namespace: %[1]s, annotations: {eks.amazonaws.com/role-arn: "%[3]s"}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: %[2]s-delivery, namespace: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ropewalk-delivery}
subjects: [{kind: ServiceAccount, name: %[2]s, namespace: %[1]s}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: %[2]s-apply, namespace: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: admin}
subjects: [{kind: ServiceAccount, name: %[2]s, namespace: %[1]s}]
`, n.namespace, name, pushers))
}

// as applies a Transform that acts as an account.
func (n *clouded) as(account, name, text string) {
	n.t.Helper()
	n.Apply(n.t, fmt.Sprintf(`
apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: %[2]s, namespace: %[1]s}
spec:
  serviceAccountName: %[3]s
  output: {oci: {repository: "oci://%[4]s/%[1]s/%[2]s", provider: aws}}
  delivery: {flux: {retryInterval: 2s}}
  cueRef:
    type: inline
    ref: |
      %[5]s
  input: {text: %[6]s}
`, n.namespace, name, account, servers.AmazonRegistry, indented(module, 6), text))
}

// grant lets the controller ask for tokens, and the function takes that back.
func (n *clouded) grant() (revoke func()) {
	n.t.Helper()
	data, err := os.ReadFile(identified)
	require.NoError(n.t, err)
	for document := range strings.SplitSeq(string(data), "\n---\n") {
		n.Apply(n.t, document)
	}
	name := metav1.ObjectMeta{Name: "ropewalk-workload-identity"}
	revoke = func() {
		_ = n.Client.Delete(n.run.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: name}) // it may be gone
		_ = n.Client.Delete(n.run.Context(), &rbacv1.ClusterRole{ObjectMeta: name})        // it may be gone
	}
	n.t.Cleanup(revoke)
	return revoke
}

// refused waits until a Transform says that it may not push, and gives what it says.
func (n *clouded) refused(name, reason string) string {
	n.t.Helper()
	message := apimeta.FindStatusCondition(n.reason(name, reason).Status.Conditions, "Ready").Message
	n.t.Logf("%s: %s: %s", name, reason, message)
	return message
}

// secretive requires that nobody tells a token, of the cluster or of the cloud.
func (n *clouded) secretive(names ...string) {
	n.t.Helper()
	seen := map[string]string{
		"the objects":                   n.Kubectl(n.t, "get", "kustomizations,ocirepositories,configmaps,serviceaccounts,secrets", "-n", n.namespace, "-o", "yaml"),
		"the events":                    n.Kubectl(n.t, "get", "events", "-n", n.namespace, "-o", "yaml"),
		"the log of the controller":     n.controller.Log(),
		"the metrics of the controller": func() string { text, _ := page(n.t.Context(), n.controller.metrics, "/metrics"); return text }(),
	}
	for _, name := range names {
		status, err := json.Marshal(n.get(name))
		require.NoError(n.t, err)
		seen["the Transform "+name] = string(status)
		require.Contains(n.t, seen["the log of the controller"], name)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	secrets := []string{n.cloud.Password}
	for _, tokens := range n.tokens {
		secrets = append(secrets, tokens...)
	}
	for what, text := range seen {
		require.NotEmpty(n.t, text, what)
		for _, secret := range secrets {
			for _, part := range strings.Split(secret, ".")[1:] { // the first says how they are signed
				require.False(n.t, strings.Contains(text, part), what)
			}
		}
	}
}

// TestAPushByWorkloadIdentity has the API server give tokens of the account that a
// Transform acts as, by the rights of deploy/flux, and a cloud give credentials for them:
// the controller pushes by them, and Flux pulls.
func TestAPushByWorkloadIdentity(t *testing.T) {
	n := newClouded(t)
	revoke := n.grant()
	n.account("pusher")
	n.as("pusher", "web", "one")
	n.ready("web")
	require.Equal(t, "one", n.text("web"))
	pushed := 0
	for _, r := range n.registry.Requests() {
		if r.Method == http.MethodPut && r.Status == http.StatusCreated {
			pushed++
			_, password, _ := (&http.Request{Header: r.Header}).BasicAuth()
			require.Equal(t, n.cloud.Password, password)
		}
	}
	require.Positive(t, pushed)
	require.Equal(t, "pusher", n.Kubectl(t, "get", "ocirepositories", "-n", n.namespace, "-o", "jsonpath={.items[0].spec.serviceAccountName}"))

	// One that the cloud does not trust, though it has the same annotation. The cloud
	// repeats its token.
	n.account("stranger")
	n.as("stranger", "other", "one")
	require.Contains(t, n.refused("other", v1alpha1.PublishFailedReason),
		"system:serviceaccount:"+n.namespace+":stranger is not trusted with "+pushers+": ***: see that its annotations are right, and that the cloud trusts it")

	// Without the right, by a controller that has no tokens in memory.
	revoke()
	n.controller.Restart(t)
	n.as("pusher", "web", "two")
	require.Contains(t, n.refused("web", v1alpha1.AccessDeniedReason),
		`the controller may not read ServiceAccount "pusher" or create its tokens: grant it the rights for workload identity`)
	require.Equal(t, "one", n.text("web"))

	n.grant()
	n.Kubectl(t, "annotate", "transform", "web", "-n", n.namespace, "reconcile.fluxcd.io/requestedAt=now")
	n.ready("web")
	n.Await(t, soon, "it is applied", func() bool { return n.text("web") == "two" })
	n.secretive("web", "other")
	require.Len(t, n.tokens, 2)
}
