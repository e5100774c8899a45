// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/internal/printable"
)

// Object is one Kubernetes object as JSON-like data: map[string]any, []any,
// string, bool, int64, float64 and nil, and nothing else.
type Object map[string]any

// Size returns roughly how many bytes o takes.
func (o Object) Size() int64 { return sizeOf(map[string]any(o)) }

// Values returns how many values o holds.
func (o Object) Values() int { return valuesOf(map[string]any(o)) }

func valuesOf(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			n += valuesOf(e)
		}
	case []any:
		for _, e := range v {
			n += valuesOf(e)
		}
	}
	return n
}

// sizeOf counts a value with its place in a map or a list.
func sizeOf(v any) int64 {
	const place, table, entry = 16, 48, 40
	size := int64(place)
	switch v := v.(type) {
	case map[string]any:
		const group = 8 // Go makes room for so many at once.
		size += table + entry*int64((len(v)+group-1)/group*group)
		for k, e := range v {
			size += int64(len(k)) + sizeOf(e)
		}
	case []any:
		size += table
		for _, e := range v {
			size += sizeOf(e)
		}
	case string:
		size += place + int64(len(v))
	}
	return size
}

// Decode reads one JSON object. Integers that fit become int64, all other
// numbers float64.
func Decode(data []byte) (Object, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("text follows the JSON object")
	}
	if err := convertNumbers(m); err != nil {
		return nil, err
	}
	return m, nil
}

// convertNumbers replaces every json.Number in v, in place.
func convertNumbers(v any) (err error) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k], err = number(e)
			if err != nil {
				return addStep(err, Field(k))
			}
		}
	case []any:
		for i, e := range v {
			v[i], err = number(e)
			if err != nil {
				return addStep(err, Index(i))
			}
		}
	}
	return nil
}

// number returns v with its numbers as int64 or float64.
func number(v any) (any, error) {
	n, ok := v.(json.Number)
	if !ok {
		return v, convertNumbers(v)
	}
	if i, err := n.Int64(); err == nil {
		return i, nil
	}
	f, err := n.Float64()
	mantissa, _, _ := strings.Cut(strings.ToLower(n.String()), "e")
	isRoundedToZero := f == 0 && strings.ContainsAny(mantissa, "123456789")
	if err != nil || isRoundedToZero {
		return nil, &NumberError{Number: n.String()}
	}
	return f, nil
}

// NumberError is a number that no 64-bit float holds.
type NumberError struct {
	// Path leads to the number.
	Path   Path
	Number string
}

func (e *NumberError) Error() string { return "number " + e.Number + " is out of range" }

// addStep puts the step that leads to a value before the path of an error about a number in it.
func addStep(err error, step Step) error {
	var number *NumberError
	if errors.As(err, &number) {
		number.Path = append(Path{step}, number.Path...)
	}
	return err
}

// APIVersion returns the apiVersion field, or "" if there is none.
func (o Object) APIVersion() string { return o.Text("apiVersion") }

// Kind returns the kind field, or "" if there is none.
func (o Object) Kind() string { return o.Text("kind") }

// Name returns metadata.name, or "" if there is none.
func (o Object) Name() string { return o.Text("metadata", "name") }

// Namespace returns metadata.namespace, or "" if there is none.
func (o Object) Namespace() string { return o.Text("metadata", "namespace") }

// Group returns the API group, or "" for the core group.
func (o Object) Group() string {
	group, _, ok := strings.Cut(o.APIVersion(), "/")
	if !ok {
		return ""
	}
	return group
}

// Version returns the API version without its group, such as v1.
func (o Object) Version() string {
	group, version, ok := strings.Cut(o.APIVersion(), "/")
	if !ok {
		return group
	}
	return version
}

// Ref returns the identity of o.
func (o Object) Ref() Ref {
	return Ref{Group: o.Group(), Kind: o.Kind(), Namespace: o.Namespace(), Name: o.Name()}
}

// Labels returns metadata.labels; fields that are not text are left out.
func (o Object) Labels() map[string]string { return o.texts("metadata", "labels") }

// Annotations returns metadata.annotations; fields that are not text are left out.
func (o Object) Annotations() map[string]string { return o.texts("metadata", "annotations") }

// Get follows field names from the root. It returns nil if a step leads nowhere.
func (o Object) Get(names ...string) any {
	var v any = map[string]any(o)
	for _, n := range names {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[n]
	}
	return v
}

// Map returns [Object.Get] for an object, or nil if there is none.
func (o Object) Map(names ...string) map[string]any {
	m, _ := o.Get(names...).(map[string]any)
	return m
}

// List returns [Object.Get] for a list, or nil if there is none.
func (o Object) List(names ...string) []any {
	l, _ := o.Get(names...).([]any)
	return l
}

// Text returns [Object.Get] for text, or "" if there is none.
func (o Object) Text(names ...string) string {
	s, _ := o.Get(names...).(string)
	return s
}

// Annotate sets one annotation, in place.
func (o Object) Annotate(key, value string) {
	meta, ok := o["metadata"].(map[string]any)
	if !ok {
		meta = map[string]any{}
		o["metadata"] = meta
	}
	notes, ok := meta["annotations"].(map[string]any)
	if !ok {
		notes = map[string]any{}
		meta["annotations"] = notes
	}
	notes[key] = value
}

// Clone returns a deep copy of o.
func (o Object) Clone() Object {
	m, _ := clone(map[string]any(o)).(map[string]any)
	return m
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[k] = clone(e)
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, e := range v {
			l[i] = clone(e)
		}
		return l
	default:
		return v
	}
}

func (o Object) texts(names ...string) map[string]string {
	m := o.Map(names...)
	out := make(map[string]string, len(m))
	for k, v := range m {
		if s, ok := v.(string); ok {
			out[k] = s
		}
	}
	return out
}

// Ref identifies an object in a cluster. The version is left out: two
// versions of one kind show the same object.
type Ref struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String writes r as Kind.group namespace/name, in one line.
func (r Ref) String() string {
	s := r.Kind
	if r.Group != "" {
		s += "." + r.Group
	}
	s += " "
	if r.Namespace != "" {
		s += r.Namespace + "/"
	}
	return printable.Line(s + r.Name)
}

// GroupKind returns the kind with its group, such as Deployment.apps.
func (r Ref) GroupKind() string {
	if r.Group == "" {
		return r.Kind
	}
	return r.Kind + "." + r.Group
}

// IsCustom reports whether the objects of an API group are custom resources: whether
// the group is none that every API server has.
func IsCustom(group string) bool {
	switch group {
	case "", "apps", "batch", "autoscaling", "policy", "extensions",
		"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io",
		"authentication.k8s.io", "authorization.k8s.io", "certificates.k8s.io",
		"coordination.k8s.io", "discovery.k8s.io", "events.k8s.io",
		"flowcontrol.apiserver.k8s.io", "internal.apiserver.k8s.io", "networking.k8s.io",
		"node.k8s.io", "rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io",
		"storage.k8s.io", "storagemigration.k8s.io":
		return false
	}
	return true
}

// Compare orders references by group, kind, namespace and name.
func (r Ref) Compare(s Ref) int {
	return cmp.Or(
		strings.Compare(r.Group, s.Group), strings.Compare(r.Kind, s.Kind),
		strings.Compare(r.Namespace, s.Namespace), strings.Compare(r.Name, s.Name),
	)
}

// SortedKeys returns the keys of m in order: no map is ever ranged into output.
func SortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
