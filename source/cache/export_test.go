// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import "github.com/ropewalk/ropewalk/source"

// OnStep calls f at every point of a write where a crash leaves something
// else behind.
func (s *Store) OnStep(f func(point string)) { s.step = f }

// Waiting is how many callers wait for fetches.
func (f *Fetcher) Waiting() int { return f.fetches.Waiting() }

// Checking is how many callers wait for checks.
func (f *Fetcher) Checking() int { return f.checks.Waiting() }

// FileOf is the path of an entry below the directory of the store.
func FileOf(kind, key string) string { return fileOf(kind, key) }

// Scrub hides credentials in a reference.
func Scrub(ref string) string { return scrub(ref) }

// Content is the content of the file of an entry.
func Content(raw []byte, kind, key string) ([]byte, bool) { return cutHeader(raw, kind, key) }

// Pack is the canonical tar of a tree.
func Pack(tree source.Tree) ([]byte, error) { return pack(tree) }

// Unpack is the tree of a canonical tar of that digest.
func Unpack(data []byte, digest string, limits source.Limits) (source.Tree, error) {
	return unpack(data, pointer{Digest: digest, Dir: "."}, limits)
}
