// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/bootstrap"
)

// own makes the PivotCluster of the parent itself; the cell may be nil.
func (w *world) own(cell *v1alpha1.Cell) {
	w.Helper()
	c := w.cluster()
	c.Name, c.UID, c.Spec.Cell = "root", "pc-root", cell
	c.Annotations = map[string]string{bootstrap.SelfAnnotation: "bootstrap-uid/pc-7"}
	require.NoError(w, w.parent.Create(w.Context(), c))
}

// move changes the cell of the parent.
func (w *world) move(change func(*v1alpha1.Cell)) {
	w.Helper()
	require.NoError(w, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		var c v1alpha1.PivotCluster
		require.NoError(w, w.parent.Get(w.Context(), types.NamespacedName{Name: "root"}, &c))
		change(c.Spec.Cell)
		return w.parent.Update(w.Context(), &c)
	}))
}

// celled is a world whose parent has a cell by its own PivotCluster.
func celled(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	cell := *w.controller.Endpoints.Given
	cell.ServiceType = "NodePort"
	w.controller.Endpoints.Given = nil
	w.own(&cell)
	return w
}

// answers returns an error where the certificate of the registration endpoint is not of a host.
func (w *world) answers(host string) error {
	w.Helper()
	pool := x509.NewCertPool()
	require.True(w, pool.AppendCertsFromPEM(w.controller.Endpoints.current.Load().endpoint.Authority().Trust().PEM()))
	c, err := (&tls.Dialer{Config: &tls.Config{ServerName: host, RootCAs: pool, MinVersion: tls.VersionTLS13, CurvePreferences: []tls.CurveID{tls.CurveP256}}}).
		DialContext(w.Context(), "tcp", w.registration)
	if err == nil {
		require.NoError(w, c.Close())
	}
	return err
}

// TestACellThatIsChangedIsFollowed without a restart, and those that were given the one before
// are still answered.
func TestACellThatIsChangedIsFollowed(t *testing.T) {
	w := celled(t)
	w.serve()
	e := w.controller.Endpoints
	at := e.current.Load()
	_, port, err := net.SplitHostPort(w.registration)
	require.NoError(t, err)
	_, linkPort, err := net.SplitHostPort(w.linkTo)
	require.NoError(t, err)
	ports := listeners{number(t, port), number(t, linkPort)}
	var s corev1.Service
	require.Eventually(t, func() bool { return w.there(&s, "ropewalk-system", CellService) }, 5*time.Second, 10*time.Millisecond)
	require.Equal(t, corev1.ServiceTypeNodePort, s.Spec.Type)
	require.Equal(t, map[string]string{"app.kubernetes.io/name": "ropewalk-controller"}, s.Spec.Selector)
	require.Equal(t, ports, listeners{s.Spec.Ports[0].Port, s.Spec.Ports[1].TargetPort.IntVal})
	w.settle()
	require.NoError(t, w.answers("127.0.0.1"))
	require.ErrorContains(t, w.answers("new.test"), "wanted to match new.test")

	w.move(func(c *v1alpha1.Cell) {
		c.Host, c.Port, c.LinkPort, c.ServiceType = "new.test", 7443, ports.registration, "LoadBalancer"
	})
	require.NoError(t, e.refresh(t.Context(), at.endpoint, ports))
	require.NoError(t, w.answers("new.test"))
	require.NoError(t, w.answers("127.0.0.1"))
	w.settle()
	var machine corev1.Secret
	require.True(t, w.there(&machine, "rw-blue", EnrolSecret("blue")))
	require.Equal(t, "https://new.test:7443", string(machine.Data["endpoint"]))
	require.True(t, w.there(&s, "ropewalk-system", CellService))
	require.Equal(t, corev1.ServiceTypeLoadBalancer, s.Spec.Type)
	var all [][2]int32
	for _, p := range s.Spec.Ports {
		all = append(all, [2]int32{p.Port, p.TargetPort.IntVal})
	}
	// A port that was one of the cell before, and is another of the newest, is that.
	require.Equal(t, [][2]int32{{7443, ports.registration}, {ports.registration, ports.link}, {ports.link, ports.link}}, all)

	// After a restart they are known too.
	again := endpoints(w.controller)
	after, err := again.prepare(t.Context())
	require.NoError(t, err)
	e.current.Store(after)
	require.Equal(t, "new.test", after.cell.Host)
	var authority corev1.Secret
	require.True(t, w.there(&authority, "ropewalk-system", AuthoritySecret))
	require.Equal(t, 2, strings.Count(authority.Annotations[CellsAnnotation], `"host"`))

	// What cannot be read leaves all as it is, and says so.
	authority.Annotations[CellsAnnotation] = "new.test"
	require.NoError(t, w.parent.Update(t.Context(), &authority))
	require.ErrorContains(t, e.refresh(t.Context(), at.endpoint, ports), "secret ropewalk-system/ropewalk-pivot-authority: annotation pivot.ropewalk.dev/cells: expected cells in JSON: ")
	require.Equal(t, after, e.current.Load())
}

