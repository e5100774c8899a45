// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package pivot

import (
	"encoding/json"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/test/e2e/plane"
	"github.com/ropewalk/ropewalk/test/pivot/audit"
	"github.com/ropewalk/ropewalk/test/pivot/faults"
	"github.com/ropewalk/ropewalk/test/pivot/harness"
	"github.com/ropewalk/ropewalk/test/pivot/network"
)

// Where children reach the parent, over wires.
const (
	cell             = "10.210.0.1"
	registrationPort = "8443"
	linkPort         = "8444"
)

// distant is a family whose parent and child are processes in network namespaces of their own,
// with a wire between them. Their API servers are before them, as each one is on the loopback,
// behind a gate that tests watch.
type distant struct {
	*family

	parentAt, childAt *network.Namespace
	wire              *network.Wire
	gates             map[*harness.Plane]*faults.Proxy
}

func newDistant(t *testing.T) *distant {
	t.Helper()
	d := &distant{parentAt: network.New(t), childAt: network.New(t), gates: map[*harness.Plane]*faults.Proxy{}}
	d.parentAt.IP(t, "address", "add", cell+"/32", "dev", "lo")
	d.wire = network.Connect(t, "wire", d.parentAt, d.childAt, cell, "10.211.0.2")
	d.family = newFamily(t)
	return d
}

// controller starts the program of an end, which has the rights of its account there.
func (d *distant) controller(p *harness.Plane, at *network.Namespace, flags ...string) *harness.Process {
	d.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", p.Certified(d.t, "system:serviceaccount:"+system+":ropewalk-controller",
		"system:serviceaccounts", "system:serviceaccounts:"+system))
	require.NoError(d.t, err)
	gate := faults.New(d.t, config)
	d.gates[p] = gate
	at.Forward(d.t, loopbackOf(d.t, gate.Kubeconfig), d.registry)
	argv := append([]string{d.Program(d.t, "ropewalk-controller"), "--workers=1", "--metrics-addr=0", "--health-addr=0", "--plain-http=" + d.registry}, flags...)
	return d.Process(d.t, p.Name+"-ropewalk-controller", at.Command(argv...), "KUBECONFIG="+gate.Kubeconfig, "RUNTIME_NAMESPACE="+system)
}

// loopbackOf is the address of the API server of a kubeconfig.
func loopbackOf(t testing.TB, kubeconfig string) string {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	require.NoError(t, err)
	server, err := url.Parse(config.Host)
	require.NoError(t, err)
	return server.Host
}

// startParent installs the controller of the parent, and starts it.
func (d *distant) startParent() {
	d.t.Helper()
	manifest := d.install(d.A)
	d.parent = d.controller(d.A, d.parentAt,
		d.flags(d.A, "--pivot-hold=1s", "--child-manifest="+manifest,
			"--cell-host="+cell, "--cell-port="+registrationPort, "--cell-link-port="+linkPort,
			"--registration-addr="+net.JoinHostPort(cell, registrationPort), "--link-addr="+net.JoinHostPort(cell, linkPort))...)
}

// provision makes a cluster that is available on the parent, and whose agent does not run yet.
func (d *distant) provision() {
	d.t.Helper()
	d.Flux(d.t, d.A)
	d.startParent()
	base := d.push("base", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: base, namespace: default}\ndata: {from: the parent}\n")
	d.repository.Commit(map[string]string{"blue.yaml": d.document(base)}, "a cluster")
	d.deliver(d.A)
	d.await(d.A, "Provisioning")
	d.childAt.Forward(d.t, loopbackOf(d.t, d.B.Kubeconfig))
	d.boot(d.childAt.Command()...)
	d.Flux(d.t, d.B)
	d.await(d.A, "Provisioned")
	d.cluster.AwaitAvailable(d.t, d.A)
}

// join starts the agent, from which on the pivot begins by itself, and the auditor.
func (d *distant) join() {
	d.t.Helper()
	d.agent = d.controller(d.B, d.childAt, d.flags(d.B, "--registration-addr="+plane.Loopback+":0", "--link-addr="+plane.Loopback+":0")...)
	d.audited = audit.Start(d.t, d.World, d.cluster, d.A, d.gates[d.A].Token, d.gates[d.B].Token)
	for _, p := range []*harness.Process{d.parent, d.agent} {
		d.audited.Watch(audit.Log{Name: p.Name, Text: p.Log})
	}
	d.says("the agent runs")
}

// converge waits until the cluster is in charge of itself, and requires that the invariants
// held.
func (d *distant) converge(within time.Duration) {
	d.t.Helper()
	began := time.Now()
	for _, of := range []struct {
		plane *harness.Plane
		is    string
	}{{d.A, "Pivoted"}, {d.B, "Ready"}} {
		var o *unstructured.Unstructured
		for o = d.pivotCluster(of.plane); o == nil || !harness.True(o, of.is); o = d.pivotCluster(of.plane) {
			if time.Since(began) > within {
				status, _ := yaml.Marshal(o)
				require.Fail(d.t, "the pivot does not end", "PivotCluster in plane %s is not %s within %s:\n%s", of.plane.Name, of.is, within, status)
			}
			time.Sleep(100 * time.Millisecond)
		}
		d.says("plane %s: %s", of.plane.Name, of.is)
	}
	report := d.audited.Stop(d.t)
	report.Require(d.t)
	require.Equal(d.t, "the parent", d.run(d.B, "", "get", "configmap", "base", "-o", "jsonpath={.data.from}"))
}

// stepOf is the step of the receipt that a request writes; "" where it writes none.
func (d *distant) stepOf(r faults.Request) string {
	if r.Write == 0 || !strings.Contains(r.Path, "/configmaps") {
		return ""
	}
	var o struct {
		Metadata struct{ Name string }
		Data     map[string]string
	}
	var receipt struct{ Step string }
	if json.Unmarshal(r.Body, &o) != nil || o.Metadata.Name != "pivot-"+d.cluster.Name || json.Unmarshal([]byte(o.Data["receipt.json"]), &receipt) != nil {
		return ""
	}
	return receipt.Step
}

// session is the number of the last session of the child, and whether there is one.
func (d *distant) session() (number int64, connected bool) { return sessionOf(d.pivotCluster(d.A)) }

func pivotClusters() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "ropewalk.dev", Version: "v1alpha1", Resource: "pivotclusters"}
}

// sessionOf is what the parent notes of sessions in a PivotCluster, which may be nil.
func sessionOf(o *unstructured.Unstructured) (number int64, connected bool) {
	if o == nil {
		return 0, false
	}
	number, _, _ = unstructured.NestedInt64(o.Object, "status", "agent", "session")
	return number, harness.True(o, "Connected")
}

// shows prints a table at the end of the test, however that ends.
func (d *distant) shows(table func() string) {
	d.t.Cleanup(func() { d.says("%s", table()) })
}
