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
	// maxFile is how many bytes a ConfigMap or a Secret can hold.
	maxFile = 1 << 20
	// maxPath is how long a path of Linux may be.
	maxPath = 4096
)

// target is something that is put at a path of a container.
type target struct {
	entry
	// path is absolute and has no superfluous parts; "" where it is wrong.
	path string
}

// wrong reports a mistake at the path of t.
func (t target) wrong(hint, format string, args ...any) {
	t.decoder.fail(t.namePos, t.at, hint, format, args...)
}

// mounts decodes the files and the volumes of a container, and checks that they do not exclude
// each other.
func (e entry) mounts() ([]File, []Mount) {
	files, volumes := e.get("files").targets(), e.get("volumes").targets()
	taken := make(map[string]object.Pos, len(files))
	var (
		outFiles  []File
		outMounts []Mount
	)

	// Two things cannot be at one path.
	for _, t := range files {
		outFiles = append(outFiles, t.file())
		if t.path != "" && strings.HasSuffix(t.name, "/") {
			t.wrong("write the path of the file", "%s is a folder", shown(t.name))
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
				t.wrong("", "%s is below %s, which is a file", shown(t.path), shown(up))
				break
			}
		}
	}

	// The order of a document changes nothing.
	slices.SortFunc(outFiles, func(a, b File) int { return strings.Compare(a.Target, b.Target) })
	slices.SortFunc(outMounts, func(a, b Mount) int { return strings.Compare(a.Target, b.Target) })
	return outFiles, outMounts
}

// checkOnce reports a second thing at one path.
func (t target) checkOnce(taken map[string]object.Pos) {
	if t.path == "" {
		return
	}
	if first, twice := taken[t.path]; twice {
		t.wrong("", "another file or volume is at %s already, in line %d", shown(t.path), first.Line)
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
			t.path = e.absolute(e.namePos, e.at, e.name)
			if same, ok := e.Get("target"); ok && same.Text != e.name {
				e.decoder.fail(same.Pos, e.at.To("target"), "remove target", "differs from the path that is its key")
			}
			out = append(out, t)
		}
		return out
	}

	// The older form.
	p.warn("write a map from path to what is there", "a list is an older form")
	for _, item := range p.items() {
		at := item.get("target")
		t := target{entry: entry{part: item, name: at.Text, namePos: at.Pos}}
		if at.given() {
			t.path = p.absolute(at.Pos, at.at, at.Text)
		}
		out = append(out, t)
	}
	return out
}

// absolute returns a path in a container without superfluous parts, or "" if it is wrong, which
// is reported.
func (d *decoder) absolute(pos object.Pos, at *location, name string) string {
	bad, hint := "", ""
	clean := path.Clean(name)
	switch {
	case name == "":
		bad = "must not be empty"
	case len(name) > maxPath:
		bad = "is longer than the " + strconv.Itoa(maxPath) + " bytes that a path may have"
	case name[0] != '/':
		bad, hint = "is relative: expected a path from the root of the container", "write "+shown(path.Clean("/"+name))
	case slices.Contains(strings.Split(name, "/"), ".."):
		bad, hint = `may not hold ".."`, "write "+shown(clean)
	case clean == "/":
		bad = "is the root of the container"
	case strings.ContainsAny(name, ":\x00\n"):
		bad = "may not hold a colon, a line break or a zero byte"
	default:
		d.warnLiteral(pos, at, name, useValue)
		return clean
	}
	d.fail(pos, at, hint, "%s %s", shown(name), bad)
	return ""
}

// file decodes one file.
func (t target) file() File {
	out := File{Target: t.path, Pos: t.namePos, NoExpand: t.get("noExpand").flag()}
	content, binary, source := t.get("content"), t.get("binaryContent"), t.get("source")
	if content.given() {
		out.Content, out.Indent = content.content()
	}
	if binary.given() {
		out.Binary = binary.base64()
		if !out.NoExpand {
			t.warnLiteral(binary.Pos, binary.at, string(out.Binary), "use content for text")
		}
	}
	if source.given() {
		from := source.text()
		if strings.HasPrefix(from.Value, "/") {
			source.fail("", "%s is absolute: expected a path relative to the document", shown(from.Value))
		}
		out.Source = &from
	}

	if secret := t.get("secret"); secret.flag() {
		out.Secret = secret.Pos
	}

	// The mode is in octal digits.
	if mode := t.get("mode"); mode.given() {
		n, _ := strconv.ParseUint(mode.Text, 8, 16) // Octal, as the table says.
		bits := int(n)                              //nolint:gosec // three octal digits fit
		out.Mode, out.ModePos = &bits, mode.Pos
	}

	// Check what the file holds.
	if given := count(content, binary, source); given != 1 && !t.Known(t.at.Path()) {
		t.wrong("", "a file has one of content, binaryContent and source, got %d", given)
	}
	if n := max(len(out.Binary), len(out.text())); n > maxFile {
		t.wrong("put large data into an image or a volume", "%s has %d bytes, more than the %d that a ConfigMap can hold", shown(t.name), n, maxFile)
	}
	return out
}

func (f File) text() string {
	if f.Content == nil {
		return ""
	}
	return f.Content.Value
}

// content decodes the text of a file, and returns how many columns its lines are indented by.
// Older files have a list of lines.
func (p part) content() (text *Text, indent int) {
	if p.Kind == object.KindList {
		p.warn("write a block scalar: content: |", "a list of lines is an older form")
		lines := make([]string, 0, len(p.Items))
		for _, item := range p.items() {
			lines = append(lines, item.Text)
		}
		out := Text{Value: strings.Join(lines, "\n"), Pos: p.Pos}
		if len(p.Items) > 0 {
			out.Pos = p.Items[0].Pos
		}
		return &out, 0
	}
	out := p.text()
	if b, ok := p.doc.Blocks[p.Pos]; ok {
		out.Pos, indent = b.Pos, b.Indent
	}
	return &out, indent
}

// base64 decodes the content of a file that is no text.
func (p part) base64() []byte {
	t := p.text()
	out, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(t.Value), ""))
	if err != nil {
		p.fail("write the content in base64 (RFC 4648), or use content for text", "is not base64")
	}
	if out == nil {
		out = []byte{}
	}
	return out
}

// mount decodes one volume.
func (t target) mount() Mount {
	out := Mount{Target: t.path, Pos: t.namePos, Source: t.get("source").text(), Path: t.get("path").text(), ReadOnly: t.get("readOnly").flag()}
	if p := t.get("path"); p.given() {
		p.warnLiterals(useValue)
		if strings.HasPrefix(p.Text, "/") || slices.Contains(strings.Split(p.Text, "/"), "..") {
			p.fail("", `%s must be relative to the volume, without ".."`, shown(p.Text))
		}
	}
	if old := t.get("read_only"); old.given() {
		old.warn("write readOnly", "read_only is an older name")
		out.ReadOnly = old.flag()
	}
	return out
}
