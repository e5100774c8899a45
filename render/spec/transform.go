// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/internal/reftype"
	"github.com/ropewalk/ropewalk/render/object"
)

// transform decodes a Transform document.
func (d *decoder) transform(v object.Value) Transform {
	doc := d.fields(v, nil)
	t := Transform{Kind: KindTransform, Pos: v.Pos}
	t.Name, t.Namespace, t.NamePos = doc.metadata()
	spec := doc.needChild("spec")
	spec.inTransform(&t)
	spec.done()
	doc.done(spec.known...)
	input, given := spec.value.Get("input")
	t.InputUnsure = d.stray || given && input.Kind != object.KindNull && t.Input.Kind == object.KindNone
	return t
}

// InCluster is the first field of a Transform that only those have which are made for a
// cluster (plugin/api/v1alpha1.TransformSpec).
func InCluster(v object.Value) (object.Member, bool) {
	spec, _ := v.Get("spec")
	for _, m := range spec.Members {
		switch m.Name {
		case "sourceRef", "inputsFrom", "output", "delivery", "rollback", "serviceAccountName", "interval", "retryInterval", "suspend", "history":
			return m, true
		}
	}
	return object.Member{}, false
}

// inTransform decodes the spec of a Transform.
func (f *fields) inTransform(t *Transform) {
	if built, path, ok := f.get("component"); ok && f.kind(built, path, object.KindMap) {
		t.Component, t.Blocks = built, f.blocks
		for _, name := range []string{"cueRef", "input", "tags"} {
			if m, at, both := f.get(name); both {
				f.fail(m.Pos, at, "remove it, or remove component", "has no meaning beside component")
			}
		}
	} else {
		f.need("cueRef")
	}
	if ref, path, ok := f.get("cueRef"); ok {
		t.CueRef = f.cueRef(ref, path)
	}
	t.Tags = f.texts("tags", true)
	if v, _, ok := f.get("tags"); ok && len(t.Tags) > 0 {
		t.TagPos = make(map[string]object.Pos, len(t.Tags))
		for _, m := range v.Members {
			t.TagPos[m.Name] = m.Pos
		}
	}
	t.Input = f.input("input")
	f.ofSpec(t)
}

// ofSpec decodes what every spec has whose objects are made as they are.
func (f *fields) ofSpec(t *Transform) {
	t.DependsOn = f.others("dependsOn", t.Name)
	t.Policies = f.policies("policies")
	t.Overlays = f.overlays(t.Name)
	t.Adopt = f.enum("adopt", object.AdoptNever, object.AdoptTakeOwnership, object.AdoptMirror)
	t.AllowSecrets, t.AllowSecretsPos = f.allowSecrets()
}

// allowSecrets decodes the names of Secrets that may hold data, and where they are written.
func (f *fields) allowSecrets() (names []string, pos []object.Pos) {
	items, at := f.list("allowSecrets")
	for i, v := range items {
		if f.kind(v, at.Append(object.Index(i)), object.KindString) {
			if _, err := path.Match(v.Text, ""); err != nil {
				f.fail(v.Pos, at.Append(object.Index(i)), "write a name, or a pattern such as \"app-*\"", "%q is not a valid pattern", v.Text)
				continue
			}
			names, pos = append(names, v.Text), append(pos, v.Pos)
		}
	}
	return names, pos
}

// metadata decodes what every document begins with.
func (f *fields) metadata() (name, namespace string, namePos object.Pos) {
	f.get("apiVersion")
	f.get("kind")
	// A document that was read back from a cluster has a status.
	f.get("status")
	meta := f.needChild("metadata")
	n := meta.needText("name")
	if bad := badLabel(n.Text); n.Text != "" && bad != "" {
		f.fail(n.Pos, meta.path.Append(object.Field("name")), "", "%q %s", n.Text, bad)
	}
	namespace = meta.label("namespace")
	meta.texts("labels", false)
	meta.texts("annotations", false)
	meta.done()
	return n.Text, namespace, n.Pos
}

