// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/internal/reftype"
	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/object"
)

// decodeTransform decodes a Transform document. How a component of it is built is decoded after
// environments were merged over it, see [DecodeComponent].
func (d *decoder) decodeTransform(v object.Value) Transform {
	doc := d.hold(transformTable(), v, nil)
	t := Transform{Kind: KindTransform, Pos: v.Pos}
	t.Name, t.Namespace, t.NamePos = doc.metadata(v)
	spec := doc.at("spec")
	if built := spec.at("component"); built.Given() {
		t.Component = built.Value
		t.Blocks = d.blocks
		for _, name := range []string{"input", "tags"} {
			if m := spec.at(name); m.Given() {
				m.Fail("remove it, or remove component", "has no meaning beside component")
			}
		}
	}
	t.CueRef = spec.at("cueRef").cueRef()
	t.Tags = spec.Texts("tags")
	if tags := spec.at("tags"); len(t.Tags) > 0 {
		t.TagPos = make(map[string]object.Pos, len(t.Tags))
		for _, m := range tags.Members {
			t.TagPos[m.Name] = m.Pos
		}
	}
	t.Input = spec.Field("input")
	spec.decodeShared(&t)
	written, _ := v.Get("spec")
	input, given := written.Get("input")
	t.InputUnsure = d.Stray || given && input.Kind != object.KindNull && t.Input.Kind == object.KindNone
	return t
}

// InCluster returns the first field of a Transform that only those have which are made for a
// cluster (plugin/api/v1alpha1.TransformSpec).
func InCluster(v object.Value) (object.Member, bool) {
	spec, _ := v.Get("spec")
	for _, m := range spec.Members {
		switch m.Name {
		case "sourceRef", "source", "inputsFrom", "output", "delivery", "rollback", "serviceAccountName", "interval", "retryInterval", "suspend", "history":
			return m, true
		}
	}
	return object.Member{}, false
}

// decodeShared decodes the fields that every spec has whose objects are made as they are.
func (p part) decodeShared(t *Transform) {
	t.DependsOn = p.others("dependsOn", t.Name)
	t.Policies = p.policies("policies")
	t.PolicyOverrides = PolicyOverrides(p.Part)
	t.Overlays = p.overlays(t.Name)
	t.Adopt = p.at("adopt").Text
	for _, item := range p.List("allowSecrets") {
		t.AllowSecrets = append(t.AllowSecrets, item.Text)
		t.AllowSecretsPos = append(t.AllowSecretsPos, item.Pos)
	}
}

// ready returns a rule for when an object is ready.
func (p part) ready() object.Ready {
	r := object.Ready{Pos: p.Pos, Type: p.at("type").Text, Timeout: p.at("timeout").Text}
	for name, of := range map[string]string{"condition": object.ReadyConditionMatch, "status": object.ReadyConditionMatch, "expr": object.ReadyCEL} {
		switch v := p.at(name); {
		case v.Given() && r.Type != of && r.Type != "":
			v.Fail("remove it, or write type: "+of, "has no meaning for type %q", r.Type)
		case !v.Given() && r.Type == of && name != "status":
			v.Fail("", "is missing")
		}
	}
	switch r.Type {
	case object.ReadyConditionMatch:
		r.Condition = p.at("condition").Text
		r.Status = cmp.Or(p.at("status").Text, "True")
	case object.ReadyCEL:
		expr := p.at("expr")
		r.Expr = expr.Text
		r.ExprPos = expr.where().Pos
	}
	return r
}

// metadata returns what every document begins with. The document was written as v: a name that is
// wrong is still that of its document.
func (p part) metadata(v object.Value) (name, namespace string, namePos object.Pos) {
	meta, _ := v.Get("metadata")
	written, _ := meta.Get("name")
	return meta.TextOf("name"), p.at("metadata", "namespace").Text, written.Pos
}

// others returns the specs that the one called name depends on. A spec that names itself is
// refused.
func (p part) others(field, name string) (out []object.SpecDependency) {
	for _, item := range p.items(field) {
		if item.Text == name {
			item.Fail("remove the dependency", "%q depends on itself", name)
			continue
		}
		out = append(out, object.SpecDependency{Name: item.Text, Pos: item.Pos})
	}
	return out
}

// policies returns the policies of a list. Names are unique in it.
func (p part) policies(name string) []Policy {
	var out []Policy
	p.eachNamed(name, "policy", func(m NamedModule, rest part) {
		out = append(out, Policy{Name: m.Name, CueRef: m.CueRef, Input: rest.Field("input"), Pos: m.Pos, Overridable: rest.Flag("overridable")})
	})
	return out
}

// PolicyOverrides returns the policies that a spec loosens, each once.
func PolicyOverrides(p document.Part) []PolicyOverride {
	var out []PolicyOverride
	for _, item := range p.List("policyOverrides") {
		o := PolicyOverride{
			Policy: item.At("policy").Text, Action: item.At("action").Text, Reason: item.At("reason").Text,
			Pos: item.At("policy").Pos, Path: item.Path,
		}
		if o.Policy != "" && slices.ContainsFunc(out, func(first PolicyOverride) bool { return first.Policy == o.Policy }) {
			item.At("policy").Fail("keep one of them", "a second override of the policy %q", o.Policy)
			continue
		}
		out = append(out, o)
	}
	return out
}

