// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/resource"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// TestAContainerSeesExactlyTheTextOfScore generates workloads whose texts mix all
// that means anything to Score, Go templates, Kubernetes and shells, lowers them,
// applies the result to a small cluster, and compares what each container sees
// with what the texts say. What cannot be said must be an error, and nothing else
// may be one.
func TestAContainerSeesExactlyTheTextOfScore(t *testing.T) {
	for seed := range uint64(2000) {
		g := &generator{rand.New(rand.NewPCG(seed, 4))}
		r, c := g.workload()
		input, errs := Input(r)
		require.Equal(t, g.inexpressible(r), failed(errs), "seed %d: %v", seed, errs)
		require.NotContains(t, string(input.JSON()), canary, "seed %d", seed)
		require.NotContains(t, errs.Error(), canary, "seed %d", seed)
		again, _ := Input(r)
		require.Equal(t, input, again, "seed %d", seed)
		if len(failed(errs)) > 0 {
			continue
		}
		got := c.run(t, input)
		for _, rc := range r.Containers {
			checkEnvironment(t, fmt.Sprintf("seed %d %s", seed, rc.Spec.Name), c, rc, got[rc.Spec.Name].env)
			for _, f := range rc.Files {
				want := c.text(f.Content.Pieces, func(s string) string { return s })
				require.Equal(t, want, got[rc.Spec.Name].files[f.Spec.Target], "seed %d %s %s", seed, rc.Spec.Name, f.Spec.Target)
			}
		}
	}
}

// failed is the paths of the mistakes, sorted.
func failed(errs object.Errors) []string {
	var out []string
	for _, e := range errs.Failures() {
		out = append(out, e.Path)
	}
	slices.Sort(out)
	return out
}

// canary is in the values of secrets.
const canary = "cAnArY"

type generator struct{ *rand.Rand }

func (g *generator) one(of ...string) string { return of[g.IntN(len(of))] }

func (g *generator) workload() (Resolved, cluster) {
	c := cluster{store: map[[3]string]string{}, secrets: map[string]map[string]string{}}
	r := Resolved{Config: spec.Workloads{Secrets: spec.Secrets{
		Backend: g.one(spec.BackendExternalSecrets, spec.BackendExternalSecrets, spec.BackendKubernetes), StoreName: "store",
		StoreKind: "ClusterSecretStore", RefreshInterval: "1h",
	}}}
	if g.IntN(2) == 0 {
		c.kubernetesStore = "in-cluster"
		r.Config.Secrets.KubernetesStore = "in-cluster"
	}
	var secrets []*Secret
	for _, name := range []string{"db__user", "db__password", "db__Password", "1st__token", "pg__app", "pg__uri"} {
		s := &Secret{Name: name, Reference: resource.Reference{Key: "key." + name[:2], Property: name, Kubernetes: strings.HasPrefix(name, "pg")}}
		if name == "1st__token" && r.Config.Secrets.Backend != spec.BackendKubernetes {
			s.Property, s.Version = "", "7"
		}
		value := g.one("(A)", canary+" $(A)$$p w/?#+%é", "{", "$", "", canary+"{{ .db__user }}`\"'\n", "A)", canary)
		c.store[[3]string{s.Key, s.Property, s.Version}] = value
		if c.secrets[s.Key] == nil {
			c.secrets[s.Key] = map[string]string{}
		}
		c.secrets[s.Key][s.Property] = value
		secrets = append(secrets, s)
	}
	r.Workload.Name.Value, r.Workload.Score = "api", true
	for _, name := range []string{"app", "files"}[:1+g.IntN(2)] {
		r.Containers = append(r.Containers, g.container(name, secrets))
	}
	return r, c
}

func (g *generator) container(name string, secrets []*Secret) Container {
	c := Container{Spec: score.Container{Name: name, Image: score.Text{Value: "x"}}}
	for _, n := range []string{
		"9X", "A", "A B", "A$", "B", "C", "ROPEWALK_SECRET_DB__USER", "URL", "odd)", "q$(A)", "x.y", "..up", "z",
	} {
		if g.IntN(3) == 0 {
			c.Variables = append(c.Variables, Variable{Name: n, Value: g.text(secrets)})
		}
	}
	for _, target := range []string{"/etc/a", "/etc.a", "/etc/a b", "/etc/a_b", "/é/x"} {
		if g.IntN(3) == 0 {
			c.Files = append(c.Files, File{Spec: score.File{Target: target}, Content: g.text(secrets), IsText: true})
		}
	}
	return c
}

