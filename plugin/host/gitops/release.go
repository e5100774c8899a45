// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/internal/subpath"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// helmRelease returns the unit of a HelmRelease of Flux.
func (x *expanding) helmRelease(f found) Unit {
	spec := f.at("spec")
	u := f.unit()
	u.Prunes, u.Deletes = true, true // Helm removes what leaves a release.
	u.Suspended = f.is("spec", "suspend")
	u.Namespace = cmp.Or(spec.TextOf("targetNamespace"), u.ID.Namespace)
	for _, item := range f.at("spec", "dependsOn").Items {
		u.DependsOn = append(u.DependsOn, ID{f.cluster, kindHelmRelease, cmp.Or(item.TextOf("namespace"), u.ID.Namespace), item.TextOf("name")})
	}

	chart, source, problem := x.chart(f, &u)
	if problem != nil {
		u.Problem = problem
		return u
	}
	values, problem := x.releaseValues(f, &u)
	if problem != nil {
		u.Problem = problem
		return u
	}
	helm := []object.Member{member("releaseName", object.TextAt(releaseName(spec, u.ID), u.Pos)), member("values", values)}
	if f.text("spec", "install", "crds") == "Skip" {
		helm = append(helm, member("skipCRDs", object.BoolAt(true, f.at("spec", "install", "crds").Pos)))
	}
	helm = append(helm, member("postRenderers", postRenderers(&u, f.at("spec", "postRenderers"))))
	u.Components = []object.Value{mapOf(spec.Pos, member("helm", mapOf(spec.Pos, append(chart, helm...)...)), member("source", source))}
	u.Overlays = commonMetadata(f.at("spec", "commonMetadata"))
	noteFields(&u, f.Written, []string{
		"chart", "chartRef", "commonMetadata", "dependsOn", "driftDetection", "install", "interval", "kubeConfig", "maxHistory", "persistentClient",
		"postRenderers", "releaseName", "rollback", "serviceAccountName", "storageNamespace", "suspend", "targetNamespace", "test", "timeout", "uninstall",
		"upgrade", "values", "valuesFrom", "healthCheckExprs", "waitStrategy",
	})
	return u
}

// postRenderers returns what a HelmRelease lays over the objects of its chart. Other fields than
// those of kustomize are warnings.
func postRenderers(u *Unit, list object.Value) object.Value {
	var out []object.Value
	for _, item := range list.Items {
		k := lookup(item, "kustomize")
		var fields []object.Member
		for _, m := range append(slices.Clone(item.Members), k.Members...) {
			switch m.Name {
			case "kustomize":
			case "patches", "images":
				fields = append(fields, m)
			default:
				u.Warnings = append(u.Warnings, warning(m.Pos, "", "%s: the field spec.postRenderers.%s is not carried over", u.ID, m.Name))
			}
		}
		out = append(out, mapOf(item.Pos, member("kustomize", mapOf(cmp.Or(k.Pos, item.Pos), fields...))))
	}
	if len(out) == 0 {
		return object.Value{}
	}
	return object.ListAt(list.Pos, out...)
}

// commonMetadata returns the overlay with the labels and annotations that all objects of a unit of
// Flux get. Flux sets them on the objects alone, and not on the templates of their pods.
func commonMetadata(v object.Value) []spec.Overlay {
	metadata := mapOf(v.Pos, member("labels", lookup(v, "labels")), member("annotations", lookup(v, "annotations")))
	if len(metadata.Members) == 0 {
		return nil
	}
	// A unit without objects has none to select.
	return []spec.Overlay{{Pos: v.Pos, Patch: mapOf(v.Pos, member("metadata", metadata)), Found: true}}
}

// releaseName returns the name of a release: by default that of the HelmRelease, after its target
// namespace. Flux shortens one that is too long for Helm, and ends it with a hash.
func releaseName(spec object.Value, id ID) string {
	name := id.Name
	if target := spec.TextOf("targetNamespace"); target != "" {
		name = target + "-" + id.Name
	}
	name = cmp.Or(spec.TextOf("releaseName"), name)
	const most, kept, hashed = 53, 40, 12
	if len(name) > most {
		name = fmt.Sprintf("%s-%.*s", name[:kept], hashed, fmt.Sprintf("%x", sha256.Sum256([]byte(name))))
	}
	return name
}

