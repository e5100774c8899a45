// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"bytes"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// Names of the files of a bundle of Timoni, and of a module of it.
const (
	bundleFile  = "bundle.cue"
	runtimeFile = "runtime.cue"
	timoniFile  = "timoni.cue"
)

// byteOrderMark may begin a text in UTF-8; CUE leaves it out.
const byteOrderMark = "\ufeff"

// chartFile marks the folder of a chart.
const chartFile = "Chart.yaml"

// MaxManifests limits the size of a file of manifests, in bytes.
const MaxManifests = 64 << 20

// kustomizationFiles returns the names that kustomize looks for.
func kustomizationFiles() []string {
	return []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}
}

// composeNames returns the names that Compose looks for.
func composeNames() []string {
	return []string{"compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml"}
}

// holdsOne reports whether a folder with these entries holds a file of one of the names.
func holdsOne(entries []fs.DirEntry, names ...string) bool {
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return slices.Contains(names, e.Name()) && !e.IsDir() })
}

// isComponentFolder reports whether a folder with these entries is the folder of a chart or of a
// kustomization.
func isComponentFolder(entries []fs.DirEntry) bool {
	return holdsOne(entries, append(kustomizationFiles(), chartFile)...)
}

// isForeign reports whether the files of a folder with these entries, and those below it, are
// rendered or read by another tool, or belong to a CUE module.
func isForeign(names []string, depth int) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return name == chartFile || slices.Contains(kustomizationFiles(), name) ||
			name == "cue.mod" && depth > 0
	})
}

// content is the CUE content of a folder.
type content int

const (
	noCUE content = iota
	// cueModule is a cue.mod without a package beside it.
	cueModule
	// cuePackage is at least one file of CUE, with or without a cue.mod.
	cuePackage
)

// contentOf returns the content of a folder with these entries.
func contentOf(entries []fs.DirEntry) content {
	out := noCUE
	for _, e := range entries {
		switch {
		case e.IsDir() && e.Name() == "cue.mod":
			out = max(out, cueModule)
		// CUE leaves out files that begin with a dot or an underscore.
		case e.Type().IsRegular() && path.Ext(e.Name()) == ".cue" && !strings.HasPrefix(e.Name(), ".") && !strings.HasPrefix(e.Name(), "_"):
			out = cuePackage
		}
	}
	return out
}

// extensions returns the extensions of YAML and JSON, in lower case.
func extensions() []string { return []string{".yaml", ".yml", ".json"} }

// IsDocument reports whether a file is YAML or JSON, by its name in any case.
func IsDocument(name string) bool {
	return slices.Contains(extensions(), strings.ToLower(path.Ext(name)))
}

// IsBundleFile reports whether a file has the name by which a folder is read as a bundle.
func IsBundleFile(name string) bool { return path.Base(name) == bundleFile }

// topLevel reports whether a field of that name begins a line. CUE is parsed where it is
// evaluated, behind limits: this only decides what kind of file it is.
func topLevel(name string, data []byte) bool {
	data = bytes.TrimPrefix(data, []byte(byteOrderMark))
	return regexp.MustCompile(`(?m)^(` + name + `|"` + name + `")[ \t]*:`).Match(data)
}

// isBundle reports whether a file called bundle.cue is a bundle of Timoni.
func isBundle(data []byte) bool {
	hasFields := bytes.Contains(data, []byte("apiVersion")) || bytes.Contains(data, []byte("instances"))
	return hasFields && topLevel("bundle", data)
}

// IsTimoni reports whether the folder of a tree holds a module of Timoni.
func IsTimoni(tree fs.FS, folder string) bool {
	_, err := fs.Stat(tree, path.Join(folder, timoniFile))
	return err == nil
}

// manifestVersion and manifestKind match the lines of a manifest with its version and its kind.
var (
	manifestVersion = regexp.MustCompile(`(?m)^(?:apiVersion:[ \t]*["']?|[ \t{]*"apiVersion":[ \t]*")(?:v1|(?:apps|autoscaling|batch|policy|[\w-]+\.[\w.-]+)/v\d\w*)`)
	manifestKind    = regexp.MustCompile(`(?m)^(?:kind:|[ \t{]*"kind":)`)
)

// isManifest reports whether a file seems to be a manifest of Kubernetes, and not a template.
func isManifest(data []byte) bool {
	isTemplate := bytes.Contains(data, []byte("{{"))
	isKustomization := bytes.Contains(data, []byte("kustomize.config.k8s.io/"))
	return !isTemplate && !isKustomization && manifestVersion.Match(data) && manifestKind.Match(data)
}

// holdsManifest reports whether a file that is named holds objects of Kubernetes, and neither a
// document of Ropewalk nor a document that was meant to be.
func holdsManifest(data []byte) bool {
	docs, err := spec.ParseManifests(spec.File{Data: data}, MaxManifests)
	if err != nil {
		ours, _ := spec.Mentions(data)
		return !ours && isManifest(data)
	}
	found := false
	for _, doc := range docs {
		kind, _ := doc.Value.Get("kind")
		version, _ := doc.Value.Get("apiVersion")
		if ours, _ := spec.Mentions([]byte("apiVersion: " + version.Text)); ours || strings.HasPrefix(version.Text, "kustomize.config.k8s.io/") {
			return false
		}
		found = found || kind.Kind == object.KindString && version.Kind == object.KindString
	}
	return found
}

// holdsSpec reports whether a file has a document of Ropewalk or a Score file, in YAML or in JSON,
// or a document that was meant to be. Annotations of Ropewalk have no version behind the group.
func holdsSpec(data []byte) bool {
	data = spec.UTF8(data)
	if slices.ContainsFunc([]string{"ropewalk.dev/v1", "score.dev/v1", "score.sh/v1"}, func(text string) bool {
		return bytes.Contains(data, []byte(text))
	}) {
		return true
	}
	return misses(spec.File{Data: data})
}

// misses reports whether a file has a document that was meant to be a document of Ropewalk.
func misses(file spec.File) bool {
	file.Found = true
	docs, err := spec.Parse([]spec.File{file})
	return err != nil || len(docs.Transforms)+len(docs.Workloads)+len(docs.Projects) > 0
}

// holdsObject reports whether a CUE file seems to make an object of Kubernetes. A file that
// defines something is taken for a library.
func holdsObject(data []byte) bool {
	has := func(expression string) bool { return regexp.MustCompile(expression).Match(data) }
	return has(`\bapiVersion"?:`) && has(`\bkind"?:`) && !has(`(?m)^#\w+"?:`)
}

// emptyFile is the mistake of a file without content.
const emptyFile = "the file is empty"

// unread returns the reason why nothing is read of a file that a reader would take for a spec, or
// "".
func unread(name string, data []byte) string {
	const pointer = "version https://git-lfs.github.com/spec/"
	base := path.Base(name)
	switch {
	// Files of Helm and of kustomize may well be empty.
	case strings.Contains(base, "values"), strings.HasPrefix(base, "kustomization"), strings.ToLower(path.Ext(base)) == ".json":
	case len(bytes.TrimSpace(data)) == 0:
		return emptyFile
	case bytes.HasPrefix(data, []byte(pointer)):
		return "the file is a pointer of Git LFS: what it leads to is not checked out"
	case bytes.IndexByte(data, 0) >= 0:
		return "the file is not text, and is not read"
	}
	return ""
}
