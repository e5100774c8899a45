// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/require"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/test/servers"
)

// annotationLayers is the annotation of a whole with the digests of its units.
const annotationLayers = "dev.ropewalk.layers"

// ask asks the registry itself, whatever faults there are in front of it.
func (n *tenant) ask(method, path string) *http.Response {
	n.t.Helper()
	r := httptest.NewRequestWithContext(n.t.Context(), method, "http://"+n.Registry+path, http.NoBody)
	r.Header.Set("Accept", "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json")
	w := httptest.NewRecorder()
	n.OCI.Server().ServeHTTP(w, r)
	return w.Result() //nolint:bodyclose // it is in memory
}

// manifest is what a tag or a digest leads to, nil where it leads to nothing.
//
// docker-registry writes a tag as two files, one after the other: between them it lists
// the tag and answers 404 for it, and while it writes the second one it answers 500. Both
// end by themselves, also when the client of that write was killed.
func (n *tenant) manifest(repository, reference string) map[string]any {
	n.t.Helper()
	answer := n.ask(http.MethodGet, "/v2/"+repository+"/manifests/"+reference)
	for try := 0; (answer.StatusCode == http.StatusInternalServerError || answer.StatusCode == http.StatusNotFound) && try < 20; try++ {
		time.Sleep(100 * time.Millisecond)
		answer = n.ask(http.MethodGet, "/v2/"+repository+"/manifests/"+reference)
	}
	if answer.StatusCode == http.StatusNotFound {
		return nil
	}
	require.Equal(n.t, http.StatusOK, answer.StatusCode)
	out := map[string]any{}
	require.NoError(n.t, json.NewDecoder(answer.Body).Decode(&out))
	out["digest"] = answer.Header.Get("Docker-Content-Digest")
	return out
}

// whole fails the test where some tag of a repository leads to an artifact of which a
// part is not there: a blob, a layer of the set, or the plan of its delivery. It gives
// how many tags there are.
func (n *tenant) whole(name string) int {
	n.t.Helper()
	repository := n.namespace + "/" + name
	tags := n.tags(repository)
	for _, tag := range tags {
		m := n.manifest(repository, tag)
		if m == nil && !slices.Contains(n.tags(repository), tag) {
			continue // It was deleted since.
		}
		require.NotNil(n.t, m, "%s:%s leads to nothing", repository, tag)
		n.complete(repository, tag, m)
	}
	return len(tags)
}

// tags are those of a repository, none where there is no such repository.
func (n *tenant) tags(repository string) []string {
	n.t.Helper()
	answer := n.ask(http.MethodGet, "/v2/"+repository+"/tags/list")
	if answer.StatusCode == http.StatusNotFound {
		return nil
	}
	var list struct{ Tags []string }
	require.NoError(n.t, json.NewDecoder(answer.Body).Decode(&list))
	return list.Tags
}

