// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/internal/reftype"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// chartFile is the file that makes a folder a chart.
const chartFile = "Chart.yaml"

// maxDependencies limits the charts that one chart may pull in.
const maxDependencies = 100

// exactVersion matches a version that is not a range.
var exactVersion = regexp.MustCompile(`^v?[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]+)?$`)

// chartOf returns the reference of a chart that is in no source, and false for others.
func chartOf(h spec.Helm) (spec.CueRef, bool) {
	ref := spec.CueRef{
		Pos:           h.Chart.Pos,
		RefPos:        h.Chart.Pos,
		TypePos:       h.Chart.Pos,
		VersionPos:    h.Version.Pos,
		PullSecretRef: h.PullSecretRef,
		Verify:        h.Verify,
	}
	switch {
	case h.Repo.Text != "":
		ref.Type = spec.RefType(reftype.Helm)
		ref.Ref = h.Repo.Text + "?chart=" + url.QueryEscape(h.Chart.Text)
		if h.Version.Text != "" {
			ref.Ref += "&version=" + url.QueryEscape(h.Version.Text)
		}
		return ref, true
	case !strings.HasPrefix(h.Chart.Text, "oci://"):
		return ref, false
	}
	ref.Type = spec.RefType(reftype.OCI)
	ref.Ref = h.Chart.Text
	switch {
	case h.Version.Text == "" && strings.ContainsAny(path.Base(ref.Ref), ":@?"):
	case exactVersion.MatchString(h.Version.Text):
		ref.Ref += ":" + strings.ReplaceAll(h.Version.Text, "+", "_") // OCI tags have no plus.
	default:
		// A plus is a plus in this query, and no space: ">= 1.8" is ">%3D%201.8".
		ref.Ref += "?semver=" + strings.ReplaceAll(url.QueryEscape(cmp.Or(h.Version.Text, "*")), "+", "%20")
	}
	return ref, true
}

// chartFiles returns the files of a chart with its values files. Dependencies that are not in its
// folder are fetched and mounted.
func chartFiles(ctx context.Context, c spec.Component, f *files) ([]string, error) {
	// Values files are in the project or in the source.
	var errs object.Errors
	fail := func(pos object.Pos, at object.Path, hint, format string, args ...any) {
		errs = append(errs, &object.Error{Stage: object.StageResolve, Pos: pos, Path: at.String(), Err: fmt.Errorf(format, args...), Hint: hint})
	}
	var names []string
	for i, p := range c.Helm.ValuesFiles {
		name := path.Join(f.dir, p.Text)
		at := c.Path.Append(object.Field("valuesFiles"), object.Index(i))
		switch info, err := statIn(f, name); {
		case err != nil:
			fail(p.Pos, at, cmp.Or(nearest(f, name, false), "a path is relative to this file, or to the source"), "%q: %v", p.Text, err)
		case info.IsDir():
			fail(p.Pos, at, "name a file of YAML or JSON", "%q is a folder", p.Text)
		default:
			names = append(names, name)
		}
	}

	// The chart is an archive or a folder.
	dir := path.Join(f.dir, c.Helm.Chart.Text)
	at := c.Path.Append(object.Field("chart"))
	info, err := statIn(f, dir)
	switch {
	case err != nil:
		hint := cmp.Or(nearest(f, dir, true), "write the path of a folder with "+chartFile+", oci://…, or name the repository in repo")
		fail(c.Helm.Chart.Pos, at, hint, "%q: %v", c.Helm.Chart.Text, err)
		return nil, errs
	case !info.IsDir():
		return append(names, dir), errs.Err()
	}
	if _, err := fs.Stat(f, path.Join(dir, chartFile)); err != nil {
		fail(c.Helm.Chart.Pos, at, "", "%q holds no %s: it is no chart", c.Helm.Chart.Text, chartFile)
		return nil, errs
	}

	// All files of the folder belong to it, and the files of dependencies.
	chartNames, err := tree(f, dir)
	var link *object.Error
	switch {
	case errors.As(err, &link):
		return nil, append(errs, link)
	case err != nil:
		fail(c.Helm.Chart.Pos, at, "", "read %q: %v", c.Helm.Chart.Text, err)
		return nil, errs
	}
	laid, missing := f.fetchChartDependencies(ctx, dir)
	names = slices.Concat(names, chartNames, laid)
	slices.Sort(names) // Values files may be in the folder of the chart.
	return slices.Compact(names), append(errs, missing...).Err()
}

// statIn describes a file that a component names.
func statIn(f *files, name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, errors.New("leaves the root")
	}
	info, err := fs.Stat(f, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("does not exist")
	}
	return info, err
}

// tree returns the files below a folder, but for hidden folders. A link that cannot be followed is
// an error, as for Helm.
func tree(f *files, dir string) (out []string, err error) {
	err = fs.WalkDir(f, dir, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && name != dir && strings.HasPrefix(e.Name(), "."):
			return fs.SkipDir
		case e.Type()&fs.ModeSymlink != 0:
			_, err := e.Info()
			return err
		case !e.IsDir():
			out = append(out, name)
		}
		return nil
	})
	return out, err
}

