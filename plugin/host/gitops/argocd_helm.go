// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"bytes"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// helmSource returns the component of a chart of an Application. The argument folder is that of the
// chart in its source, "" for a chart of a repository, and chart has the fields that name it.
func (x *expanding) helmSource(u *Unit, source object.Value, folder string, chart []object.Member, all []object.Value, reference object.Value) (object.Value, *object.Error) {
	helm := lookup(source, "helm")
	at := source.Pos
	release := lookup(helm, "releaseName")
	if release.Text == "" {
		release = object.TextAt(u.Name, u.Pos)
	}
	members := append(chart, member("releaseName", release), member("namespace", lookup(helm, "namespace")),
		member("skipCRDs", lookup(helm, "skipCrds")), member("apiVersions", lookup(helm, "apiVersions")))
	if version := lookup(helm, "kubeVersion"); version.Text != "" {
		u.KubeVersion = version.Text
	}

	// Files lie in the source of the chart, or in one with a ref.
	var files []object.Value
	for _, item := range lookup(helm, "valueFiles").Items {
		name, problem := x.valuesFile(u, source, item, folder, all, reference)
		if problem != nil {
			return object.Value{}, problem
		}
		missing := reference.Kind == object.KindNone && !isFile(x.repo.FS, name)
		mayMiss := missing && lookup(helm, "ignoreMissingValueFiles").Text == "true"
		if name != "" && !mayMiss {
			files = append(files, object.TextAt(name, item.Pos))
		}
	}
	members = append(members, member("valuesFiles", object.ListAt(lookup(helm, "valueFiles").Pos, files...)))

	// Values go over files, and parameters over values.
	values, sets, problem := x.applicationValues(u, source, folder)
	if problem != nil {
		return object.Value{}, problem
	}
	members = append(members, member("values", values))
	if len(sets) > 0 {
		if u.Sets == nil {
			u.Sets = map[int][]spec.HelmSet{}
		}
		u.Sets[len(u.Components)] = sets
	}
	noteSource(u, helm, "helm", "releaseName", "namespace", "skipCrds", "apiVersions", "kubeVersion", "valueFiles", "ignoreMissingValueFiles",
		"values", "valuesObject", "parameters", "fileParameters", "version", "passCredentials", "skipTests", "skipSchemaValidation")
	return withSource(at, member("helm", mapOf(at, members...)), reference), nil
}

// valuesFile returns the path of a values file in the repository; "" if it is left out with a
// warning.
func (x *expanding) valuesFile(u *Unit, source, item object.Value, folder string, all []object.Value, reference object.Value) (string, *object.Error) {
	name := item.Text
	if strings.Contains(name, "://") {
		u.Warnings = append(u.Warnings, warning(item.Pos, "", "%s: the values file %s is not fetched", u.ID, name))
		return "", nil
	}

	// One of another source begins with its ref.
	if ref, rest, ok := strings.Cut(strings.TrimPrefix(name, "$"), "/"); ok && strings.HasPrefix(name, "$") {
		for _, other := range all {
			if other.TextOf("ref") != ref {
				continue
			}
			if !x.isOwnURL(other) {
				u.Warnings = append(u.Warnings, warning(item.Pos, "", "%s: the values file %s is in another repository: the chart has its defaults here", u.ID, name))
				return "", nil
			}
			if reference.Kind != object.KindNone {
				return "", warning(item.Pos, "", "%s has a chart of another repository with values of this one, which is not carried over", u.ID)
			}
			return path.Clean(withVariables(u, source, object.TextAt(rest, item.Pos)).Text), nil
		}
		if _, variable := buildVariables(u, source)[ref]; !variable {
			return "", mistake(item.Pos, "", "%s has no source with ref: %s", u.ID, ref)
		}
	}
	name = withVariables(u, source, item).Text
	if rooted, ok := strings.CutPrefix(name, "/"); ok && folder != "" {
		return path.Clean(rooted), nil
	}
	if folder == "" {
		u.Warnings = append(u.Warnings, warning(item.Pos, "", "%s: the values file %s lies in the chart and is not read", u.ID, name))
		return "", nil
	}
	full := path.Join(folder, name)
	if strings.HasPrefix(full, "..") {
		return "", mistake(item.Pos, "", "the values file %q leaves the repository", name)
	}
	return full, nil
}

// applicationValues returns the values that an Application writes itself, and its parameters as the
// arguments that Argo CD gives to Helm (Argo CD v3.2.11, util/helm/cmd.go, template).
func (x *expanding) applicationValues(u *Unit, source object.Value, folder string) (object.Value, []spec.HelmSet, *object.Error) {
	helm := lookup(source, "helm")
	out := lookup(helm, "valuesObject")
	if text := lookup(helm, "values"); out.Kind != object.KindMap && text.Text != "" {
		var values any
		if err := yaml.Unmarshal([]byte(text.Text), &values); err != nil {
			return out, nil, mistake(text.Pos, "", "%s: source.helm.values is no YAML: %w", u.ID, err)
		}
		out = valueOf(values, object.Value{Pos: text.Pos})
	}
	if out.Kind != object.KindMap {
		out = object.Value{Kind: object.KindMap, Pos: helm.Pos}
	}
	var sets []spec.HelmSet
	for _, p := range lookup(helm, "parameters").Items {
		value := withVariables(u, source, object.TextAt(lookup(p, "value").Written(), lookup(p, "value").Pos))
		set := spec.HelmSet{Flag: "--set", Text: p.TextOf("name") + "=" + withoutSeparators(value.Text), Pos: p.Pos}
		isText := lookup(p, "forceString").Text == "true"
		if isText {
			set.Flag = "--set-string"
		}
		sets = append(sets, set)
		if names, known := parameterNames(p.TextOf("name")); known {
			out = out.Merge(nestedIn(names, parameterOf(value, isText)))
		}
	}
	for _, p := range lookup(helm, "fileParameters").Items {
		file := withVariables(u, source, object.TextAt(p.TextOf("path"), p.Pos)).Text
		data, err := readFile(x.repo.FS, path.Join(folder, file))
		if err != nil {
			return out, nil, mistake(p.Pos, "", "%s: the file %q cannot be read", u.ID, file)
		}
		sets = append(sets, spec.HelmSet{Flag: "--set-file", Text: p.TextOf("name") + "=x", Content: string(data), Pos: p.Pos})
		if names, known := parameterNames(p.TextOf("name")); known {
			out = out.Merge(nestedIn(names, object.TextAt(string(data), p.Pos)))
		}
	}
	return out, sets, nil
}