// chart returns the fields of a component that name the chart of a HelmRelease, and its source if
// the chart is a folder of another repository.
func (x *expanding) chart(f found, u *Unit) (fields []object.Member, source object.Value, problem *object.Error) {
	id := f.named(f.cluster)

	// The chart may be an artifact, or a HelmChart that says more.
	chart := f.at("spec", "chart", "spec")
	if ref := f.at("spec", "chartRef"); ref.Kind == object.KindMap {
		kind, name := ref.TextOf("kind"), ref.TextOf("name")
		of := ID{f.cluster, kind, cmp.Or(ref.TextOf("namespace"), id.Namespace), name}
		w, known := x.lookup(of)
		_, isLocal := x.localFolder(of)
		switch {
		case isLocal || kind == kindExternalArtifact:
			from := x.source(f, ref)
			if from.problem != nil {
				return nil, source, from.problem
			}
			fields, problem = x.chartFolder(u, from, object.TextAt(".", ref.Pos), object.Value{})
			return fields, source, problem
		case kind == kindOCIRepository && known:
			return ociChart(w.text("spec", "url"), w.at("spec", "ref"), w.at("spec", "url").Pos), source, nil
		case kind == kindHelmChart && known:
			f = found{Written: w, cluster: f.cluster} // Its source is one of its own namespace.
			id.Namespace = f.named("").Namespace
			chart = w.at("spec")
		default:
			return nil, source, warning(ref.Pos, "name a folder for it with --local-sources "+of.source()+"=DIR", "the chart of %s is %s %q, which is in the cluster alone", id, kind, name)
		}
	}

	// Or it is one of a repository of charts, or a folder.
	ref := lookup(chart, "sourceRef")
	name := lookup(chart, "chart")
	kind := ref.TextOf("kind")
	if kind == kindHelmRepository {
		w, known := x.lookup(ID{f.cluster, kind, cmp.Or(ref.TextOf("namespace"), id.Namespace), ref.TextOf("name")})
		if !known {
			return nil, source, warning(ref.Pos, "", "the chart of %s is of HelmRepository %q, which is in no file of the repository", id, ref.TextOf("name"))
		}
		for _, item := range lookup(chart, "valuesFiles").Items {
			if path.Clean(item.Text) != "values.yaml" {
				u.Warnings = append(u.Warnings, warning(item.Pos, "", "%s: the values file %s lies in the chart and is not read", u.ID, item.Text))
			}
		}
		url := w.at("spec", "url")
		version := member("version", lookup(chart, "version"))
		if strings.HasPrefix(url.Text, "oci://") {
			return []object.Member{member("chart", object.TextAt(strings.TrimSuffix(url.Text, "/")+"/"+name.Text, name.Pos)), version}, source, nil
		}
		return []object.Member{member("chart", name), member("repo", url), version}, source, nil
	}
	from := x.source(f, ref)
	if from.problem != nil {
		return nil, source, from.problem
	}
	fields, problem = x.chartFolder(u, from, name, chart)
	return fields, from.reference, problem
}

// chartFolder returns the fields that name a chart in a folder of a source. The argument chart has its
// values files, which are files of that source.
func (x *expanding) chartFolder(u *Unit, from fluxSource, name, chart object.Value) ([]object.Member, *object.Error) {
	folder := path.Join(from.folder, name.Text)
	isThere := func(name string) bool { return isFile(x.repo.FS, name) && !from.gone[name] }
	if from.here && !isThere(path.Join(folder, chartFile)) {
		return nil, from.missing(x, name.Pos, "there is no chart in the folder %q of the repository", folder)
	}
	for _, file := range x.written.plain { // Chart.yaml, and definitions in crds.
		if from.here && subpath.Within(file, folder) {
			x.used[file] = true
		}
	}

	// The controller takes the only file values.yaml for that of the chart.
	list := lookup(chart, "valuesFiles").Items
	if len(list) == 1 && path.Clean(list[0].Text) == "values.yaml" {
		list = nil
	}
	own := path.Join(folder, "values.yaml")
	var files []object.Value
	hasOwn := false
	for _, item := range list {
		full := path.Join(from.folder, item.Text)
		hasOwn = hasOwn || full == own
		switch there := !from.here || isThere(full); {
		case there:
			files = append(files, object.TextAt(full, item.Pos))
		case lookup(chart, "ignoreMissingValuesFiles").Text != "true":
			return nil, from.missing(x, item.Pos, "there is no values file %q in the repository", full)
		}
	}

	// The files replace the values of the chart, unless these are among them.
	replaces := len(files) > 0 && !hasOwn
	switch {
	case replaces && from.here:
		u.Files = x.mergedValues(own, files)
	case replaces:
		u.Warnings = append(u.Warnings, warning(name.Pos, "", "%s: the values files replace the values of the chart, which are below them here", u.ID))
	}
	return []object.Member{member("chart", object.TextAt(folder, name.Pos)), member("valuesFiles", object.ListAt(name.Pos, files...))}, nil
}

// mergedValues returns the values of a chart at the path own that are those of files. The files are laid
// over them again, so that a null in one is a value less, and mistakes are found at their lines.
func (x *expanding) mergedValues(own string, files []object.Value) map[string][]byte {
	merged := map[string]any{}
	for _, file := range files {
		var values map[string]any
		data, err := readFile(x.repo.FS, file.Text)
		if err == nil && yaml.Unmarshal(data, &values) == nil {
			merged = mergeMaps(merged, values)
		}
	}
	text, err := yaml.Marshal(withoutNull(merged))
	if err != nil {
		return nil
	}
	return map[string][]byte{own: text}
}