// TestACellByFlagsHasNoServiceOfOurs: the user makes it.
func TestACellByFlagsHasNoServiceOfOurs(t *testing.T) {
	w := newWorld(t)
	w.own(&v1alpha1.Cell{Host: "root.test", Port: 1, LinkPort: 2})
	w.placed()
	at := w.controller.Endpoints.current.Load()
	require.NoError(t, w.controller.Endpoints.refresh(t.Context(), at.endpoint, listeners{1, 2}))
	require.False(t, w.there(&corev1.Service{}, "ropewalk-system", CellService))
	require.Equal(t, "127.0.0.1", w.controller.Endpoints.current.Load().cell.Host)
}

func TestTheCellOfAParent(t *testing.T) {
	cell := &v1alpha1.Cell{Host: "root.test", Port: 7443, LinkPort: 7444, ServiceType: "ClusterIP"}
	for name, c := range map[string]struct {
		flags bool
		own   bool
		cell  *v1alpha1.Cell
		ref   string
		says  string
	}{
		"by flags":             {flags: true},
		"by flags and its own": {flags: true, own: true, ref: "root"},
		"by flags and a reference to none": {
			flags: true, ref: "root",
			says: `spec.cellRef: this cluster has no PivotCluster of its own, as "root" would be: remove cellRef, or create this PivotCluster on the cluster "root"`,
		},
		"its own":                 {own: true, cell: cell},
		"its own, which is named": {own: true, cell: cell, ref: "root"},
		"another one": {
			own: true, cell: cell, ref: "other",
			says: `spec.cellRef: expected "root", the PivotCluster of this cluster: correct it, or create this PivotCluster on the cluster "other"`,
		},
		"itself": {
			own: true, cell: cell, ref: "blue",
			says: `spec.cellRef: expected "root", the PivotCluster of this cluster: correct it, or create this PivotCluster on the cluster "blue"`,
		},
		"without a cell": {own: true, ref: "root", says: `this cluster cannot have children: add spec.cell to its own PivotCluster, "root"`},
		"none": {
			says: "this cluster cannot have children: it has no PivotCluster of its own, which may have spec.cell; start the controller with --cell-host",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if !c.flags {
				w.controller.Endpoints.Given = nil
			}
			if c.own {
				w.own(c.cell)
			}
			at, err := w.controller.Endpoints.prepare(t.Context())
			require.NoError(t, err)
			w.controller.Endpoints.current.Store(at)
			if c.ref != "" {
				w.edit(func(p *v1alpha1.PivotCluster) { p.Spec.CellRef = &v1alpha1.LocalObjectReference{Name: c.ref} })
			}
			got := w.settle()
			if c.says != "" {
				require.Equal(t, v1alpha1.PhaseFailed, got.Status.Phase)
				require.Equal(t, c.says, ready(got))
				w.bare()
				return
			}
			var s corev1.Secret
			require.True(t, w.there(&s, "rw-blue", EnrolSecret("blue")))
			if c.cell != nil {
				require.Equal(t, "https://root.test:7443", string(s.Data["endpoint"]))
			}
		})
	}
}

// TestAClusterWithChildrenIsNotForgotten: their agents would call a cell that nothing answers.
func TestAClusterWithChildrenIsNotForgotten(t *testing.T) {
	w := celled(t)
	w.placed()
	w.settle()
	root := &v1alpha1.PivotCluster{}
	at := ctrl.Request{NamespacedName: types.NamespacedName{Name: "root"}}
	look := func() {
		_, err := w.controller.Reconcile(t.Context(), at)
		require.NoError(t, err)
		require.NoError(t, client.IgnoreNotFound(w.parent.Get(t.Context(), at.NamespacedName, root)))
	}
	look()
	require.Equal(t, []string{Finalizer}, root.Finalizers)
	root.Annotations[ForgetAnnotation] = "root"
	require.NoError(t, w.parent.Update(t.Context(), root))
	require.NoError(t, w.parent.Delete(t.Context(), root))
	look()
	require.Equal(t, v1alpha1.PhaseFailed, root.Status.Phase)
	require.Equal(t, "this cluster is the parent of blue, whose agents call its cell: delete their PivotClusters here first (those of clusters that are in charge of themselves are records: annotate them with pivot.ropewalk.dev/forget)", ready(root))

	w.deleted()
	w.untilGone()
	look()
	require.False(t, w.there(&v1alpha1.PivotCluster{}, "", "root"))
}

// endpoints are those of a reconciler after a restart, by the cell of the cluster itself.
func endpoints(r *Reconciler) *Endpoints {
	return &Endpoints{Namespace: "ropewalk-system", serving: r.serving(logr.Discard())}
}
