// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// entry is a file of an archive or of a layer of the image.
type entry struct {
	name string // relative, with slashes
	mode int64
	kind byte // tar.TypeReg where 0
	link string
	data []byte
}

// writeArchives writes the archive of each platform.
func (r *release) writeArchives(ctx context.Context) error {
	common, err := r.completions(ctx)
	if err != nil {
		return err
	}
	for _, name := range []string{"LICENSE", "README.md"} {
		data, err := os.ReadFile(filepath.Join(r.Root, name))
		if err != nil {
			return err
		}
		common = append(common, entry{name: name, mode: 0o644, data: r.alone(data)})
	}
	for _, platform := range r.Platforms {
		files, suffix := slices.Clone(common), ""
		if strings.HasPrefix(platform, "windows/") {
			suffix = ".exe"
		}
		for _, name := range []string{"ropewalk", "ropewalk-components"} {
			data, err := os.ReadFile(r.programs[platform+" "+name])
			if err != nil {
				return err
			}
			files = append(files, entry{name: name + suffix, mode: 0o755, data: data})
		}
		name := r.archiveName(platform)
		folder := strings.TrimSuffix(strings.TrimSuffix(name, ".tar.gz"), ".zip")
		data, err := pack(files, folder, r.time, suffix != "")
		if err != nil {
			return err
		}
		if err := r.write(name, data); err != nil {
			return err
		}
	}
	return nil
}

// relative is a link of Markdown or HTML to a file of the repository, or an image there.
var relative = regexp.MustCompile(`(\]\(|(?:src|srcset)=")([a-zA-Z.][^):"]*[)"])`)

// alone is a page that reads well without the repository: its links lead there, as it was at this
// version.
func (r *release) alone(page []byte) []byte {
	return relative.ReplaceAll(page, []byte("${1}https://github.com/ropewalk/ropewalk/blob/"+r.Version+"/${2}"))
}

// archiveName is the name of the archive of a platform; install.sh knows it too.
func (r *release) archiveName(platform string) string {
	name := "ropewalk_" + r.Version + "_" + strings.ReplaceAll(platform, "/", "_")
	if strings.HasPrefix(platform, "windows/") {
		return name + ".zip"
	}
	return name + ".tar.gz"
}

// completions asks the command, built for this machine, for what shells complete by.
func (r *release) completions(ctx context.Context) ([]entry, error) {
	host := runtime.GOOS + "/" + runtime.GOARCH
	program, ok := r.programs[host+" ropewalk"]
	if !ok {
		program = filepath.Join(r.work, "host", "ropewalk")
		if err := r.build(ctx, host, "ropewalk", program); err != nil {
			return nil, err
		}
	}
	var out []entry
	for _, shell := range []struct{ name, file string }{
		{"bash", "ropewalk.bash"}, {"zsh", "_ropewalk"}, {"fish", "ropewalk.fish"}, {"powershell", "ropewalk.ps1"},
	} {
		data, err := exec.CommandContext(ctx, program, "completion", shell.name).Output() //nolint:gosec // just built
		if err != nil {
			return nil, err
		}
		out = append(out, entry{name: "completions/" + shell.file, mode: 0o644, data: data})
	}
	return out, nil
}

// pack makes a zip, or a .tar.gz, of files below a folder.
func pack(files []entry, folder string, at time.Time, zipped bool) ([]byte, error) {
	files = slices.Clone(files)
	for i := range files {
		files[i].name = path.Join(folder, files[i].name)
	}
	if zipped {
		return zipOf(files, at)
	}
	data, err := tarOf(files, at)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	err = w.Close() // before the bytes are taken
	return out.Bytes(), err
}

// tarOf writes entries sorted by name, of root and of one time.
func tarOf(files []entry, at time.Time) ([]byte, error) {
	slices.SortFunc(files, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: f.mode, Typeflag: cmp.Or(f.kind, tar.TypeReg), Linkname: f.link, Size: int64(len(f.data)), ModTime: at}
		if f.kind == tar.TypeDir {
			h.Name += "/"
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close() // before the bytes are taken
	return out.Bytes(), err
}

func zipOf(files []entry, at time.Time) ([]byte, error) {
	slices.SortFunc(files, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		h.SetMode(os.FileMode(f.mode)) //nolint:gosec // permissions
		to, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := to.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close() // before the bytes are taken
	return out.Bytes(), err
}
