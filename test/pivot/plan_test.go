// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAPlanNamesAnOwnerOutsideOfTheSet, where clusterctl moves nothing and says nothing.
func TestAPlanNamesAnOwnerOutsideOfTheSet(t *testing.T) {
	r := newRig(t, ropewalk)
	c, p := r.Standing(t)
	o := p.Ensure(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: site, namespace: "+c.Namespace+"}}")
	defer p.Remove(t, o)
	owner := fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"site","uid":%q}]}}`, o.GetUID())
	c.Patch(t, p, owner)
	defer c.Patch(t, p, `{"metadata":{"ownerReferences":null}}`) // or the garbage collector deletes it with its owner
	c.AwaitAvailable(t, p)
	said, err := r.command(t, "plan", "--from="+p.Kubeconfig, "--to="+r.Other(p).Kubeconfig)
	require.Error(t, err)
	require.Contains(t, said, "ConfigMap "+c.Namespace+"/site")
}

// TestAPlanNamesWhatWouldBeDeletedWithTheSet: an object of a kind that is built in and not moved,
// which the garbage collector would delete with the Cluster that owns it.
func TestAPlanNamesWhatWouldBeDeletedWithTheSet(t *testing.T) {
	r := newRig(t, ropewalk)
	c, p := r.Standing(t)
	cluster, err := c.Get(t.Context(), p)
	require.NoError(t, err)
	lease := p.Ensure(t, fmt.Sprintf("{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: held, namespace: %s, ownerReferences: [{apiVersion: %s, kind: Cluster, name: %s, uid: %s}]}}",
		c.Namespace, cluster.GetAPIVersion(), c.Name, cluster.GetUID()))
	said, err := r.command(t, "plan", "--from="+p.Kubeconfig, "--to="+r.Other(p).Kubeconfig)
	require.Error(t, err)
	require.Contains(t, said, "Lease.coordination.k8s.io "+c.Namespace+"/held: is not moved, as its kind is none of Cluster API, and would be deleted with its owner Cluster.cluster.x-k8s.io "+c.Namespace+"/"+c.Name)
	// Nothing was left out but what only a run can check, of which webhooks are one until the target
	// has the namespace: another test may have made it.
	require.Contains(t, said, "note: whether the controllers of the target run")
	for line := range strings.Lines(said) {
		require.False(t, strings.HasPrefix(line, "note: ") && !strings.Contains(line, ": a run "), "%s", line)
	}
	p.Remove(t, lease)
	_, err = r.command(t, "plan", "--from="+p.Kubeconfig, "--to="+r.Other(p).Kubeconfig)
	require.NoError(t, err)
}

// TestOneOfTwoClustersOfANamespaceMoves, and the other stays as it is.
func TestOneOfTwoClustersOfANamespaceMoves(t *testing.T) {
	r := newRig(t, ropewalk)
	c, p := r.Standing(t)
	green := r.NewCluster(t, p, c.Namespace, "green", 1, 0)
	said, err := r.command(t, "plan", "--from="+p.Kubeconfig, "--to="+r.Other(p).Kubeconfig)
	require.NoError(t, err)
	require.NotContains(t, said, "green")
	r.program.name = "ropewalk, beside Cluster green,"
	m := r.begin()
	var before []string
	for _, name := range p.Objects(t, c.Namespace) {
		if strings.Contains(name, "/green") {
			before = append(before, name)
		}
	}
	said, err = m.run(t)
	require.NoError(t, err, "%s", said)
	require.Empty(t, m.settled(t))
	m.auditor.Stop(t).Require(t)
	require.Equal(t, before, own(p.Objects(t, c.Namespace)))
	green.AwaitAvailable(t, p)
	green.Delete(t, p)
	c.AwaitAvailable(t, m.to)
}
