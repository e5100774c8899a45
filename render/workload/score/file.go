// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package score

import (
	"encoding/base64"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// The limits of files.
const (
	// maxFile limits the bytes of a file, as a ConfigMap or a Secret holds it.
	maxFile = 1 << 20
	// maxPath limits the bytes of a path, as Linux does.
	maxPath = 4096
)

// target is a file or volume of a container and its path.
type target struct {
	entry
	// path is absolute and has no superfluous parts; "" if it has a mistake.
	path string
}

// rejectPath reports a mistake at the path of t.
func (t target) rejectPath(hint, format string, args ...any) {
	t.failAt(t.namePos, t.loc, hint, format, args...)
}

// mounts decodes the files and the volumes of a container, and checks that they do not exclude
// each other.
func (e entry) mounts() ([]File, []Mount) {
	files, volumes := e.field("files").targets(), e.field("volumes").targets()
	taken := make(map[string]object.Pos, len(files))
	var (
		outFiles  []File
		outMounts []Mount
	)

	// Two things cannot be at one path.
	for _, t := range files {
		outFiles = append(outFiles, t.file())
		if t.path != "" && strings.HasSuffix(t.name, "/") {
			t.rejectPath("write the path of the file", "%s is a folder", shown(t.name))
		}
		t.checkOnce(taken)
	}

	// Volumes share the paths with the files.
	isFile := make(map[string]bool, len(files))
	for _, t := range files {
		isFile[t.path] = t.path != ""
	}
	for _, t := range volumes {
		outMounts = append(outMounts, t.mount())
		t.checkOnce(taken)
	}

	// Nothing can be below a file.
	for _, t := range append(slices.Clone(files), volumes...) {
		for up := path.Dir(t.path); len(up) > 1; up = path.Dir(up) {
			if isFile[up] {
				t.rejectPath("", "%s is below %s, which is a file", shown(t.path), shown(up))
				break
			}
		}
	}

	// The order of a document changes nothing.
	slices.SortFunc(outFiles, func(a, b File) int { return strings.Compare(a.Target, b.Target) })
	slices.SortFunc(outMounts, func(a, b Mount) int { return strings.Compare(a.Target, b.Target) })
	return outFiles, outMounts
}

// checkOnce reports a second file or volume at one path.
func (t target) checkOnce(taken map[string]object.Pos) {
	if t.path == "" {
		return
	}
	if first, twice := taken[t.path]; twice {
		t.rejectPath("", "another file or volume is at %s already, in line %d", shown(t.path), first.Line)
		return
	}
	taken[t.path] = t.namePos
}

// targets returns the entries of a map from path to file or volume. Older files have a list
// instead.
func (p part) targets() []target {
	if !p.given() {
		return nil
	}
	var out []target
	if p.Kind != object.KindList {
		for _, e := range p.entries() {
			t := target{entry: e}
			t.path = e.absolute(e.namePos, e.loc, e.name)
			if inner, ok := e.Get("target"); ok && inner.Text != e.name {
				e.failAt(inner.Pos, e.loc.To("target"), "remove target", "differs from the path that is its key")
			}
			out = append(out, t)
		}
		return out
	}

	// The older form.
	p.advise("write a map from path to what is there", "a list is an older form")
	for _, item := range p.parts() {
		path := item.field("target")
		t := target{entry: entry{part: item, name: path.Text, namePos: path.Pos}}
		if path.given() {
			t.path = p.absolute(path.Pos, path.loc, path.Text)
		}
		out = append(out, t)
	}
	return out
}

// absolute returns a path in a container without superfluous parts, or "" after it reported a
// mistake in it.
func (d *decoder) absolute(pos object.Pos, loc *location, name string) string {
	problem, hint := "", ""
	clean := path.Clean(name)
	switch {
	case name == "":
		problem = "must not be empty"
	case len(name) > maxPath:
		problem = "is longer than the " + strconv.Itoa(maxPath) + " bytes that a path may have"
	case name[0] != '/':
		problem, hint = "is relative: expected a path from the root of the container", "write "+shown(path.Clean("/"+name))
	case slices.Contains(strings.Split(name, "/"), ".."):
		problem, hint = `may not hold ".."`, "write "+shown(clean)
	case clean == "/":
		problem = "is the root of the container"
	case strings.ContainsAny(name, ":\x00\n"):
		problem = "may not hold a colon, a line break or a zero byte"
	default:
		d.warnLiteral(pos, loc, name, useValue)
		return clean
	}
	d.failAt(pos, loc, hint, "%s %s", shown(name), problem)
	return ""
}

// file decodes one file.
func (t target) file() File {
	out := File{Target: t.path, Pos: t.namePos, NoExpand: t.field("noExpand").flag()}
	content, binary, source := t.field("content"), t.field("binaryContent"), t.field("source")
	if content.given() {
		out.Content, out.Indent = content.content()
	}
	if binary.given() {
		out.Binary = binary.base64()
		if !out.NoExpand {
			t.warnLiteral(binary.Pos, binary.loc, string(out.Binary), "use content for text")
		}
	}
	if source.given() {
		path := source.asText()
		if strings.HasPrefix(path.Value, "/") {
			source.reject("", "%s is absolute: expected a path relative to the document", shown(path.Value))
		}
		out.Source = &path
	}

	if secret := t.field("secret"); secret.flag() {
		out.Secret = secret.Pos
	}

	// The mode is in octal digits.
	if mode := t.field("mode"); mode.given() {
		n, _ := strconv.ParseUint(mode.Text, 8, 16) // Octal, as the table says.
		bits := int(n)                              //nolint:gosec // three octal digits fit
		out.Mode, out.ModePos = &bits, mode.Pos
	}

	// Check the content of the file.
	if sources := count(content, binary, source); sources != 1 && !t.Known(t.loc.Path()) {
		t.rejectPath("", "a file has one of content, binaryContent and source, got %d", sources)
	}
	if n := max(len(out.Binary), len(out.text())); n > maxFile {
		t.rejectPath("put large data into an image or a volume",
			"%s has %d bytes, more than the %d that a ConfigMap can hold", shown(t.name), n, maxFile)
	}
	return out
}

func (f File) text() string {
	if f.Content == nil {
		return ""
	}
	return f.Content.Value
}

// content decodes the text of a file, and returns the number of columns that its lines are
// indented by. Older files have a list of lines.
func (p part) content() (text *Text, indent int) {
	if p.Kind == object.KindList {
		p.advise("write a block scalar: content: |", "a list of lines is an older form")
		lines := make([]string, 0, len(p.Items))
		for _, item := range p.parts() {
			lines = append(lines, item.Text)
		}
		out := Text{Value: strings.Join(lines, "\n"), Pos: p.Pos}
		if len(p.Items) > 0 {
			out.Pos = p.Items[0].Pos
		}
		return &out, 0
	}
	out := p.asText()
	if b, ok := p.doc.Blocks[p.Pos]; ok {
		out.Pos, indent = b.Pos, b.Indent
	}
	return &out, indent
}

// base64 decodes the content of a file that is not text.
func (p part) base64() []byte {
	t := p.asText()
	out, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(t.Value), ""))
	if err != nil {
		p.reject("write the content in base64 (RFC 4648), or use content for text", "is not base64")
	}
	if out == nil {
		out = []byte{}
	}
	return out
}

// mount decodes one volume.
func (t target) mount() Mount {
	out := Mount{
		Target: t.path, Pos: t.namePos, ReadOnly: t.field("readOnly").flag(),
		Source: t.field("source").asText(), Path: t.field("path").asText(),
	}
	if p := t.field("path"); p.given() {
		p.warnLiterals(useValue)
		if strings.HasPrefix(p.Text, "/") || slices.Contains(strings.Split(p.Text, "/"), "..") {
			p.reject("", `%s must be relative to the volume, without ".."`, shown(p.Text))
		}
	}
	if old := t.field("read_only"); old.given() {
		old.advise("write readOnly", "read_only is an older name")
		out.ReadOnly = old.flag()
	}
	return out
}
