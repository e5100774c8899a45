// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/render/object"
)

// git returns a set of parameters for each folder or file of this repository that patterns match.
func (g generating) git(v object.Value) ([]map[string]any, error) {
	if url := lookup(v, "repoURL"); !g.isOwnURL(mapOf(v.Pos, member("repoURL", url), member("path", object.TextAt(".", v.Pos)))) {
		return nil, mistake(url.Pos, "", "the generator reads the repository %s", url.Text)
	}
	prefix := lookup(v, "pathParamPrefix").Text
	var out []map[string]any
	directories, files := lookup(v, "directories").Items, lookup(v, "files").Items
	switch { // Where both are there, Argo CD reads folders alone.
	case len(directories) > 0:
		folders, err := g.foldersLike(directories)
		if err != nil {
			return nil, err
		}
		for _, folder := range folders {
			out = append(out, g.withPath(map[string]any{}, prefix, folder, ""))
		}
	case len(files) > 0:
		names, err := g.filesLike(files)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			more, err := g.fileParameters(name, prefix)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
		}
	default:
		return nil, mistake(v.Pos, "", "the generator names neither directories nor files")
	}
	return g.withValues(out, lookup(v, "values"))
}

// everything is all files of a repository, and all folders that are in no hidden one, sorted.
type everything struct {
	files, folders []string
	// looked is how many names generators have looked at.
	looked int
}

// maxLooked bounds how many names the generators of a repository look at.
const maxLooked = 50_000_000

// names returns all files and folders, which are listed once.
func (g generating) names() (*everything, error) {
	if g.all == nil {
		all := &everything{}
		err := fs.WalkDir(g.repo.FS, ".", func(name string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case len(all.files)+len(all.folders) > maxFiles:
				return fmt.Errorf("the repository has more than %d files and folders", maxFiles)
			case entry.IsDir() && entry.Name() == ".git":
				return fs.SkipDir
			case entry.IsDir() && name != "." && !strings.HasPrefix(name, ".") && !strings.Contains(name, "/."):
				all.folders = append(all.folders, name)
			case entry.Type().IsRegular():
				all.files = append(all.files, name)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		g.all = all
	}
	g.all.looked += len(g.all.files) + len(g.all.folders)
	if g.all.looked > maxLooked {
		return nil, fmt.Errorf("generators look at more than %d files", maxLooked)
	}
	return g.all, g.ctx.Err()
}

// foldersLike returns the folders that patterns match and no excluding one does, sorted.
func (g generating) foldersLike(patterns []object.Value) ([]string, error) {
	all, err := g.names()
	if err != nil {
		return nil, err
	}
	match := func(pattern, name string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	}
	return slices.DeleteFunc(slices.Clone(all.folders), func(name string) bool { return !included(patterns, name, match) }), nil
}

// filesLike returns the files that patterns match, sorted.
func (g generating) filesLike(patterns []object.Value) ([]string, error) {
	all, err := g.names()
	if err != nil {
		return nil, err
	}
	compiled := map[string]*regexp.Regexp{}
	match := func(pattern, name string) bool {
		if compiled[pattern] == nil {
			compiled[pattern] = pathspec(pattern)
		}
		return compiled[pattern].MatchString(name)
	}
	return slices.DeleteFunc(slices.Clone(all.files), func(name string) bool { return !included(patterns, name, match) }), nil
}

// included reports whether a pattern matches and no excluding one does.
func included(patterns []object.Value, name string, match func(pattern, name string) bool) bool {
	found := false
	for _, p := range patterns {
		if !match(path.Clean(p.TextOf("path")), name) {
			continue
		}
		if lookup(p, "exclude").Text == "true" {
			return false
		}
		found = true
	}
	return found
}

// pathspec returns what matches the files that git ls-files lists for a pattern, which is what Argo CD
// runs by default: * stands for slashes too, so that teams/*/team.yaml is also
// teams/red/deep/team.yaml, braces are letters, and a folder without any of these is all that is in it.
func pathspec(pattern string) *regexp.Regexp {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '*':
			b.WriteString(".*")
		case c == '?':
			b.WriteString(".")
		case c == '[' && strings.Contains(pattern[i:], "]"):
			b.WriteString(strings.Replace(pattern[i:i+2], "[!", "[^", 1))
			i++
			for ; pattern[i] != ']'; i++ {
				b.WriteByte(pattern[i+1])
			}
		case c == '\\' && i+1 < len(pattern):
			i++
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		default:
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		}
	}
	if !strings.ContainsAny(pattern, "*?[") {
		b.WriteString("(?:/.*)?")
	}
	matcher, err := regexp.Compile("^(?s:" + b.String() + ")$")
	if err != nil { // A set of letters that is none matches nothing.
		return regexp.MustCompile(`^[^\x00-\x{10FFFF}]$`)
	}
	return matcher
}

