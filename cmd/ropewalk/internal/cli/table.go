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

// kindsWidth limits the column of the kinds, in characters.
const kindsWidth = 44

// waveTable returns a table of the waves: the number of objects in each, their kinds, and the reasons
// for the wave.
func waveTable(plan *order.Plan) string {
	rows := [][]string{{"WAVE", "OBJECTS", "WHAT", "WHY"}}
	reasons := whyWaves(plan)
	for i, wave := range plan.Waves {
		number, objects := strconv.Itoa(i), strconv.Itoa(len(wave.Nodes))
		what := wrap(kinds(wave.Nodes), kindsWidth)
		why := reasons[i]
		for row := range max(len(what), len(why)) {
			rows = append(rows, []string{number, objects, lineAt(what, row), lineAt(why, row)})
			number, objects = "", ""
		}
	}
	return command.Table(rows)
}

// mostExisting limits the list of resources that must exist.
const mostExisting = 40

// existingTable lists the resources that workloads rely on and that the render does not make.
func existingTable(resources []workload.Existing) string {
	rows := [][]string{{"RESOURCE", "TYPE", "CLASS", "ADDRESS", "SECRET"}}
	for _, e := range resources[:min(len(resources), mostExisting)] {
		kind := "key"
		if e.Kubernetes {
			kind = "Secret"
		}
		var secrets []string
		for _, key := range e.Keys() {
			secrets = append(secrets, fmt.Sprintf("%s %s (%s)", kind, key, strings.Join(e.Secrets[key], ", ")))
		}
		row := []string{
			e.Workload + "/" + e.Name,
			e.Type,
			cmp.Or(e.Class, resource.DefaultClass),
			cmp.Or(e.Address, "-"),
			cmp.Or(strings.Join(secrets, ", "), "-"),
		}
		for i, cell := range row {
			row[i] = command.OneLine(cell)
		}
		rows = append(rows, row)
	}
	table := command.Table(rows)
	if hidden := len(resources) - mostExisting; hidden > 0 {
		table += fmt.Sprintf("and %d more\n", hidden)
	}
	return table + unclassed(resources)
}

// unclassed lists the classes that a resource without a class may name: its default class makes
// nothing. It returns "" if every resource has a class, or if no type has another class.
func unclassed(resources []workload.Existing) string {
	classes := map[string]string{}
	for _, e := range resources {
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

// lineAt returns line i, or "" past the end.
func lineAt(lines []string, i int) string {
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

// mostReasons limits the reasons that are listed for a wave.
const mostReasons = 5

// whyWaves returns the reasons for each wave: the edges and joins that lead into the wave before it
// and need a new wave.
func whyWaves(plan *order.Plan) [][]string {
	// An edge counts if it leads into the wave before.
	reasons := make([][]string, len(plan.Waves))
	seen := make([]map[string]bool, len(plan.Waves))
	add := func(dependents, dependencies []object.ID, fromName, toName string) {
		ends := map[int]bool{}
		for _, id := range dependencies {
			ends[plan.Placements[id].Wave] = true
		}
		for _, id := range dependents {
			wave := plan.Placements[id].Wave
			if text := fromName + " after " + toName; ends[wave-1] && !seen[wave][text] {
				if seen[wave] == nil {
					seen[wave] = map[string]bool{}
				}
				seen[wave][text] = true
				reasons[wave] = append(reasons[wave], text)
			}
		}
	}

	// Joins come first, because each stands for many edges.
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
	for wave := range reasons {
		if wave == 0 {
			reasons[wave] = []string{"depends on nothing that must be ready"}
		} else if hidden := len(reasons[wave]) - mostReasons; hidden > 0 {
			reasons[wave] = append(reasons[wave][:mostReasons], fmt.Sprintf("and %d more", hidden))
		}
	}
	return reasons
}
