// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/test/e2e/plane"
	"github.com/ropewalk/ropewalk/test/pivot/audit"
	"github.com/ropewalk/ropewalk/test/pivot/harness"
	"github.com/ropewalk/ropewalk/test/servers"
)

// system is the namespace of the controller.
const system = "ropewalk-system"

// family is a parent (plane A) and a child (plane B): the workload API of the in-memory cloud
// has no definitions, so that the child is not the cluster that is provisioned.
type family struct {
	*harness.World
	// A and B are those of the world, but for a family below.
	A, B *harness.Plane

	t             *testing.T
	began         time.Time
	registry, git string
	repository    *servers.Git
	cluster       *harness.Cluster
	kubectl       string
	// ofParent and ofChild are the processes of both beside those of their planes.
	ofParent, ofChild []*harness.Process
	parent            *harness.Process
	agent             *harness.Process
	audited           *audit.Auditor
	engine            engine
}

func newFamily(t *testing.T) *family {
	t.Helper()
	return familyOf(t, harness.New(t))
}

func familyOf(t *testing.T, w *harness.World, registry ...servers.Option) *family {
	t.Helper()
	f := &family{World: w, t: t, began: time.Now(), registry: servers.InProcess(t, append(registry, servers.WithDelete())...).Host}
	f.kubectl = f.Program(t, "kubectl")
	f.engine.namespace = harness.FluxNamespace
	f.engine.start = func(f *family) []*harness.Process {
		source, kustomize := f.Flux(f.t, f.B)
		return []*harness.Process{source, kustomize}
	}
	f.of(f.World.A, f.World.B, "blue")
	return f
}

// of makes the family that of two planes and a cluster, with a repository of its own.
func (f *family) of(parent, child *harness.Plane, name string) {
	f.t.Helper()
	root := f.t.TempDir()
	f.A, f.B = parent, child
	f.repository, f.git = servers.NewGit(f.t, filepath.Join(root, "clusters.git")), servers.GitHTTP(f.t, root)
	f.cluster = &harness.Cluster{Namespace: "rw-" + name, Name: name, ControlPlanes: 1, Workers: 1}
}

// says prints a line of the timeline.
func (f *family) says(format string, args ...any) {
	f.t.Helper()
	f.t.Logf("%7.2fs  %s", time.Since(f.began).Seconds(), fmt.Sprintf(format, args...))
}

// run runs kubectl on a plane.
func (f *family) run(p *harness.Plane, input string, args ...string) string {
	f.t.Helper()
	cmd := exec.CommandContext(f.t.Context(), f.kubectl, append([]string{"--kubeconfig=" + p.Kubeconfig}, args...)...) //nolint:gosec // a program of the run
	cmd.Env, cmd.Stdin = f.Environment(), strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	require.NoError(f.t, err, "kubectl %s: %s", strings.Join(args, " "), out)
	return strings.TrimSpace(string(out))
}

// startParent starts Flux and the controller on a plane.
func (f *family) startParent(p *harness.Plane) {
	f.t.Helper()
	source, kustomize := f.Flux(f.t, p)
	registration, link := plane.FreePort(f.t), plane.FreePort(f.t)
	f.parent = f.Controller(f.t, p, "ropewalk-controller", system, append(f.parentFlags(p, registration, link),
		"--registration-addr="+net.JoinHostPort(plane.Loopback, registration), "--link-addr="+net.JoinHostPort(plane.Loopback, link))...)
	f.ofParent = []*harness.Process{source, kustomize, f.parent}
	f.says("plane %s: the parent has Flux and the controller", p.Name)
}

