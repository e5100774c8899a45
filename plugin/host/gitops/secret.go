// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"encoding/base64"
	"maps"
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
	if after == nil {
		return nil, ctx.Err() // The chart refuses the other values.
	}

	// What is as it was with the values put in their place is hidden already.
	var pairs []string
	for _, secret := range slices.DeleteFunc(slices.Clone(u.Secrets), func(secret string) bool { return secret == "" }) {
		pairs = append(pairs, secret, otherText(secret), inBase64(secret), inBase64(otherText(secret)))
	}
	c := comparing{explains: strings.NewReplacer(pairs...), lines: map[string]bool{}, found: map[string]bool{}}
	for _, o := range after {
		c.addLines(valueOf(o, object.Value{}))
	}
	for _, pair := range paired(before, after) {
		c.compare(valueOf(pair[0], object.Value{}), valueOf(pair[1], object.Value{}))
	}
	return object.SortedKeys(c.found), ctx.Err()
}

// paired returns the objects of a render, each with its counterpart in another render: the object with
// its ID, or one of its kind that has another name there. An object without a counterpart has an empty
// one, and is returned without its type and its name, which is not known to be made of a secret.
func paired(before, after map[object.ID]object.Object) [][2]object.Object {
	rest := map[string][]object.Object{}
	for _, id := range slices.Sorted(maps.Keys(after)) {
		if _, ok := before[id]; !ok {
			rest[after[id].Kind()] = append(rest[after[id].Kind()], after[id])
		}
	}
	var out [][2]object.Object
	for _, id := range slices.Sorted(maps.Keys(before)) {
		o := before[id]
		other, ok := after[id]
		if more := rest[o.Kind()]; !ok && len(more) > 0 {
			other, ok = more[0], true
			rest[o.Kind()] = more[1:]
		}
		if !ok {
			o = maps.Clone(o)
			for _, name := range []string{"apiVersion", "kind", "metadata"} {
				delete(o, name)
			}
		}
		out = append(out, [2]object.Object{o, other})
	}
	return out
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
// so that a number is one. Letters of other alphabets become small ones of Latin.
func otherText(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '9':
			return '1'
		case r == 'z' || r == 'Z':
			return r - 'z' + 'a'
		case r >= '1' && r < '9', r >= 'a' && r < 'z', r >= 'A' && r < 'Z':
			return r + 1
		case r >= unicode.MaxASCII && unicode.IsLetter(r):
			return 'q'
		}
		return r
	}, text)
}

// inBase64 returns a text as the data of a Secret has it.
func inBase64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// comparing finds what is different in a render with other secrets.
type comparing struct {
	// explains makes the other values of the values of secrets.
	explains *strings.Replacer
	// lines are all lines of the other render.
	lines map[string]bool
	found map[string]bool
}

// addLines adds the lines of a value of the other render.
func (c *comparing) addLines(v object.Value) {
	for line := range strings.SplitSeq(v.Text, "\n") {
		c.lines[line] = true
	}
	for _, item := range v.Items {
		c.addLines(item)
	}
	for _, m := range v.Members {
		c.addLines(m.Value)
	}
}

// compare adds the words of a value that are different in its counterpart. What the replacer explains is
// left out. Of what has no counterpart, such as a field, it adds the lines that are nowhere in the
// other render.
func (c *comparing) compare(before, after object.Value) {
	for i, item := range before.Items {
		var other object.Value
		if i < len(after.Items) {
			other = after.Items[i]
		}
		c.compare(item, other)
	}
	renamed := renamedMembers(before, after)
	for _, m := range before.Members {
		other, ok := after.Get(m.Name)
		if o, isRenamed := renamed[m.Name]; !ok && isRenamed {
			c.compare(object.TextAt(m.Name, m.Pos), object.TextAt(o.Name, o.Pos))
			other = o.Value
		}
		c.compare(m.Value, other)
	}
	lines, others := strings.Split(before.Text, "\n"), strings.Split(after.Text, "\n")
	for i, line := range lines {
		switch {
		case after.Kind != before.Kind || i >= len(others):
			c.addUnknown(line)
		case line != others[i] && c.explains.Replace(line) != others[i]:
			c.found[changedWords(line, others[i])] = true
		}
	}
}

// renamedMembers returns the members of a map that stand for those of another map with other names: as
// many have no counterpart in either.
func renamedMembers(before, after object.Value) map[string]object.Member {
	without := func(v, other object.Value) []object.Member {
		return slices.DeleteFunc(slices.Clone(v.Members), func(m object.Member) bool { _, ok := other.Get(m.Name); return ok })
	}
	from, to := without(before, after), without(after, before)
	out := map[string]object.Member{}
	if len(from) == len(to) {
		for i, m := range from {
			out[m.Name] = to[i]
		}
	}
	return out
}

// addUnknown adds a line that is nowhere in the other render.
func (c *comparing) addUnknown(line string) {
	if line != "" && !c.lines[line] && !c.lines[c.explains.Replace(line)] {
		c.found[line] = true
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
