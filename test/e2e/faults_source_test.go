// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/test/servers"
)

// placed is the project with a text whose objects say where they are, as Flux wants it.
func placed(text string) map[string]string {
	files := project(text)
	for name, content := range files {
		files[name] = strings.NewReplacer("#Input: text", "context: {namespace: string, ...}\n#Input: text",
			`metadata: name: "greeting"`, `metadata: {name: "greeting-config", namespace: context.namespace}`).Replace(content)
	}
	return files
}

// external is a source that a test has in its hands: an ExternalArtifact, and the server
// of its artifacts.
type externalSource struct {
	n   *tenant
	url string

	mu    sync.Mutex
	files map[string][]byte
	// hold, where it is set, is waited for before anything is sent; asked is closed
	// then.
	hold, asked chan struct{}
}

func (n *tenant) externalSource() *externalSource {
	s := &externalSource{n: n, files: map[string][]byte{}}
	server := httptest.NewServer(s)
	n.t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// ServeHTTP sends an artifact.
func (s *externalSource) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	hold, asked := s.hold, s.asked
	s.hold = nil
	s.mu.Unlock()
	if hold != nil {
		close(asked)
		<-hold
	}
	s.mu.Lock()
	data, ok := s.files[r.URL.Path]
	s.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(data) // a test that fails says so
}

// archive is files as Flux packs them.
func (n *tenant) archive(files map[string]string) (data []byte, digest string) {
	n.t.Helper()
	var buffer bytes.Buffer
	z := gzip.NewWriter(&buffer)
	out := tar.NewWriter(z)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		require.NoError(n.t, out.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name]))}))
		_, err := out.Write([]byte(files[name]))
		require.NoError(n.t, err)
	}
	require.NoError(n.t, out.Close())
	require.NoError(n.t, z.Close())
	return buffer.Bytes(), digestOf(buffer.Bytes())
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// store keeps an artifact, and gives what leads to it.
func (s *externalSource) store(files map[string]string) *meta.Artifact {
	s.n.t.Helper()
	data, digest := s.n.archive(files)
	name := strings.TrimPrefix(digest, "sha256:") + ".tar.gz"
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files["/"+name] = data
	size := int64(len(data))
	return &meta.Artifact{
		URL: s.url + "/" + name, Path: name, Digest: digest, Revision: "v@" + digest, LastUpdateTime: metav1.Now(), Size: &size,
	}
}

// pushModule pushes the module as Flux does, and gives its digest.
func (n *tenant) pushModule(repository string) string {
	n.t.Helper()
	put := func(method, path, kind string, data []byte) {
		r := httptest.NewRequestWithContext(n.t.Context(), method, "http://"+n.Registry+path, bytes.NewReader(data))
		r.Header.Set("Content-Type", kind)
		w := httptest.NewRecorder()
		n.OCI.Server().ServeHTTP(w, r)
		if at := w.Header().Get("Location"); method == http.MethodPost {
			u, err := url.Parse(at)
			require.NoError(n.t, err)
			query := u.Query()
			query.Set("digest", digestOf(data))
			r = httptest.NewRequestWithContext(n.t.Context(), http.MethodPut, "http://"+n.Registry+u.Path+"?"+query.Encode(), bytes.NewReader(data))
			w = httptest.NewRecorder()
			n.OCI.Server().ServeHTTP(w, r)
		}
		require.Equal(n.t, http.StatusCreated, w.Code, "%s %s: %s", method, path, w.Body)
	}
	data, digest := n.archive(map[string]string{"module.cue": module})
	config := []byte("{}")
	for _, blob := range [][]byte{data, config} {
		put(http.MethodPost, "/v2/"+repository+"/blobs/uploads/", "application/octet-stream", blob)
	}
	manifest := fmt.Appendf(nil, `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",`+
		`"config":{"mediaType":"application/vnd.cncf.flux.config.v1+json","digest":%q,"size":%d},`+
		`"layers":[{"mediaType":"application/vnd.cncf.flux.content.v1.tar+gzip","digest":%q,"size":%d}]}`,
		digestOf(config), len(config), digest, len(data))
	put(http.MethodPut, "/v2/"+repository+"/manifests/v1", "application/vnd.oci.image.manifest.v1+json", manifest)
	return digestOf(manifest)
}

// lead has the source lead to an artifact; nil is none.
func (s *externalSource) lead(to *meta.Artifact) {
	s.n.t.Helper()
	s.n.Apply(s.n.t, "apiVersion: source.toolkit.fluxcd.io/v1\nkind: ExternalArtifact\nmetadata: {name: app, namespace: "+s.n.namespace+"}\nspec: {sourceRef: {kind: Other, name: x}}\n")
	if to == nil {
		return
	}
	data, err := json.Marshal(map[string]any{"status": sourcev1.ExternalArtifactStatus{Artifact: to}})
	require.NoError(s.n.t, err)
	s.n.Kubectl(s.n.t, "-n", s.n.namespace, "patch", "externalartifact", "app", "--subresource=status", "--type=merge", "-p", string(data))
}

