// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ropewalk/ropewalk/test/e2e/plane"
	"github.com/ropewalk/ropewalk/test/pivot/audit"
	"github.com/ropewalk/ropewalk/test/pivot/faults"
	"github.com/ropewalk/ropewalk/test/pivot/harness"
)

// parentFlags installs a parent on a plane, and returns the flags of its controller, which is
// reached at two ports.
func (f *family) parentFlags(p *harness.Plane, registration, link string) []string {
	f.t.Helper()
	return f.flags(p, "--child-manifest="+f.install(p), "--workers=1", "--pivot-hold=1s", "--plain-http="+f.registry,
		"--cell-host="+plane.Loopback, "--cell-port="+registration, "--cell-link-port="+link)
}

// progress is what is read of the receipt of a pivot.
type progress struct {
	Step   string
	Paused time.Time
	Marks  []struct {
		Step string
		At   time.Time
	}
}

// replica is one of two controllers of a parent. Its requests go through a proxy, with the
// rights of its account.
type replica struct {
	*harness.Process
	harness.Backend

	number int
	proxy  *faults.Proxy
}

// replicas are a parent with two controllers, of which one leads.
type replicas struct {
	*family

	all     []*replica
	service *harness.Service
	// engine is that of the child: while it is stopped the pivot does not begin.
	engine *harness.Process
}

// newReplicas begins as TestAParentMakesAClusterThatBecomesItsOwnAndOutlivesIt does, up to an
// agent that has nothing yet to begin with.
func newReplicas(t *testing.T) *replicas {
	t.Helper()
	r := &replicas{family: newFamily(t)}
	r.Flux(t, r.A)
	kubeconfig := r.A.Certified(t, "system:serviceaccount:"+system+":ropewalk-controller", "system:serviceaccounts", "system:serviceaccounts:"+system)
	account, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	require.NoError(t, err)
	var ports []string
	for range 2 {
		ports = append(ports, plane.FreePort(t))
	}
	flags := append(r.parentFlags(r.A, ports[0], ports[1]), "--enable-leader-election", "--leader-election-lease-duration=6s",
		"--leader-election-renew-deadline=4s", "--leader-election-retry-period=1s")
	address := func() string { return plane.Loopback + ":" + plane.FreePort(t) }
	var backends []harness.Backend
	for i := range 2 {
		one := &replica{number: i, proxy: faults.New(t, account), Backend: harness.Backend{Health: address(), Ports: []string{address(), address()}}}
		argv := append([]string{
			r.Program(t, "ropewalk-controller"), "--metrics-addr=0", "--health-addr=" + one.Health,
			"--registration-addr=" + one.Ports[0], "--link-addr=" + one.Ports[1],
		}, flags...)
		one.Process = r.Process(t, fmt.Sprintf("a-replica-%d", i), argv, "KUBECONFIG="+one.proxy.Kubeconfig, "RUNTIME_NAMESPACE="+system)
		r.all, backends = append(r.all, one), append(backends, one.Backend)
	}
	r.service = harness.NewService(t, []string{plane.Loopback + ":" + ports[0], plane.Loopback + ":" + ports[1]}, backends...)
	r.says("two controllers run, and replica %d leads", r.leads(nil).number)
	r.makes()
	return r
}

// makes has the parent make the cluster, until its agent is connected.
func (r *replicas) makes() {
	r.t.Helper()
	base := r.push("base", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: base, namespace: default}\n")
	r.repository.Commit(map[string]string{"blue.yaml": r.document(base)}, "a cluster")
	r.deliver(r.A)
	r.await(r.A, "Provisioning")
	r.boot()
	_, r.engine = r.Flux(r.t, r.B)
	r.engine.Pause()
	r.startChild()
	r.await(r.A, "Connected")
	r.await(r.A, "Provisioned")
	r.cluster.AwaitAvailable(r.t, r.A)
	var tokens []string
	for _, one := range r.all {
		tokens = append(tokens, one.proxy.Token)
	}
	r.audited = audit.Start(r.t, r.World, r.cluster, r.A, tokens...)
	for _, one := range r.all {
		r.audited.Watch(audit.Log{Name: one.Name, Text: one.Log})
	}
	r.audited.Watch(audit.Log{Name: r.agent.Name, Text: r.agent.Log})
}

// leads waits until one replica is ready, another than the one given, and returns it.
func (r *replicas) leads(but *replica) *replica {
	r.t.Helper()
	var one *replica
	harness.Await(r.t, time.Minute, "a replica leads", func() bool {
		ready := r.service.Ready()
		if len(ready) != 1 {
			return false
		}
		one = r.all[ready[0]]
		return one != but
	})
	return one
}

// progress is that of the parent for a cluster.
func (f *family) progress(c *harness.Cluster) (out progress) {
	o, err := f.A.Client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(c.Namespace).
		Get(f.Context(), "pivot-"+c.Name, metav1.GetOptions{})
	if err == nil {
		text, _, _ := unstructured.NestedString(o.Object, "data", "receipt.json")
		_ = json.Unmarshal([]byte(text), &out) // it has no step then
	}
	return out
}

// step is that of the receipt of the parent.
func (r *replicas) step() string { return r.progress(r.cluster).Step }

// after is the write of the receipt of the parent that follows a step.
func (r *replicas) after(step string) func(faults.Request) bool {
	return func(w faults.Request) bool {
		return w.Method == http.MethodPut && strings.HasSuffix(w.Path, "/configmaps/pivot-"+r.cluster.Name) && r.step() == step
	}
}

