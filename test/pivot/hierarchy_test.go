// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ropewalk/ropewalk/test/e2e/plane"
	"github.com/ropewalk/ropewalk/test/pivot/harness"
)

// TestAChildHasAChildOfItsOwnThatOutlivesBoth: the parent (plane a) makes blue (b), which has a
// cell, and Flux on blue delivers a PivotCluster of Git by which blue makes green (c). What
// installs the agent of green, blue has from its own installation. Then a and b are destroyed.
func TestAChildHasAChildOfItsOwnThatOutlivesBoth(t *testing.T) {
	f := familyOf(t, harness.NewOfThree(t))
	f.startParent(f.A)
	base := f.push("base", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: base, namespace: default}\ndata: {from: the parent}\n")
	registration, link := plane.FreePort(t), plane.FreePort(t)
	f.repository.Commit(map[string]string{"blue.yaml": f.document(base) +
		"  cell: {host: " + plane.Loopback + ", port: " + registration + ", linkPort: " + link + ", serviceType: ClusterIP}\n"}, "a cluster with a cell")
	f.deliver(f.A)
	f.begins("--registration-addr="+net.JoinHostPort(plane.Loopback, registration), "--link-addr="+net.JoinHostPort(plane.Loopback, link), "--pivot-hold=1s")
	f.takesOver()
	require.Equal(t, "ClusterIP "+registration+" "+link,
		f.run(f.B, "", "get", "service", "ropewalk-cell", "--namespace="+system, "-o", "jsonpath={.spec.type} {.spec.ports[*].port}"))

	green := f.below("green", base)
	green.begins()
	green.takesOver()
	const kept = "jsonpath={.binaryData.manifest\\.yaml\\.gz}"
	manifest := f.run(f.B, "", "get", "configmap", "ropewalk-child-manifest", "--namespace="+system, "-o", kept)
	require.NotEmpty(t, manifest)
	require.Equal(t, manifest, f.run(f.C, "", "get", "configmap", "ropewalk-child-manifest", "--namespace="+system, "-o", kept), "green has it for children of its own")
	f.moves(green, registration)
	f.keepsItsCell()

	f.destroyParent()
	green.destroyParent()
	green.lives()
}

// takesOver waits for the pivot, and prints what the auditor says of it.
func (f *family) takesOver() {
	f.t.Helper()
	f.await(f.A, "Bootstrapped")
	f.await(f.A, "Pivoted")
	f.await(f.B, "Ready")
	f.audited.Stop(f.t).Require(f.t)
	f.says("plane %s: %s is in charge of itself", f.B.Name, f.cluster.Name)
}

// below is a family whose parent is the child of this one: its PivotCluster is delivered by Flux
// on that, at first with a parent that is another cluster.
func (f *family) below(name, base string) *family {
	f.t.Helper()
	g := *f
	g.of(f.B, f.C, name)
	g.ofParent, g.parent = f.ofChild, f.agent
	g.repository.Commit(map[string]string{name + ".yaml": g.document(base) + "  cellRef: {name: red}\n"}, "a cluster of another parent")
	g.deliver(g.A)
	g.await(g.A, "Failed")
	refused := message(g.pivotCluster(g.A))
	require.Contains(f.t, refused, `spec.cellRef: expected "blue", the PivotCluster of this cluster`)
	f.says("plane %s: %s", g.A.Name, refused)
	g.repository.Commit(map[string]string{name + ".yaml": g.document(base) + "  cellRef: {name: " + f.cluster.Name + "}\n"}, "a cluster of this one")
	g.request(g.A)
	return &g
}

// moves changes the host of the cell: it is answered at both, and the agent of the child, which
// is started again, comes back to the one that it was given.
func (f *family) moves(child *family, port string) {
	f.t.Helper()
	certificate, err := base64.StdEncoding.DecodeString(f.run(f.B, "", "get", "secret", "ropewalk-pivot-authority", "--namespace="+system, "-o", `jsonpath={.data.tls\.crt}`))
	require.NoError(f.t, err)
	authority := x509.NewCertPool()
	require.True(f.t, authority.AppendCertsFromPEM(certificate))
	answers := func(host string) bool {
		c, err := (&tls.Dialer{Config: &tls.Config{ServerName: host, RootCAs: authority, MinVersion: tls.VersionTLS13, CurvePreferences: []tls.CurveID{tls.CurveP256}}}).
			DialContext(f.t.Context(), "tcp", net.JoinHostPort(plane.Loopback, port))
		return err == nil && c.Close() == nil
	}
	require.True(f.t, answers(plane.Loopback))
	require.False(f.t, answers("cell.test"))
	f.edit(`{"spec":{"cell":{"host":"cell.test"}}}`)
	harness.Await(f.t, time.Minute, "the certificate has the new host", func() bool { return answers("cell.test") })
	require.True(f.t, answers(plane.Loopback))

	sessions := func() int64 {
		n, _, _ := unstructured.NestedInt64(child.pivotCluster(f.B).Object, "status", "agent", "session")
		return n
	}
	before := sessions()
	child.agent.Kill()
	child.startChild()
	harness.Await(f.t, 2*time.Minute, "the agent is in another session", func() bool { return sessions() > before })
	child.await(f.B, "Connected") // It has no nodes to report, so that it is not Ready for its parent.
	f.says("plane %s: the host of its cell is changed, and the agent of %s is back at the one before, in session %d", f.B.Name, child.cluster.Name, sessions())
}

// keepsItsCell: neither the cell nor the PivotCluster can be removed while there are children.
func (f *family) keepsItsCell() {
	f.t.Helper()
	for patch, refused := range map[string]string{`null`: "a cell cannot be removed", `{"linkPort":443,"port":443}`: "port and linkPort are two ports"} {
		cmd := exec.CommandContext(f.t.Context(), f.kubectl, "--kubeconfig="+f.B.Kubeconfig, "patch", "pivotcluster", f.cluster.Name, "--type=merge", `--patch={"spec":{"cell":`+patch+`}}`) //nolint:gosec // a program of the run
		cmd.Env = f.Environment()
		out, err := cmd.CombinedOutput()
		require.Error(f.t, err)
		require.Contains(f.t, string(out), refused)
		f.says("plane %s: %s", f.B.Name, strings.TrimSpace(string(out)))
	}
	f.run(f.B, "", "annotate", "pivotcluster", f.cluster.Name, "pivot.ropewalk.dev/forget="+f.cluster.Name)
	f.run(f.B, "", "delete", "pivotcluster", f.cluster.Name, "--wait=false")
	f.await(f.B, "Failed")
	refused := message(f.pivotCluster(f.B))
	require.Contains(f.t, refused, "this cluster is the parent of green")
	f.says("plane %s: %s", f.B.Name, refused)
}

// message is that of the condition Ready of an object.
func message(o *unstructured.Unstructured) string {
	all, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range all {
		if c, is := c.(map[string]any); is && c["type"] == "Ready" {
			return c["message"].(string) //nolint:forcetypeassert // a condition has one
		}
	}
	return ""
}