// placeFile writes a file, and gives its path.
func placeFile(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// reason waits until a Transform says why it is not Ready.
func (n *tenant) reason(name, reason string) *v1alpha1.Transform {
	n.t.Helper()
	return n.await(name, "says "+reason, func(t *v1alpha1.Transform) bool { return reasonOf(t) == reason })
}

// requests are those since the last Reset that were about repositories of the namespace:
// others ask about those of tests that have ended.
func (n *tenant) requests() (out []string) {
	for _, r := range n.OCI.Requests() {
		if strings.Contains(r.Path, "/"+n.namespace+"/") {
			out = append(out, r.Method+" "+r.Path)
		}
	}
	return out
}

// pushes are those of them that wrote something.
func (n *tenant) pushes() []string {
	return slices.DeleteFunc(n.requests(), func(request string) bool {
		method, _, _ := strings.Cut(request, " ")
		return method == http.MethodGet || method == http.MethodHead
	})
}

// TestASourceThatIsGoneWrongOrChangedInTheMiddleChangesNothing: what was delivered stays
// until there is something that is right.
func TestASourceThatIsGoneWrongOrChangedInTheMiddleChangesNothing(t *testing.T) {
	n := newTenant(t)
	s := n.externalSource()
	one, two, three := s.store(placed("one")), s.store(placed("two")), s.store(placed("three"))
	n.Apply(t, fmt.Sprintf(`
apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: greeting, namespace: %s}
spec:
  sourceRef: {kind: ExternalArtifact, name: app, path: app}
  output: {oci: {repository: "oci://%s/%s/greeting", insecure: true}}
`, n.namespace, n.Registry, n.namespace))
	n.reason("greeting", v1alpha1.SourceNotFoundReason)
	s.lead(nil)
	t.Logf("not ready: %s", messageOf(n.reason("greeting", v1alpha1.SourceNotReadyReason)))
	s.lead(one)
	first := n.ready("greeting")
	require.Equal(t, "one", n.text("greeting"))

	// What is sent is not what the source says.
	n.OCI.Reset()
	lie := *two
	lie.Digest = "sha256:" + strings.Repeat("0", 64)
	s.lead(&lie)
	wrong := n.await("greeting", "finds the digest wrong", func(t *v1alpha1.Transform) bool { return contains(messageOf(t), lie.Digest) })
	t.Logf("wrong digest: %s: %s", reasonOf(wrong), messageOf(wrong))
	require.Empty(t, n.pushes())
	require.Equal(t, first.Status.Artifact.Digest, wrong.Status.Artifact.Digest)
	require.Equal(t, "one", n.text("greeting"))

	// It leads elsewhere while it is downloaded, and what was asked for is gone.
	hold, asked := make(chan struct{}), make(chan struct{})
	s.mu.Lock()
	s.hold, s.asked = hold, asked
	s.mu.Unlock()
	s.lead(two)
	<-asked
	s.lead(three)
	s.mu.Lock()
	delete(s.files, "/"+two.Path)
	s.mu.Unlock()
	close(hold)
	began := time.Now()
	n.Await(t, soon, "the next revision is delivered", func() bool { return n.text("greeting") == "three" })
	t.Logf("changed in the middle: the next revision is delivered after %s", time.Since(began).Round(10*time.Millisecond))
	third := n.ready("greeting")
	require.Equal(t, three.Revision, third.Status.Artifact.Revision)

	// It is deleted, and comes back.
	n.Kubectl(t, "-n", n.namespace, "delete", "externalartifact", "app")
	n.reason("greeting", v1alpha1.SourceNotFoundReason)
	require.Equal(t, "three", n.text("greeting"))
	n.OCI.Reset()
	s.lead(three)
	require.Equal(t, third.Status.Artifact.Digest, n.ready("greeting").Status.Artifact.Digest)
	require.Empty(t, n.pushes(), "nothing is new")
}

// TestAModuleThatIsNotWhatItsDigestSaysIsNotRendered alters a module on its way.
func TestAModuleThatIsNotWhatItsDigestSaysIsNotRendered(t *testing.T) {
	n := newTenant(t, "--plain-http="+Shared(t).Registry)
	repository := n.namespace + "/module"
	digest := n.pushModule(repository)
	n.OCI.Fault(func(r *http.Request) (http.Handler, bool) {
		alter := strings.Contains(r.URL.Path, "/"+n.namespace+"/module/blobs/") && r.Method == http.MethodGet
		return servers.Alter(n.OCI.Server(), func(body []byte) []byte {
			body = bytes.Clone(body)
			body[len(body)/2] ^= 1
			return body
		}), alter
	})
	defer n.OCI.Fault(nil)
	apply := func() {
		n.Apply(t, fmt.Sprintf(`
apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: web, namespace: %s}
spec:
  retryInterval: 1s
  output: {oci: {repository: "oci://%s/%s/web", insecure: true}}
  cueRef: {type: oci, ref: "oci://%s/%s@%s"}
  input: {text: one}
`, n.namespace, n.Registry, n.namespace, n.Registry, repository, digest))
	}
	n.OCI.Reset()
	apply()
	wrong := n.await("web", "says what is wrong", func(t *v1alpha1.Transform) bool {
		return reasonOf(t) == v1alpha1.FetchFailedReason || reasonOf(t) == v1alpha1.InvalidReason
	})
	t.Logf("%s: %s", reasonOf(wrong), messageOf(wrong))
	require.Contains(t, messageOf(wrong), "digest")
	require.Nil(t, wrong.Status.Artifact)
	require.Empty(t, n.pushes())
	require.Empty(t, n.kustomizations("web"))

	n.OCI.Fault(nil)
	n.Kubectl(t, "-n", n.namespace, "annotate", "transform", "web", "reconcile.fluxcd.io/requestedAt=now", "--overwrite")
	n.ready("web")
	require.Equal(t, "one", n.text("web"))
}
