// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
)

// MaxObjects is how many objects a layer has at most: a reconciliation in which
// nothing changes takes Flux 7 s for so many, and grows faster than their number.
const MaxObjects = 1000

// shardObjects is how many objects a shard has on average when shards are made:
// hashing spreads them unevenly, and none may have more than MaxObjects.
const shardObjects = 800

// Present is how many shards each barrier layer has now, beside the layer of its name.
type Present map[string]int

// Cuts returns how layers of these names are cut.
func Cuts(layers []Layer) Present {
	out := Present{}
	for _, u := range layers {
		if layer, number, ok := shardOf(u.Name); ok {
			out[layer] = max(out[layer], number)
		}
	}
	return out
}

// shardOf returns the layer and the number of a shard from its name: layer-01-2 is the second of
// layer-01.
func shardOf(name string) (layer string, number int, ok bool) {
	i := strings.LastIndexByte(name, '-')
	if i < 0 || strings.Count(name, "-") < 2 {
		return "", 0, false
	}
	if _, err := fmt.Sscanf(name[i+1:], "%d", &number); err != nil || number < 1 {
		return "", 0, false
	}
	return name[:i], number, true
}

// cut cuts a layer into one that others need first, and shards.
func cut(layer string, members []member, now int) []Layer {
	// A layer that is small enough stays as it is.
	var first, rest []member
	if whole := len(members) <= MaxObjects && now == 0 || len(members) <= MaxObjects/2; whole {
		first = members
	} else {
		first, rest = divide(members)
	}
	var out []Layer
	if len(first) > 0 {
		out = append(out, unitOf(layer, first))
	}
	if len(rest) == 0 {
		return out
	}

	// The number of shards stays if it is still right, because a new one moves objects.
	count := (len(rest) + shardObjects - 1) / shardObjects
	if now > count && count > now/2 {
		count = now
	}

	// Shards apply at the same time, after what they need.
	shards := make([][]member, count)
	for _, m := range rest {
		i := rendezvous(m.ref, count)
		shards[i] = append(shards[i], m)
	}
	for i, s := range shards {
		if len(s) == 0 {
			continue
		}
		u := unitOf(fmt.Sprintf("%s-%d", layer, i+1), s)
		if len(first) > 0 {
			u.After = []string{layer}
		}
		out = append(out, u)
	}
	return out
}

// divide takes what others need out of a layer. What pods need only to run is with
// that, unless there is too much of it.
func divide(members []member) (first, rest []member) {
	counts := map[needed]int{}
	for _, m := range members {
		counts[need(m.ref)]++
	}
	spread := counts[atApply]+counts[atRun] > MaxObjects
	for _, m := range members {
		if n := need(m.ref); n == atApply || n == atRun && !spread {
			first = append(first, m)
		} else {
			rest = append(rest, m)
		}
	}
	return first, rest
}

// unitOf returns a layer of members.
func unitOf(name string, members []member) Layer {
	u := Layer{Name: name}
	for _, m := range members {
		u.Objects = append(u.Objects, m.ref)
		u.Files = append(u.Files, m.file)
	}
	return u
}

// needed says when others need an object.
type needed uint8

const (
	never needed = iota
	// atRun: pods do not start without it.
	atRun
	// atApply: the API server refuses others without it.
	atApply
)

// need returns when others of the same layer need an object.
func need(r ObjectRef) needed {
	switch r.Kind {
	case "Namespace", "CustomResourceDefinition", "ServiceAccount", "LimitRange", "ResourceQuota":
		return atApply
	case "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding", "ConfigMap", "Secret", "PersistentVolume", "PersistentVolumeClaim":
		return atRun
	}
	if strings.HasSuffix(r.Kind, "Class") {
		return atApply
	}
	return never
}

// rendezvous returns the shard of an object, of count: the one that weighs most with it. When a
// shard is added, objects move only to that one.
func rendezvous(r ObjectRef, count int) int {
	sum := sha256.Sum256([]byte(r.key()))
	seed := binary.BigEndian.Uint64(sum[:])
	best := 0
	most := uint64(0)
	for i := range count {
		if w := mix(seed + uint64(i)*0x9e3779b97f4a7c15); i == 0 || w > most { //nolint:gosec // a count is not negative
			best = i
			most = w
		}
	}
	return best
}

// mix returns x with a difference in one bit spread over all of them: the last step of splitmix64
// (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