// push makes an artifact of manifests as flux push does, and returns its digest.
func (f *family) push(repository, manifests string) (digest string) {
	f.t.Helper()
	dir := f.t.TempDir()
	require.NoError(f.t, os.WriteFile(filepath.Join(dir, "all.yaml"), []byte(manifests), 0o600))
	cmd := exec.CommandContext(f.t.Context(), f.Program(f.t, "ropewalk"), "artifact", "push", dir, "oci://"+f.registry+"/"+repository+":latest", "--plain-http="+f.registry) //nolint:gosec // a command of ours
	cmd.Env = f.Environment("DOCKER_CONFIG=" + f.engine.docker)
	out, err := cmd.CombinedOutput()
	require.NoError(f.t, err, "%s", out)
	digest = regexp.MustCompile("sha256:[0-9a-f]{64}").FindString(string(out))
	require.NotEmpty(f.t, digest, "%s", out)
	return digest
}

// document is the PivotCluster as it is in Git.
func (f *family) document(digest string) string {
	return `apiVersion: ropewalk.dev/v1alpha1
kind: PivotCluster
metadata: {name: ` + f.cluster.Name + `}
spec:
  provider: {type: docker, docker: {backend: inMemory}}
  kubernetesVersion: v1.36.3
  workers: [{name: md, replicas: 1}]
  gitOps: {artifact: {repository: "oci://` + f.registry + `/base", digest: "` + digest + `", insecure: true}` + f.engine.gitOps + `}
  output: {oci: {repository: "oci://` + f.registry + `/clusters", insecure: true` + f.engine.output + `}}
`
}

// deliver has Flux on a parent deliver what is in Git.
func (f *family) deliver(p *harness.Plane) {
	f.t.Helper()
	f.run(p, `apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: clusters, namespace: flux-system}
spec: {url: "`+f.git+`/clusters.git", interval: 1m, ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: clusters, namespace: flux-system}
spec: {sourceRef: {kind: GitRepository, name: clusters}, path: ./, interval: 1m, prune: true}
`, "apply", "-f", "-")
}

// request has Flux look at Git at once.
func (f *family) request(p *harness.Plane) {
	f.t.Helper()
	for _, o := range []string{"gitrepository/clusters", "kustomization/clusters"} {
		f.run(p, "", "annotate", o, "--namespace=flux-system", "--overwrite", "reconcile.fluxcd.io/requestedAt="+time.Now().String())
	}
}

