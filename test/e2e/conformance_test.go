// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/test/conformance/cases"
)

// conformance asks the controller and the command line for the same.
type conformance struct {
	*tenant
	// namespaces are those of Transforms by their dialect: a module without a document
	// is called as its Transform is, and so one name is needed for several.
	namespaces map[string]string
	// checkout is what is in the GitRepository called cases, in the namespace of the
	// tenant.
	checkout string
}

func newConformance(t *testing.T) *conformance {
	t.Helper()
	n := &conformance{tenant: newTenant(t), checkout: t.TempDir()}
	n.Program(t, "ropewalk-components") // beside the command and the controller
	n.namespaces = map[string]string{"flux": n.namespace, "": n.namespace, "argocd": n.Namespace(t)}
	require.NoError(t, os.Mkdir(filepath.Join(n.checkout, ".git"), 0o750)) // nothing above it is read
	for _, name := range []string{cases.Examples, cases.Projects, cases.Mistakes} {
		require.NoError(t, cases.Write(filepath.Join(n.modules.Root, "..", ".."), name, filepath.Join(n.checkout, name)))
	}
	for _, c := range cases.Locked() {
		n.Ropewalk(t, "lock", filepath.Join(n.checkout, c.Repository, c.Dir))
	}
	repository := n.Git(t)
	for _, name := range []string{cases.Examples, cases.Projects, cases.Mistakes} {
		repository.Commit(contents(t, filepath.Join(n.checkout, name), name))
	}
	n.Apply(t, fmt.Sprintf(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: cases, namespace: %s}
spec: {url: %q, ref: {branch: main}, interval: 1h}
`, n.namespace, repository.URL))
	return n
}

// namespaceOf is that of a case for objects that name none, "" where its project says it.
// The command line has another one than the controller where nobody does.
func namespaceOf(c cases.Case) string {
	if c.Namespace == "" && (c.Bare || c.Repository == cases.Mistakes) {
		return "default"
	}
	return c.Namespace
}

// versionOf is the version that a case is rendered for: that of this cluster where the
// case does not say, also where its project does.
func (n *conformance) versionOf(c cases.Case) string {
	n.t.Helper()
	if c.KubeVersion != "" {
		return c.KubeVersion
	}
	of, err := discovery.NewDiscoveryClientForConfigOrDie(n.Config).ServerVersion()
	require.NoError(n.t, err)
	return strings.TrimPrefix(of.GitVersion, "v")
}

// ask makes a Transform of a case, in the namespace of its dialect.
func (n *conformance) ask(name string, c cases.Case) {
	n.t.Helper()
	where := map[string]any{
		"kind": "GitRepository", "name": "cases", "namespace": n.namespaces["flux"], "path": path.Join(c.Repository, c.Dir),
	}
	n.namespace = n.namespaces[c.Dialect]
	if c.Environment != "" {
		where["environment"] = c.Environment
	}
	context := map[string]any{}
	if namespace := namespaceOf(c); namespace != "" {
		context["namespace"] = namespace
	}
	if c.KubeVersion != "" {
		context["kubeVersion"] = c.KubeVersion
	}
	delivery := map[string]any{"type": "None"}
	if c.Dialect == "argocd" {
		// It is published for Argo CD, to which the flags of the controller let nothing.
		delivery = map[string]any{"type": "ArgoCD", "argocd": map[string]any{}}
	}
	n.Apply(n.t, n.document("ropewalk.dev/v1alpha1", "Transform", name, "spec", map[string]any{
		"sourceRef": where, "context": context, "delivery": delivery, "inputsFrom": n.inputs(name, c),
		"output": map[string]any{"oci": map[string]any{
			"repository": "oci://" + n.Registry + "/" + n.namespace + "/" + name, "insecure": true, "attest": false,
		}},
	}))
}

func (n *conformance) document(apiVersion, kind, name, field string, value any) string {
	n.t.Helper()
	data, err := json.Marshal(map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name, "namespace": n.namespace}, field: value,
	})
	require.NoError(n.t, err)
	return string(data)
}

// inputs are the values of a case as a ConfigMap, whose entries have one spec each.
func (n *conformance) inputs(name string, c cases.Case) []any {
	n.t.Helper()
	from := []any{}
	data := map[string]string{}
	add := func(target string, v object.Value) {
		key := fmt.Sprintf("values-%d.yaml", len(from))
		data[key] = string(v.JSON())
		from = append(from, map[string]any{"kind": "ConfigMap", "name": name, "key": key, "spec": target})
	}
	for _, file := range c.Values {
		target, file, one := strings.Cut(file, ":")
		if !one {
			target, file = "", target
		}
		text, err := os.ReadFile(filepath.Join(n.checkout, c.Repository, c.Dir, file)) //nolint:gosec // a file of the test
		require.NoError(n.t, err)
		v, err := spec.ParseValue(spec.File{Name: file, Data: text})
		require.NoError(n.t, err)
		if one {
			add(target, v)
			continue
		}
		for _, m := range v.Members {
			add(m.Name, m.Value)
		}
	}
	for _, text := range c.Set {
		set, err := spec.ParseSet(text)
		require.NoError(n.t, err)
		v, err := set.Over(object.Value{Kind: object.KindMap})
		require.NoError(n.t, err)
		target := set.Spec
		if target == "" {
			target = n.only(c)
		}
		add(target, v)
	}
	if len(from) > 0 {
		n.Apply(n.t, n.document("v1", "ConfigMap", name, "data", data))
	}
	return from
}

// only is the name of the one spec of a case.
func (n *conformance) only(c cases.Case) string {
	n.t.Helper()
	if c.Bare {
		return path.Base(c.Dir)
	}
	files, err := filepath.Glob(filepath.Join(n.checkout, c.Repository, c.Dir, "[^r]*.yaml")) // without ropewalk.yaml
	require.NoError(n.t, err)
	require.Len(n.t, files, 1)
	return strings.TrimSuffix(filepath.Base(files[0]), ".yaml")
}

// render is the command line: the files that it writes by name, or what it says where
// it finds mistakes.
func (n *conformance) render(c cases.Case) (files map[string]string, mistakes []byte) {
	n.t.Helper()
	dir := path.Join(c.Repository, c.Dir)
	out := filepath.Join(n.t.TempDir(), "out")
	args := []string{"render", dir, "--dialect", c.Dialect}
	for _, file := range c.Values {
		if target, file, ok := strings.Cut(file, ":"); ok {
			args = append(args, "--values", target+":"+path.Join(dir, file))
		} else {
			args = append(args, "--values", path.Join(dir, target))
		}
	}
	for _, set := range c.Set {
		args = append(args, "--set", set)
	}
	for flag, value := range map[string]string{"--env": c.Environment, "--namespace": namespaceOf(c), "--kube-version": n.versionOf(c)} {
		if value != "" {
			args = append(args, flag, value)
		}
	}
	run := func(more ...string) (said []byte, ok bool) {
		var diagnostics bytes.Buffer
		cmd := exec.CommandContext(n.t.Context(), n.Program(n.t, "ropewalk"), append(args, more...)...) //nolint:gosec // a command of ours
		cmd.Dir, cmd.Env, cmd.Stderr = n.checkout, n.environment("ROPEWALK_CACHE="+n.t.TempDir()), &diagnostics
		if cmd.Run() == nil {
			return nil, true
		}
		require.Equal(n.t, 1, cmd.ProcessState.ExitCode(), "%s", diagnostics.String())
		return diagnostics.Bytes(), false
	}
	if _, ok := run("-o", out); ok {
		return flat(contents(n.t, out, "out")), nil
	}
	said, ok := run("--format", "json")
	require.False(n.t, ok)
	return nil, said
}

// flat are files by their names without folders, and without what a folder is marked by.
func flat(files map[string]string) map[string]string {
	out := map[string]string{}
	for name, data := range files {
		if base := path.Base(name); !strings.HasPrefix(base, ".") {
			out[base] = data
		}
	}
	return out
}

// published are the files of the artifact that the Transform of a case has published.
func (n *conformance) published(name string, c cases.Case) map[string]string {
	n.t.Helper()
	n.namespace = n.namespaces[c.Dialect]
	t := n.await(name, "is published", func(t *v1alpha1.Transform) bool {
		return apimeta.IsStatusConditionTrue(t.Status.Conditions, v1alpha1.RenderedCondition)
	})
	require.NotNil(n.t, t.Status.Artifact)
	dir := filepath.Join(n.t.TempDir(), "pulled")
	n.Ropewalk(n.t, "artifact", "pull", t.Status.Artifact.Repository+"@"+t.Status.Artifact.Digest, "-o", dir, "--plain-http", n.Registry)
	return flat(contents(n.t, dir, "pulled"))
}

// TestTheControllerRendersAsTheCommandLineDoes asks for each case of conformance: in
// the dialect flux for nobody's delivery, in argocd for that of Argo CD.
func TestTheControllerRendersAsTheCommandLineDoes(t *testing.T) {
	n := newConformance(t)
	var all []cases.Case
	for _, c := range cases.All() {
		all = append(all, c)
		if c.Dialect == "argocd" && (c.What != "" || c.Bare || c.Environment == "" && c.Repository == cases.Projects && c.Dir != "secrets") {
			c.Dialect = "flux" // those that the others are asked for in one dialect
			all = append(all, c)
		}
	}
	name := func(i int) string {
		if all[i].Bare {
			return path.Base(all[i].Dir)
		}
		return fmt.Sprintf("case-%02d", i)
	}
	began := time.Now()
	for i, c := range all {
		if c.Dialect != "plain" {
			n.ask(name(i), c)
		}
	}
	var table strings.Builder
	line := func(cells ...string) { fmt.Fprintf(&table, "%-62s  %-12s  %s\n", cells[0], cells[1], cells[2]) }
	line("case", "command line", "controller")
	for i, c := range all {
		t.Run(c.Name(), func(t *testing.T) {
			outer := n.t
			n.t = t
			defer func() { n.t = outer }()
			want, said := n.render(c)
			require.Empty(t, string(said))
			require.NotEmpty(t, want)
			count := fmt.Sprint(len(want))
			if c.Dialect == "plain" {
				line(c.Name(), count, "-")
				t.Log("the controller is left out: it renders for an engine")
				return
			}
			got := n.published(name(i), c)
			for file, text := range want {
				require.Equal(t, text, got[file], file)
			}
			require.Len(t, got, len(want))
			line(c.Name(), count, count+" same bytes")
		})
	}
	t.Logf("objects of each case, rendered and published in %s (-: the way cannot do that; nor are standard input and specs as items of a KRM function):\n%s",
		time.Since(began).Round(10*time.Millisecond), &table)
	for _, dialect := range []string{"flux", "argocd"} {
		n.Kubectl(t, "-n", n.namespaces[dialect], "delete", "transform", "--all", "--timeout=2m")
	}
	allowed(t, n.controller)
}

// mistake is one as the command line writes it.
type mistake struct {
	Severity, Path, Node, Policy, Message, Hint string
	Pos                                         object.Pos
}

// violation is what the status has of it.
func (m mistake) violation() v1alpha1.Violation {
	out := v1alpha1.Violation{Policy: m.Policy, Severity: m.Severity, Position: m.Path, Message: m.Message}
	if m.Pos.IsValid() {
		out.Position = m.Pos.String()
		if m.Path != "" {
			out.Message = m.Path + ": " + m.Message
		}
	}
	if m.Node != "" {
		out.Message = m.Node + ": " + out.Message
	}
	// How a checkout gets another root has no meaning for the source of a Transform.
	if hint, _, _ := strings.Cut(m.Hint, ", the nearest folder with .git"); hint != "" {
		out.Message += ": " + hint
	}
	return out
}

// TestTheControllerSaysOfMistakesWhatTheCommandLineSays: the same places and words.
func TestTheControllerSaysOfMistakesWhatTheCommandLineSays(t *testing.T) {
	n := newConformance(t)
	for i, c := range cases.Mistaken() {
		n.ask(fmt.Sprintf("mistake-%d", i), c)
	}
	for i, c := range cases.Mistaken() {
		t.Run(c.Dir, func(t *testing.T) {
			c.Dialect = "flux"
			files, said := n.render(c)
			require.Empty(t, files)
			var mistakes []mistake
			require.NoError(t, json.Unmarshal(said, &mistakes), "%s", said)
			var want []v1alpha1.Violation
			for _, severity := range []string{"error", "warning"} { // errors come first in a status
				for _, m := range mistakes {
					if m.Severity == severity {
						want = append(want, m.violation())
					}
				}
			}
			of := n.await(fmt.Sprintf("mistake-%d", i), "says what is wrong", func(t *v1alpha1.Transform) bool { return len(t.Status.Violations) > 0 })
			require.Equal(t, want, of.Status.Violations)
			require.Nil(t, of.Status.Artifact, "nothing is published")
			for _, v := range of.Status.Violations {
				t.Logf("%s %s: %s", v.Severity, v.Position, v.Message)
			}
			t.Logf("%s: %s", reasonOf(of), messageOf(of))
		})
	}
	n.Kubectl(t, "-n", n.namespace, "delete", "transform", "--all", "--timeout=2m")
}
