// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
)

// MaxObjects limits the objects of a layer: a reconciliation in which nothing changes takes Flux 7 s
// for so many objects, and grows faster than their number.
const MaxObjects = 1000

// shardObjects is the average number of objects of new shards: hashing spreads objects unevenly, and
// no shard may have more than MaxObjects.
const shardObjects = 800

// Present counts the shards of each barrier layer in the cluster, beside the layer of its name.
type Present map[string]int

// Cuts returns the shards that layers of these names have.
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

// cut cuts a layer into a layer with the objects that others need first, and shards. The argument
// present is the number of shards in the cluster.
func cut(layer string, members []member, present int) []Layer {
	// A layer that is small enough stays as it is.
	var prerequisites, others []member
	if whole := len(members) <= MaxObjects && present == 0 || len(members) <= MaxObjects/2; whole {
		prerequisites = members
	} else {
		prerequisites, others = divide(members)
	}
	var out []Layer
	if len(prerequisites) > 0 {
		out = append(out, unitOf(layer, prerequisites))
	}
	if len(others) == 0 {
		return out
	}

	// The number of shards stays if it is still right, because a new shard moves objects.
	count := (len(others) + shardObjects - 1) / shardObjects
	if present > count && count > present/2 {
		count = present
	}

	// Shards apply at the same time, after the objects that they need.
	shards := make([][]member, count)
	for _, m := range others {
		i := rendezvous(m.ref, count)
		shards[i] = append(shards[i], m)
	}
	for i, s := range shards {
		if len(s) == 0 {
			continue
		}
		u := unitOf(fmt.Sprintf("%s-%d", layer, i+1), s)
		if len(prerequisites) > 0 {
			u.After = []string{layer}
		}
		out = append(out, u)
	}
	return out
}

// divide separates the objects that others need from the rest of a layer. Objects that pods need
// only to run come first too, unless there are too many of them.
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

// rendezvous returns the shard of an object, among count shards: the shard whose number and key have
// the largest hash. When a shard is added, objects move only to the new shard.
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
