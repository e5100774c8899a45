// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/object"
)

// shortest is the length of a secret that is hidden inside of other texts. A shorter one is hidden
// where it is all of a value: as a part of words it would hide half of a report.
const shortest = 4

// Hide replaces secrets in all that a report shows, in whatever object they ended: a variable of a
// Secret may be a part of a ConfigMap, a host or a name. Each secret has a number, so that a change
// from one to another is still a change.
func (r *Report) Hide(secrets []string) {
	h := newHiding(secrets)
	if len(h.whole) == 0 {
		return
	}
	h.hide(reflect.ValueOf(r).Elem())
	for i, picture := range r.pictures {
		r.pictures[i] = []byte(h.inside.Replace(string(picture)))
	}
}

// HideIn replaces secrets in differences, as [Report.Hide] does in a report.
func HideIn(report *diff.Report, secrets []string) {
	if h := newHiding(secrets); len(h.whole) > 0 {
		h.hide(reflect.ValueOf(report).Elem())
	}
}

// newHiding numbers secrets, and lists the forms in which texts have them.
func newHiding(secrets []string) hiding {
	h := hiding{whole: map[string]string{}}
	var inside [][2]string
	for _, secret := range secrets {
		secret = strings.TrimSpace(secret)
		if len(secret) < 2 || h.whole[secret] != "" { //nolint:mnd // one sign is no secret
			continue
		}
		name := fmt.Sprintf("(hidden %d)", len(h.whole)+1)
		h.whole[secret] = name
		for _, form := range forms(secret) {
			inside = append(inside, [2]string{form, name})
		}
	}

	// A shorter secret may be a part of a longer one.
	slices.SortStableFunc(inside, func(a, b [2]string) int { return cmp.Compare(len(b[0]), len(a[0])) })
	var pairs []string
	for _, form := range inside {
		pairs = append(pairs, form[0], form[1])
	}
	h.inside = strings.NewReplacer(pairs...)
	return h
}

// forms returns the ways in which a text or a picture may have a secret: as it is, its lines, which
// have another indent elsewhere, quoted, in a URL, and in base64, also as the end of a longer text
// such as user:password.
func forms(secret string) []string {
	out := []string{secret, url.QueryEscape(secret), url.PathEscape(secret), base64.StdEncoding.EncodeToString([]byte(secret))}
	out = append(out, shifted(secret)...)
	for line := range strings.Lines(secret) {
		out = append(out, strings.TrimSpace(line))
	}
	for _, form := range slices.Clone(out) {
		quoted := strconv.Quote(form)
		out = append(out, quoted[1:len(quoted)-1], html.EscapeString(form))
	}
	return slices.DeleteFunc(out, func(form string) bool { return len(form) < shortest })
}

// shifted returns what base64 makes of a secret behind other text: three bytes are four digits, so
// that there is a form for each place where the secret may begin. Digits that depend on what is
// beside it are left out, and so are forms of few digits, which other texts have by chance.
func shifted(secret string) (out []string) {
	for before, first := range []int{0, 2, 3} {
		digits := base64.RawStdEncoding.EncodeToString(append(make([]byte, before), secret...))
		last := len(digits)
		if (before+len(secret))%3 != 0 {
			last--
		}
		if last-first >= 2*shortest {
			out = append(out, digits[first:last])
		}
	}
	return out
}

// hiding replaces secrets in the values of a report.
type hiding struct {
	whole  map[string]string
	inside *strings.Replacer
}

// text returns a text without secrets.
func (h hiding) text(text string) string {
	if name, ok := h.whole[strings.TrimSpace(text)]; ok {
		return name
	}
	return h.inside.Replace(text)
}

// hide replaces secrets in a value that can be set. States and kinds of changes are words of the
// report itself.
func (h hiding) hide(v reflect.Value) {
	switch v.Interface().(type) {
	case State, diff.Kind, object.Severity:
		return
	}
	switch v.Kind() { //nolint:exhaustive // others hold no text
	case reflect.String:
		v.SetString(h.text(v.String()))
	case reflect.Pointer:
		if !v.IsNil() {
			h.hide(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			h.hide(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				h.hide(v.Field(i))
			}
		}
	case reflect.Map:
		h.hideMap(v)
	case reflect.Interface:
		if !v.IsNil() {
			v.Set(h.copied(v.Elem()))
		}
	}
}

// hideMap replaces a map by one without secrets, also in its keys: both sides may share the old one.
func (h hiding) hideMap(v reflect.Value) {
	if v.IsNil() {
		return
	}
	out := reflect.MakeMap(v.Type())
	for _, key := range v.MapKeys() {
		out.SetMapIndex(h.settable(key), h.settable(v.MapIndex(key)))
	}
	v.Set(out)
}

// settable returns a copy of a value without secrets.
func (h hiding) settable(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	h.hide(out)
	return out
}

// copied returns a copy of a value of any type without secrets: a number that is one becomes a text.
func (h hiding) copied(v reflect.Value) reflect.Value {
	switch v.Interface().(type) {
	case json.Number, int, int64, float64:
		if name, ok := h.whole[fmt.Sprint(v.Interface())]; ok {
			return reflect.ValueOf(name)
		}
		return v
	}
	if v.Kind() != reflect.Slice {
		return h.settable(v)
	}
	out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
	reflect.Copy(out, v)
	h.hide(out)
	return out
}