// pivotCluster is the object on a plane; nil where there is none.
func (f *family) pivotCluster(p *harness.Plane) *unstructured.Unstructured {
	o, err := p.Client.Resource(schema.GroupVersionResource{Group: "ropewalk.dev", Version: "v1alpha1", Resource: "pivotclusters"}).
		Get(f.t.Context(), f.cluster.Name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return o
}

// await waits until the PivotCluster of a plane has a condition, or a phase.
func (f *family) await(p *harness.Plane, what string) {
	f.t.Helper()
	var last string
	for deadline := time.Now().Add(4 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if o := f.pivotCluster(p); o != nil {
			phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
			if phase == what || harness.True(o, what) {
				f.says("plane %s: %s", p.Name, what)
				return
			}
			status, _ := yaml.Marshal(o.Object["status"])
			last = string(status)
		}
		require.True(f.t, time.Now().Before(deadline), "PivotCluster in plane %s is not %s:\n%s", p.Name, what, last)
	}
}

// boot does what the first machine does after kubeadm: it has the files of its bootstrap data,
// and runs the command, after what is given. The API server of the machine is the plane of the
// child.
func (f *family) boot(before ...string) {
	f.t.Helper()
	var data string
	harness.Await(f.t, time.Minute, "the bootstrap data of a machine of the control plane", func() bool {
		for _, m := range f.cluster.Machines(f.t, f.A) {
			name, _, _ := unstructured.NestedString(m.Object, "spec", "bootstrap", "dataSecretName")
			if _, is := m.GetLabels()["cluster.x-k8s.io/control-plane"]; is && name != "" {
				data = f.run(f.A, "", "get", "secret", name, "--namespace="+f.cluster.Namespace, "-o", "jsonpath={.data.value}")
			}
		}
		return data != ""
	})
	text, err := base64.StdEncoding.DecodeString(data)
	require.NoError(f.t, err)
	var cloud struct {
		Files []struct {
			Path, Content, Encoding string
		} `json:"write_files"`
		Commands []any `json:"runcmd"`
	}
	require.NoError(f.t, yaml.Unmarshal(text, &cloud))
	root := f.t.TempDir()
	for _, file := range cloud.Files {
		if !strings.HasPrefix(file.Path, "/etc/ropewalk/") {
			continue
		}
		require.NoError(f.t, os.WriteFile(filepath.Join(root, filepath.Base(file.Path)), []byte(file.Content), 0o700)) //nolint:gosec // a script
	}
	require.Contains(f.t, cloud.Commands, any("/etc/ropewalk/enrol.sh"), "it is run after kubeadm")
	argv := append(before, filepath.Join(root, "enrol.sh"))
	cmd := exec.CommandContext(f.t.Context(), argv[0], argv[1:]...) //nolint:gosec // that of the machine
	cmd.Env = f.Environment("ROPEWALK_DIR="+root, "KUBECONFIG="+f.B.Kubeconfig, "KUBECTL="+f.kubectl, "ROPEWALK_PAUSE=1")
	out, err := cmd.CombinedOutput()
	require.NoError(f.t, err, "%s", out)
	f.says("the script of the machine: %s", strings.Join(strings.Fields(string(out)), " "))
	f.run(f.B, "", "get", "secret", "ropewalk-agent", "--namespace="+system)
	f.mayWritePools()
}

// mayWritePools: on the child the delivery of its own cluster alone writes pools of addresses.
func (f *family) mayWritePools() {
	f.t.Helper()
	for _, c := range []struct {
		account, resource string
		allowed           string
	}{
		{f.cluster.Namespace + ":ropewalk-delivery", "ciliumloadbalancerippools", "true"},
		{f.cluster.Namespace + ":ropewalk-delivery", "ciliumbgpclusterconfigs", "false"},
		{f.cluster.Namespace + ":default", "ciliumloadbalancerippools", "false"},
		{"rw-another:ropewalk-delivery", "ciliumloadbalancerippools", "false"},
	} {
		review := f.run(f.B, fmt.Sprintf(`{apiVersion: authorization.k8s.io/v1, kind: SubjectAccessReview, spec: {user: "system:serviceaccount:%s", resourceAttributes: {verb: patch, group: cilium.io, resource: %s}}}`,
			c.account, c.resource), "create", "-f", "-", "-o", "jsonpath={.status.allowed}")
		require.Equal(f.t, c.allowed, review, "%s %s", c.account, c.resource)
	}
}

// startChild runs the agent, as the kubelet does.
func (f *family) startChild(flags ...string) {
	f.t.Helper()
	f.agent = f.Controller(f.t, f.B, "ropewalk-controller", system, append(f.flags(f.B, "--workers=1", "--plain-http="+f.registry,
		"--registration-addr="+plane.Loopback+":0", "--link-addr="+plane.Loopback+":0"), flags...)...)
	f.says("the agent runs")
}

// TestAParentMakesAClusterThatBecomesItsOwnAndOutlivesIt: a PivotCluster in Git is delivered by
// Flux and provisioned, its first machine calls, its GitOps begins, it takes its objects over;
// then the parent is destroyed, and the cluster is scaled, upgraded and repairs itself.
func TestAParentMakesAClusterThatBecomesItsOwnAndOutlivesIt(t *testing.T) {
	f := newFamily(t)
	f.becomesItsOwn()
	f.destroyParent()
	f.lives()
	f.rebuildParent()
}

// becomesItsOwn is the flow until the cluster is in charge of itself.
func (f *family) becomesItsOwn() {
	f.t.Helper()
	t := f.t
	f.startParent(f.A)
	base := f.push("base", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: base, namespace: default}\ndata: {from: the parent}\n")
	f.repository.Commit(map[string]string{"blue.yaml": f.document(base)}, "a cluster")
	f.deliver(f.A)
	f.begins()
	f.await(f.A, "Bootstrapped")
	require.Equal(t, "the parent", f.run(f.B, "", "get", "configmap", "base", "-o", "jsonpath={.data.from}"))
	f.await(f.A, "Pivoted")
	f.await(f.B, "Ready")
	f.applied()
	f.editInGit(base)
	report := f.audited.Stop(t)
	t.Logf("auditor: %s", report)
	report.Require(t)
}

// applied waits until the engine of the child has applied what its own controller has rendered.
func (f *family) applied() {
	f.t.Helper()
	transform := &unstructured.Unstructured{}
	harness.Await(f.t, 3*time.Minute, "the engine of the child has applied its objects", func() bool {
		o, err := f.B.Client.Resource(schema.GroupVersionResource{Group: "ropewalk.dev", Version: "v1alpha1", Resource: "transforms"}).
			Namespace(f.cluster.Namespace).Get(f.t.Context(), f.cluster.Name, metav1.GetOptions{})
		if err == nil {
			transform = o
		}
		return err == nil && harness.True(o, "Ready")
	})
	digest, _, _ := unstructured.NestedString(transform.Object, "status", "artifact", "digest")
	f.says("the child renders itself, and its engine has applied that: %s", digest)
}

// begins brings a cluster to where its agent is connected and its pivot can begin, which is
// audited from then on.
func (f *family) begins(flags ...string) {
	f.t.Helper()
	f.await(f.A, "Provisioning")
	f.boot()
	engine := f.engine.start(f)
	f.startChild(flags...)
	f.ofChild = append(engine, f.agent)
	f.await(f.A, "Enrolled")
	f.await(f.A, "Connected")
	f.await(f.A, "Provisioned")
	f.cluster.AwaitAvailable(f.t, f.A)
	f.audited = audit.Between(f.t, f.World, f.cluster, [2]*harness.Plane{f.A, f.B}, f.A, f.engine.secret)
	for _, p := range append(f.ofChild, f.parent) {
		f.audited.Watch(audit.Log{Name: p.Name, Text: p.Log})
	}
}

// editInGit changes the PivotCluster in Git, and requests it again: the parent takes it for a
// record, and makes nothing.
func (f *family) editInGit(base string) {
	f.t.Helper()
	f.repository.Commit(map[string]string{"blue.yaml": strings.Replace(f.document(base), "replicas: 1", "replicas: 5", 1)}, "five workers")
	f.request(f.A)
	harness.Await(f.t, 2*time.Minute, "the edit is on the parent", func() bool { return f.pivotCluster(f.A).GetGeneration() > 1 })
	f.makesNothing(f.A)
	cmd := exec.CommandContext(f.t.Context(), f.kubectl, "--kubeconfig="+f.A.Kubeconfig, "apply", "-f", "-") //nolint:gosec // a program of the run
	cmd.Env = f.Environment()
	cmd.Stdin = strings.NewReader("{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: " + f.cluster.Name + ", namespace: " + f.cluster.Namespace + "}, spec: {paused: true}}")
	out, err := cmd.CombinedOutput()
	require.Error(f.t, err)
	require.Contains(f.t, string(out), "ropewalk-pivot-"+f.cluster.Name)
	f.says("an edit in Git makes nothing on the parent, and neither may a user: %s", strings.Join(strings.Fields(string(out)), " "))
}

// makesNothing waits, and looks whether a parent makes anything of the cluster.
func (f *family) makesNothing(p *harness.Plane) {
	f.t.Helper()
	before, err := f.Cloud.Of(f.t.Context(), f.cluster.Namespace, f.cluster.Name)
	require.NoError(f.t, err)
	time.Sleep(15 * time.Second) // The controller looks every five.
	after, err := f.Cloud.Of(f.t.Context(), f.cluster.Namespace, f.cluster.Name)
	require.NoError(f.t, err)
	require.Equal(f.t, before, after)
	for _, kind := range []string{"transforms", "clusters.cluster.x-k8s.io", "machines.cluster.x-k8s.io"} {
		require.Empty(f.t, f.run(p, "", "get", kind, "--namespace="+f.cluster.Namespace, "-o", "name"), kind)
	}
}

// rebuildParent makes a new parent of what is in Git alone.
func (f *family) rebuildParent() {
	f.t.Helper()
	c := f.Rebuild(f.t)
	f.startParent(c)
	f.deliver(c)
	f.await(c, "Pivoted")
	f.makesNothing(c)
	f.run(c, "", "get", "validatingadmissionpolicybinding", "ropewalk-pivot-"+f.cluster.Name)
	f.says("a parent that is built again of Git makes nothing: tombstone %s", f.run(c, "", "get", "pivotcluster", f.cluster.Name, "-o", "jsonpath={.status.pivot.tombstone}"))
}

// destroyParent kills everything of the parent, and removes what its etcd has.
func (f *family) destroyParent() {
	f.t.Helper()
	for _, p := range f.ofParent {
		p.Kill()
	}
	f.A.Destroy(f.t)
	f.says("plane %s: it is destroyed", f.A.Name)
}

// lives: the child alone scales, upgrades and replaces its control plane.
func (f *family) lives() {
	f.t.Helper()
	t := f.t
	f.edit(`{"spec":{"workers":[{"name":"md","replicas":2}]}}`)
	f.cluster.Workers = 2
	f.cluster.AwaitAvailable(t, f.B)
	f.says("scaled to 2 workers by an edit of its PivotCluster")

	f.edit(`{"spec":{"kubernetesVersion":"v1.36.4"}}`)
	harness.Await(t, 4*time.Minute, "all machines have the version", func() bool {
		machines := f.cluster.Machines(t, f.B)
		for _, m := range machines {
			if version, _, _ := unstructured.NestedString(m.Object, "spec", "version"); version != "v1.36.4" {
				return false
			}
		}
		return len(machines) == f.cluster.ControlPlanes+f.cluster.Workers
	})
	f.cluster.AwaitAvailable(t, f.B)
	f.says("upgraded to v1.36.4")

	f.edit(`{"spec":{"controlPlane":{"replicas":3}}}`)
	f.cluster.ControlPlanes = 3
	f.cluster.AwaitAvailable(t, f.B)
	f.says("scaled to 3 machines of the control plane")
	f.loseControlPlane()
	f.await(f.B, "Ready")
}

// loseControlPlane deletes the machine of the control plane, and waits for another one.
func (f *family) loseControlPlane() {
	f.t.Helper()
	one := func() string {
		for _, m := range f.cluster.Machines(f.t, f.B) {
			if _, is := m.GetLabels()["cluster.x-k8s.io/control-plane"]; is && m.GetDeletionTimestamp() == nil {
				return m.GetName()
			}
		}
		return ""
	}
	before := one()
	had := f.cluster.Machines(f.t, f.B)
	f.run(f.B, "", "delete", "machine", before, "--namespace="+f.cluster.Namespace, "--wait=false")
	harness.Await(f.t, 4*time.Minute, "the machine is gone", func() bool {
		return !slices.ContainsFunc(f.cluster.Machines(f.t, f.B), func(m unstructured.Unstructured) bool { return m.GetName() == before })
	})
	f.cluster.AwaitAvailable(f.t, f.B)
	require.Len(f.t, f.cluster.Machines(f.t, f.B), len(had))
	f.says("machine %s of the control plane was deleted, and there is another", before)
}

// edit changes the PivotCluster of the child.
func (f *family) edit(patch string) {
	f.t.Helper()
	_, err := f.B.Client.Resource(schema.GroupVersionResource{Group: "ropewalk.dev", Version: "v1alpha1", Resource: "pivotclusters"}).
		Patch(context.WithoutCancel(f.t.Context()), f.cluster.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(f.t, err)
}
