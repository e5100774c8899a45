// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// kind is a type of resources with a class, and its outputs.
type kind struct{ kind, class string }

// survey is what the provisioners can make, by backend.
type survey map[string]map[kind]map[string]shape

func (s survey) kinds(backend string) []kind {
	return slices.SortedFunc(maps.Keys(s[backend]), func(a, b kind) int {
		return cmp.Or(strings.Compare(a.kind, b.kind), strings.Compare(a.class, b.class))
	})
}

// generator makes projects.
type generator struct {
	*rand.Rand
	survey survey
	// next are the outputs that come next, so that all of them are used.
	next map[kind]int
	p    *project
}

func newGenerator(seed uint64, s survey) *generator {
	return &generator{Rand: rand.New(rand.NewPCG(seed, 41)), survey: s, next: map[kind]int{}}
}

func (g *generator) one(of ...string) string { return of[g.IntN(len(of))] }

func (g *generator) chance(n int) bool { return g.IntN(n) == 0 }

// project makes a project of n workloads; the settings go round with the seed.
func (g *generator) project(seed uint64, n int) *project {
	g.p = &project{seed: seed, backend: "external-secrets", dialect: []string{"plain", "argocd", "flux"}[seed%3], provider: seed%2 == 0}
	switch seed % 4 {
	case 1:
		g.p.backend = "kubernetes"
		if seed%8 == 5 {
			g.p.kubernetesStore = "in-cluster" // says nothing here
		}
	case 2:
		g.p.kubernetesStore = "in-cluster"
	}
	if g.chance(2) {
		g.p.policies = []string{"cilium", "istio", "kubernetes"}[:1+g.IntN(3)]
	}
	for i := range n {
		g.p.workloads = append(g.p.workloads, g.workload(i))
	}
	return g.p
}

func (g *generator) workload(i int) *workload {
	w := &workload{project: g.p, name: fmt.Sprintf("w%03d", i), score: g.chance(2), kind: "Deployment"}
	switch g.IntN(10) {
	case 0:
		w.kind = "StatefulSet"
	case 1:
		w.kind = "Job"
	case 2:
		w.kind = "CronJob"
	case 3:
		w.canary = true
	}
	kinds := g.survey.kinds(g.p.backend)
	for n := range 1 + g.IntN(4) {
		// The first one goes round, so that all are used.
		k := kinds[(i+int(g.p.seed)*7)%len(kinds)]
		if n > 0 {
			k = kinds[g.IntN(len(kinds))]
		}
		r := resource{name: fmt.Sprintf("%s%d", g.one("r", "r-", "0r"), n), kind: k.kind, class: k.class, params: map[string]any{}}
		if n == 0 {
			r.name = "r0"
		}
		if g.chance(4) {
			r.id = g.one("common", "team.one", "x-"+w.name)
		}
		if !slices.ContainsFunc(w.resources, func(o resource) bool { return o.uid(w.name) == r.uid(w.name) || o.name == r.name }) {
			w.resources = append(w.resources, r)
		}
	}
	w.annotation = literalText("r0")
	w.queue = g.queue(w)
	g.others(w)
	names := []string{"main", "side", "sidecar-2"}[:1+g.IntN(3)]
	for j, name := range names {
		c := g.container(w, name)
		if j > 0 && g.chance(3) {
			c.before = "main"
		}
		w.containers = append(w.containers, c)
	}
	return w
}

// queue is a server with lists of Redis and a password among the resources of w.
func (g *generator) queue(w *workload) string {
	for _, r := range w.resources {
		known := g.survey[g.p.backend][kind{r.kind, r.class}]
		if _, server := known["host"]; server && r.kind == "redis" && known["password"].secret && w.kind != "Job" && w.kind != "CronJob" {
			return r.name
		}
	}
	return ""
}