// lost lets the pivot begin, and waits until the leader is lost.
func (r *replicas) lost(lost <-chan time.Time) (at time.Time, session string) {
	r.t.Helper()
	session = r.session()
	r.engine.Resume()
	select {
	case at = <-lost:
	case <-time.After(4 * time.Minute):
		require.Fail(r.t, "the pivot did not come so far", "step %q", r.step())
	}
	return at, session
}

// ends waits until the cluster is in charge of itself, and wants all invariants to have held.
func (r *replicas) ends(lost time.Time) {
	r.t.Helper()
	r.await(r.A, "Pivoted")
	r.says("in charge of itself %s after the leader was lost", time.Since(lost).Round(time.Millisecond))
	r.await(r.B, "Ready")
	report := r.audited.Stop(r.t)
	report.Require(r.t)
	require.Equal(r.t, "Done", r.step())
}

// sees waits until the agent has a session of the leader of now.
func (r *replicas) sees(lost time.Time, before string) {
	r.t.Helper()
	harness.Await(r.t, 2*time.Minute, "the agent has another session", func() bool {
		return r.session() != before
	})
	r.says("the agent is back %s after the leader was lost", time.Since(lost).Round(time.Millisecond))
}

func (r *replicas) session() string {
	return r.run(r.A, "", "get", "pivotcluster", r.cluster.Name, "-o", "jsonpath={.status.agent.session}")
}

// TestALeaderThatIsKilled before it can write that the pivot is committed: the other replica
// goes on, with the authority that was rotated before.
func TestALeaderThatIsKilled(t *testing.T) {
	r := newReplicas(t)
	first := r.leads(nil)
	r.rotates()
	lost := make(chan time.Time, 1)
	first.proxy.Set(faults.KillAt(r.after("Verified"), false, func() {
		first.Kill()
		lost <- time.Now()
	}))
	at, before := r.lost(lost)
	r.says("replica %d is killed before its write after step %s", first.number, r.step())
	second := r.leads(first)
	r.says("replica %d leads %s after that", second.number, time.Since(at).Round(time.Millisecond))
	r.sees(at, before)
	first.proxy.Reset()
	require.NoError(t, first.Start())
	r.ends(at)
	require.Equal(t, []int{second.number}, r.service.Ready(), "the one that is back follows")
}

// rotates has the controller replace its authority while the agent is connected.
func (r *replicas) rotates() {
	r.t.Helper()
	secret := func(path string) string {
		return r.run(r.A, "", "get", "secret", "ropewalk-pivot-authority", "--namespace="+system, "-o", "jsonpath="+path)
	}
	pins := func() string {
		return r.run(r.A, "", "get", "pivotcluster", r.cluster.Name, "-o", "jsonpath={.status.agent.pins[*]}")
	}
	before, began, said := pins(), time.Now(), ""
	require.Len(r.t, strings.Fields(before), 1)
	r.run(r.A, "", "annotate", "secret", "ropewalk-pivot-authority", "--namespace="+system, "pivot.ropewalk.dev/rotate=now")
	harness.Await(r.t, 2*time.Minute, "the authority is rotated", func() bool {
		if now := secret(`{.metadata.annotations.pivot\.ropewalk\.dev/rotation}`); now != said {
			said = now
			r.says("rotation: %s", said)
		}
		after := pins()
		return secret(`{.metadata.annotations.pivot\.ropewalk\.dev/rotated}`) == "now" && len(strings.Fields(after)) == 1 && after != before
	})
	r.says("the authority is rotated, and the agent trusts the new one alone, after %s", time.Since(began).Round(time.Millisecond))
}

// TestALeaderThatIsStopped after it has written that all is staged, and goes on once the other
// replica leads and has ended the pivot: it writes nothing any more, and ends.
func TestALeaderThatIsStopped(t *testing.T) {
	r := newReplicas(t)
	first := r.leads(nil)
	lost, resumed := make(chan time.Time, 1), make(chan struct{})
	staged := r.after("Snapshotted")
	stop := sync.OnceFunc(func() {
		first.Pause()
		lost <- time.Now()
	})
	first.proxy.Set(func(w faults.Request) faults.Fault {
		select {
		case <-resumed:
		default:
			if w.Write > 0 && staged(w) {
				return faults.Fault{After: stop}
			}
		}
		return faults.Fault{}
	})
	at, before := r.lost(lost)
	r.says("replica %d is stopped after step %s", first.number, r.step())
	second := r.leads(first)
	r.says("replica %d leads %s after that", second.number, time.Since(at).Round(time.Millisecond))
	r.sees(at, before)
	writes := len(first.proxy.Writes())
	close(resumed)
	first.Resume()
	r.says("replica %d goes on, in the middle of the pivot: step %s", first.number, r.step())
	require.Error(t, first.Wait(30*time.Second))
	r.says("replica %d has ended: %s", first.number, lastLine(first.Log()))
	for _, w := range first.proxy.Writes()[writes:] {
		require.Contains(t, w.Path, "/leases/", "it wrote %s without its lease", w)
	}
	require.False(t, slices.ContainsFunc(first.proxy.Writes()[writes:], func(w faults.Request) bool { return w.Method == http.MethodPost }))
	require.NoError(t, first.Start())
	r.ends(at)
	require.Equal(t, []int{second.number}, r.service.Ready(), "the one that is back follows")
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
