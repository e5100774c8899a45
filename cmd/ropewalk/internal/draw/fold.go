// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

// part is the objects of one spec, in short; in a plan of one spec the objects of one kind in one
// wave.
type part struct {
	spec, kind  string
	first, last int
	objects     int
	kinds       map[string]int
	// works are the kinds among them that are workloads.
	works map[string]bool
}

// cards returns the specs of a plan as boxes, each in the first of its waves. If there are more
// than most, specs of one wave with similar names are one card, and finally all specs of a wave.
func cards(plan *order.Plan, most int) (out []*mark, of map[object.ID]*mark) {
	parts, partOf := partsOf(plan)
	var groups map[string][]*part
	for level := 0; ; level++ {
		groups = map[string][]*part{}
		for _, p := range parts {
			key := p.alike(level)
			groups[key] = append(groups[key], p)
		}
		if len(groups) <= most || level > 30 {
			break
		}
	}
	cardOf := map[*part]*mark{}
	for _, key := range object.SortedKeys(groups) {
		m := card(groups[key])
		out = append(out, m)
		for _, p := range groups[key] {
			cardOf[p] = m
		}
	}
	slices.SortStableFunc(out, func(a, b *mark) int { return cmp.Or(cmp.Compare(a.wave, b.wave), strings.Compare(a.name, b.name)) })
	of = map[object.ID]*mark{}
	for id, p := range partOf {
		of[id] = cardOf[p]
	}
	return out, of
}

func partsOf(plan *order.Plan) (parts []*part, of map[object.ID]*part) {
	isSingleSpec := !slices.ContainsFunc(plan.Graph.Nodes, func(n *object.Node) bool { return n.ID.Spec() != plan.Graph.Nodes[0].ID.Spec() })
	byKey := map[string]*part{}
	of = map[object.ID]*part{}
	for i, wave := range plan.Waves {
		for _, n := range wave.Nodes {
			key := n.ID.Spec()
			kind := ""
			if isSingleSpec {
				kind = n.Object.Kind()
				key = fmt.Sprint(i, kind)
			}
			p := byKey[key]
			if p == nil {
				p = &part{spec: n.ID.Spec(), kind: kind, first: i, kinds: map[string]int{}, works: map[string]bool{}}
				byKey[key] = p
				parts = append(parts, p)
			}
			p.last = i
			p.objects++
			p.kinds[n.Object.Kind()]++
			if isWork(n.Object.Ref()) {
				p.works[n.Object.Kind()] = true
			}
			of[n.ID] = p
		}
	}
	return parts, of
}

// alike returns a key that is the same for parts that one card stands for. On level 0 these are the
// parts of one spec. On the next levels they are the parts of a wave that differ in the last word
// of their names, or in all but the first, then all that have the first word, then all of a wave,
// and then of 2, 4, 8 waves.
func (p *part) alike(level int) string {
	name := p.spec + "\x00" + p.kind
	switch cut := 0; level {
	case 0:
	case 1, 2:
		cut = strings.LastIndex(p.spec, "-")
		if level == 2 {
			cut = strings.Index(p.spec, "-")
		}
		if cut > 0 {
			name = p.spec[:cut] + "-"
		}
	case 3:
		word, _, _ := strings.Cut(p.spec, "-")
		return word + "-"
	default:
		return fmt.Sprintf("%06d", p.first>>(level-4))
	}
	return fmt.Sprintf("%06d\x00%s", p.first, name)
}

// card returns the box of some parts.
func card(parts []*part) *mark {
	// Join the parts, and find how all their names begin.
	sum := part{first: parts[0].first, kinds: map[string]int{}, works: map[string]bool{}}
	m := &mark{}
	start := parts[0].spec
	for _, p := range parts {
		if !slices.Contains(m.specs, p.spec) {
			m.specs = append(m.specs, p.spec)
		}
		for start != "" && !strings.HasPrefix(p.spec, start) {
			start = start[:len(start)-1]
		}
		sum.first = min(sum.first, p.first)
		sum.last = max(sum.last, p.last)
		sum.objects += p.objects
		for kind, n := range p.kinds {
			sum.kinds[kind] += n
		}
		maps.Copy(sum.works, p.works)
	}

	// Count what the card stands for.
	m.wave = sum.first
	m.kind = printable.Count(sum.objects, "object")
	if sum.last > sum.first {
		m.kind += fmt.Sprintf(", waves %d–%d", sum.first, sum.last)
	}

	// Workloads are first, then the kinds of most objects.
	kinds := object.SortedKeys(sum.kinds)
	slices.SortStableFunc(kinds, func(a, b string) int {
		if sum.works[a] != sum.works[b] {
			return map[bool]int{true: -1, false: 1}[sum.works[a]]
		}
		return cmp.Compare(sum.kinds[b], sum.kinds[a])
	})
	m.work = len(sum.works) > 0

	// Name the card after what its parts have in common.
	switch cut := strings.LastIndex(start, "-"); {
	case parts[0].kind != "" && len(parts) == 1:
		m.name = parts[0].kind
		m.about = "of " + parts[0].spec
	case len(m.specs) == 1:
		m.name = m.specs[0]
		m.about = inShort(kinds)
	case cut > 0:
		m.name = start[:cut] + "-…"
		m.about = printable.Count(len(m.specs), "spec")
	default:
		m.name = printable.Count(len(m.specs), "spec")
		m.about = inShort(kinds)
	}
	m.title = m.name + "\n" + m.kind + "\n" + listed(kinds, ", ")
	if len(m.specs) > 1 {
		m.title += "\n" + listed(m.specs, "\n")
	}
	return m
}

// inShort returns the first kinds of a list and how many others there are.
func inShort(kinds []string) string {
	text := kinds[0]
	for i, k := range kinds[1:] {
		if len(text)+len(k) > 24 {
			return fmt.Sprintf("%s +%d", text, len(kinds)-i-1)
		}
		text += ", " + k
	}
	return text
}

// listed returns a list as text, which ends before it fills a screen.
func listed(list []string, between string) string {
	const most = 24
	if len(list) > most {
		return strings.Join(list[:most], between) + between + fmt.Sprintf("and %d more", len(list)-most)
	}
	return strings.Join(list, between)
}
