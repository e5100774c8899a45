// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

// Compose returns the table of a Compose document; compose files have the form of their own
// specification.
func Compose() Document {
	return Whole("Compose", "Compose files whose services become workloads.",
		Field{Name: "metadata", Kind: fields, Doc: "Name of the document.", Fields: []Field{
			{Name: "name", Kind: text, Doc: "Begins the names of volumes that several services share."},
		}},
		Field{Name: "spec", Kind: fields, Need: true, Fields: []Field{
			{Name: "files", Kind: list, Least: 1, Need: true, Each: full(), Hint: "write files: [compose.yaml], or the one that it is", Doc: "Compose files relative to the document; later ones are laid over earlier ones."},
			{Name: "profiles", Kind: list, Each: loose(), Doc: "Profiles that are active."},
			{Name: "envFile", Kind: text, Loose: true, Or: []Field{{Kind: list, Each: loose()}}, Doc: "Files of variables, relative to the document; .env beside the first compose file where absent."},
		}},
	)
}
