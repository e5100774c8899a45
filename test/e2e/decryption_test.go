// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// plaintext is what SOPS has encrypted in testdata/decryption.
const plaintext = "canary-7d1f-of-the-database"

// encryptedProject is a project whose module embeds the file that SOPS made, and has a
// Deployment read it.
func encryptedProject(t *testing.T, text string) map[string]string {
	t.Helper()
	data, err := os.ReadFile("testdata/decryption/database.enc.yaml")
	require.NoError(t, err)
	require.NotContains(t, string(data), plaintext)
	return map[string]string{
		"app/shop.yaml": `apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: shop}
spec:
  input: {text: "` + text + `"}
  cueRef: {type: path, ref: ./module}
`,
		"app/module/cue.mod/module.cue": "module: \"example.com/shop@v0\"\nlanguage: version: \"v0.17.0\"\n",
		"app/module/database.enc.yaml":  string(data),
		"app/module/shop.cue": `@extern(embed)
package shop

ropewalk: apiVersion: "v1alpha1"
#Input: text: string
input: #Input
context: {namespace: string, ...}
_database: _ @embed(file=database.enc.yaml)
graph: nodes: {
	database: object: _database & {metadata: namespace: context.namespace, metadata: annotations: text: input.text}
	web: object: {
		apiVersion: "apps/v1", kind: "Deployment"
		metadata: {name: "web", namespace: context.namespace}
		spec: {
			replicas: 1
			selector: matchLabels: app: "web"
			template: {
				metadata: labels: app: "web"
				spec: containers: [{name: "a", image: "registry.example/a:1", envFrom: [{secretRef: name: "database"}]}]
			}
		}
	}
}
`,
	}
}

// decrypted is what the cluster has of the Secret; "" where it has none.
func (n *tenant) decrypted() string {
	n.t.Helper()
	var s corev1.Secret
	err := n.Client.Get(n.t.Context(), client.ObjectKey{Namespace: n.namespace, Name: "database"}, &s)
	require.NoError(n.t, client.IgnoreNotFound(err))
	return string(s.Data["password"])
}

// sealed applies the Transform of the project; flux is what its delivery says.
func (n *tenant) sealed(flux string) {
	n.t.Helper()
	n.Apply(n.t, `
apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: shop, namespace: `+n.namespace+`}
spec:
  sourceRef: {kind: GitRepository, name: app, path: app}
  output: {oci: {repository: "oci://`+n.Registry+`/`+n.namespace+`/shop", insecure: true}}
  delivery: {flux: {retryInterval: 2s`+flux+`}}
`)
}

// clean requires that nothing but the Secret itself says what was encrypted: no object of
// the namespace, no event, no artifact, no metric, no log.
func (n *tenant) clean(now *v1alpha1.Transform) {
	t := n.t
	t.Helper()
	status, err := json.Marshal(now)
	require.NoError(t, err)
	seen := map[string]string{
		"the Transform":                 string(status),
		"the objects of Flux":           n.Kubectl(t, "get", "kustomizations,ocirepositories,gitrepositories,configmaps,deployments", "-n", n.namespace, "-o", "yaml"),
		"the events":                    n.Kubectl(t, "get", "events", "-n", n.namespace, "-o", "yaml"),
		"the log of the controller":     n.controller.Log(),
		"the log of Flux":               n.KustomizeController.Log(),
		"the log of Flux's fetcher":     n.SourceController.Log(),
		"the metrics of the controller": func() string { text, _ := page(t.Context(), n.controller.metrics, "/metrics"); return text }(),
	}
	for i, digest := range digests(now) {
		dir := filepath.Join(t.TempDir(), "pulled")
		n.Ropewalk(t, "artifact", "pull", "oci://"+n.Registry+"/"+n.namespace+"/shop@"+digest, "-o", dir, "--plain-http", n.Registry)
		text := files(t, dir)
		if i == 0 {
			require.Contains(t, text, "ENC[AES256_GCM,", "the artifact has what SOPS made")
		}
		seen["the artifact "+digest] = text
	}
	for what, text := range seen {
		for _, canary := range []string{plaintext, base64.StdEncoding.EncodeToString([]byte(plaintext))} {
			require.False(t, strings.Contains(text, canary), what)
		}
	}
}

