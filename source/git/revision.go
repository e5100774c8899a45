// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/storer"

	"github.com/ropewalk/ropewalk/source"
)

// minAbbreviation is the fewest digits that a hash is abbreviated to.
const minAbbreviation = 4

// step leads from one object to another, as what comes after a name in a
// revision says; see gitrevisions(7).
type step struct {
	// how is '~' for the nth of the first parents, '^' for the nth parent, and
	// '{' for what the braces of ^{to} say.
	how byte
	n   int
	to  string
}

// splitRevision splits a revision into a name and what is to be done with it. It
// goes from the end to the start, as git does, because a text in braces may hold
// anything but ^{.
func splitRevision(rev string) (name string, steps []step, err error) {
	for {
		last := len(strings.TrimRight(rev, "0123456789")) - 1
		braces := -1
		if strings.HasSuffix(rev, "}") {
			braces = strings.LastIndex(rev, "^{")
		}
		switch {
		case last >= 0 && (rev[last] == '~' || rev[last] == '^'):
			n := int64(1)
			if digits := rev[last+1:]; digits != "" {
				if n, err = strconv.ParseInt(digits, 10, 32); err != nil {
					return "", nil, noCommit()
				}
			}
			steps, rev = append(steps, step{how: rev[last], n: int(n)}), rev[:last]
		case braces >= 0:
			steps, rev = append(steps, step{how: '{', to: rev[braces+2 : len(rev)-1]}), rev[:braces]
		default:
			slices.Reverse(steps)
			return rev, steps, nil
		}
	}
}

func noCommit() error {
	return source.Refuse(source.ErrNotFound, "the repository has no such commit")
}

func otherForm() error {
	return source.Refuse(source.ErrNotFound, "it is no name of a branch or tag and no hash, nor one of them with ~N, ^N, ^{commit} or ^{/text} after it: "+
		"other forms, such as main@{1}, @{u}, :/text and dates, need the git binary, and a range is not one commit")
}

// resolve finds the commit that a revision leads to.
func (s *stored) resolve(ctx context.Context, rev string) (string, error) {
	name, steps, err := splitRevision(rev)
	if err != nil {
		return "", err
	}
	id, err := s.named(name)
	for i := 0; i < len(steps) && err == nil; i++ {
		id, err = s.follow(ctx, id, steps[i])
	}
	if err != nil {
		return "", err
	}
	id, _, err = s.commit(id)
	return id, err
}

// named finds what a name leads to, which may be no commit: a hash comes before
// references, and those before what a hash is abbreviated to.
func (s *stored) named(name string) (string, error) {
	if hash := strings.ToLower(name); len(hash) == 40 && isHash(hash) {
		return hash, nil
	}
	if name == "@" {
		name = "HEAD"
	}
	if !isRefName(name) {
		return "", otherForm()
	}
	for _, rule := range plumbing.RefRevParseRules {
		ref, err := storer.ResolveReference(s, plumbing.ReferenceName(fmt.Sprintf(rule, name)))
		if err == nil {
			return ref.Hash().String(), nil
		}
	}
	// What git describe prints ends with an abbreviation.
	if i := strings.LastIndex(name, "-g"); i > 0 {
		name = name[i+2:]
	}
	return s.abbreviated(strings.ToLower(name))
}

// abbreviated finds the commit, or the tag that leads to one, whose hash starts
// with some digits.
func (s *stored) abbreviated(start string) (string, error) {
	prefix, err := hex.DecodeString(start[:len(start)&^1])
	if err != nil || len(start) < minAbbreviation {
		return "", noCommit()
	}
	var found []string
	for _, store := range s.stores {
		hashes, err := store.HashesWithPrefix(prefix)
		if err != nil {
			return "", err
		}
		for _, h := range hashes {
			id := h.String()
			if !strings.HasPrefix(id, start) || slices.Contains(found, id) {
				continue
			}
			if _, _, err := s.commit(id); err == nil {
				found = append(found, id)
			}
		}
	}
	switch len(found) {
	case 0:
		return "", noCommit()
	case 1:
		return found[0], nil
	}
	return "", source.Refuse(source.ErrNotFound, fmt.Sprintf("%d commits have hashes that start with %q: add digits", len(found), start))
}