func (g *generator) text(secrets []*Secret) Text {
	var t Text
	for range g.IntN(6) {
		if g.IntN(4) == 0 {
			t.Pieces = append(t.Pieces, Piece{Secret: secrets[g.IntN(len(secrets))], Escape: g.IntN(5) == 0})
			continue
		}
		t.Pieces = append(t.Pieces, Piece{Literal: g.one("$", "$$", "$(A)", "$(B)", "$(C)", "$$(A)", "$(", ")", "(A)", "{{", "{", "{{{", "}}",
			"\n", "`", `"`, "'", "é", "{{ .db__user }}", "{{- /*", "$(ROPEWALK_SECRET_DB__USER)", "$(ROPEWALK_SECRET_PG__APP)",
			"$(ROPEWALK_SECRET_DB__USER_)", "$(URL)", "$(x.y)", "$(9X)", "$(A B)", "$(z)", "${A}", `\`, "%", " ", "text", "", "$(NONE)", "A")})
	}
	if len(t.Pieces) > 0 && g.IntN(6) == 0 {
		t.Pieces = t.Pieces[:1]
	}
	t.Pieces = Join(t.Pieces)
	return t
}

// inexpressible is the paths of texts that no object can hold.
func (g *generator) inexpressible(r Resolved) []string {
	var out []string
	kubernetes := r.Config.Secrets.Backend == spec.BackendKubernetes
	store := !kubernetes && r.Config.Secrets.KubernetesStore != ""
	for _, c := range r.Containers {
		for _, v := range c.Variables {
			if slices.ContainsFunc(v.Value.Pieces, func(p Piece) bool {
				return p.Secret != nil && p.Escape && (kubernetes || p.Secret.Kubernetes) && !store
			}) {
				out = append(out, object.Fields("containers", c.Spec.Name, "variables", v.Name).String())
			}
		}
		for _, f := range c.Files {
			pieces := slices.DeleteFunc(slices.Clone(f.Content.Pieces), func(p Piece) bool { return p.Secret == nil && p.Literal == "" })
			whole := len(pieces) == 1 && !pieces[0].Escape
			if !whole && !store && slices.ContainsFunc(pieces, func(p Piece) bool {
				return p.Secret != nil && (kubernetes || p.Secret.Kubernetes)
			}) {
				out = append(out, object.Fields("containers", c.Spec.Name, "files", f.Spec.Target).String())
			}
		}
	}
	slices.Sort(out)
	return out
}

// value is the value of a secret as a text has it.
func (c cluster) value(p Piece) string {
	v, ok := c.store[[3]string{p.Secret.Key, p.Secret.Property, p.Secret.Version}]
	if !ok {
		panic("no value for " + p.Secret.Name)
	}
	if !p.Escape {
		return v
	}
	var b strings.Builder
	for i := 0; i < len(v); i++ {
		if strings.IndexByte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~", v[i]) >= 0 {
			b.WriteByte(v[i])
		} else {
			fmt.Fprintf(&b, "%%%02X", v[i])
		}
	}
	return b.String()
}

// text is pieces with the values of their secrets, and literals through f.
func (c cluster) text(pieces []Piece, f func(string) string) string {
	var b, run strings.Builder
	for _, p := range pieces {
		if p.Secret == nil {
			run.WriteString(p.Literal)
			continue
		}
		b.WriteString(f(run.String()) + c.value(p))
		run.Reset()
	}
	return b.String() + f(run.String())
}

// definition says what variables are by the rules alone, with no regard to how
// they reach the container.
type definition struct {
	cluster   cluster
	variables map[string]Variable
}

// literals are the literal runs of a variable.
func (d definition) literals(name string) []string {
	var out []string
	d.cluster.text(d.variables[name].Value.Pieces, func(s string) string {
		out = append(out, s)
		return s
	})
	return out
}

func (d definition) expands(name string) bool {
	for _, s := range d.literals(name) {
		for n := range d.variables {
			if !strings.Contains(n, ")") && strings.Contains(s, "$("+n+")") {
				return true
			}
		}
	}
	return false
}

// reaches reports whether one variable refers to another, or to one that does.
func (d definition) reaches(from, to string, seen map[string]bool) bool {
	if !d.expands(from) || seen[from] {
		return false
	}
	seen[from] = true
	found := false
	for _, s := range d.literals(from) {
		kubernetesExpand(s, func(n string) (string, bool) {
			_, ok := d.variables[n]
			found = found || ok && (n == to || d.reaches(n, to, seen))
			return "", false
		})
	}
	return found
}

func (d definition) value(name string) string {
	pieces := d.variables[name].Value.Pieces
	if !d.expands(name) {
		return d.cluster.text(pieces, func(s string) string { return s })
	}
	return d.cluster.text(pieces, func(s string) string {
		return kubernetesExpand(s, func(n string) (string, bool) {
			if _, ok := d.variables[n]; !ok || n >= name && d.reaches(n, name, map[string]bool{}) {
				return "", false
			}
			return d.value(n), true
		})
	})
}

func checkEnvironment(t *testing.T, name string, c cluster, rc Container, got map[string]string) {
	t.Helper()
	d := definition{cluster: c, variables: map[string]Variable{}}
	for _, v := range rc.Variables {
		d.variables[v.Name] = v
	}
	for n := range got {
		_, own := d.variables[n]
		own = own || strings.HasPrefix(n, "ROPEWALK_SECRET_")
		require.True(t, own, "%s: nobody asked for %q", name, n)
	}
	for _, v := range rc.Variables {
		value, ok := got[v.Name]
		require.True(t, ok, "%s %s", name, v.Name)
		require.Equal(t, d.value(v.Name), value, "%s %s %q", name, v.Name, v.Value.Pieces)
	}
}
