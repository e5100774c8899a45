// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
)

// served is an API server over HTTPS, and the kubeconfig for it.
type served struct {
	*planetest.Server
	http *httptest.Server
	Kubeconfig
}

// serve serves an API server whose controllers look at it after each write of a Cluster.
func serve(t *testing.T, name string) *served {
	t.Helper()
	lease := plane.Kind{Group: "coordination.k8s.io", Kind: "Lease", Resource: "leases", Namespaced: true, Version: "v1", Served: []string{"v1"}}
	s := &served{Server: planetest.New(name, append(planetest.ClusterAPI(), lease)...)}
	s.After = observeClusters(s.Server)
	s.http = httptest.NewTLSServer(s.Handler())
	t.Cleanup(s.http.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.http.Certificate().Raw})
	path := filepath.Join(t.TempDir(), "authority.pem")
	require.NoError(t, os.WriteFile(path, authority, 0o600))
	s.Kubeconfig = kubeconfig(t, s.http.URL, path)
	return s
}

func kubeconfig(t testing.TB, server, authority string) Kubeconfig {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, `
apiVersion: v1
kind: Config
current-context: c
clusters:
- {name: s, cluster: {server: %q, certificate-authority: %q}}
users:
- {name: u, user: {token: hunter2}}
contexts:
- {name: c, context: {cluster: s, user: u}}
`, server, authority), 0o600))
	return Kubeconfig{Path: path}
}

// planes are two API servers, of which the first has a cluster at rest.
func planes(t *testing.T) (source, target *served, o Options) {
	t.Helper()
	source, target = serve(t, "source"), serve(t, "target")
	source.Put(atRest(1, 0)...)
	return source, target, Options{From: source.Kubeconfig, To: target.Kubeconfig, Cluster: types.NamespacedName{Namespace: "apps", Name: "blue"}}
}

// until runs a pivot up to a step.
func until(t *testing.T, o Options, step Step) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Report = func(e Event) {
		if e.Step == step {
			cancel()
		}
	}
	_, err := Run(ctx, o)
	require.ErrorIs(t, err, context.Canceled)
}

func TestAClusterMovesOverHTTPS(t *testing.T) {
	source, target, o := planes(t)
	plan, err := Look(t.Context(), o)
	require.NoError(t, err)
	require.Empty(t, plan.Findings)
	require.NotEmpty(t, plan.Objects)
	require.Len(t, plan.Notes, 2, "what a plan cannot look at")
	require.Contains(t, plan.Notes[0], `webhooks and policies of the target were not tried, as namespace "apps" is not there`)
	require.Contains(t, plan.Notes[1], "whether the controllers of the target run cannot be seen")
	target.Put(planetest.Object("v1", "Namespace", "", "apps"))
	plan, err = Look(t.Context(), o)
	require.NoError(t, err)
	require.Len(t, plan.Notes, 1)
	held := planetest.Object("coordination.k8s.io/v1", "Lease", "apps", "held")
	source.Put(planetest.OwnedBy(held, source.Object(plane.Ref{Group: planetest.Core, Kind: "Cluster", Namespace: "apps", Name: "blue"})))
	plan, err = Look(t.Context(), o)
	require.NoError(t, err)
	require.Len(t, plan.Findings, 1)
	require.Contains(t, plan.Findings[0].String(), "Lease.coordination.k8s.io apps/held: is not moved")
	source.Remove(plane.RefOf(held))
	_, err = Status(t.Context(), o.From, o.Cluster)
	require.ErrorIs(t, err, ErrNoPivot)
	require.ErrorContains(t, err, source.http.URL)

	until(t, o, "Staged")
	_, err = Run(t.Context(), o)
	require.ErrorIs(t, err, ErrUnfinished)
	o.Resume = true
	receipt, err := Run(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, Step("Done"), receipt.Step)
	cluster := plane.Ref{Group: planetest.Core, Kind: "Cluster", Namespace: "apps", Name: "blue"}
	require.Nil(t, source.Object(cluster))
	require.NotContains(t, target.Object(cluster).Object["spec"], "paused")
	for _, at := range []Kubeconfig{o.From, o.To} {
		receipt, err = Status(t.Context(), at, o.Cluster)
		require.NoError(t, err)
		require.Equal(t, Step("Done"), receipt.Step)
	}
}

func TestAbortOverHTTPS(t *testing.T) {
	for _, targetLost := range []bool{false, true} {
		source, target, o := planes(t)
		until(t, o, "Imported")
		if targetLost {
			_, err := Abort(t.Context(), o, true)
			require.ErrorContains(t, err, "is not lost")
			require.True(t, IsDecision(err), "give the kubeconfig of the target")
			target.http.Close()
		}
		receipt, err := Abort(t.Context(), o, targetLost)
		require.NoError(t, err)
		require.Equal(t, Step("Aborted"), receipt.Step)
		cluster := plane.Ref{Group: planetest.Core, Kind: "Cluster", Namespace: "apps", Name: "blue"}
		require.NotContains(t, source.Object(cluster).Object["spec"], "paused")
		require.Equal(t, targetLost, target.Object(cluster) != nil)
	}
}