// complete fails the test where a part of an artifact is not there.
func (n *tenant) complete(repository, reference string, m map[string]any) {
	n.t.Helper()
	layers, _ := m["layers"].([]any)
	for _, d := range append(layers, m["config"]) {
		blob, ok := d.(map[string]any)
		if !ok {
			continue // an index
		}
		var status int
		// docker-registry answers 500 while a client writes the blob; one that is missing is 404.
		for range 50 {
			status = n.ask(http.MethodHead, fmt.Sprintf("/v2/%s/blobs/%s", repository, blob["digest"])).StatusCode
			if status < http.StatusInternalServerError {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		require.Equal(n.t, http.StatusOK, status, "%s:%s: blob %s", repository, reference, blob["digest"])
	}
	notes, _ := m["annotations"].(map[string]any)
	text, ok := notes[annotationLayers].(string)
	if !ok {
		return
	}
	var units []struct{ Name, Digest string }
	require.NoError(n.t, json.Unmarshal([]byte(text), &units))
	for _, u := range units {
		at := n.manifest(repository, u.Digest)
		require.NotNil(n.t, at, "%s:%s: layer %s", repository, reference, u.Name)
		n.complete(repository, u.Digest, at)
	}
}

// tagged is the digest that the tag of a Transform leads to.
func (n *tenant) tagged(name string) string {
	n.t.Helper()
	m := n.manifest(n.namespace+"/"+name, "transform."+n.namespace+"."+name)
	digest, _ := m["digest"].(string)
	return digest
}

// TestARegistryThatIsDownChangesNothing for a minute: what is there stays, what did not
// change stays Ready, what is deleted goes, and when it is back, all of it goes on by
// itself, at once and not a minute later.
func TestARegistryThatIsDownChangesNothing(t *testing.T) {
	n := newTenant(t)
	n.transform("web", "{text: one, replicas: 1}", "")
	n.transform("other", "{text: one, replicas: 1}", "")
	n.transform("same", "{text: one}", "")
	first, same := n.ready("web"), n.ready("same")
	n.ready("other")
	require.Equal(t, first.Status.Artifact.Digest, n.tagged("web"))

	var refused atomic.Int64
	fault := func(r *http.Request) (http.Handler, bool) {
		if !strings.Contains(r.URL.Path, "/"+n.namespace+"/") {
			return nil, false
		}
		if refused.Add(1)%2 == 0 {
			return servers.Reset(), true
		}
		return servers.Answer(http.StatusServiceUnavailable, "UNAVAILABLE", "down for maintenance"), true
	}
	n.OCI.Fault(fault)
	defer n.OCI.Fault(nil)
	began := time.Now()
	n.transform("web", "{text: two, replicas: 1}", "")
	failed := n.reason("web", v1alpha1.PublishFailedReason)
	t.Logf("said after %s: %s", time.Since(began).Round(10*time.Millisecond), messageOf(failed))
	t.Logf("deleted while it is down after %s", n.remove("other"))
	require.Empty(t, n.text("other"))
	// The next process does not know yet what is published.
	n.controller.Kill()
	n.controller.Restart(t)
	for time.Since(began) < time.Minute {
		require.Equal(t, "one", n.text("web"))
		require.Equal(t, first.Status.Artifact.Digest, n.tagged("web"))
		now := n.get("same")
		require.True(t, apimeta.IsStatusConditionTrue(now.Status.Conditions, meta.ReadyCondition), "%+v", now.Status)
		require.Equal(t, same.ResourceVersion, now.ResourceVersion, "nothing is written of it")
		time.Sleep(200 * time.Millisecond)
	}
	require.Contains(t, n.controller.Log(), "the registry is not available: what is applied stays")
	n.reason("web", v1alpha1.PublishFailedReason) // It may be trying again at this moment.
	n.OCI.Fault(nil)
	back := time.Now()
	down := back.Sub(began)
	n.ready("web")
	after := time.Since(back)
	t.Logf("down for %s, %d requests refused; Ready %s after it was back", down.Round(time.Second), refused.Load(), after.Round(10*time.Millisecond))
	require.Less(t, after, down/2, "a delay that doubles would be as long again")
	require.Equal(t, "two", n.text("web"))
	t.Logf("%d tags, all of them whole", n.whole("web"))
}

// TestARegistryThatFailsAtRandomIsNeverLeftWithHalfAnArtifact refuses every third
// request, some of them after they were done.
func TestARegistryThatFailsAtRandomIsNeverLeftWithHalfAnArtifact(t *testing.T) {
	long(t)
	n := newTenant(t)
	n.transform("web", "{text: start, replicas: 1}", "")
	n.ready("web")
	defer n.OCI.Fault(nil)
	var faults, asked atomic.Int64
	n.OCI.Fault(func(r *http.Request) (http.Handler, bool) {
		if !strings.Contains(r.URL.Path, "/"+n.namespace+"/") {
			return nil, false
		}
		asked.Add(1)
		switch rand.IntN(9) { //nolint:gosec // any will do
		case 0:
			faults.Add(1)
			return servers.Reset(), true
		case 1:
			faults.Add(1)
			return servers.Answer(http.StatusInternalServerError, "UNKNOWN", "try again"), true
		case 2:
			faults.Add(1)
			return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				n.OCI.Server().ServeHTTP(httptest.NewRecorder(), r)
				panic(http.ErrAbortHandler) // It is done, and nobody hears of it.
			}), true
		}
		return nil, false
	})
	began := time.Now()
	for i := range 5 {
		text := fmt.Sprintf("text-%d", i)
		n.transform("web", "{text: "+text+fmt.Sprintf(", replicas: %d}", i%2), "  retryInterval: 200ms\n")
		n.Await(t, 2*time.Minute, text+" is delivered", func() bool { n.whole("web"); return n.text("web") == text })
	}
	t.Logf("5 changes through %d faults of %d requests in %s, %d tags, all of them whole at every moment",
		faults.Load(), asked.Load(), time.Since(began).Round(100*time.Millisecond), n.whole("web"))
	n.OCI.Fault(nil)
	require.Equal(t, n.ready("web").Status.Artifact.Digest, n.tagged("web"))
}