// withoutNull returns a map with "" for null: Helm removes a value that is null in a file over one that
// is something.
func withoutNull(fields map[string]any) map[string]any {
	out := maps.Clone(fields)
	for name, value := range out {
		switch value := value.(type) {
		case nil:
			out[name] = ""
		case map[string]any:
			out[name] = withoutNull(value)
		}
	}
	return out
}

// ociChart returns the fields that name a chart which is an artifact, at the ref of Flux.
func ociChart(url string, ref object.Value, at object.Pos) []object.Member {
	if digest := ref.TextOf("digest"); digest != "" {
		return []object.Member{member("chart", object.TextAt(url+"@"+digest, at))}
	}
	version := object.TextAt(cmp.Or(ref.TextOf("semver"), ref.TextOf("tag")), at)
	if version.Text == "" {
		version = object.Value{}
	}
	return []object.Member{member("chart", object.TextAt(url, at)), member("version", version)}
}

// releaseValues returns the values of a HelmRelease: those that it refers to in their order, and its
// own over them. They are put together as by ChartValuesFromReferences of fluxcd/pkg/chartutil, where
// a targetPath changes the values of the release too if these have the map that it leads into.
func (x *expanding) releaseValues(f found, u *Unit) (object.Value, *object.Error) {
	places := object.Value{Kind: object.KindMap, Pos: f.at("spec").Pos}
	written := f.at("spec", "values")
	own, result := plainMap(written), map[string]any{}
	filled := 0
	for _, ref := range f.at("spec", "valuesFrom").Items {
		key := cmp.Or(ref.TextOf("valuesKey"), "values.yaml")
		data, _ := x.dataOf(f, u, ref)
		text := lookup(object.Value{Kind: object.KindMap, Members: data}, key)
		target := ref.TextOf("targetPath")
		switch {
		case text.Kind != object.KindString:
			if lookup(ref, "optional").Text != "true" {
				u.Warnings = append(u.Warnings, warning(ref.Pos, "", "%s: the values in %s %q are in the cluster alone: the chart has its defaults here", u.ID, ref.TextOf("kind"), ref.TextOf("name")))
			}
		case target != "":
			result = mergeMaps(result, own)
			value, ok := targetValue(text, lookup(ref, "literal").Text == "true")
			steps, known := parameterSteps(target)
			filled += elementsOf(steps)
			if filled > maxFilled {
				return places, mistake(ref.Pos, "", "%s: the lists of valuesFrom have more than %d elements", u.ID, maxFilled)
			}
			if !ok || !known || !setAt(result, steps, value) {
				return places, mistake(ref.Pos, "write literal: true for a text with commas or braces", "%s: the value for %s does not fit there, or is no value of helm --set", u.ID, printable.Cut(target, mostOfPath, "…"))
			}
			places = places.Merge(valueOf(placed(steps, value), object.Value{Pos: text.Pos}))
		default:
			var values any
			if err := yaml.Unmarshal([]byte(text.Text), &values); err != nil {
				// What a parser quotes may be a secret.
				if ref.TextOf("kind") == kindSecret {
					err = errors.New("it does not parse")
				}
				u.Warnings = append(u.Warnings, warning(text.Pos, "", "%s: the values are no YAML: %w", u.ID, err))
				continue
			}
			v := valueOf(values, object.Value{Pos: text.Pos})
			if ref.TextOf("kind") == kindSecret {
				u.Secrets = append(u.Secrets, scalars(v)...)
			}
			if fields, ok := values.(map[string]any); ok {
				result = mergeMaps(result, fields)
				places = places.Merge(v)
			}
		}
	}
	result = mergeMaps(result, own)
	if sets := integersIn(result, "", f.at("spec", "valuesFrom").Pos); len(sets) > 0 {
		u.Sets = map[int][]spec.HelmSet{0: sets}
	}
	return valueOf(result, places.Merge(written)), nil
}

// mostOfPath is how much of a targetPath a message has.
const mostOfPath = 200

// mergeMaps returns a map with another one over it. Like that of Helm, it copies no map that is in one
// of them alone.
func mergeMaps(base, top map[string]any) map[string]any {
	out := maps.Clone(base)
	for name, value := range top {
		below, isMap := value.(map[string]any)
		known, isKnown := out[name].(map[string]any)
		if isMap && isKnown {
			value = mergeMaps(known, below)
		}
		out[name] = value
	}
	return out
}

// nestedIn returns a map with a value at a path of names; the value may be null.
func nestedIn(names []string, v object.Value) object.Value {
	for _, name := range slices.Backward(names) {
		v = object.Value{Kind: object.KindMap, Pos: v.Pos, Members: []object.Member{member(name, v)}}
	}
	return v
}
