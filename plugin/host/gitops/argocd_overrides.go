// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// withSourceFiles returns a source with what the files .argocd-source.yaml and
// .argocd-source-NAME.yaml in its folder lay over it, such as Argo CD Image Updater writes. They
// change how the files are built, and never which files these are.
func (x *expanding) withSourceFiles(u *Unit, source object.Value, folder string) (object.Value, *object.Error) {
	for _, name := range []string{".argocd-source.yaml", ".argocd-source-" + u.Name + ".yaml"} {
		file := path.Join(folder, name)
		if !isFile(x.repo.FS, file) {
			continue
		}
		text, err := readFile(x.repo.FS, file)
		var over any
		if err == nil {
			err = yaml.Unmarshal(text, &over)
		}
		if err != nil {
			return source, mistake(object.Pos{File: file, Line: 1, Column: 1}, "", "%s: the file cannot be read: %w", u.ID, err)
		}
		v := valueOf(over, object.Value{Pos: object.Pos{File: file, Line: 1, Column: 1}})
		for _, built := range []string{"helm", "kustomize", "directory", "plugin"} {
			if below := lookup(v, built); below.Kind != object.KindNone {
				source = source.Merge(mapOf(source.Pos, member(built, below)))
			}
		}
	}
	return source, nil
}

// buildVariables returns the variables of Argo CD that a source may refer to as $NAME or ${NAME}.
func buildVariables(u *Unit, source object.Value) map[string]string {
	return map[string]string{
		"ARGOCD_APP_NAME": u.Name, "ARGOCD_APP_NAMESPACE": u.Namespace, "ARGOCD_APP_PROJECT_NAME": lookup(u.Object, "spec", "project").Text,
		"ARGOCD_APP_SOURCE_REPO_URL": source.TextOf("repoURL"), "ARGOCD_APP_SOURCE_PATH": source.TextOf("path"),
		"ARGOCD_APP_SOURCE_TARGET_REVISION": source.TextOf("targetRevision"), "$": "$",
	}
}

// withVariables returns a text with the variables of Argo CD in it. Those of the revision stay, with
// a warning: the commit that Argo CD will check out is in no file.
func withVariables(u *Unit, source, v object.Value) object.Value {
	known := buildVariables(u, source)
	v.Text = os.Expand(v.Text, func(name string) string {
		if slices.Contains([]string{"ARGOCD_APP_REVISION", "ARGOCD_APP_REVISION_SHORT", "ARGOCD_APP_REVISION_SHORT_8"}, name) {
			u.Warnings = append(u.Warnings, warning(v.Pos, "", "%s: $%s stays, as the revision is known to Argo CD alone", u.ID, name))
			return "${" + name + "}"
		}
		return known[name]
	})
	return v
}

// allWithVariables returns a map of texts with the variables of Argo CD in them.
func allWithVariables(u *Unit, source, v object.Value) object.Value {
	v.Members = slices.Clone(v.Members)
	for i, m := range v.Members {
		v.Members[i].Value = withVariables(u, source, m.Value)
	}
	return v
}

// Bounds of a parameter: the elements that it may make, as in Helm, the names and indexes that it leads
// through, and the elements that all targetPaths of a HelmRelease make.
const (
	maxIndex  = 65536
	maxPath   = 100
	maxFilled = 100_000
)

// parameterSteps returns the names and the indexes that a parameter leads through, such as a, 1 and b
// of a[1].b.
func parameterSteps(text string) ([]any, bool) {
	var steps []any
	for text != "" {
		before, rest, isElement := strings.Cut(text, "[")
		before = strings.TrimPrefix(before, ".")
		if before != "" {
			names, known := parameterNames(before)
			if !known {
				return nil, false
			}
			for _, name := range names {
				steps = append(steps, name)
			}
		}
		if !isElement {
			break
		}
		number, after, isClosed := strings.Cut(rest, "]")
		i, err := strconv.Atoi(number)
		if !isClosed || err != nil || i < 0 || i > maxIndex {
			return nil, false
		}
		steps = append(steps, i)
		text = after
	}
	return steps, len(steps) > 0 && len(steps) <= maxPath
}

// elementsOf returns how many elements the lists have at most that steps make.
func elementsOf(steps []any) int {
	out := 0
	for _, step := range steps {
		if i, isIndex := step.(int); isIndex {
			out += i + 1
		}
	}
	return out
}

// setAt sets a value below a map or a list, and reports whether it fits there.
func setAt(in any, steps []any, value any) bool {
	below := func(there any) (any, bool) {
		if len(steps) == 1 {
			return value, true
		}
		_, isIndex := steps[1].(int)
		list, _ := there.([]any)
		switch {
		case isIndex:
			// A list grows up to the element.
			for i, _ := steps[1].(int); len(list) <= i; {
				list = append(list, nil)
			}
			there = list
		case there == nil:
			there = map[string]any{}
		}
		return there, setAt(there, steps[1:], value)
	}
	switch step := steps[0].(type) {
	case string:
		fields, ok := in.(map[string]any)
		if !ok {
			return false
		}
		made, ok := below(fields[step])
		fields[step] = made
		return ok
	case int:
		list, ok := in.([]any)
		if !ok {
			return false
		}
		made, ok := below(list[step])
		list[step] = made
		return ok
	}
	return false
}

// placed returns a map with a value at the end of steps.
func placed(steps []any, value any) map[string]any {
	out := map[string]any{}
	setAt(out, steps, value)
	return out
}