// TestTakeover has a source that answers in all the ways in which a server that is there can
// answer a client that it does not know.
func TestTakeover(t *testing.T) {
	source, target, o := planes(t)
	until(t, o, "Committed")
	fromNowhere := o
	fromNowhere.From = Kubeconfig{}
	_, err := Takeover(t.Context(), fromNowhere, "a test")
	require.ErrorContains(t, err, source.http.URL+" answers")
	require.ErrorContains(t, err, "certificate signed by unknown authority")

	known := o
	_, err = Takeover(t.Context(), known, "a test")
	require.ErrorContains(t, err, source.http.URL+" answers")
	for _, server := range []*httptest.Server{
		httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })),
		httptest.NewTLSServer(http.NotFoundHandler()),
	} {
		defer server.Close()
		o.From = kubeconfig(t, server.URL, "")
		_, err = Takeover(t.Context(), o, "a test")
		require.ErrorContains(t, err, server.URL+" answers")
	}
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	o.From = kubeconfig(t, "https://"+plain.Listener.Addr().String(), "")
	_, err = Takeover(t.Context(), o, "a test")
	require.ErrorContains(t, err, "HTTP response to HTTPS client")

	// A kubeconfig of a server that is away is no proof for the one in the receipt.
	o.From = kubeconfig(t, "https://127.0.0.1:1", "")
	_, err = Takeover(t.Context(), o, "a test")
	require.ErrorContains(t, err, source.http.URL+" answers")

	o.From = Kubeconfig{Path: "none"}
	_, err = Takeover(t.Context(), o, "a test")
	require.ErrorContains(t, err, `kubeconfig "none"`)
	cluster := plane.Ref{Group: planetest.Core, Kind: "Cluster", Namespace: "apps", Name: "blue"}
	require.Equal(t, true, target.Object(cluster).Object["spec"].(map[string]any)["paused"])

	source.http.Close()
	receipt, err := Takeover(t.Context(), fromNowhere, "its disks are gone")
	require.NoError(t, err)
	require.True(t, receipt.TakenOver)
	require.NotContains(t, target.Object(cluster).Object["spec"], "paused")
	require.ErrorContains(t, checkSilent(t.Context(), ""), "give its kubeconfig")
}

// TestTakeoverOfASourceThatGoes: it answers, and its namespace is being deleted.
func TestTakeoverOfASourceThatGoes(t *testing.T) {
	source, target, o := planes(t)
	until(t, o, "Imported")
	_, err := Takeover(t.Context(), o, "a test")
	require.ErrorContains(t, err, source.http.URL+" answers")
	source.Terminate("apps")
	o.Resume = true
	_, err = Run(t.Context(), o)
	require.True(t, IsDecision(err), err)
	require.ErrorContains(t, err, "the target has a complete copy")

	other, _, _ := planes(t)
	elsewhere := o
	elsewhere.From = other.Kubeconfig
	_, err = Takeover(t.Context(), elsewhere, "a test")
	require.ErrorContains(t, err, other.http.URL+" answers", "it is not the source of the pivot")

	receipt, err := Takeover(t.Context(), o, "its namespace was deleted")
	require.NoError(t, err)
	require.True(t, receipt.TakenOver)
	cluster := plane.Ref{Group: planetest.Core, Kind: "Cluster", Namespace: "apps", Name: "blue"}
	require.NotContains(t, target.Object(cluster).Object["spec"], "paused")
	_, err = Run(t.Context(), o)
	require.NoError(t, err)
	require.Nil(t, source.Object(cluster))
}

func TestPlanesThatCannotBeReached(t *testing.T) {
	_, target, o := planes(t)
	target.Denied = map[plane.Right]bool{{Verb: "create", Resource: "secrets", Namespace: "apps"}: true}
	plan, err := Look(t.Context(), o)
	require.NoError(t, err)
	require.NotEmpty(t, plan.Findings, "a missing right stands in the way")

	target.http.Close()
	closed, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	for name, f := range map[string]func(Options) error{
		"look":     func(o Options) error { _, err := Look(closed, o); return err },
		"run":      func(o Options) error { _, err := Run(closed, o); return err },
		"abort":    func(o Options) error { _, err := Abort(closed, o, false); return err },
		"lost":     func(o Options) error { _, err := Abort(closed, Options{From: o.To}, true); return err },
		"takeover": func(o Options) error { _, err := Takeover(closed, o, "a test"); return err },
	} {
		require.ErrorContains(t, f(o), target.http.URL, name)
	}
	_, err = Status(closed, o.To, o.Cluster)
	require.ErrorContains(t, err, "receipt ConfigMap apps/pivot-blue")
	o.From, o.To = Kubeconfig{Path: "none"}, Kubeconfig{Path: "neither"}
	_, err = Run(t.Context(), o)
	require.ErrorContains(t, err, `source plane: kubeconfig "none"`)
	require.ErrorContains(t, err, `target plane: kubeconfig "neither"`)
	_, err = Status(t.Context(), o.From, o.Cluster)
	require.ErrorContains(t, err, `kubeconfig "none"`)
}
