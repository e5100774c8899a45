// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
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
		input, errs := lower(r)
		require.Equal(t, g.inexpressible(r), failed(errs), "seed %d: %v", seed, errs)
		require.NotContains(t, string(input.JSON()), canary, "seed %d", seed)
		require.NotContains(t, errs.Error(), canary, "seed %d", seed)
		again, _ := lower(r)
		require.Equal(t, input, again, "seed %d", seed)
		if len(failed(errs)) > 0 {
			continue
		}
		got := c.run(t, input)
		for _, rc := range r.containers {
			checkEnvironment(t, fmt.Sprintf("seed %d %s", seed, rc.spec.Name), c, rc, got[rc.spec.Name].env)
			for _, f := range rc.files {
				want := c.text(f.content.pieces, func(s string) string { return s })
				require.Equal(t, want, got[rc.spec.Name].files[f.spec.Target], "seed %d %s %s", seed, rc.spec.Name, f.spec.Target)
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

func (g *generator) workload() (resolved, cluster) {
	c := cluster{store: map[[3]string]string{}, secrets: map[string]map[string]string{}}
	r := resolved{config: spec.Workloads{Secrets: spec.Secrets{
		Backend: g.one(spec.BackendExternalSecrets, spec.BackendExternalSecrets, spec.BackendKubernetes), StoreName: "store",
		StoreKind: "ClusterSecretStore", RefreshInterval: "1h",
	}}}
	if g.IntN(2) == 0 {
		c.kubernetesStore = "in-cluster"
		r.config.Secrets.KubernetesStore = "in-cluster"
	}
	var secrets []*secret
	for _, name := range []string{"db__user", "db__password", "db__Password", "1st__token", "pg__app", "pg__uri"} {
		s := &secret{name: name, key: "key." + name[:2], property: name, kubernetes: strings.HasPrefix(name, "pg")}
		if name == "1st__token" && r.config.Secrets.Backend != spec.BackendKubernetes {
			s.property, s.version = "", "7"
		}
		value := g.one("(A)", canary+" $(A)$$p w/?#+%é", "{", "$", "", canary+"{{ .db__user }}`\"'\n", "A)", canary)
		c.store[[3]string{s.key, s.property, s.version}] = value
		if c.secrets[s.key] == nil {
			c.secrets[s.key] = map[string]string{}
		}
		c.secrets[s.key][s.property] = value
		secrets = append(secrets, s)
	}
	r.source.Spec.Name.Value, r.source.Spec.Score = "api", true
	for _, name := range []string{"app", "files"}[:1+g.IntN(2)] {
		r.containers = append(r.containers, g.container(name, secrets))
	}
	return r, c
}

func (g *generator) container(name string, secrets []*secret) container {
	c := container{spec: score.Container{Name: name, Image: score.Text{Value: "x"}}}
	for _, n := range []string{
		"9X", "A", "A B", "A$", "B", "C", "ROPEWALK_SECRET_DB__USER", "URL", "odd)", "q$(A)", "x.y", "..up", "z",
	} {
		if g.IntN(3) == 0 {
			c.variables = append(c.variables, variable{name: n, value: g.text(secrets)})
		}
	}
	for _, target := range []string{"/etc/a", "/etc.a", "/etc/a b", "/etc/a_b", "/é/x"} {
		if g.IntN(3) == 0 {
			c.files = append(c.files, file{spec: score.File{Target: target}, content: g.text(secrets), isText: true})
		}
	}
	return c
}

func (g *generator) text(secrets []*secret) text {
	var t text
	for range g.IntN(6) {
		if g.IntN(4) == 0 {
			t.pieces = append(t.pieces, piece{secret: secrets[g.IntN(len(secrets))], escape: g.IntN(5) == 0})
			continue
		}
		t.pieces = append(t.pieces, piece{literal: g.one("$", "$$", "$(A)", "$(B)", "$(C)", "$$(A)", "$(", ")", "(A)", "{{", "{", "{{{", "}}",
			"\n", "`", `"`, "'", "é", "{{ .db__user }}", "{{- /*", "$(ROPEWALK_SECRET_DB__USER)", "$(ROPEWALK_SECRET_PG__APP)",
			"$(ROPEWALK_SECRET_DB__USER_)", "$(URL)", "$(x.y)", "$(9X)", "$(A B)", "$(z)", "${A}", `\`, "%", " ", "text", "", "$(NONE)", "A")})
	}
	if len(t.pieces) > 0 && g.IntN(6) == 0 {
		t.pieces = t.pieces[:1]
	}
	return t
}

// inexpressible is the paths of texts that no object can hold.
func (g *generator) inexpressible(r resolved) []string {
	var out []string
	kubernetes := r.config.Secrets.Backend == spec.BackendKubernetes
	store := !kubernetes && r.config.Secrets.KubernetesStore != ""
	for _, c := range r.containers {
		for _, v := range c.variables {
			if slices.ContainsFunc(v.value.pieces, func(p piece) bool {
				return p.secret != nil && p.escape && (kubernetes || p.secret.kubernetes) && !store
			}) {
				out = append(out, object.Fields("containers", c.spec.Name, "variables", v.name).String())
			}
		}
		for _, f := range c.files {
			pieces := slices.DeleteFunc(slices.Clone(f.content.pieces), func(p piece) bool { return p.secret == nil && p.literal == "" })
			whole := len(pieces) == 1 && !pieces[0].escape
			if !whole && !store && slices.ContainsFunc(pieces, func(p piece) bool {
				return p.secret != nil && (kubernetes || p.secret.kubernetes)
			}) {
				out = append(out, object.Fields("containers", c.spec.Name, "files", f.spec.Target).String())
			}
		}
	}
	slices.Sort(out)
	return out
}

// value is the value of a secret as a text has it.
func (c cluster) value(p piece) string {
	v, ok := c.store[[3]string{p.secret.key, p.secret.property, p.secret.version}]
	if !ok {
		panic("no value for " + p.secret.name)
	}
	if !p.escape {
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
func (c cluster) text(pieces []piece, f func(string) string) string {
	var b, run strings.Builder
	for _, p := range pieces {
		if p.secret == nil {
			run.WriteString(p.literal)
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
	variables map[string]variable
}

// literals are the literal runs of a variable.
func (d definition) literals(name string) []string {
	var out []string
	d.cluster.text(d.variables[name].value.pieces, func(s string) string {
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
	pieces := d.variables[name].value.pieces
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

func checkEnvironment(t *testing.T, name string, c cluster, rc container, got map[string]string) {
	t.Helper()
	d := definition{cluster: c, variables: map[string]variable{}}
	for _, v := range rc.variables {
		d.variables[v.name] = v
	}
	for n := range got {
		_, own := d.variables[n]
		own = own || strings.HasPrefix(n, "ROPEWALK_SECRET_")
		require.True(t, own, "%s: nobody asked for %q", name, n)
	}
	for _, v := range rc.variables {
		value, ok := got[v.name]
		require.True(t, ok, "%s %s", name, v.name)
		require.Equal(t, d.value(v.name), value, "%s %s %q", name, v.name, v.value.pieces)
	}
}