// withoutSeparators returns the value of a parameter in which commas separate nothing, unless it is a
// list in braces: a,b becomes a\,b.
func withoutSeparators(text string) string {
	if strings.HasPrefix(text, "{") && strings.HasSuffix(text, "}") {
		return text
	}
	var b strings.Builder
	var before rune
	for _, r := range text {
		if r == ',' && before != '\\' {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
		before = r
	}
	return b.String()
}

// parameterNames returns the names of a parameter, such as a and b.c of a.b\.c. It returns false for
// an element of a list, whose other elements are those of the chart.
func parameterNames(text string) ([]string, bool) {
	names := []string{""}
	escaped := false
	for _, r := range text {
		last := len(names) - 1
		switch {
		case escaped:
			names[last] += string(r)
			escaped = false
		case r == '\\':
			escaped = true
		case r == '.':
			names = append(names, "")
		case strings.ContainsRune("[]=,{}", r):
			return nil, false
		default:
			names[last] += string(r)
		}
	}
	return names, !escaped && !slices.Contains(names, "")
}

// parameterOf returns the value of a parameter as Argo CD gives it to helm --set: a list in braces, or
// a value in which commas are no separators.
func parameterOf(v object.Value, asText bool) object.Value {
	if strings.HasPrefix(v.Text, "{") && strings.HasSuffix(v.Text, "}") {
		inner := v.Text[1 : len(v.Text)-1]
		var items []object.Value
		for _, item := range strings.Split(inner, ",") {
			items = append(items, scalarOf(object.TextAt(item, v.Pos), asText))
		}
		return object.ListAt(v.Pos, items...)
	}
	return scalarOf(v, asText)
}

// scalarOf returns a value as helm --set reads it.
func scalarOf(v object.Value, asText bool) object.Value {
	text := regexp.MustCompile(`\\(.)`).ReplaceAllString(v.Text, "$1")
	number, err := strconv.ParseInt(text, 10, 64)
	switch {
	case asText:
		return object.TextAt(text, v.Pos)
	case strings.EqualFold(text, "true") || strings.EqualFold(text, "false"):
		return object.BoolAt(strings.EqualFold(text, "true"), v.Pos)
	case strings.EqualFold(text, "null"):
		return object.Value{Kind: object.KindNull, Pos: v.Pos}
	case err == nil && (text == "0" || text[0] != '0'):
		return object.Value{Kind: object.KindNumber, Pos: v.Pos, Text: strconv.FormatInt(number, 10)}
	}
	return object.TextAt(text, v.Pos)
}

// listing is a folder whose manifests are listed, and whether those below it are.
type listing struct {
	folder  string
	recurse bool
}

// manifestsIn returns the manifests in a folder, and with recurse in those below it, with the files of
// Jsonnet among them.
func (x *expanding) manifestsIn(folder string, recurse bool) []string {
	key := listing{folder, recurse}
	known, ok := x.listed[key]
	if !ok {
		known = x.listManifests(folder, recurse)
		x.listed[key] = known
	}
	return known
}

// listManifests lists the manifests in a folder.
func (x *expanding) listManifests(folder string, recurse bool) []string {
	entries, err := fs.ReadDir(x.repo.FS, path.Clean(folder))
	if err != nil {
		return nil
	}
	var out []string
	for _, entry := range entries {
		name := path.Join(folder, entry.Name())
		switch {
		case entry.IsDir() && recurse && entry.Name() != ".git": // Argo CD reads other hidden folders.
			out = append(out, x.listManifests(name, true)...)
		case entry.Type().IsRegular() && (project.IsDocument(name) || path.Ext(name) == jsonnet) && !x.isMarked(name):
			out = append(out, name)
		}
	}
	return out
}

// isMarked reports whether a file says that Argo CD leaves it out.
func (x *expanding) isMarked(name string) bool {
	text, err := readFile(x.repo.FS, name)
	return err == nil && bytes.Contains(text, []byte("+argocd:skip-file-rendering"))
}

// matchesAny reports whether a name matches a pattern of a directory; otherwise is the result for
// no pattern. In such a pattern * stands for slashes too, and {a,b} for one of several.
func matchesAny(pattern, name string, otherwise bool) bool {
	if pattern == "" {
		return otherwise
	}
	var b strings.Builder
	depth := 0
	for _, r := range pattern {
		switch {
		case r == '*':
			b.WriteString(".*")
		case r == '?':
			b.WriteString(".")
		case r == '{':
			depth++
			b.WriteString("(?:")
		case r == '}' && depth > 0:
			depth--
			b.WriteString(")")
		case r == ',' && depth > 0:
			b.WriteString("|")
		case r == '[' || r == ']':
			b.WriteRune(r)
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	match, err := regexp.Compile("^(?:" + b.String() + ")$")
	return err == nil && match.MatchString(name)
}
