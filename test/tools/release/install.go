// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"embed"
	"slices"
	"strings"
	"text/template"
)

//go:embed templates
var templates embed.FS

// system is an operating system of the formula, with its archives.
type system struct {
	Name     string
	Archives []formulaArchive
}

type formulaArchive struct{ CPU, File, Sum string }

// writeInstallers writes install.sh, the component of GitLab and the formula of Homebrew, for the archives that are there.
func (r *release) writeInstallers() error {
	var systems []system
	for _, os := range []struct{ formula, goos string }{{"macos", "darwin"}, {"linux", "linux"}} {
		s := system{Name: os.formula}
		for _, cpu := range []struct{ formula, goarch string }{{"arm", "arm64"}, {"intel", "amd64"}} {
			platform := os.goos + "/" + cpu.goarch
			if !slices.Contains(r.Platforms, platform) {
				continue
			}
			sum, err := r.checksum(r.archiveName(platform))
			if err != nil {
				return err
			}
			s.Archives = append(s.Archives, formulaArchive{CPU: cpu.formula, File: r.archiveName(platform), Sum: sum})
		}
		if s.Archives != nil {
			systems = append(systems, s)
		}
	}
	for _, name := range []string{"install.sh", "ropewalk.rb", "gitlab.yml"} {
		t, err := template.ParseFS(templates, "templates/"+name)
		if err != nil {
			return err
		}
		var out bytes.Buffer
		if err := t.Execute(&out, map[string]any{"Repository": repository, "Version": r.Version, "Systems": systems}); err != nil {
			return err
		}
		if err := r.write(name, []byte(strings.TrimLeft(out.String(), "\n"))); err != nil {
			return err
		}
	}
	return nil
}
