// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/draw"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
	"github.com/ropewalk/ropewalk/render/workload"
	"github.com/ropewalk/ropewalk/render/workload/resource"
)

// kindsWidth is how wide the column of the kinds may become.
const kindsWidth = 44

// waveTable returns a table with the waves: how many objects are in each, of which kinds, and what
// it waits for.
func waveTable(plan *order.Plan) string {
	rows := [][]string{{"WAVE", "OBJECTS", "WHAT", "WHY"}}
	reasons := whyWaves(plan)
	for i, wave := range plan.Waves {
		number, objects := strconv.Itoa(i), strconv.Itoa(len(wave.Nodes))
		what := wrap(kinds(wave.Nodes), kindsWidth)
		why := reasons[i]
		for row := range max(len(what), len(why)) {
			rows = append(rows, []string{number, objects, at(what, row), at(why, row)})
			number, objects = "", ""
		}
	}
	return command.Table(rows)
}

// mostExisting is how many of the resources that must exist are listed.
const mostExisting = 40

// existingTable lists what workloads rely on and the render does not make.
func existingTable(all []workload.Existing) string {
	rows := [][]string{{"RESOURCE", "TYPE", "CLASS", "ADDRESS", "SECRET"}}
	for _, e := range all[:min(len(all), mostExisting)] {
		kind := "key"
		if e.Kubernetes {
			kind = "Secret"
		}
		var secrets []string
		for _, key := range e.Keys() {
			secrets = append(secrets, fmt.Sprintf("%s %s (%s)", kind, key, strings.Join(e.Secrets[key], ", ")))
		}
		row := []string{e.Workload + "/" + e.Name, e.Type, cmp.Or(e.Class, resource.DefaultClass), cmp.Or(e.Address, "-"), cmp.Or(strings.Join(secrets, ", "), "-")}
		for i, cell := range row {
			row[i] = command.OneLine(cell)
		}
		rows = append(rows, row)
	}
	table := command.Table(rows)
	if more := len(all) - mostExisting; more > 0 {
		table += fmt.Sprintf("and %d more\n", more)
	}
	return table + unclassed(all)
}

// unclassed returns which classes a workload may name if it names none: the default makes nothing.
// It returns "" if every resource has a class, or no type another one.
func unclassed(all []workload.Existing) string {
	classes := map[string]string{}
	for _, e := range all {
		if e.Class == "" && len(e.Classes) > 0 {
			classes[e.Type] = e.Type + " " + strings.Join(e.Classes, ", ")
		}
	}
	if len(classes) == 0 {
		return ""
	}
	return "where no class is given it is default, which makes nothing; others: " +
		command.OneLine(strings.Join(slices.Sorted(maps.Values(classes)), "; ")) + "\n"
}

// at returns line i, or "" past the end.
func at(lines []string, i int) string {
	if i >= len(lines) {
		return ""
	}
	return lines[i]
}

// wrap joins words with commas into lines of at most width columns.
func wrap(words []string, width int) []string {
	var out []string
	for i, w := range words {
		if i < len(words)-1 {
			w += ","
		}
		last := len(out) - 1
		if last >= 0 && len(out[last])+1+len(w) <= width {
			out[last] += " " + w
		} else {
			out = append(out, w)
		}
	}
	return out
}

// kinds returns the kinds of nodes with their numbers, in the order of the first node of each.
func kinds(nodes []*object.Node) []string {
	var names []string
	counts := map[string]int{}
	for _, n := range nodes {
		kind := n.Object.Kind()
		counts[kind]++
		if counts[kind] == 1 {
			names = append(names, kind)
		}
	}
	for i, name := range names {
		if counts[name] > 1 {
			names[i] = strconv.Itoa(counts[name]) + " " + name
		}
	}
	return names
}

// mostReasons is how many of the edges that open a wave stand beside it.
const mostReasons = 5

// whyWaves returns what each wave waits for: the edges and joins that lead into the wave before it
// and open a new one.
func whyWaves(plan *order.Plan) [][]string {
	// An edge counts if it leads into the wave before.
	why := make([][]string, len(plan.Waves))
	seen := make([]map[string]bool, len(plan.Waves))
	add := func(from, to []object.ID, fromName, toName string) {
		ends := map[int]bool{}
		for _, id := range to {
			ends[plan.Placements[id].Wave] = true
		}
		for _, id := range from {
			wave := plan.Placements[id].Wave
			if text := fromName + " after " + toName; ends[wave-1] && !seen[wave][text] {
				if seen[wave] == nil {
					seen[wave] = map[string]bool{}
				}
				seen[wave][text] = true
				why[wave] = append(why[wave], text)
			}
		}
	}

	// Joins come first, because one stands for many edges.
	for i, j := range plan.Graph.Joins {
		if plan.JoinGates[i].Gating {
			add(j.From, j.To, draw.SideName(j.Rule, j.FromName), draw.SideName(j.Rule, j.ToName))
		}
	}
	for i, e := range plan.Graph.Edges {
		if plan.Gates[i].Gating {
			add([]object.ID{e.From}, []object.ID{e.To}, string(e.From), string(e.To))
		}
	}

	// Leave out reasons that do not fit.
	for wave := range why {
		if wave == 0 {
			why[wave] = []string{"depends on nothing that must be ready"}
		} else if more := len(why[wave]) - mostReasons; more > 0 {
			why[wave] = append(why[wave][:mostReasons], fmt.Sprintf("and %d more", more))
		}
	}
	return why
}
