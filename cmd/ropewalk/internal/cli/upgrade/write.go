// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/source/lock"
)

// edit is a text in a file that another one takes the place of.
type edit struct {
	at       object.Pos
	from, to string
}

// write edits the references in their places, and brings the lock up to date.
func (u *upgrading) write(ctx context.Context) error {
	files := map[string][]byte{}
	var mistakes object.Errors
	for _, e := range u.edits() {
		text, known := files[e.at.File]
		if !known {
			var err error
			text, err = command.ReadRegular(e.at.File)
			if err != nil {
				return err
			}
		}
		text, err := e.apply(text)
		if err != nil {
			mistakes = append(mistakes, err)
			continue
		}
		files[e.at.File] = text
	}
	if len(mistakes) > 0 {
		return mistakes.Sorted()
	}
	for _, name := range object.SortedKeys(files) {
		if err := rewrite(name, files[name]); err != nil {
			return err
		}
		u.out.Written = append(u.out.Written, name)
	}
	return u.writeLock(ctx)
}

// edits returns the edits of all upgrades, the last of each file first, so that the places of the
// others stay the same.
func (u *upgrading) edits() (out []edit) {
	for _, up := range u.out.Upgrades {
		if up.New == "" {
			continue
		}
		for _, p := range up.places {
			e := edit{at: p.Pos, from: up.Ref, to: up.New}
			if p.Version.IsValid() {
				e = edit{at: p.Version, from: up.versions[0], to: up.versions[1]}
			}
			if p.Digest.IsValid() {
				out = append(out, edit{at: p.Digest, from: digestOf(up.Ref), to: digestOf(up.New)})
			}
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b edit) int { return b.at.Compare(a.at) })
	return slices.CompactFunc(out, func(a, b edit) bool { return a.at == b.at })
}

// digestOf returns the digest of a reference, which is behind its @.
func digestOf(ref string) string {
	_, digest, _ := strings.Cut(ref, "@")
	return digest
}

// apply edits a text. A reference that is written in another way than it reads, such as with
// escapes, or in parts, is an error.
func (e edit) apply(text []byte) ([]byte, *object.Error) {
	offset := 0
	for range e.at.Line - 1 {
		next := bytes.IndexByte(text[offset:], '\n')
		if next < 0 {
			offset = len(text)
			break
		}
		offset += next + 1
	}
	offset = min(offset+max(e.at.Column-1, 0), len(text))
	if offset < len(text) && (text[offset] == '"' || text[offset] == '\'') {
		offset++
	}
	rest, ok := bytes.CutPrefix(text[offset:], []byte(e.from))
	if !ok || len(rest) > 0 && !bytes.ContainsAny(rest[:1], "\"' \t\r\n,}]") {
		return nil, &object.Error{
			Stage: object.StageResolve, Pos: e.at, Err: fmt.Errorf("%q is not written here in one piece, and cannot be edited", e.from),
			Hint: "write " + e.to + " yourself, or leave it out with --only",
		}
	}
	return slices.Concat(text[:offset], []byte(e.to), rest), nil
}

// rewrite writes a file that the user has: it stays the one that a link leads to, with its mode.
func rewrite(name string, data []byte) error {
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return &command.EnvironmentError{Err: err}
	}
	info, err := os.Stat(real)
	if err != nil {
		return &command.EnvironmentError{Err: err}
	}
	if err := command.WriteFile(real, data); err != nil {
		return err
	}
	if err := os.Chmod(real, info.Mode().Perm()); err != nil {
		return &command.EnvironmentError{Err: err}
	}
	return nil
}

// writeLock replaces the entries of what was upgraded, and keeps all others.
func (u *upgrading) writeLock(ctx context.Context) error {
	// A project without a lock gets none.
	if !u.hasLock {
		return nil
	}
	next := u.locked
	for _, up := range u.out.Upgrades {
		if up.To == "" {
			continue
		}
		entry := lock.Source{Type: up.Type, Ref: up.Ref, Path: up.Path, Revision: up.next.Revision, Pinned: up.next.Pinned, Digest: up.next.Digest}
		if up.New != "" {
			entry.Ref = up.New
		}
		next = next.Add(entry)
	}

	// Write the lock before the project is loaded with it.
	name := command.LockFile(u.paths)
	if err := u.saveLock(name, next); err != nil {
		return err
	}
	// What the new versions depend on, and what the old ones did, is known once all is loaded.
	flags := u.flags.ProjectFlags
	flags.Sources.Record = &lock.Recorder{}
	_, err := u.load(ctx, &flags)
	var mistakes object.Errors
	switch {
	case errors.As(err, &mistakes):
		u.Note("ropewalk: the references are written, and %s is not complete: run \"ropewalk lock\"\n", name)
		return err
	case err != nil:
		return err
	}

	// Take the recorded sources and modules as the new lock.
	u.out.Written = append(u.out.Written, name)
	next = flags.Sources.Record.File()
	next.Images = u.locked.Images
	if next.Images != nil {
		u.Note("ropewalk: the images in %s are those from before: run \"ropewalk lock\"\n", name)
	}
	return u.saveLock(name, next)
}

func (u *upgrading) saveLock(name string, file lock.File) error {
	data, err := file.Bytes()
	if err != nil {
		return err
	}
	return command.WriteFile(name, data)
}