// fetchChartDependencies fetches the dependencies in the chart of a folder that are not in its
// folder charts, and returns their files.
func (f *files) fetchChartDependencies(ctx context.Context, dir string) (names []string, errs object.Errors) {
	// Chart.lock has versions that Chart.yaml leaves open.
	read := func(name string) object.Value {
		data, err := fs.ReadFile(f, path.Join(dir, name))
		if err != nil {
			return object.Value{}
		}
		// The engine reports what is no YAML, at its line.
		v, _ := spec.ParseValue(spec.File{Name: f.place(path.Join(dir, name)).File, Data: data})
		return v
	}
	wanted, _ := read(chartFile).Get("dependencies")
	locked, _ := read("Chart.lock").Get("dependencies")
	present, _ := fs.ReadDir(f, path.Join(dir, "charts")) // It may not exist.

	// Charts in the folder charts need no fetch.
	for i, d := range wanted.Items {
		name := textOf(d, "name")
		version := textOf(d, "version")
		repo := textOf(d, "repository")
		isPresent := slices.ContainsFunc(present, func(e fs.DirEntry) bool {
			isArchive := strings.HasPrefix(e.Name(), name+"-") && path.Ext(e.Name()) == ".tgz"
			return isArchive || e.Name() == name || e.Name() == textOf(d, "alias")
		})
		if name == "" || isPresent {
			continue
		}
		for _, lock := range locked.Items {
			if textOf(lock, "name") == name && textOf(lock, "repository") == repo {
				version = cmp.Or(textOf(lock, "version"), version)
			}
		}
		textAt := func(text string) spec.Text { return spec.Text{Text: text, Pos: d.Pos} }
		fetched, e := f.fetchDependency(ctx, dir, spec.Helm{Chart: textAt(name), Repo: textAt(repo), Version: textAt(version)})
		names = append(names, fetched...)
		if e != nil {
			e.Path = fmt.Sprintf("dependencies[%d]", i)
			errs = append(errs, e)
		}
	}
	return names, errs
}

// fetchDependency fetches one dependency of the chart in dir.
func (f *files) fetchDependency(ctx context.Context, dir string, h spec.Helm) ([]string, *object.Error) {
	name := h.Chart.Text
	repo := h.Repo.Text
	fail := func(hint, format string, args ...any) *object.Error {
		return &object.Error{Stage: object.StageResolve, Pos: h.Chart.Pos, Err: fmt.Errorf(format, args...), Hint: hint}
	}

	// The chart is mounted where Helm looks for it.
	folder := path.Join(dir, "charts", name)
	switch {
	case len(f.mounts) > maxDependencies:
		return nil, fail("", "the chart needs more than %d others", maxDependencies)
	case strings.HasPrefix(repo, "file://"):
		local := path.Join(dir, strings.TrimPrefix(repo, "file://"))
		_, err := statIn(f, local)
		if err == nil {
			var sub fs.FS
			sub, err = fs.Sub(f, local)
			f.mounts = append(f.mounts, mount{folder, f.place(local).File, sub})
		}
		if err != nil {
			return nil, fail("", "the chart %q, %q: %v", name, repo, err)
		}
	case strings.HasPrefix(repo, "https://"), strings.HasPrefix(repo, "http://"), strings.HasPrefix(repo, "oci://"):
		if strings.HasPrefix(repo, "oci://") {
			h.Chart.Text = strings.TrimSuffix(repo, "/") + "/" + name
			h.Repo.Text = ""
		}
		ref, _ := chartOf(h)
		w, ok := f.modules.reference(ref, nil)
		if !ok {
			return nil, fail("", "the chart %q of %s cannot be fetched here", name, repo)
		}
		w.key.files = true
		if err := f.modules.fetch(ctx, []reference{w}); err != nil {
			return nil, fail("", "%w", err)
		}
		if err := f.modules.errs[w.key]; err != nil {
			return nil, fail("run helm dependency build, which puts it into the folder charts", "the chart %q of %s: %w", name, repo, err)
		}
		fetched := f.modules.trees[w.key]
		f.addSource("chart "+name, fetched)
		f.mounts = append(f.mounts, mount{folder, fetched.Origin, fetched.FS})
	default:
		const hint = "run helm dependency build, which puts it into the folder charts"
		return nil, fail(hint, "the chart %q is not in the folder charts, and %q is no repository that can be fetched", name, repo)
	}

	// It may have dependencies of its own.
	names, err := tree(f, folder)
	var link *object.Error
	switch {
	case errors.As(err, &link):
		return nil, link
	case err != nil:
		return nil, fail("", "read the chart %q: %v", name, err)
	}
	further, errs := f.fetchChartDependencies(ctx, folder)
	if len(errs) > 0 {
		return nil, errs[0]
	}
	return append(names, further...), nil
}

// textOf returns the text of a field of a map, or "".
func textOf(v object.Value, name string) string {
	f, _ := v.Get(name)
	return f.Text
}
