// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package starter

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cue"
)

// The prefix all: takes files along whose names begin with a dot.
//
//go:embed all:files
var files embed.FS

// Names of what the templates are written for.
const (
	templateModule  = "example.com/starter"
	templatePackage = "starter"
	templateVersion = "@VERSION"
	languageVersion = "v0.15.0"
)

// Kinds returns the kinds of modules to start from. The first is the default.
func Kinds() []string { return []string{"webservice", "workload", "provisioner", "policy", "timoni"} }

// Name is the name of a module: its path in a registry with its major version.
type Name struct {
	Path, Major string
}

// String returns PATH@vN.
func (n Name) String() string { return n.Path + "@" + n.Major }

// ParseName reads PATH@vN, or PATH, which is of major version 0.
func ParseName(text string) (Name, error) {
	at, major, ok := strings.Cut(text, "@")
	if !ok {
		major = "v0"
	}
	if !regexp.MustCompile(`^v(0|[1-9][0-9]*)$`).MatchString(major) {
		return Name{}, fmt.Errorf("%q does not end in a major version such as @v0", text)
	}
	const part = `[a-z0-9]+([._-][a-z0-9]+)*`
	if !regexp.MustCompile(`^` + part + `\.` + part + `(/` + part + `)+$`).MatchString(at) {
		return Name{}, fmt.Errorf("%q is not the path of a module: expected a domain and names in lower case, such as example.com/web", at)
	}
	return Name{Path: at, Major: major}, nil
}

// Default returns the name of a module in a folder of that name.
func Default(folder string) Name {
	name := strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(folder), "-"), "-")
	if name == "" {
		name = "module"
	}
	return Name{Path: "example.com/" + name, Major: "v0"}
}

// pkg returns the name of the package: the end of the path, as an identifier.
func (n Name) pkg() string {
	name := regexp.MustCompile(`[^a-z0-9]`).ReplaceAllString(path.Base(n.Path), "")
	if name == "" || name[0] <= '9' {
		name = "m" + name
	}
	return name
}

// Files returns the files of a new module, by path: its package, cases, the schema, and files for
// CI systems, which install the given version of the command. There is no README.
func Files(kind string, name Name, version string) (map[string][]byte, error) {
	out := map[string][]byte{
		"cue.mod/module.cue": fmt.Appendf(nil, "module: %q\nlanguage: version: %q\n", name.String(), languageVersion),
	}
	for _, dir := range []string{"common", kind} {
		sub, err := fs.Sub(files, path.Join("files", dir))
		if err != nil {
			return nil, err
		}
		if err := add(out, sub, "", func(text string) string {
			text = strings.ReplaceAll(string(command.WithoutLicence([]byte(text))), templateModule, name.Path)
			if kind == "timoni" { // Its packages have the names that Timoni wants, and its versions no v.
				text = regexp.MustCompile(`\$MODULE:\$(VERSION|GITHUB_REF_NAME|CI_COMMIT_TAG)`).ReplaceAllString(text, "$$MODULE:$${${1}#v}")
			} else {
				text = regexp.MustCompile(`\b`+templatePackage+`\b`).ReplaceAllString(text, name.pkg())
			}
			return strings.ReplaceAll(text, templateVersion, "@"+version)
		}); err != nil {
			return nil, err
		}
	}
	if kind == "timoni" { // It imports no schema.
		return out, nil
	}
	return out, add(out, cue.Schema(), path.Join("cue.mod/pkg", cue.SchemaPath), func(text string) string { return text })
}

// add adds the files of a tree below a folder.
func add(to map[string][]byte, from fs.FS, folder string, edit func(string) string) error {
	return fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(from, name)
		to[path.Join(folder, name)] = []byte(edit(string(data)))
		return err
	})
}
