// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Case is what every way to render is asked for.
type Case struct {
	// Repository is the name of one, and Dir the folder of a project in it.
	Repository, Dir string
	// Environment is "" for none, and Dialect one of emit.
	Environment, Dialect string
	// Values are files, relative to Dir, and Set is values, as the flags take them.
	Values, Set []string
	// Namespace and KubeVersion are those of the cluster; "" is not said.
	Namespace, KubeVersion string
	// Bare says that the folder holds no document of ours, and is a module itself.
	Bare bool
	// What is said of the case in its name.
	What string
}

// Name says what is asked.
func (c Case) Name() string {
	parts := []string{c.Dir, c.Environment, c.What, c.Dialect}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), ", ")
}

// Repositories that cases are about.
const (
	Examples = "examples"
	Projects = "projects"
	Mistakes = "mistakes"
)

// All are the cases: every example that renders, as its users would, and what the
// examples lack.
func All() []Case {
	var out []Case
	for _, dialect := range []string{"plain", "argocd", "flux"} {
		for _, c := range []Case{
			{Repository: Examples, Dir: "shop"},
			{Repository: Examples, Dir: "environments", Environment: "staging"},
			{Repository: Examples, Dir: "environments", Environment: "prod"},
			{Repository: Examples, Dir: "workloads"},
			{Repository: Examples, Dir: "workloads", Environment: "dev"},
			{Repository: Examples, Dir: "workloads", Environment: "prod"},
			{Repository: Projects, Dir: "secrets"},
			{Repository: Projects, Dir: "plain", Environment: "prod"},
			{Repository: Projects, Dir: "clusters", Environment: "prod"},
			{Repository: Projects, Dir: "components"},
			{Repository: Projects, Dir: "components", Environment: "prod"},
		} {
			c.Dialect = dialect
			out = append(out, c)
		}
	}
	shop := []string{"storefront:autoscaling.max=12", `storefront:ingress.hosts=["a.example", "b.example"]`, "catalog:env.NOTE=a: b=c"}
	for _, c := range []Case{
		{Dir: "plain"},
		{Dir: "timoni"},
		{Dir: "timoni/module", Bare: true, Set: []string{"replicas=3"}},
		{Dir: "shared/web", Bare: true, Set: []string{"name=web", "tag=1.29-alpine"}},
		{Dir: "timoni", What: "set", Set: []string{"replicas=5", "image=registry.example/app:2.0"}},
		{Dir: "plain", What: "files of values", Values: []string{"values/more.yaml", "web:values/web.yaml"}},
		{
			Dir: "plain", What: "environment, values and set", Environment: "prod", Values: []string{"values/more.yaml"},
			Set: []string{"web:replicas=7", `api:notes["a.example"]=x y`},
		},
		{Dir: "shared/kustomize/overlay", Bare: true},
		{Dir: "shared/chart", Bare: true, Set: []string{"replicas=3", "lib.v=4"}},
		{Dir: "components", What: "set", Set: []string{"chart:helm.values.replicas=4", "kustomized:kustomize.namePrefix=b-"}},
		{Dir: "plain", What: "namespace and version of the cluster", Namespace: "other", KubeVersion: "1.34"},
		{Repository: Examples, Dir: "shop", What: "set", Set: shop},
		{Repository: Examples, Dir: "workloads", What: "set", Environment: "prod", Set: []string{"frontend:metadata.replicas=4"}},
	} {
		if c.Repository == "" {
			c.Repository = Projects
		}
		c.Dialect = "argocd"
		out = append(out, c)
	}
	return out
}

// Locked are the folders of projects whose modules are locked, as Repository and Dir
// of a case: those with modules that are part of the command too.
func Locked() []Case {
	return []Case{
		{Repository: Examples, Dir: "shop"},
		{Repository: Examples, Dir: "environments"},
		{Repository: Examples, Dir: "workloads"},
		{Repository: Projects, Dir: "secrets"},
		{Repository: Projects, Dir: "clusters"},
	}
}

// Mistaken are cases that cannot be rendered, each by one mistake. They are of any
// dialect.
func Mistaken() []Case {
	out := []Case{{Repository: Examples, Dir: "violation"}}
	for _, dir := range []string{
		"absent", "chart-required", "chart-subchart", "chart-values", "cycle", "field", "kustomize-leaves", "kustomize-patch",
		"module", "overlays", "policy", "schema", "syntax", "type",
	} {
		out = append(out, Case{Repository: Mistakes, Dir: dir})
	}
	return out
}

var (
	//go:embed projects.txtar
	projects string
	//go:embed mistakes.txtar
	mistakes string
)

// Write writes the files of a repository into a folder. Root is the folder of this
// project, which has the examples.
func Write(root, repository, dir string) error {
	switch repository {
	case Examples:
		return os.CopyFS(dir, os.DirFS(filepath.Join(root, "cue", "examples")))
	case Projects:
		return extract(projects, dir)
	case Mistakes:
		return extract(mistakes, dir)
	}
	return fmt.Errorf("there is no repository %q", repository)
}

// extract writes the files of a txtar archive. The package of others that reads them
// is not among the modules that test/e2e has.
func extract(archive, dir string) error {
	const begin, end = "\n-- ", " --\n"
	for _, part := range strings.Split("\n"+strings.TrimSuffix(archive, "\n"), begin)[1:] { // what is before the first is a comment
		name, text, ok := strings.Cut(part, end)
		if !ok {
			return fmt.Errorf("a file of the archive has no name: %q", part)
		}
		if text != "" {
			text += "\n" // that of the next file
		}
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}
