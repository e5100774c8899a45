// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"unicode"

	"github.com/ropewalk/ropewalk/render/evaluate"
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

// Transformed returns the texts that the chart of a unit makes of the values of its Secrets, such as a
// password in capitals, sorted. It renders the unit a second time, with other values, and takes what
// is different in the fields of its objects. A chart that refuses these values shows none. The error
// is that of ctx.
func Transformed(ctx context.Context, u Unit, load Load, evaluator evaluate.Evaluator) ([]string, error) {
	// Only charts make anything of a value but to copy it.
	isChart := func(c object.Value) bool { _, ok := c.Get("helm"); return ok }
	if len(u.Secrets) == 0 || !slices.ContainsFunc(u.Components, isChart) {
		return nil, nil
	}

	// Render it as it is, which is known already, and with other values.
	other := u
	other.Components = make([]object.Value, len(u.Components))
	for i, c := range u.Components {
		other.Components[i] = withOther(c, u.Secrets)
	}
	before := evaluated(ctx, u, load, evaluator)
	after := evaluated(ctx, other, load, evaluator)

	// What is as it was with the values put in their place is hidden already.
	var pairs []string
	for _, secret := range slices.DeleteFunc(slices.Clone(u.Secrets), func(secret string) bool { return secret == "" }) {
		pairs = append(pairs, secret, otherText(secret), inBase64(secret), inBase64(otherText(secret)))
	}
	explains := strings.NewReplacer(pairs...)
	found := map[string]bool{}
	for id, o := range before {
		if changed, ok := after[id]; ok {
			addChanged(valueOf(o, object.Value{}), valueOf(changed, object.Value{}), explains, found)
		}
	}
	return object.SortedKeys(found), ctx.Err()
}

// evaluated returns the objects that a unit renders; none if it does not render.
func evaluated(ctx context.Context, u Unit, load Load, evaluator evaluate.Evaluator) map[object.ID]object.Object {
	loaded, err := load(ctx, u)
	if err != nil || loaded.Request.Mistakes.Err() != nil {
		return nil
	}
	out := map[object.ID]object.Object{}
	for _, s := range loaded.Request.Specs {
		made, err := evaluator.Evaluate(ctx, s.Evaluate)
		if err != nil {
			return nil
		}
		for _, n := range made.Nodes {
			out[n.ID] = n.Object
		}
	}
	return out
}

// withOther returns a value with other texts and numbers in place of secrets.
func withOther(v object.Value, secrets []string) object.Value {
	isText := v.Kind == object.KindString || v.Kind == object.KindNumber
	if isText && slices.Contains(secrets, v.Text) {
		v.Text = otherText(v.Text)
	}
	v.Items = slices.Clone(v.Items)
	for i := range v.Items {
		v.Items[i] = withOther(v.Items[i], secrets)
	}
	v.Members = slices.Clone(v.Members)
	for i := range v.Members {
		v.Members[i].Value = withOther(v.Members[i].Value, secrets)
	}
	return v
}

// otherText returns a text of the same form: each letter and each digit is the next one, and 0 stays,
// so that a number is one.
func otherText(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '9':
			return '1'
		case r == 'z' || r == 'Z':
			return r - 'z' + 'a'
		case r >= '1' && r < '9', r >= 'a' && r < 'z', r >= 'A' && r < 'Z':
			return r + 1
		}
		return r
	}, text)
}

// inBase64 returns a text as the data of a Secret has it.
func inBase64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// addChanged adds the words of a value that are different in another one of the same shape. What the
// replacer explains is left out.
func addChanged(before, after object.Value, explains *strings.Replacer, to map[string]bool) {
	for i := range min(len(before.Items), len(after.Items)) {
		addChanged(before.Items[i], after.Items[i], explains, to)
	}
	for _, m := range before.Members {
		if other, ok := after.Get(m.Name); ok {
			addChanged(m.Value, other, explains, to)
		}
	}
	lines, others := strings.Split(before.Text, "\n"), strings.Split(after.Text, "\n")
	for i := range min(len(lines), len(others)) {
		if explains.Replace(lines[i]) != others[i] {
			to[changedWords(lines[i], others[i])] = true
		}
	}
}

// changedWords returns the part of a line that is different in another one, with the whole of the
// words at its ends.
func changedWords(line, other string) string {
	a, b := []rune(line), []rune(other)
	isWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	start := 0
	for start < min(len(a), len(b)) && a[start] == b[start] {
		start++
	}
	end := len(a)
	for end > start && end-len(a)+len(b) > start && a[end-1] == b[end-len(a)+len(b)-1] {
		end--
	}
	for start > 0 && isWord(a[start-1]) {
		start--
	}
	for end < len(a) && isWord(a[end]) {
		end++
	}
	return string(a[start:end])
}
