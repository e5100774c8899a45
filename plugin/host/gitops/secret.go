// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// kindSecret is the kind whose values no message and no page shows.
const kindSecret = "Secret"

// dataOf returns what is in the ConfigMap or the Secret that a unit of Flux refers to, and false if
// that is in the cluster alone. Values of a Secret have the position of the reference, so that no
// message shows their lines, and become those of [Unit.Secrets].
func (x *expanding) dataOf(f found, u *Unit, ref object.Value) ([]object.Member, bool) {
	kind := ref.TextOf("kind")
	w, known := x.lookup(ID{f.cluster, kind, u.ID.Namespace, ref.TextOf("name")})
	switch {
	case !known:
		return nil, false
	case kind == "ConfigMap":
		return w.at("data").Members, true
	case kind != kindSecret || w.group() != "v1":
		return nil, false
	}
	out, ok := secretData(w, ref.Pos)
	for _, m := range out {
		u.Secrets = append(u.Secrets, m.Value.Text)
	}
	return out, ok
}

// secretData returns the decoded values of a Secret at a position. It returns false if they are
// encrypted by SOPS, or are no values yet, such as ${PASSWORD}.
func secretData(w Written, at object.Pos) ([]object.Member, bool) {
	if w.at("sops").Kind != object.KindNone {
		return nil, false
	}
	var out []object.Member
	for _, m := range w.at("data").Members {
		data, err := base64.StdEncoding.DecodeString(m.Value.Text)
		if err != nil {
			return nil, false
		}
		out = append(out, object.Member{Name: m.Name, Pos: at, Value: object.TextAt(string(data), at)})
	}
	for _, m := range w.at("stringData").Members {
		out = slices.DeleteFunc(out, func(other object.Member) bool { return other.Name == m.Name })
		out = append(out, object.Member{Name: m.Name, Pos: at, Value: object.TextAt(m.Value.Written(), at)})
	}
	if slices.ContainsFunc(out, func(m object.Member) bool { return strings.HasPrefix(m.Value.Text, "ENC[") }) {
		return nil, false
	}
	return out, true
}

// scalars returns the texts and numbers in a value.
func scalars(v object.Value) []string {
	switch v.Kind { //nolint:exhaustive // true, false and null are no secrets
	case object.KindString, object.KindNumber:
		return []string{v.Text}
	}
	var out []string
	for _, item := range v.Items {
		out = append(out, scalars(item)...)
	}
	for _, m := range v.Members {
		out = append(out, scalars(m.Value)...)
	}
	return out
}