// targetValue returns the value of a targetPath of Flux, which is that of helm --set: one in quotes is a
// text, and a literal one is what it is. It returns false for what Helm would take for several.
func targetValue(v object.Value, literal bool) (any, bool) {
	if literal {
		return v.Text, true
	}
	isText := false
	for _, quote := range []string{"'", `"`} {
		isText = isText || strings.HasPrefix(v.Text, quote) && strings.HasSuffix(v.Text, quote)
	}
	if isText {
		v.Text = strings.Trim(v.Text, `'"`)
	}
	isList := strings.HasPrefix(v.Text, "{")
	if isList != strings.HasSuffix(v.Text, "}") || !isList && withoutSeparators(v.Text) != v.Text {
		return nil, false
	}
	return typed(parameterOf(v, isText)), true
}

// typed returns a value of helm --set, in which numbers are integers.
func typed(v object.Value) any {
	switch v.Kind { //nolint:exhaustive // others are no numbers
	case object.KindNumber:
		number, err := strconv.ParseInt(v.Text, 10, 64)
		if err == nil {
			return number
		}
	case object.KindList:
		out := make([]any, len(v.Items))
		for i, item := range v.Items {
			out[i] = typed(item)
		}
		return out
	}
	return plain(v)
}

// integersIn returns the arguments of Helm that set again the integers below a value: in values they
// would be numbers of YAML, of which 1000000 is printed as 1e+06.
func integersIn(v any, at string, pos object.Pos) []spec.HelmSet {
	var out []spec.HelmSet
	switch v := v.(type) {
	case int64:
		return []spec.HelmSet{{Flag: "--set", Text: at + "=" + strconv.FormatInt(v, 10), Pos: pos}}
	case []any:
		for i, item := range v {
			out = append(out, integersIn(item, fmt.Sprintf("%s[%d]", at, i), pos)...)
		}
	case map[string]any:
		for _, name := range object.SortedKeys(v) {
			escaped := regexp.MustCompile(`[\\.,=\[\]{}]`).ReplaceAllString(name, `\$0`)
			out = append(out, integersIn(v[name], strings.TrimPrefix(at+"."+escaped, "."), pos)...)
		}
	}
	return out
}

// patched returns an Application with a templatePatch over it, by a strategic merge. The project stays
// that of the template.
func (g generating) patched(v, patch object.Value, params map[string]any) (object.Value, error) {
	text, err := g.text(patch.Text, params)
	if err != nil {
		return v, mistake(patch.Pos, "", "templatePatch: %w", err)
	}
	var content any
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		return v, mistake(patch.Pos, "", "templatePatch makes no YAML: %w", err)
	}
	top := valueOf(content, object.Value{Pos: patch.Pos})
	switch top.Kind { //nolint:exhaustive // others are no patch
	case object.KindNull:
		return v, nil
	case object.KindMap:
	default:
		return v, mistake(patch.Pos, "", "templatePatch makes no map")
	}

	// Finalizers are the only list that is merged.
	finalizers := lookup(top, "metadata", "finalizers")
	for _, item := range lookup(v, "metadata", "finalizers").Items {
		if len(finalizers.Items) > 0 && !slices.Contains(texts(finalizers), item.Text) {
			finalizers.Items = append(slices.Clip(finalizers.Items), item)
		}
	}
	out, err := strategic(v, top)
	if len(finalizers.Items) > 0 {
		out = out.Merge(nestedIn([]string{"metadata", "finalizers"}, finalizers))
	}
	project := object.Fields("spec", "project")
	out = out.Without(project)
	if own := lookup(v, "spec", "project"); own.Kind != object.KindNone {
		out = out.Merge(nestedIn([]string{"spec", "project"}, own))
	}
	return out, err
}

// strategic returns a map with a patch over it: null removes a field, and $patch replaces or removes
// a map.
func strategic(v, patch object.Value) (object.Value, error) {
	out := v
	if out.Kind != object.KindMap {
		out = object.Value{Kind: object.KindMap, Pos: patch.Pos}
	}
	below := map[string]object.Value{}
	for _, m := range out.Members {
		below[m.Name] = m.Value
	}
	switch directive := patch.TextOf("$patch"); directive {
	case "":
	case "replace", "delete":
		out.Members, below = nil, nil
		if directive == "delete" {
			return out, nil
		}
	default:
		return out, mistake(patch.Pos, "write replace or delete", "the directive $patch: %s of templatePatch is unknown", directive)
	}
	var changed []object.Member
	for _, m := range patch.Members {
		switch {
		case m.Name == "$patch":
			continue
		case strings.HasPrefix(m.Name, "$"):
			return out, mistake(m.Pos, "", "the directive %s of templatePatch is not carried over", m.Name)
		}
		value := m.Value
		if value.Kind == object.KindMap {
			merged, err := strategic(below[m.Name], value)
			if err != nil {
				return out, err
			}
			value = merged
		}
		changed = append(changed, member(m.Name, value))
	}
	return replaced(out, changed), nil
}

// replaced returns a map with members in place of those of the same names. One that is null is left out.
func replaced(v object.Value, members []object.Member) object.Value {
	names := map[string]bool{}
	for _, m := range members {
		names[m.Name] = true
	}
	out := v
	out.Members = slices.DeleteFunc(slices.Clone(v.Members), func(m object.Member) bool { return names[m.Name] })
	out.Members = append(out.Members, mapOf(v.Pos, members...).Members...)
	return out
}