// fileParameters returns the parameters in a file: those of a map, or of each map in a list; an empty
// file is an empty map. Without Go they are texts, with dots in their names.
func (g generating) fileParameters(name, prefix string) ([]map[string]any, error) {
	data, err := readFile(g.repo.FS, name)
	if err != nil {
		return nil, err
	}
	var content any
	if err := yaml.Unmarshal(data, &content); err != nil {
		return nil, mistake(object.Pos{File: name}, "", "the file is no YAML: %w", err)
	}
	items, list := content.([]any)
	switch {
	case content == nil:
		items = []any{map[string]any{}}
	case !list:
		items = []any{content}
	}
	var out []map[string]any
	for _, item := range items {
		fields, ok := item.(map[string]any)
		if !ok {
			return nil, mistake(object.Pos{File: name}, "", "the file holds no parameters: expected a map, or a list of maps")
		}
		if !g.goTemplate {
			flat := map[string]any{}
			flatten(flat, "", fields)
			for name, value := range flat {
				flat[name] = fmt.Sprint(value)
			}
			fields = flat
		}
		out = append(out, g.withPath(fields, prefix, path.Dir(name), path.Base(name)))
	}
	return out, nil
}

// withPath returns parameters with those of a folder, and of a file in it.
func (g generating) withPath(params map[string]any, prefix, folder, file string) map[string]any {
	out := maps.Clone(params)
	segments := strings.Split(folder, "/")
	if g.goTemplate {
		at := map[string]any{"path": folder, "basename": path.Base(folder), "basenameNormalized": normalize(path.Base(folder)), "segments": segments}
		if file != "" {
			at["filename"], at["filenameNormalized"] = file, normalize(file)
		}
		if prefix != "" {
			out[prefix] = map[string]any{"path": at}
		} else {
			out["path"] = at
		}
		return out
	}
	name := "path"
	if prefix != "" {
		name = prefix + ".path"
	}
	out[name] = folder
	out[name+".basename"] = path.Base(folder)
	out[name+".basenameNormalized"] = normalize(path.Base(folder))
	for i, segment := range segments {
		out[name+"["+strconv.Itoa(i)+"]"] = segment
	}
	if file != "" {
		out[name+".filename"], out[name+".filenameNormalized"] = file, normalize(file)
	}
	return out
}

// withValues returns parameters with the values of their generator, which may use them.
func (g generating) withValues(all []map[string]any, values object.Value) ([]map[string]any, error) {
	if len(values.Members) == 0 {
		return all, nil
	}
	for _, params := range all {
		own := map[string]string{}
		for _, m := range values.Members {
			text, err := g.text(m.Value.Written(), params)
			if err != nil {
				return nil, mistake(m.Pos, "", "%w", err)
			}
			own[m.Name] = text
		}
		if g.goTemplate {
			params["values"] = own
			continue
		}
		for name, text := range own {
			params["values."+name] = text
		}
	}
	return all, nil
}

