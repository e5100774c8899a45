// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// keyedFiles returns the files of all containers, each with a key of its own.
func (l *lowering) keyedFiles() []keyedFile {
	var all []keyedFile
	for i := range l.r.Containers {
		c := &l.r.Containers[i]
		for j := range c.Files {
			all = append(all, keyedFile{l: l, container: i, name: c.Spec.Name, file: &c.Files[j]})
		}
	}
	if len(all) > 0 {
		nameFiles(all)
	}
	return all
}

// nameFiles gives each file its key: the container and the path with . for /. Files whose keys
// would be the same all get a hash of container and path at the end, so that none depends on
// which of them comes first. A plain key that equals a hashed one becomes hashed too, and two
// equal short hashes become long.
func nameFiles(all []keyedFile) {
	hashed := make([]int, len(all))
	for {
		users := make(map[string][]int, len(all))
		for i := range all {
			all[i].key = fileKey(all[i], hashed[i])
			users[all[i].key] = append(users[all[i].key], i)
		}
		clash := false
		for i := range all {
			if len(users[all[i].key]) > 1 && hashed[i] < fullHash {
				hashed[i]++
				clash = true
			}
		}
		if !clash {
			return
		}
	}
}

// fullHash is how often the key of a file can be made longer.
const fullHash = 2

// fileKey returns the key of a file: with no hash, a short one or a full one.
func fileKey(p keyedFile, hashed int) string {
	const most = 253
	full := p.name + p.file.Spec.Target
	key := []byte(full)
	for i, c := range key {
		switch {
		case c == '/':
			key[i] = '.'
		case !isKeyByte(c):
			key[i] = '_'
		}
	}
	tail := ""
	switch {
	case hashed == 1:
		tail = "-" + object.ShortHash(full)
	case hashed > 1:
		sum := sha256.Sum256([]byte(full))
		tail = "-" + hex.EncodeToString(sum[:])
	}
	return object.Shorten(string(key), most-len(tail)) + tail
}

// largestObject is what a ConfigMap or a Secret holds at most, in bytes of keys
// and values.
const largestObject = 1 << 20

// checkSize reports an object that is too large for a cluster, and names what takes the most room
// in it.
func (l *lowering) checkSize(what string, n int, size func(i int) int, at func(i int) (object.Pos, object.Path)) {
	total := 0
	for i := range n {
		total += size(i)
	}
	if total <= largestObject {
		return
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(size(b), size(a)) })
	const named = 3
	var largest []string
	for _, i := range order[:min(n, named)] {
		_, path := at(i)
		largest = append(largest, fmt.Sprintf("%s (%d)", path, size(i)))
	}
	pos, path := at(order[0])
	l.fail(pos, path, "put large files into the image or a volume",
		"%s has %d bytes, at most %d fit; the largest: %s", what, total, largestObject, strings.Join(largest, ", "))
}
