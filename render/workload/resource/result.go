// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// Answer is the result of a module for one resource.
type Answer struct {
	// Result is the provisioner with everything filled in except its graph, as
	// JSON: outputs, sensitive, volume, claim, workload, after.
	Result []byte
	// Nodes are the objects of the resource.
	Nodes []*object.Node
}

// Result is the decoded result of a provisioner for a resource.
type Result struct {
	// Outputs are plain texts; Sensitive are references to secrets and texts composed
	// of references. No name is in both.
	Outputs   map[string]string
	Sensitive map[string][]Fragment
	// Volume, Claim and Workload are KindNone if the provisioner gives no such value.
	Volume, Claim, Workload object.Value
	// After is set if the objects come with the workload or after it.
	After bool
	// Nodes are the objects of the resource, in the spec of its owner.
	Nodes []*object.Node
}

// Fragment is a piece of a sensitive output: literal text, or the reference of the output called
// Output.
type Fragment struct {
	Literal   string
	Output    string
	Reference Reference
	// Escape writes the value of the secret as part of a URL.
	Escape bool
}

// Reference is the place of a secret.
type Reference struct {
	// Kubernetes is set if it is a Secret in the namespace of the workload (Key is
	// its name, Property the key inside of it), and not in the store of the
	// environment.
	Kubernetes             bool
	Key, Property, Version string
	// Provider names a store of spec.workloads.secrets.providers; "" is the store of the
	// environment.
	Provider string
}

// Names returns the names of all outputs.
func (r *Result) Names() []string {
	return append(object.SortedKeys(r.Outputs), object.SortedKeys(r.Sensitive)...)
}

// Single reports whether the volume is a claim of the resource itself that only one node at a
// time can mount.
func (r *Result) Single() bool {
	name, found := r.Volume.Lookup(object.Fields("persistentVolumeClaim", "claimName"))
	if found < 2 {
		return false
	}

	// The modes of a claim that the render does not make are unknown.
	for _, n := range r.Nodes {
		if n.Object.Kind() == "PersistentVolumeClaim" && n.Object.Text("metadata", "name") == name.Text {
			modes, _ := n.Object.Get("spec", "accessModes").([]any)
			return !slices.Contains(modes, any("ReadWriteMany")) && !slices.Contains(modes, any("ReadOnlyMany"))
		}
	}
	return false
}

// reading decodes the result of one resource. Provisioners are written by
// others, so nothing is assumed, and no message shows a value, because a field with a
// mistake may hold a secret.
type reading struct {
	resource    *score.Resource
	path        string
	provisioner Provisioner
	errs        object.Errors
}

// fail reports a mistake of the provisioner at the line of the resource, with a note of the line that
// declares the provisioner: the author sees what to remove, and a platform team what to fix. The
// argument field is the field, or "" for the complete result.
func (d *reading) fail(field, hint, format string, args ...any) {
	if field != "" {
		field += " "
	}
	e := &object.Error{
		Stage: object.StageEvaluate, Pos: d.resource.Type.Pos, Path: d.path,
		Err:  fmt.Errorf("%s: %s%w", d.provisioner.label(), field, fmt.Errorf(format, args...)),
		Hint: hint,
	}
	if pos := d.provisioner.Pos; pos.IsValid() {
		e.Notes = []object.Note{{Pos: pos, Text: "the provisioner"}}
	}
	d.errs = append(d.errs, e)
}

// Decode reads the result of a provisioner for a resource. The argument path is the path of the
// resource in its document, for messages. Decode is strict: a field with a typo must not be
// dropped silently.
func Decode(r *score.Resource, path string, provisioner Provisioner, answer Answer) (*Result, object.Errors) {
	d := &reading{resource: r, path: path, provisioner: provisioner}
	v, err := object.ReadJSON(answer.Result, r.Pos)
	if err != nil || v.Kind != object.KindMap {
		d.fail("", "", "its result is not a JSON object")
		return nil, d.errs
	}

	// Sensitive outputs are read last: they may refer to each other and must not repeat an
	// output.
	out := &Result{Outputs: map[string]string{}, Nodes: answer.Nodes}
	var sensitive object.Value
	for _, m := range v.Members {
		switch m.Name {
		case "outputs":
			d.addOutputs(m.Value, out)
		case "sensitive":
			sensitive = d.decodeMap(m)
		case "volume":
			out.Volume = d.decodeMap(m)
		case "claim":
			out.Claim = d.decodeMap(m)
		case "workload":
			out.Workload = d.decodePatch(d.decodeMap(m))
		case "after":
			if m.Value.Kind != object.KindBool {
				d.fail("after", "", "must be a bool, got a %s", m.Value.Kind)
			}
			out.After = m.Value.Text == "true"
		case "type", "class", "id", "description":
			// The catalog has read these fields.
		default:
			d.fail(m.Name, object.Suggest(m.Name, resultFields()), "is not known")
		}
	}

	// All replicas share a volume, and each has its own claim.
	if out.Volume.Kind != object.KindNone && out.Claim.Kind != object.KindNone {
		d.fail("claim", "a claim makes a volume for each replica: give one of them", "cannot be combined with volume")
	}
	out.Sensitive = d.decodeSensitive(sensitive, out.Outputs)
	return out, d.errs
}

func resultFields() []string {
	return []string{"outputs", "sensitive", "volume", "claim", "workload", "after"}
}

// decodeMap returns a value that must be a map, and reports any other value.
func (d *reading) decodeMap(m object.Member) object.Value {
	if m.Value.Kind != object.KindMap {
		d.fail(m.Name, "", "must be a map, got a %s", m.Value.Kind)
		return object.Value{}
	}
	return m.Value
}