// inCluster returns the parameters of the clusters whose Secrets are in the repository, and of the
// one that Argo CD runs in.
func (g generating) inCluster(v object.Value) ([]map[string]any, error) {
	const local = "https://kubernetes.default.svc"
	selector := lookup(v, "selector")
	if err := checkSelector(selector); err != nil {
		return nil, err
	}
	var out []map[string]any
	hasLocal := false
	for _, w := range g.written.objects {
		labels := w.at("metadata", "labels")
		if w.TextOf("kind") != kindSecret || labels.TextOf("argocd.argoproj.io/secret-type") != "cluster" || !selects(selector, plainMap(labels)) {
			continue
		}
		data, ok := secretData(w, w.Pos)
		if !ok {
			g.warn(w.Pos, "", "%s is a cluster, and its values are in the cluster alone: no Application is expanded for it", w.named(""))
			continue
		}
		fields := object.Value{Kind: object.KindMap, Members: data}
		name := cmp.Or(fields.TextOf("name"), w.named("").Name)
		hasLocal = hasLocal || fields.TextOf("server") == local
		params := map[string]any{"name": name, "nameNormalized": normalize(name), "server": fields.TextOf("server"), "project": fields.TextOf("project")}
		g.addMetadata(params, w)
		out = append(out, params)
	}
	isAny := len(lookup(selector, "matchLabels").Members)+len(lookup(selector, "matchExpressions").Items) == 0
	switch {
	case isAny && !hasLocal: // Nothing but its name is known of it.
		out = append(out, map[string]any{"name": "in-cluster", "nameNormalized": "in-cluster", "server": local, "project": ""})
	case !isAny && len(out) == 0:
		return nil, mistake(v.Pos, "add their Secrets to the repository, with stringData", "the clusters of the generator are in no file of the repository")
	}
	out, err := g.withValues(out, lookup(v, "values"))
	if lookup(v, "flatList").Text == "true" {
		out = []map[string]any{{"clusters": out}}
	}
	return out, err
}

// addMetadata adds the labels and annotations of the Secret of a cluster to its parameters.
func (g generating) addMetadata(params map[string]any, w Written) {
	meta := map[string]any{}
	for _, name := range []string{"annotations", "labels"} {
		fields := map[string]string{}
		for _, m := range w.at("metadata", name).Members {
			fields[m.Name] = m.Value.Written()
			if !g.goTemplate {
				params["metadata."+name+"."+m.Name] = m.Value.Written()
			}
		}
		if len(fields) > 0 {
			meta[name] = fields
		}
	}
	if g.goTemplate {
		params["metadata"] = meta
	}
}

// plainMap returns a map as encoding/json has it.
func plainMap(v object.Value) map[string]any {
	out, _ := plain(v).(map[string]any)
	if out == nil {
		out = map[string]any{}
	}
	return out
}

// selected returns the parameters that a selector of labels matches.
func selected(all []map[string]any, selector object.Value) []map[string]any {
	return slices.DeleteFunc(all, func(params map[string]any) bool {
		flat := map[string]any{}
		flatten(flat, "", params)
		return !selects(selector, flat)
	})
}

// checkSelector returns what is wrong with a selector of labels.
func checkSelector(selector object.Value) error {
	for _, rule := range lookup(selector, "matchExpressions").Items {
		values := len(lookup(rule, "values").Items)
		switch operator := rule.TextOf("operator"); operator {
		case "In", "NotIn":
			if values == 0 {
				return mistake(rule.Pos, "", "the operator %s of a selector has values", operator)
			}
		case "Exists", "DoesNotExist":
			if values > 0 {
				return mistake(rule.Pos, "", "the operator %s of a selector has no values", operator)
			}
		default:
			return mistake(rule.Pos, "write In, NotIn, Exists or DoesNotExist", "the operator %q of a selector is unknown", operator)
		}
	}
	return nil
}

// selects reports whether a selector of labels matches.
func selects(selector object.Value, labels map[string]any) bool {
	for _, m := range lookup(selector, "matchLabels").Members {
		if value, there := labels[m.Name]; !there || fmt.Sprint(value) != m.Value.Written() {
			return false
		}
	}
	for _, rule := range lookup(selector, "matchExpressions").Items {
		value, there := labels[rule.TextOf("key")]
		in := slices.Contains(texts(lookup(rule, "values")), fmt.Sprint(value))
		matches := map[string]bool{"In": there && in, "NotIn": !there || !in, "Exists": there, "DoesNotExist": !there}
		if !matches[rule.TextOf("operator")] {
			return false
		}
	}
	return true
}