// others are the specs that the one called name depends on, which is not one of them.
func (f *fields) others(field, name string) []object.SpecDependency {
	return slices.DeleteFunc(f.labels(field), func(dep object.SpecDependency) bool {
		if dep.Name == name {
			f.fail(dep.Pos, f.path.Append(object.Field(field)), "remove the dependency", "%q depends on itself", dep.Name)
		}
		return dep.Name == name
	})
}

// input is an optional value of free form; only a map can meet an #Input.
func (f *fields) input(name string) object.Value {
	v, path, ok := f.get(name)
	if !ok || !f.kind(v, path, object.KindMap) {
		return object.Value{}
	}
	return v
}

// policies decodes a list of policies; names are unique in it.
func (f *fields) policies(name string) []Policy {
	var out []Policy
	f.named(name, "policy", func(m NamedModule, p *fields) {
		out = append(out, Policy{Name: m.Name, CueRef: m.CueRef, Input: p.input("input"), Pos: m.Pos})
	})
	return out
}

// cueRef decodes the reference of a module.
func (d *decoder) cueRef(v object.Value, path object.Path) CueRef {
	if v.Kind == object.KindString {
		hint := fmt.Sprintf("write {type: %s, ref: %s}", RefPath, strconv.Quote(v.Text))
		if badLabel(v.Text) == "" {
			hint = fmt.Sprintf("write {type: %s, ref: %s} for a module of Ropewalk, {type: %s, ref: ./FOLDER} for one of your own", RefEmbedded, v.Text, RefPath)
		}
		if strings.Contains(v.Text, "://") {
			hint = fmt.Sprintf("write {type: …, ref: %s} with the type git or oci", strconv.Quote(v.Text))
		}
		d.fail(v.Pos, path, hint, "expected a map, got a string")
		return CueRef{Pos: v.Pos}
	}
	f := d.fields(v, path)
	ref := CueRef{Pos: v.Pos}
	if kind, _, ok := f.need("type"); ok {
		ref.Type, ref.TypePos = RefType(f.enum("type", reftype.Names()...)), kind.Pos
	}
	text := f.needText("ref")
	ref.Ref, ref.RefPos = text.Text, text.Pos
	if block, ok := d.blocks[text.Pos]; ok {
		ref.RefPos, ref.RefIndent = block.Pos, block.Indent
	}
	ref.Path, ref.PathPos = f.text("path")
	if secret, ok := f.child("pullSecretRef"); ok {
		ref.PullSecretRef = secret.needText("name").Text
		secret.done()
	}
	ref.Verify = f.verify()
	f.local(ref)
	f.done()
	return ref
}

// verify decodes what signature a module must have.
func (f *fields) verify() *Verify {
	v, ok := f.child("verify")
	if !ok {
		return nil
	}
	out := &Verify{Provider: v.enum("provider", "cosign", "pgp", "ssh")}
	if _, ok := v.value.Get("provider"); !ok && v.value.Kind == object.KindMap {
		v.missed = append(v.missed, "provider")
	}
	if secret, ok := v.child("secretRef"); ok {
		out.SecretRef = secret.needText("name").Text
		secret.done()
	}
	v.done()
	return out
}

// local refuses what a module that is not fetched cannot have: credentials
// and signatures would give a false sense of safety there.
func (f *fields) local(ref CueRef) {
	if t, _ := reftype.Of(string(ref.Type)); t.Remote {
		return
	}
	for _, name := range []string{"pullSecretRef", "verify"} {
		if v, ok := f.value.Get(name); ok && v.Kind != object.KindNull {
			f.fail(v.Pos, f.path.Append(object.Field(name)), "remove it", "has no meaning for type %q", ref.Type)
		}
	}
	if ref.Type == RefEmbedded && strings.ContainsAny(ref.Ref, "/\\") {
		f.fail(ref.RefPos, f.path.Append(object.Field("ref")), "", "%q is not the name of an embedded module", ref.Ref)
	}
}

// What makes the objects of a PivotCluster (plugin/api/v1alpha1.PivotCluster).
const (
	// clusterModule is the field with the module.
	clusterModule = "clusterModule"
	// embeddedCluster is the module of the program for a PivotCluster that names none.
	embeddedCluster = "cluster"
	// selfInput is a field of the input that a controller adds to the spec.
	selfInput = "self"
	// clusterNamespacePrefix is what the namespace of its objects begins with.
	clusterNamespacePrefix = "rw-"
)

