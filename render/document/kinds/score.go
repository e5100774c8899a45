// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"slices"
	"strings"
)

// Score is the table of a Score file, whose specification is score.dev/v1b1. It leaves
// metadata open: there stands what a Workload has and Score lacks, and below containers what
// a container has.
func Score() Document {
	spec := part(Workload().Root, "spec")
	inContainer := []string{"image", "command", "args", "variables", "files", "volumes", "before", "resources", "livenessProbe", "readinessProbe"}
	containers, service := part(spec, "containers"), part(spec, "service")
	own := with(container(), inContainer...)
	extra := without(container(), "image", "command", "args", "variables", "files", "volumes", "before")
	for i, f := range own.Fields {
		if f.Name == "variables" {
			own.Fields[i].Each = loose() // Secrets are placeholders there.
		}
		if strings.HasSuffix(f.Name, "Probe") {
			own.Fields[i] = with(f, "httpGet", "exec")
		}
	}
	containers.Each = each(own)
	metadata := without(spec, "containers", "service", "resources")
	metadata.Name, metadata.Open, metadata.Doc = "metadata", true, "The name, and what Score lacks."
	metadata.Fields = append([]Field{
		{Name: "name", Kind: text, Need: true, Full: true, Doc: "Name of the workload."},
		{Name: "containers", Kind: fields, Doc: "What Score lacks of containers, by their names.", Each: each(extra)},
	}, metadata.Fields...)
	resources := part(spec, "resources")
	resources.Each = each(without(*resources.Each, "direction", "waitFor")) // They go into its metadata.
	d := Whole("Score", "A Score file, and what Score lacks under metadata.", metadata, containers, with(service, "ports"), resources)
	d.Root.Fields[0].Values = choices("score.dev/v1b1")
	d.Root.Fields = slices.Delete(d.Root.Fields, 1, 2) // It has no kind.
	return d
}

// part is a field of a map.
func part(f Field, name string) Field {
	return f.Fields[slices.IndexFunc(f.Fields, func(o Field) bool { return o.Name == name })]
}

// with is a map with those of its fields alone.
func with(f Field, names ...string) Field {
	f.Fields = slices.DeleteFunc(slices.Clone(f.Fields), func(o Field) bool { return !slices.Contains(names, o.Name) })
	return f
}

// without is a map less those of its fields.
func without(f Field, names ...string) Field {
	f.Fields = slices.DeleteFunc(slices.Clone(f.Fields), func(o Field) bool { return slices.Contains(names, o.Name) })
	return f
}