// cueRef returns the reference of a module, or the zero value if there is none.
func (p part) cueRef() CueRef {
	if !p.Given() {
		return CueRef{}
	}
	ref := CueRef{Pos: p.Pos, PullSecretRef: p.at("pullSecretRef", "name").Text, Verify: p.verify()}
	kind := p.at("type")
	ref.Type, ref.TypePos = RefType(kind.Text), kind.Pos
	ref.Ref, ref.RefPos = p.text("ref")
	if block, ok := p.blocks[ref.RefPos]; ok {
		ref.RefPos, ref.RefIndent = block.Pos, block.Indent
	}
	ref.Path, ref.PathPos = p.text("path")
	p.refuseLocal(ref)
	return ref
}

// verify returns what signature a module must have, or nil if it needs none.
func (p part) verify() *Verify {
	v := p.at("verify")
	if !v.Given() {
		return nil
	}
	return &Verify{Provider: v.at("provider").Text, SecretRef: v.at("secretRef", "name").Text}
}

// refuseLocal refuses what a module that is not fetched cannot have: credentials
// and signatures would give a false sense of safety there.
func (p part) refuseLocal(ref CueRef) {
	if t, _ := reftype.Of(string(ref.Type)); t.Remote || ref.Type == "" {
		return
	}
	for _, name := range []string{"pullSecretRef", "verify"} {
		if v := p.at(name); v.Given() {
			v.Fail("remove it", "has no meaning for type %q", ref.Type)
		}
	}
	if ref.Type == RefEmbedded && strings.ContainsAny(ref.Ref, "/\\") {
		p.Decoder.Fail(ref.RefPos, p.Path.Append(object.Field("ref")), "", "%q is not the name of an embedded module", ref.Ref)
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

// decodePivotCluster decodes a PivotCluster document. Its spec is the input, so that the module
// judges it.
func (d *decoder) decodePivotCluster(v object.Value) Transform {
	doc := d.hold(pivotTable(), v, nil)
	t := Transform{Kind: KindPivotCluster, Pos: v.Pos}
	name, _, at := doc.metadata(v)
	t.Name = name
	t.NamePos = at
	t.Namespace = clusterNamespacePrefix + name
	err := checkClusterName(name)
	if err != nil {
		doc.at("metadata", "name").Fail("", "%v", err)
	}
	if namespace := doc.at("metadata", "namespace"); namespace.Given() {
		namespace.Fail("remove it: its objects are in the namespace "+t.Namespace, "a PivotCluster has no namespace")
	}
	spec := doc.at("spec")
	t.Input, _ = v.Get("spec")
	if self := spec.at(selfInput); self.Given() {
		self.Fail("remove it: the controller of the cluster itself sets it", "unknown field %q", selfInput)
	}
	t.CueRef = CueRef{Type: RefEmbedded, TypePos: v.Pos, Ref: embeddedCluster, RefPos: v.Pos, Pos: v.Pos}
	if ref := spec.at(clusterModule); ref.Given() {
		t.CueRef = ref.cueRef()
	}
	once := spec.namedOnce("workers") && spec.at("networking").namedOnce("loadBalancerPools")
	t.InputUnsure = d.Stray || err != nil || !once || t.Input.Kind != object.KindMap
	return t
}

// namedOnce reports whether all names in a list differ, and adds a mistake at the second item of a
// name.
func (p part) namedOnce(list string) bool {
	before := len(p.Errs)
	seen := map[string]bool{}
	for _, item := range p.items(list) {
		name := item.at("name")
		if seen[name.Text] && name.Text != "" {
			name.Fail("choose another name", "%q is written twice", name.Text)
		}
		seen[name.Text] = true
	}
	return len(p.Errs) == before
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

// decodeGateway decodes a Gateway document. Its spec is the input, but for the module and what
// comes before it; render/workload/gateway decodes that after environments were merged
// over it.
func (d *decoder) decodeGateway(v object.Value) Transform {
	doc := d.hold(gatewayTable(), v, nil)
	t := Transform{Kind: KindGateway, Pos: v.Pos}
	t.Name, t.Namespace, t.NamePos = doc.metadata(v)
	spec := doc.at("spec")
	t.CueRef = CueRef{Type: RefEmbedded, TypePos: v.Pos, Ref: DefaultGatewayModule, RefPos: v.Pos, Pos: v.Pos}
	if ref := spec.at(moduleField); ref.Given() {
		t.CueRef = ref.cueRef()
	}
	t.DependsOn = spec.others("dependsOn", t.Name)
	written, _ := v.Get("spec")
	t.Input = written.Without(object.Fields(moduleField)).Without(object.Fields("dependsOn"))
	t.InputUnsure = d.Stray || t.Input.Kind != object.KindMap
	return t
}
