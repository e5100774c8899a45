// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package lock

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/source/strictyaml"
)

// maxBytes limits the text of a lock: some twenty thousand entries.
const maxBytes = 8 << 20

// Parse reads the text of a file, which errors call by name. The error is a *strictyaml.Error.
func Parse(name string, data []byte) (File, error) {
	p := parser{strictyaml.Reader{Name: name}}
	var out File
	if len(data) > maxBytes {
		p.Fail(nil, "the file is larger than %d bytes", maxBytes)
	} else {
		fields := p.Document(data, APIVersion, Kind, "sources", "modules", "images")
		out.Sources = readList(&p, fields["sources"], p.readSource)
		out.Modules = readList(&p, fields["modules"], p.readModule)
		out.Images = readList(&p, fields["images"], p.readImage)
		if out.Images == nil && fields["images"] != nil {
			out.Images = []Image{}
		}
	}
	if err := p.Err(`delete the file and run "ropewalk lock", or restore it from version control`, nil); err != nil {
		return File{}, err
	}
	return out.sorted(), nil
}

type parser struct{ strictyaml.Reader }

// readList reads a list of entries, each once.
func readList[E any](p *parser, node *yaml.Node, read func(*yaml.Node) (e E, key string)) []E {
	var out []E
	seen := map[string]int{}
	for _, item := range p.List(node, "sources, modules and images") {
		e, key := read(item)
		if line, twice := seen[key]; twice {
			p.Fail(item, "this entry is in line %d already", line)
		}
		seen[key] = item.Line
		out = append(out, e)
	}
	return out
}

func (p *parser) readSource(n *yaml.Node) (Source, string) {
	fields := p.Fields(n, "a source", "type", "ref", "path", "revision", "pinned", "digest")
	s := Source{
		Type: p.readText(n, fields, "type"), Ref: p.readText(n, fields, "ref"), Digest: p.readDigest(n, fields),
		Path: p.Text(fields["path"], "path"), Revision: p.Text(fields["revision"], "revision"), Pinned: p.Text(fields["pinned"], "pinned"),
	}
	if s.Type != "" && !Locks(s.Type) {
		p.Fail(fields["type"], "references of type %q are never locked", s.Type)
	}
	return s, strings.Join([]string{s.Type, s.Ref, s.Path}, "\x00")
}

func (p *parser) readModule(n *yaml.Node) (Module, string) {
	fields := p.Fields(n, "a module", "module", "version", "digest")
	m := Module{Module: p.readText(n, fields, "module"), Version: p.readText(n, fields, "version"), Digest: p.readDigest(n, fields)}
	return m, m.Module + "\x00" + m.Version
}

func (p *parser) readImage(n *yaml.Node) (Image, string) {
	fields := p.Fields(n, "an image", "image", "digest")
	i := Image{Image: p.readText(n, fields, "image"), Digest: p.readDigest(n, fields)}
	return i, i.Image
}

// readText returns the text of a field of an entry. If the field is missing, that is a mistake.
func (p *parser) readText(n *yaml.Node, fields map[string]*yaml.Node, name string) string {
	return p.Text(p.Need(n, fields, "the entry", name), name)
}

func (p *parser) readDigest(n *yaml.Node, fields map[string]*yaml.Node) string {
	digest := p.readText(n, fields, "digest")
	hex, ok := strings.CutPrefix(digest, "sha256:")
	isDigest := ok && len(hex) == 64 && strings.Trim(hex, "0123456789abcdef") == ""
	if digest != "" && !isDigest {
		p.Fail(fields["digest"], "%q is not a digest: expected sha256: and 64 digits of 0-9a-f", digest)
	}
	return digest
}
