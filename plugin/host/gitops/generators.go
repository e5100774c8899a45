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
	if directories := lookup(v, "directories"); len(directories.Items) > 0 {
		folders, err := g.foldersLike(directories.Items)
		if err != nil {
			return nil, err
		}
		for _, folder := range folders {
			out = append(out, g.withPath(map[string]any{}, prefix, folder, ""))
		}
	}
	if files := lookup(v, "files"); len(files.Items) > 0 {
		names, err := g.filesLike(files.Items)
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

// fileParameters returns the parameters in a file: those of a map, or of each map in a list.
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
	if !list {
		items = []any{content}
	}
	var out []map[string]any
	for _, item := range items {
		fields, ok := item.(map[string]any)
		if !ok {
			return nil, mistake(object.Pos{File: name}, "", "the file holds no parameters: expected a map, or a list of maps")
		}
		out = append(out, g.withPath(g.shaped(fields), prefix, path.Dir(name), path.Base(name)))
	}
	return out, nil
}

// withPath returns parameters with those of a folder, and of a file in it.
func (g generating) withPath(params map[string]any, prefix, folder, file string) map[string]any {
	out := maps.Clone(params)
	segments := strings.Split(folder, "/")
	if g.goTemplate {
		at := map[string]any{"path": folder, "basename": path.Base(folder), "basenameNormalized": normalize(path.Base(folder)), "segments": anyOf(segments)}
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

// anyOf returns texts as a list that templates index.
func anyOf(in []string) []any {
	out := make([]any, len(in))
	for i, text := range in {
		out[i] = text
	}
	return out
}

// withValues returns parameters with the values of their generator, which may use them.
func (g generating) withValues(all []map[string]any, values object.Value) ([]map[string]any, error) {
	if len(values.Members) == 0 {
		return all, nil
	}
	for _, params := range all {
		own := map[string]any{}
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
	selector := lookup(v, "selector")
	var out []map[string]any
	for _, w := range g.written.objects {
		labels := w.at("metadata", "labels")
		if w.TextOf("kind") != "Secret" || labels.TextOf("argocd.argoproj.io/secret-type") != "cluster" || !selects(selector, plainMap(labels)) {
			continue
		}
		name := cmp.Or(w.text("stringData", "name"), w.named("").Name)
		out = append(out, g.clusterParameters(name, w.text("stringData", "server"), w.at("metadata")))
	}
	if len(selector.Members) == 0 {
		out = append(out, g.clusterParameters("in-cluster", "https://kubernetes.default.svc", object.Value{}))
	} else if len(out) == 0 {
		return nil, mistake(v.Pos, "add their Secrets to the repository, with stringData", "the clusters of the generator are in no file of the repository")
	}
	return g.withValues(out, lookup(v, "values"))
}

// clusterParameters returns the parameters of a cluster.
func (g generating) clusterParameters(name, server string, metadata object.Value) map[string]any {
	fields := map[string]any{"name": name, "nameNormalized": normalize(name), "server": server, "project": ""}
	meta := map[string]any{"labels": plainMap(lookup(metadata, "labels")), "annotations": plainMap(lookup(metadata, "annotations"))}
	if g.goTemplate {
		fields["metadata"] = meta
		return fields
	}
	flatten(fields, "metadata", meta)
	return fields
}

// plainMap returns a map as encoding/json has it.
func plainMap(v object.Value) map[string]any {
	out, _ := plain(v).(map[string]any)
	if out == nil {
		out = map[string]any{}
	}
	return out
}
