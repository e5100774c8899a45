// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package emit

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

// maxFileName limits a file name, in bytes; file systems allow 255.
const maxFileName = 200

// fileNames names the file of each node: <wave>-<kind>-<namespace>-<name>.yaml in lower case.
// Names that collide get the group of their kind, and, if that does not distinguish them, a hash
// of the identity. The names depend only on the set of nodes, not on its order.
func fileNames(waves []order.Wave) map[object.ID]string {
	width := max(2, len(strconv.Itoa(max(0, len(waves)-1))))
	names := map[object.ID]string{}
	for i, wave := range waves {
		number := strconv.Itoa(i)
		prefix := strings.Repeat("0", width-len(number)) + number
		for id, name := range waveNames(prefix, wave.Nodes) {
			names[id] = name
		}
	}
	return names
}

// waveNames names the files of one wave.
func waveNames(prefix string, nodes []*object.Node) map[object.ID]string {
	names := make(map[object.ID]string, len(nodes))
	for _, n := range nodes {
		names[n.ID] = fileName(prefix, n, false, false)
	}
	for _, hash := range []bool{false, true} {
		count := map[string]int{}
		for _, name := range names {
			count[name]++
		}
		for _, n := range nodes {
			if count[names[n.ID]] > 1 {
				names[n.ID] = fileName(prefix, n, true, hash)
			}
		}
	}
	return names
}

// fileName returns the name of a file of n. With group and hash it is unique.
func fileName(prefix string, n *object.Node, group, hash bool) string {
	r := n.Object.Ref()
	kind := r.Kind
	if group && r.Group != "" {
		kind = r.GroupKind()
	}
	parts := []string{prefix, kind}
	if r.Namespace != "" {
		parts = append(parts, r.Namespace)
	}
	name := fileSafe(strings.Join(append(parts, r.Name), "-"))
	const end = ".yaml"
	if !hash && len(name)+len(end) <= maxFileName {
		return name + end
	}
	sum := sha256.Sum256([]byte(r.String() + "\x00" + string(n.ID)))
	tail := "-" + hex.EncodeToString(sum[:5]) + end
	return strings.TrimRight(name[:min(len(name), maxFileName-len(tail))], "-.") + tail
}

// fileSafe keeps what every file system, shell and tar accepts, in lower case:
// on some systems two names that differ in case are one file.
func fileSafe(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '.', r == '-', r == '_':
			return r
		}
		return '-'
	}, s)
}