// pivotCluster decodes a PivotCluster document. Its spec is the input, so that the module
// judges it.
func (d *decoder) pivotCluster(v object.Value) Transform {
	doc := d.fields(v, nil)
	t := Transform{Kind: KindPivotCluster, Pos: v.Pos}
	name, _, at := doc.metadata()
	t.Name, t.NamePos, t.Namespace = name, at, clusterNamespacePrefix+name
	err := checkClusterName(name)
	if err != nil && badLabel(name) == "" {
		d.fail(at, object.Fields("metadata", "name"), "", "%v", err)
	}
	meta, _ := v.Get("metadata")
	if namespace, ok := meta.Get("namespace"); ok {
		d.fail(namespace.Pos, object.Fields("metadata", "namespace"), "remove it: its objects are in the namespace "+t.Namespace,
			"a PivotCluster has no namespace")
	}
	spec := doc.needChild("spec")
	doc.done()
	t.Input = spec.value
	if self, ok := spec.value.Get(selfInput); ok {
		d.fail(self.Pos, object.Fields("spec", selfInput), "remove it: the controller of the cluster itself sets it", "unknown field %q", selfInput)
	}
	t.CueRef = CueRef{Type: RefEmbedded, TypePos: v.Pos, Ref: embeddedCluster, RefPos: v.Pos, Pos: v.Pos}
	if ref, path, ok := spec.get(clusterModule); ok {
		t.CueRef = d.cueRef(ref, path)
	}
	networking, _ := spec.value.Get("networking")
	once := d.namedOnce(spec.value, "workers") && d.namedOnce(networking, "networking", "loadBalancerPools")
	t.InputUnsure = d.stray || err != nil || !once || t.Input.Kind != object.KindMap
	return t
}

// namedOnce reports the second item of a name in a list below spec; it is false where there
// is one.
func (d *decoder) namedOnce(in object.Value, path ...string) bool {
	list, _ := in.Get(path[len(path)-1])
	before := len(d.errs)
	seen := map[string]bool{}
	for i, item := range list.Items {
		name, _ := item.Get("name")
		if seen[name.Text] && name.Text != "" {
			at := object.Fields("spec").Append(object.Fields(path...)...).Append(object.Index(i), object.Field("name"))
			d.fail(name.Pos, at, "choose another name", "%q is written twice", name.Text)
		}
		seen[name.Text] = true
	}
	return len(d.errs) == before
}

// checkClusterName reports what is wrong with the name of a PivotCluster, which is a prefix
// of that of machines.
func checkClusterName(name string) error {
	const most = 40
	switch {
	case len(name) > most:
		return fmt.Errorf("%q has %d characters, more than %d: it is a prefix of the names of machines", name, len(name), most)
	case name != "" && strings.Trim(name[:1], "abcdefghijklmnopqrstuvwxyz") != "":
		return fmt.Errorf("%q must begin with a letter: it is a prefix of the names of machines", name)
	}
	return nil
}

const (
	// moduleField is the field of a Gateway with the module.
	moduleField = "module"
	// DefaultGatewayModule is the module of the program for a Gateway that names none.
	DefaultGatewayModule = "gateway"
)

// gateway decodes a Gateway document. Its spec is the input, but for the module and what
// comes before it; render/workload/gateway decodes that after environments were merged
// over it.
func (d *decoder) gateway(v object.Value) Transform {
	doc := d.fields(v, nil)
	t := Transform{Kind: KindGateway, Pos: v.Pos}
	t.Name, t.Namespace, t.NamePos = doc.metadata()
	spec := doc.needChild("spec")
	t.CueRef = CueRef{Type: RefEmbedded, TypePos: v.Pos, Ref: DefaultGatewayModule, RefPos: v.Pos, Pos: v.Pos}
	if ref, path, ok := spec.get(moduleField); ok {
		t.CueRef = d.cueRef(ref, path)
	}
	t.DependsOn = spec.others("dependsOn", t.Name)
	doc.done()
	t.Input = spec.value.Without(object.Fields(moduleField)).Without(object.Fields("dependsOn"))
	t.InputUnsure = d.stray || t.Input.Kind != object.KindMap
	return t
}
