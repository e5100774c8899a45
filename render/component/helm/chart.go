// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/ignore"
	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/render/object"
)

// missing returns the dependencies that the folder charts/ lacks.
func missing(c *chart.Chart) []*chart.Dependency {
	return slices.DeleteFunc(slices.Clone(c.Metadata.Dependencies), func(d *chart.Dependency) bool {
		return slices.ContainsFunc(c.Dependencies(), func(sub *chart.Chart) bool { return sub.Name() == d.Name })
	})
}

// place locates a file of a chart: a file, or a file inside of an archive.
type place struct{ file, inner string }

func (p place) join(name string) place {
	if p.inner != "" {
		return place{p.file, path.Join(p.inner, name)}
	}
	return place{file: path.Join(p.file, name)}
}

// loaded is a chart with the places of its files.
type loaded struct {
	chart *chart.Chart
	root  place
	files map[*common.File]place
	posOf func(name string, line, column int) object.Pos
}

// pos returns the position of a line and column of a file.
func (l *loaded) pos(p place, line, column int) object.Pos {
	if p.inner == "" {
		return l.posOf(p.file, line, column)
	}
	return object.Pos{File: l.posOf(p.file, 0, 0).File + "/" + p.inner, Line: line, Column: column}
}

// load reads the chart in dir, a folder or an archive.
func load(fsys fs.FS, dir string, posOf func(name string, line, column int) object.Pos) (*loaded, error) {
	l := &loaded{files: map[*common.File]place{}, posOf: posOf, root: place{file: path.Clean(dir)}}
	files, err := read(fsys, dir)
	if err != nil {
		return l, err
	}
	if isArchive(dir) {
		l.root.inner = "."
	}
	l.chart, err = loader.LoadFiles(files)
	if err != nil {
		return l, err
	}
	l.locate(l.chart, l.root)
	return l, nil
}

func isArchive(name string) bool {
	return strings.HasSuffix(name, ".tgz") || strings.HasSuffix(name, ".tar.gz")
}

// maxChart limits the bytes of a chart that is no archive, as Helm limits the bytes of an archive.
const maxChart = 100 << 20

// read returns the files of a chart. A folder or an archive that is too large is an error.
func read(fsys fs.FS, dir string) (files []*archive.BufferedFile, err error) {
	dir = path.Clean(dir)

	// Helm reads an archive itself, within bounds of its own.
	if isArchive(dir) {
		data, err := fs.ReadFile(fsys, dir)
		if err != nil {
			return nil, err
		}
		if err := plainFiles(data); err != nil {
			return nil, err
		}
		return archive.LoadArchiveFiles(bytes.NewReader(data))
	}

	// A folder leaves out what .helmignore names.
	rules := ignore.Empty()
	if data, err := fs.ReadFile(fsys, path.Join(dir, ignore.HelmIgnore)); err == nil {
		rules, err = ignore.Parse(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
	}
	rules.AddDefaults()

	// Read the other files, and bound the size of all of them together.
	total := 0
	err = fs.WalkDir(fsys, dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		inside := name
		if dir != "." {
			inside = strings.TrimPrefix(name, dir+"/")
		}
		if skip := rules.Ignore(inside, info); skip || d.IsDir() {
			if skip && d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}

		// A file is bounded as in an archive.
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		total += len(data)
		if int64(len(data)) > archive.MaxDecompressedFileSize || total > maxChart {
			const format = "file %q is too large: a file of a chart has at most %d bytes, and all have %d"
			return fmt.Errorf(format, inside, archive.MaxDecompressedFileSize, maxChart)
		}
		files = append(files, &archive.BufferedFile{Name: inside, Data: bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))})
		return nil
	})
	if err == nil && len(files) == 0 {
		err = errors.New("there are no files")
	}
	return files, err
}

// plainFiles refuses an archive with entries that Helm would leave out, or take for empty files.
func plainFiles(data []byte) error {
	unpacked, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	entries := tar.NewReader(io.LimitReader(unpacked, archive.MaxDecompressedChartSize))
	for {
		h, err := entries.Next()
		switch {
		case err != nil:
			return nil //nolint:nilerr // Helm reads all of it, and says what is wrong.
		case path.IsAbs(h.Name):
			return fmt.Errorf("its file %s has an absolute name", h.Name)
		case !slices.Contains([]byte{tar.TypeReg, tar.TypeDir, tar.TypeXHeader, tar.TypeXGlobalHeader}, h.Typeflag):
			return fmt.Errorf("its entry %s is neither a file nor a folder: package the chart with helm package, which follows links", h.Name)
		}
	}
}

var inCharts = regexp.MustCompile(`^charts/([^/]+)(/Chart\.yaml|\.tgz)$`)

// locate remembers where the files of c are, and puts its subcharts in order: the loader
// leaves that to chance.
func (l *loaded) locate(c *chart.Chart, dir place) {
	for _, f := range slices.Concat(c.Templates, c.Files) {
		l.files[f] = dir.join(f.Name)
	}
	subs := slices.Clone(c.Dependencies())
	slices.SortFunc(subs, func(a, b *chart.Chart) int {
		return cmp.Or(strings.Compare(a.Name(), b.Name()), strings.Compare(a.Metadata.Version, b.Metadata.Version))
	})
	c.SetDependencies(subs...)
	for _, sub := range subs {
		subDir := dir.join("charts/" + sub.Name())
		for _, f := range c.Raw {
			m := inCharts.FindStringSubmatch(f.Name)
			switch {
			case m == nil:
			case m[2] != ".tgz":
				var meta chart.Metadata
				if yaml.Unmarshal(f.Data, &meta) == nil && meta.Name == sub.Name() && meta.Version == sub.Metadata.Version {
					subDir = dir.join(path.Dir(f.Name))
				}
			case m[1] == sub.Name()+"-"+sub.Metadata.Version:
				subDir = dir.join(f.Name)
				if subDir.inner == "" {
					subDir.inner = "."
				}
			}
		}
		l.locate(sub, subDir)
	}
}

// source is a template by the name that the engine gives it.
type source struct {
	place place
	text  string
	// chart is the path of its chart in values: sub.subsub., "" for the chart itself.
	chart string
}

// sources returns the templates of the chart, after its dependencies were processed.
func (l *loaded) sources() map[string]source {
	templates := map[string]source{}
	var add func(c *chart.Chart, values string)
	add = func(c *chart.Chart, values string) {
		for _, t := range c.Templates {
			templates[path.Join(c.ChartFullPath(), t.Name)] = source{place: l.files[t], text: string(t.Data), chart: values}
		}
		for _, sub := range c.Dependencies() {
			add(sub, values+sub.Name()+".")
		}
	}
	add(l.chart, "")
	return templates
}
