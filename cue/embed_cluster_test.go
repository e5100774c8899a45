// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cue_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/render/check"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// clusterNodes are what the module makes of the input of a golden.
func clusterNodes(t *testing.T, name string, change func(*evaluate.Request)) []*object.Node {
	a, err := txtar.ParseFile(filepath.Join("testdata", "cluster", name+".txtar"))
	require.NoError(t, err)
	req := request(t, embedded(t, "cluster"), "input.yaml", file(t, a, "input.yaml"))
	if change != nil {
		change(&req)
	}
	res, err := evaluator().Evaluate(t.Context(), req)
	require.NoError(t, err)
	return res.Nodes
}

// The control plane runs the script that is tested where the agent is. ROPEWALK_UPDATE=1
// copies it, and rewrites the goldens in a second run.
func TestTheControlPlaneHasTheScriptOfTheAgent(t *testing.T) {
	script, err := os.ReadFile("../plugin/pivot/internal/enrol/enrol.sh")
	require.NoError(t, err)
	if update() {
		const file, quotes = "modules/cluster/script.cue", "\"\"\"#\n"
		old, err := os.ReadFile(file)
		require.NoError(t, err)
		head, _, _ := strings.Cut(string(old), quotes[:3]+"\n")
		lines := strings.ReplaceAll("\t"+string(script), "\n", "\n\t")
		text := head + quotes[:3] + "\n" + strings.ReplaceAll(lines+"\n\t"+quotes, "\n\t\n", "\n\n")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	for _, n := range clusterNodes(t, "minimal", nil) {
		if n.Object.Kind() != "KubeadmControlPlane" {
			continue
		}
		text := string(emitted(t, n))
		var plane struct {
			Spec struct {
				KubeadmConfigSpec struct {
					Files []struct{ Path, Content string }
				}
			}
		}
		require.NoError(t, json.Unmarshal([]byte(text), &plane))
		files := plane.Spec.KubeadmConfigSpec.Files
		require.Equal(t, "/etc/ropewalk/enrol.sh", files[len(files)-1].Path)
		require.Equal(t, string(script), files[len(files)-1].Content)
		const most = 10240 // characters of a file, says Cluster API
		require.Less(t, len(script), most)
		return
	}
	require.Fail(t, "there is no control plane")
}

func emitted(t *testing.T, n *object.Node) []byte {
	data, err := json.Marshal(n.Object)
	require.NoError(t, err)
	return data
}

// What the cluster renders for itself must change nothing of what it was made by.
func TestTheClusterItselfRendersTheSameObjects(t *testing.T) {
	parent, self := clusterNodes(t, "minimal", nil), clusterNodes(t, "self", nil)
	var more []string
	rest := self[:0:0]
	for _, n := range self {
		if n.Object.Kind() == "CiliumLoadBalancerIPPool" {
			more = append(more, n.Object.Name())
			continue
		}
		rest = append(rest, n)
	}
	require.ElementsMatch(t, []string{"public", "private"}, more)
	require.Equal(t, string(stream(t, parent)), string(stream(t, rest)))
}

// The sum is that of the JSON with sorted keys, which no version of CUE and no order of
// the text changes: another one would replace the machines of every cluster.
func TestNamesOfTemplatesEndInTheSumOfTheirSpecs(t *testing.T) {
	templates := 0
	for path := range cases(t, "cluster/*.txtar") {
		for _, n := range clusterNodes(t, strings.TrimSuffix(filepath.Base(path), ".txtar"), nil) {
			if !strings.HasSuffix(n.Object.Kind(), "Template") {
				continue
			}
			templates++
			var b strings.Builder
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(false)
			require.NoError(t, e.Encode(n.Object["spec"]))
			sum := sha256.Sum256([]byte(strings.TrimSuffix(b.String(), "\n")))
			require.Equal(t, hex.EncodeToString(sum[:4]), n.Object.Name()[strings.LastIndex(n.Object.Name(), "-")+1:], "%s %s", path, n.Object.Name())
		}
	}
	require.Greater(t, templates, 10)
}

// An edit of a machine gives its template another name, and the one of what is not about
// machines does not.
func TestOnlyWhatMachinesAreMadeOfRenamesTemplates(t *testing.T) {
	names := func(change string) []string {
		var out []string
		for _, n := range clusterNodes(t, "aws", func(r *evaluate.Request) {
			over, err := spec.ParseValue(spec.File{Name: "change.yaml", Data: []byte(change)})
			require.NoError(t, err)
			r.Input = r.Input.Merge(over)
		}) {
			if strings.HasSuffix(n.Object.Kind(), "Template") {
				out = append(out, n.Object.Name())
			}
		}
		return out
	}
	before := names("{}")
	for _, same := range []string{
		"controlPlane: {replicas: 3}", "kubernetesVersion: v1.37.0", "certSANs: [a.example.com]", "agent: {rejoin: again}", "cell: {host: a.example.com}",
		"output: {oci: {repository: oci://registry.example.com/other}}", "suspend: true",
		"workers: [{name: a, instanceType: m7i.large, replicas: 9, labels: {node.cluster.x-k8s.io/a: b}}, {name: b, instanceType: m7i.xlarge, diskGiB: 100}]",
	} {
		require.Equal(t, before, names(same), same)
	}
	for _, other := range []string{"controlPlane: {instanceType: m7i.2xlarge}", "controlPlane: {diskGiB: 81}", "provider: {aws: {sshKeyName: another}}"} {
		require.NotEqual(t, before, names(other), other)
	}
}

// The examples are documents as users write them, and pass the check of their objects.
func TestTheExamplesOfClusters(t *testing.T) {
	const path = "testdata/cluster-examples.txtar"
	a, err := txtar.ParseFile(path)
	require.NoError(t, err)
	files, err := filepath.Glob("examples/cluster-*/cluster.yaml")
	require.NoError(t, err)
	require.Len(t, files, 4)
	checker := check.New(check.Options{KubeVersion: "1.36"})
	for _, name := range files {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		docs, err := spec.Parse([]spec.File{{Name: name, Data: data}})
		require.NoError(t, err)
		require.Len(t, docs.Transforms, 1)
		one := docs.Transforms[0]
		req := request(t, embedded(t, one.CueRef.Ref), name, []byte("{}"))
		req.Input, req.Context.Name, req.Context.Namespace = one.Input, one.Name, one.Namespace
		res, err := evaluator().Evaluate(t.Context(), req)
		require.NoError(t, err)
		findings, err := checker.Check(t.Context(), res.Nodes)
		require.NoError(t, err)
		require.Empty(t, findings)
		golden(t, path, a, filepath.Base(filepath.Dir(name))+".yaml", stream(t, res.Nodes))
	}
}

// What the definition of a PivotCluster has the module has, and what it has not the module
// has not.
func TestTheInputIsTheSpecOfAPivotCluster(t *testing.T) {
	data, err := os.ReadFile("../deploy/crds/ropewalk.dev_pivotclusters.yaml")
	require.NoError(t, err)
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					Open schema `yaml:"openAPIV3Schema"`
				}
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(data, &crd))
	known := map[string]bool{}
	crd.Spec.Versions[0].Schema.Open.Properties["spec"].paths("", known)
	require.Greater(t, len(known), 100)
	// The fields whose content is free, and the one that is of the module alone.
	open := []string{".self", ".workers.labels.", ".gitOps.source.spec.", ".delivery.flux.kubeConfig."}
	want := maps.Clone(known)
	for path, a := range cases(t, "cluster/*.txtar") {
		value, err := spec.ParseValue(spec.File{Name: path, Data: file(t, a, "input.yaml")})
		require.NoError(t, err)
		for _, field := range fields(value, "") {
			delete(want, field)
			free := slices.ContainsFunc(open, func(prefix string) bool { return strings.HasPrefix(field, prefix) })
			require.True(t, known[field] || free, "%s: the definition has no field %s", path, field)
		}
	}
	// What render/spec judges, and what is refused.
	for path := range want {
		judged := slices.ContainsFunc(open, func(prefix string) bool { return strings.HasPrefix(path, prefix) }) ||
			strings.HasPrefix(path, ".clusterModule.") || path == ".output.externalArtifact"
		require.True(t, judged, "no golden has the field %s", path)
	}
}

// schema is that of an API server, as far as it is about names.
type schema struct {
	Properties map[string]schema
	Items      *schema
}

// paths are the fields below s.
func (s schema) paths(at string, into map[string]bool) {
	if s.Items != nil {
		s.Items.paths(at, into)
	}
	for name, p := range s.Properties {
		into[at+"."+name] = true
		p.paths(at+"."+name, into)
	}
}

// fields are those of a value, with all that is below them.
func fields(v object.Value, at string) []string {
	var out []string
	for _, i := range v.Items {
		out = append(out, fields(i, at)...)
	}
	for _, m := range v.Members {
		out = append(append(out, at+"."+m.Name), fields(m.Value, at+"."+m.Name)...)
	}
	return out
}