// digests are those of an artifact and of its layers.
func digests(of *v1alpha1.Transform) []string {
	out := []string{of.Status.Artifact.Digest}
	for _, l := range of.Status.Artifact.Layers {
		out = append(out, l.Digest)
	}
	return out
}

// files is all that the files of a folder say.
func files(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path) //nolint:gosec // a file of the test
		out.Write(data)
		return err
	}))
	return out.String()
}

// TestFluxDecryptsWhatSOPSEncrypted by a key in a Secret. What was encrypted goes through
// the render, the artifact and a hand-over as it stands, and Ropewalk has no key to it.
func TestFluxDecryptsWhatSOPSEncrypted(t *testing.T) {
	n := newTenant(t)
	repository := n.Git(t)
	repository.Commit(encryptedProject(t, "one"))
	n.Apply(t, `
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: app, namespace: `+n.namespace+`}
spec: {url: "`+repository.URL+`", interval: 1h, ref: {branch: main}}
`)
	// Flux would apply what is encrypted as the password, and say that all is well.
	n.sealed("")
	untold := n.stalled("shop")
	t.Logf("without decryption: %s: %s", untold.Reason, untold.Message)
	require.Equal(t, v1alpha1.InvalidReason, untold.Reason)
	require.Contains(t, untold.Message, "spec.delivery.flux.decryption")
	require.Equal(t, "shop/database", n.get("shop").Status.Nodes[0].ID)
	require.Empty(t, n.kustomizations("shop"))

	// There is no key yet.
	n.sealed(", decryption: {provider: sops, secretRef: {name: sops-age}}")
	refused := n.await("shop", "says that the key is missing", func(t *v1alpha1.Transform) bool {
		return strings.Contains(messageOf(t), "sops-age")
	})
	t.Logf("without the key: %s: %s", reasonOf(refused), messageOf(refused))
	key, err := os.ReadFile("testdata/decryption/throw-away.agekey")
	require.NoError(t, err)
	began := time.Now()
	require.NoError(t, n.Client.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: n.namespace, Name: "sops-age"}, Data: map[string][]byte{"age.agekey": key},
	}))
	first := n.ready("shop")
	t.Logf("Ready %s after the key is there", time.Since(began).Round(10*time.Millisecond))
	require.Equal(t, plaintext, n.decrypted())
	require.Empty(t, first.Status.Violations)
	n.clean(first)

	// A change of the manifest needs no key to encrypt.
	began = time.Now()
	hash := repository.Commit(encryptedProject(t, "two"))
	n.Kubectl(t, "annotate", "-n", n.namespace, "gitrepository", "app", "reconcile.fluxcd.io/requestedAt="+hash, "--overwrite")
	n.Await(t, soon, "the change is applied", func() bool {
		var s corev1.Secret
		require.NoError(t, n.Client.Get(t.Context(), client.ObjectKey{Namespace: n.namespace, Name: "database"}, &s))
		return s.Annotations["text"] == "two"
	})
	second := n.ready("shop")
	t.Logf("a change is applied after %s", time.Since(began).Round(10*time.Millisecond))
	require.Equal(t, plaintext, n.decrypted())
	n.clean(second)

	// Who takes the decryption away is told, and what Flux has decrypted stays.
	n.sealed("")
	require.Equal(t, v1alpha1.InvalidReason, n.stalled("shop").Reason)
	require.NotEmpty(t, n.get("shop").Status.Layers)
	require.Equal(t, plaintext, n.decrypted())

	require.NoError(t, n.Client.Delete(t.Context(), n.get("shop")))
	n.Await(t, soon, "the Transform is gone", func() bool {
		return apierrors.IsNotFound(n.Client.Get(t.Context(), client.ObjectKey{Namespace: n.namespace, Name: "shop"}, &v1alpha1.Transform{}))
	})
	require.Empty(t, n.decrypted())
}