// follow goes one step.
func (s *stored) follow(ctx context.Context, id string, by step) (string, error) {
	if by.how == '{' {
		kind, _, err := s.past(id)
		switch {
		case err != nil:
			return "", err
		case by.to == "object", by.to == kindTag && kind == kindTag:
			return id, nil
		case by.to == kindTag, by.to == kindTree, by.to == kindBlob:
			return "", noCommit()
		case by.to != "" && by.to != kindCommit && by.to[0] != '/':
			return "", otherForm()
		}
	}
	id, text, err := s.commit(id)
	if err == nil && len(by.to) > 1 && by.to[0] == '/' {
		return s.search(ctx, id, by.to[1:])
	}
	parent, times := 1, by.n
	if by.how == '^' {
		parent, times = by.n, min(by.n, 1)
	}
	for ; err == nil && times > 0; times-- {
		id, text, err = s.parent(id, text, parent)
		err = cmp.Or(ctx.Err(), err)
	}
	return id, err
}

// past reads a commit or a tag.
func (s *stored) past(id string) (kind string, text []byte, err error) {
	text, err = s.read(id, func(is string, size int64) error {
		if kind = is; kind != kindTag && kind != kindCommit || size > maxCommit {
			return noCommit()
		}
		return nil
	})
	if err != nil {
		return "", nil, noCommit()
	}
	return kind, text, nil
}

// commit is the commit that an object is, or leads to as a tag.
func (s *stored) commit(id string) (commit string, text []byte, err error) {
	for {
		kind, text, err := s.past(id)
		if err != nil || kind == kindCommit {
			return id, text, err
		}
		line, _, _ := bytes.Cut(text, []byte{'\n'})
		to, ok := strings.CutPrefix(string(line), "object ")
		if !ok || !isHash(to) {
			return "", nil, noCommit()
		}
		id = to
	}
}

// parents are the parents of a commit that are here.
func (s *stored) parents(id string, text []byte) []string {
	if slices.Contains(s.cut, plumbing.NewHash(id)) {
		return nil
	}
	var out []string
	_, text, _ = bytes.Cut(text, []byte{'\n'}) // the tree comes first
	for line := range bytes.Lines(text) {
		parent, ok := strings.CutPrefix(strings.TrimSuffix(string(line), "\n"), "parent ")
		if !ok || !isHash(parent) {
			break
		}
		out = append(out, parent)
	}
	return out
}

// parent is the nth parent of a commit.
func (s *stored) parent(id string, text []byte, n int) (commit string, its []byte, err error) {
	parents := s.parents(id, text)
	if n > len(parents) {
		return "", nil, noCommit()
	}
	return s.commit(parents[n-1])
}

// search finds the youngest commit with a message that an expression matches,
// among a commit and those before it; with !- at the start, one with a message
// that it does not match. Expressions are those of Go, which are those of git
// but for references to groups.
func (s *stored) search(ctx context.Context, from, expression string) (string, error) {
	expression, not := strings.CutPrefix(expression, "!-")
	pattern, err := regexp.Compile("(?s)" + expression)
	if err != nil || strings.HasPrefix(expression, "!") {
		return "", otherForm()
	}
	type dated struct {
		id   string
		text []byte
		at   time.Time
	}
	var waiting []dated // the youngest first
	seen := map[string]bool{}
	for next := []string{from}; ctx.Err() == nil; {
		for _, id := range next {
			if seen[id] {
				continue
			}
			seen[id] = true
			_, text, err := s.commit(id)
			if err != nil {
				return "", err
			}
			_, who, _ := bytes.Cut(text, []byte("\ncommitter "))
			line, _, _ := bytes.Cut(who, []byte{'\n'})
			c := dated{id, text, when(string(line))}
			i := slices.IndexFunc(waiting, func(w dated) bool { return w.at.Before(c.at) })
			if i < 0 {
				i = len(waiting)
			}
			waiting = slices.Insert(waiting, i, c)
		}
		if len(waiting) == 0 {
			return "", noCommit()
		}
		c := waiting[0]
		waiting = waiting[1:]
		if _, message, _ := bytes.Cut(c.text, []byte("\n\n")); pattern.Match(message) != not {
			return c.id, nil
		}
		next = s.parents(c.id, c.text)
	}
	return "", ctx.Err()
}
