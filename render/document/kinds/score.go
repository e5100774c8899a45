// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"slices"

	"github.com/ropewalk/ropewalk/render/object"
)

// The API versions of Score files.
const (
	ScoreVersion    = "score.dev/v1b1"
	ScoreVersionOld = "score.sh/v1b1"
)

// Score returns the table of a Score file, whose specification is score.dev/v1b1. The
// specification leaves metadata open. Ropewalk reads there what a Workload has and Score lacks,
// and below metadata.containers what a container has and Score lacks.
func Score() Document {
	// A container has some fields itself, and the rest below metadata.
	spec := workload(2)
	own, extra := scoreContainers()
	containers, service := part(spec, "containers"), part(spec, "service")
	containers.Each = &own

	// The other fields of a Workload are below metadata too.
	metadata := without(spec, "containers", "service", "resources")
	metadata.Name = "metadata"
	metadata.Open = true
	metadata.Hint = "write metadata: {name: …}"
	metadata.Doc = "The name, and what Score lacks."
	metadata.Fields = append([]Field{
		{Name: "name", Kind: text, Need: true, Rule: name(2), Hint: "write the name of the workload", Doc: "Name of the workload."},
		{Name: "containers", Kind: fields, Doc: "What Score lacks of containers, by their names.", Each: &extra},
	}, metadata.Fields...)
	resources := part(spec, "resources")
	resources.Each = each(scoreResource(*resources.Each))
	d := Whole("Score", "A Score file, and what Score lacks under metadata.", metadata, containers, with(service, "ports"), resources)
	d.Root.Fields[0].Values = choices(ScoreVersion)
	d.Root.Fields = slices.Delete(d.Root.Fields, 1, 2) // It has no kind.
	d.Root.Elsewhere = func(name string) string {
		switch {
		case name == "spec":
			return "a Score file has no spec: move what is below it to the top, or write apiVersion: " + apiVersion + " and kind: Workload"
		case name == "kind":
			return "remove it: a Score file has no kind, and what makes its pods goes under metadata"
		case slices.ContainsFunc(metadata.Fields, func(f Field) bool { return f.Name == name }):
			return "in a Score file it goes under metadata"
		}
		return ofOthers("metadata.", name)
	}
	return d
}

// scoreContainers returns two tables: the fields that a container has itself in a Score file, and
// those that it has below metadata.
func scoreContainers() (own, extra Field) {
	// The first seven fields stand in the container alone; of a probe some fields stand below
	// metadata.
	names := []string{"image", "command", "args", "variables", "files", "volumes", "before", "resources", "livenessProbe", "readinessProbe"}
	own = with(container(), names...)
	extra = without(container(), names[:7]...)
	for i, f := range own.Fields {
		switch f.Name {
		case "variables":
			value := loose() // Secrets are placeholders there.
			value.Sensitive = true
			value.Rule = noZero()
			value.Mistyped = func(v object.Value) string {
				if v.Kind == object.KindMap {
					return "write ${secrets.name.key}, with name in spec.workloads.secrets.bindings of the Project"
				}
				return asText(v)
			}
			own.Fields[i].Each = value
		case "livenessProbe", "readinessProbe":
			own.Fields[i] = scoreProbe(f)
		}
	}
	own.Fields = append(own.Fields, Field{Name: "pullPolicy", Kind: text, Values: part(extra, "imagePullPolicy").Values, Doc: "An older form."})

	// The hint for a field in the wrong place says where it belongs.
	own.Elsewhere = func(name string) string {
		if slices.ContainsFunc(extra.Fields, func(f Field) bool { return f.Name == name }) {
			return "in a Score file it goes under metadata.containers.NAME"
		}
		return inContainer(name)
	}
	extra.Elsewhere = func(name string) string {
		if slices.Contains(names, name) {
			return "it goes into the container itself, under containers.NAME"
		}
		return inContainer(name)
	}
	return own, extra
}

// scoreProbe returns the fields of a probe that Score knows. The other fields of the probe f are
// below metadata.
func scoreProbe(f Field) Field {
	whole := f
	f = with(f, "httpGet", "exec")
	f.Elsewhere = func(name string) string {
		if slices.ContainsFunc(whole.Fields, func(o Field) bool { return o.Name == name }) {
			return "in a Score file it goes under metadata.containers.NAME." + whole.Name
		}
		return ""
	}
	http := &f.Fields[0]
	http.Fields = slices.Clone(http.Fields)
	for i := range http.Fields {
		switch own := &http.Fields[i]; own.Name {
		case "path":
			own.Need = true
			own.Hint = "write path: /, or the one that it is"
		case "port":
			own.Or = nil
		case "httpHeaders":
			own.Fields = slices.Clone(own.Fields)
			own.Fields[1].Full = true
		}
	}
	return f
}

// scoreResource returns the table of a resource of a Score file.
func scoreResource(f Field) Field {
	extra := with(f, "direction", "waitFor").Fields
	f = without(f, "direction", "waitFor")
	for i, own := range f.Fields {
		if own.Name == "metadata" {
			f.Fields[i].Fields = append(slices.Clone(own.Fields), extra...)
		}
	}
	f.Fields = append(f.Fields, Field{Name: "properties", Doc: "An older form, which is left out."})
	f.Elsewhere = func(name string) string {
		if slices.ContainsFunc(extra, func(f Field) bool { return f.Name == name }) {
			return "in a Score file it goes under metadata of the resource"
		}
		return ""
	}
	return f
}

// part returns a field of a map.
func part(f Field, name string) Field {
	return f.Fields[slices.IndexFunc(f.Fields, func(o Field) bool { return o.Name == name })]
}

// with returns a map with only those of its fields.
func with(f Field, names ...string) Field {
	f.Fields = slices.DeleteFunc(slices.Clone(f.Fields), func(o Field) bool { return !slices.Contains(names, o.Name) })
	return f
}

// without returns a map without those of its fields.
func without(f Field, names ...string) Field {
	f.Fields = slices.DeleteFunc(slices.Clone(f.Fields), func(o Field) bool { return slices.Contains(names, o.Name) })
	return f
}
