// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package reftype is the table of the types of references to modules: what a
// document may write as cueRef.type, and what each type takes.
//
// # Invariants
//
// A new type is one entry here, one backend package below source, and one line in
// plugin/host/fetch that connects the two. The enum of the CRD in plugin/api is
// generated from a marker; a test compares it with this table.
package reftype

import (
	"slices"
	"strings"
)

// Names of the types.
const (
	Path      = "path"
	Embedded  = "embedded"
	Inline    = "inline"
	ConfigMap = "configmap"
	Git       = "git"
	OCI       = "oci"
	Flux      = "source"
	// Helm is a chart of an HTTP repository, and HTTP a file by its URL.
	Helm = "helm"
	HTTP = "http"
)

// Type describes a type of references without asking its backend.
type Type struct {
	Name string
	// Remote types are fetched from a server: they take pullSecretRef and verify,
	// and need the network. The host fetches the others by itself.
	Remote bool
	// Locked types have an entry in ropewalk.lock. The others are part of the
	// project itself.
	Locked bool
	// Policed types name their server in the reference, so that a pull policy can
	// judge it.
	Policed bool
	// Pinned reports whether a reference always resolves to one revision; nil for types
	// whose references never do.
	Pinned func(ref string) bool
	// Absent says why an adapter has no fetcher for the type, for its error; "" where every adapter
	// has a fetcher.
	Absent string
	// Files says that the type is one of files that components are built of, and that no
	// module is.
	Files bool
}

// All returns the types in the order in which errors and documents list them.
func All() []Type {
	return []Type{
		{Name: Path},
		{Name: Embedded, Locked: true},
		{Name: Inline},
		{Name: ConfigMap},
		{Name: Git, Remote: true, Locked: true, Policed: true, Pinned: hasCommit},
		{Name: OCI, Remote: true, Locked: true, Policed: true, Pinned: hasDigest},
		{Name: Flux, Remote: true, Locked: true, Absent: "a Flux source is an object of a cluster"},
		{Name: Helm, Remote: true, Locked: true, Policed: true, Files: true, Pinned: hasArchive},
		{Name: HTTP, Remote: true, Locked: true, Policed: true, Pinned: hasSum, Files: true},
	}
}

// Names returns the names of the types that modules have, in the order of [All].
func Names() []string {
	var out []string
	for _, t := range All() {
		if !t.Files {
			out = append(out, t.Name)
		}
	}
	return out
}

// Of returns the type of a name; false if there is no such type. A type that the table does not
// have is treated like a remote type that is locked.
func Of(name string) (Type, bool) {
	all := All()
	if i := slices.IndexFunc(all, func(t Type) bool { return t.Name == name }); i >= 0 {
		return all[i], true
	}
	return Type{Name: name, Remote: true, Locked: true}, false
}

// Pinned reports whether a reference of a type always resolves to one revision: an OCI
// reference with a digest, and a commit of Git.
func Pinned(name, ref string) bool {
	t, _ := Of(name)
	return t.Pinned != nil && t.Pinned(ref)
}

func hasCommit(ref string) bool {
	_, query, _ := strings.Cut(ref, "?")
	return slices.ContainsFunc(strings.Split(query, "&"), func(option string) bool { return strings.HasPrefix(option, "commit=") })
}

func hasArchive(ref string) bool { return strings.Contains(ref, "&digest=sha256:") }

func hasSum(ref string) bool { return strings.Contains(ref, "#sha256=") }

func hasDigest(ref string) bool { return strings.Contains(ref, "@sha256:") }

// SplitFolder takes the folder off a reference to a Git repository as the command line has it:
// URL//FOLDER, or URL?OPTIONS//FOLDER. It is "" for a reference without a folder.
func SplitFolder(ref string) (repository, folder string) {
	if i := strings.LastIndex(ref, "//"); i > 0 && ref[i-1] != ':' {
		return ref[:i], ref[i+len("//"):]
	}
	return ref, ""
}