// addOutputs reads plain outputs into r.
func (d *reading) addOutputs(v object.Value, r *Result) {
	for _, m := range d.decodeMap(object.Member{Name: "outputs", Value: v}).Members {
		d.checkName("outputs", m.Name)
		switch m.Value.Kind {
		case object.KindString, object.KindNumber, object.KindBool:
			r.Outputs[m.Name] = m.Value.Text
		default:
			d.fail("outputs."+m.Name, "", "must be text, a number or a bool, got a %s", m.Value.Kind)
		}
	}
}

// checkName reports a name of an output that #OutputName does not allow.
func (d *reading) checkName(field, name string) {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	inner := strings.Trim(name, letters+"-_")
	if name == "" || len(name) > 63 || inner != "" || strings.ContainsAny(name[:1]+name[len(name)-1:], "-_") {
		d.fail(field, "", "has the name %q: expected letters, digits, - and _, at most 63", name)
	}
}

// declared is a sensitive output as it was written: a reference, or parts.
type declared struct {
	reference Reference
	parts     []part
	isText    bool
}

type part struct {
	text, ref string
	escape    bool
}

// decodeSensitive reads the sensitive outputs and flattens the texts among them into references
// and literals. The argument plain holds the plain outputs.
func (d *reading) decodeSensitive(v object.Value, plain map[string]string) map[string][]Fragment {
	entries := make(map[string]declared, len(v.Members))
	for _, m := range v.Members {
		d.checkName("sensitive", m.Name)
		if _, isPlain := plain[m.Name]; isPlain {
			d.fail("sensitive."+m.Name, "keep the sensitive one", "is an output too: one name is either plain or secret")
		}
		if e, ok := d.decodeEntry("sensitive."+m.Name, m.Value); ok {
			entries[m.Name] = e
		}
	}

	// Outputs with mistakes would cause further mistakes in outputs that refer to them.
	if len(d.errs) > 0 {
		return nil
	}
	c := composition{reading: d, entries: entries, plain: plain, flattened: make(map[string][]Fragment, len(entries))}
	for _, m := range v.Members {
		c.flatten(m.Name, nil)
	}
	return c.flattened
}

// decodeEntry reads one sensitive output, and reports whether it has no mistake. It takes a
// reference or parts, and nothing else: any other value could be a secret in plain text.
func (d *reading) decodeEntry(path string, v object.Value) (declared, bool) {
	before := len(d.errs)
	if v.Kind != object.KindMap {
		d.fail(path, "give the key of the secret in the store", "must be a reference, never the value of a secret")
		return declared{}, false
	}

	// Read the fields.
	var e declared
	store := ""
	for _, m := range v.Members {
		fieldPath := path + "." + m.Name
		switch m.Name {
		case "store":
			store = d.decodeWord(fieldPath, m.Value)
		case "key":
			e.reference.Key = d.decodeWord(fieldPath, m.Value)
		case "property":
			e.reference.Property = d.decodeWord(fieldPath, m.Value)
		case "version":
			e.reference.Version = d.decodeWord(fieldPath, m.Value)
		case "parts":
			e.isText = true
			e.parts = d.decodeParts(fieldPath, m.Value)
		default:
			d.fail(fieldPath, object.Suggest(m.Name, []string{"store", "key", "property", "version", "parts"}), "is not known")
		}
	}

	// Check that they fit together. Fields with mistakes are not reported again.
	e.reference.Kubernetes = store == "kubernetes"
	switch {
	case len(d.errs) > before:
	case store != "" && store != "kubernetes" && store != "environment":
		d.fail(path+".store", "", "must be environment or kubernetes")
	case e.isText && (e.reference != Reference{} || store != ""):
		d.fail(path, "", "has both parts and a reference: give one of them")
	case !e.isText && e.reference.Key == "":
		d.fail(path, "", "has neither a key nor parts")
	case e.reference.Kubernetes && e.reference.Property == "":
		d.fail(path, "name the key inside of the Secret", "has no property")
	case e.reference.Kubernetes && e.reference.Version != "":
		d.fail(path, "remove it", "has a version, which a Secret of the cluster does not have")
	}
	return e, len(d.errs) == before
}

// decodeWord returns a text, and reports a value that is empty or not a text.
func (d *reading) decodeWord(path string, v object.Value) string {
	if v.Kind != object.KindString || v.Text == "" {
		d.fail(path, "", "must be text that is not empty, got a %s", v.Kind)
	}
	return v.Text
}

func (d *reading) decodeParts(path string, v object.Value) []part {
	if v.Kind != object.KindList {
		d.fail(path, "", "must be a list, got a %s", v.Kind)
		return nil
	}
	out := make([]part, 0, len(v.Items))
	for n, item := range v.Items {
		out = append(out, d.decodePart(fmt.Sprintf("%s[%d]", path, n), item))
	}
	return out
}

func (d *reading) decodePart(path string, v object.Value) part {
	var p part
	text, isText := v.Get("text")
	ref, isRef := v.Get("ref")
	escape, escaped := v.Get("escape")
	for _, m := range v.Members {
		if !slices.Contains([]string{"text", "ref", "escape"}, m.Name) {
			d.fail(path+"."+m.Name, "", "is not known")
		}
	}
	switch {
	case isText == isRef:
		d.fail(path, "", "must be either text or ref")
	case isText && escaped:
		d.fail(path+".escape", "escape is for ref", "cannot be combined with text")
	case isText && text.Kind != object.KindString:
		d.fail(path+".text", "", "must be text, got a %s", text.Kind)
	case isRef:
		p.ref = d.decodeWord(path+".ref", ref)
		p.escape = escaped
		if escaped && escape.Text != "url" {
			d.fail(path+".escape", "", "must be url")
		}
	}
	p.text = text.Text
	return p
}