// others are resources with no secret: one whose params need another one, and a
// volume.
func (g *generator) others(w *workload) {
	if g.chance(3) {
		w.resources = append(w.resources, resource{name: "dns", kind: "dns", class: "default"},
			resource{name: "outside", kind: "external-service", class: "default", params: map[string]any{"host": "${resources.dns.host}"}})
	}
	if g.chance(4) {
		w.resources = append(w.resources, resource{name: "disk", kind: "volume", class: "default"})
	}
}

// outputs are some outputs of the resources of w that can be used as fit says.
func (g *generator) outputs(w *workload, fit func([]shape) bool) []piece {
	var out []piece
	var shapes []shape
	for range 1 + g.IntN(3) {
		r := w.resources[g.IntN(len(w.resources))]
		known := g.survey[g.p.backend][kind{r.kind, r.class}]
		if r.kind == "external-service" {
			out = append(out, reference(r.name, "url"))
			continue
		}
		names := slices.Sorted(maps.Keys(known))
		if len(names) == 0 {
			continue
		}
		k := kind{r.kind, r.class}
		g.next[k]++
		name := names[g.next[k]%len(names)]
		if next := append(slices.Clone(shapes), known[name]); fit(next) {
			shapes = next
			out = append(out, reference(r.name, name))
		}
	}
	return out
}

// inVariable says whether a variable can be made of outputs of these shapes.
func (p *project) inVariable(all []shape) bool {
	return !slices.ContainsFunc(all, func(s shape) bool {
		return p.backend == "kubernetes" && s.escaped || s.clusterEscaped && p.kubernetesStore == ""
	})
}

// inFile says whether a file can be made of outputs of these shapes and text.
func (p *project) inFile(all []shape) bool {
	return !slices.ContainsFunc(all, func(s shape) bool {
		return s.cluster && (p.backend == "kubernetes" || p.kubernetesStore == "")
	})
}

func (g *generator) container(w *workload, name string) *container {
	c := &container{name: name, probe: literalText("r0"), volumes: map[string]string{}}
	names := []string{
		"A_URL", "DB_PASSWORD", "x.y", "9X", "odd name", "q$(A_URL)", "..up", "ROPEWALK_SECRET_R0__PASSWORD", "Z", "log-level", "ROPEWALK_SECRET_R0__TOKEN_URL",
	}
	g.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	var before []string
	for _, n := range names[:1+g.IntN(6)] {
		c.variables = append(c.variables, variable{n, g.text(g.outputs(w, g.p.inVariable), before)})
		if n != "q$(A_URL)" {
			before = append(before, n)
		}
	}
	c.args = []string{literalText("r0"), "--a=$(A_URL)", "$(ROPEWALK_SECRET_R0__PASSWORD)", "$$(A_URL) $5", "$(R0__PASSWORD)"}
	g.files(w, c)
	for _, r := range w.resources {
		if r.kind == "volume" {
			c.volumes["/data"] = r.name
		}
	}
	return c
}

// files adds files of every sort.
func (g *generator) files(w *workload, c *container) {
	for _, target := range []string{"/etc/app/a.yaml", "/etc/app/a_yaml", "/etc.app/a.yaml", "/etc/${resources.r0.password}", "/run/é/x y"} {
		if !g.chance(3) {
			continue
		}
		f := file{target: target, mode: g.one("", "", "0400", "644")}
		switch g.IntN(6) {
		case 0:
			f.binary = []byte{0xff, 0, byte(g.IntN(256)), '$', '{', '}'}
		case 1:
			f.noExpand = true
			raw := literalText("r0")
			f.content = text{{raw: raw, means: raw}}
		case 2:
			f.content = g.text(g.outputs(w, g.p.inFile), nil)
			f.source = fmt.Sprintf("files/%s-%s-%d.txt", w.name, c.name, len(c.files))
		case 3:
			whole := g.outputs(w, func(all []shape) bool { return len(all) == 1 && (all[0].whole || g.p.inFile(all)) })
			if len(whole) > 0 {
				f.content = text{whole[0]}
			}
		default:
			f.content = g.text(g.outputs(w, g.p.inFile), nil)
		}
		c.files = append(c.files, f)
	}
}
