// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/internal/reftype"
	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/object"
)

// decodeTransform decodes a Transform document. A component in it is decoded after environments were
// merged over it, see [DecodeComponent].
func (d *decoder) decodeTransform(v object.Value) Transform {
	doc := d.check(transformTable(), v, nil)
	t := Transform{Kind: KindTransform, Pos: v.Pos}
	t.Name, t.Namespace, t.NamePos = doc.metadata(v)
	spec := doc.child("spec")
	if built := spec.child("component"); built.Given() {
		t.Component = built.Value
		t.Blocks = d.blocks
		for _, name := range []string{"input", "tags"} {
			if m := spec.child(name); m.Given() {
				m.Fail("remove it, or remove component", "has no meaning beside component")
			}
		}
	}
	t.CueRef = spec.child("cueRef").cueRef()
	t.Tags = spec.Texts("tags")
	if tags := spec.child("tags"); len(t.Tags) > 0 {
		t.TagPos = make(map[string]object.Pos, len(t.Tags))
		for _, m := range tags.Members {
			t.TagPos[m.Name] = m.Pos
		}
	}
	t.Input = spec.Field("input")
	spec.decodeShared(&t)
	written, _ := v.Get("spec")
	input, isGiven := written.Get("input")
	invalid := isGiven && input.Kind != object.KindNull && t.Input.Kind == object.KindNone
	t.InputUnsure = d.Stray || invalid
	return t
}

// InCluster returns the first field of a Transform that only a Transform for a cluster has
// (plugin/api/v1alpha1.TransformSpec).
func InCluster(v object.Value) (object.Member, bool) {
	spec, _ := v.Get("spec")
	for _, m := range spec.Members {
		switch m.Name {
		case "sourceRef", "source", "inputsFrom", "output", "delivery", "rollback",
			"serviceAccountName", "interval", "retryInterval", "suspend", "history":
			return m, true
		}
	}
	return object.Member{}, false
}

// decodeShared decodes the fields that Transforms and Components share.
func (p part) decodeShared(t *Transform) {
	t.DependsOn = p.otherSpecs("dependsOn", t.Name)
	t.Policies = p.policies("policies")
	t.PolicyOverrides = PolicyOverrides(p.Part)
	t.Overlays = p.overlays(t.Name)
	t.Adopt = p.child("adopt").Text
	for _, item := range p.List("allowSecrets") {
		t.AllowSecrets = append(t.AllowSecrets, item.Text)
		t.AllowSecretsPos = append(t.AllowSecretsPos, item.Pos)
	}
}

// ready returns a rule that decides when an object is ready.
func (p part) ready() object.Ready {
	r := object.Ready{Pos: p.Pos, Type: p.child("type").Text, Timeout: p.child("timeout").Text}
	fieldTypes := map[string]string{
		"condition": object.ReadyConditionMatch, "status": object.ReadyConditionMatch, "expr": object.ReadyCEL,
	}
	for name, ofType := range fieldTypes {
		switch v := p.child(name); {
		case v.Given() && r.Type != ofType && r.Type != "":
			v.Fail("remove it, or write type: "+ofType, "has no meaning for type %q", r.Type)
		case !v.Given() && r.Type == ofType && name != "status":
			v.Fail("", "is missing")
		}
	}
	switch r.Type {
	case object.ReadyConditionMatch:
		r.Condition = p.child("condition").Text
		r.Status = cmp.Or(p.child("status").Text, "True")
	case object.ReadyCEL:
		expr := p.child("expr")
		r.Expr = expr.Text
		r.ExprPos = expr.asText().Pos
	}
	return r
}

// metadata returns the beginning of every document. The document was written as v: a name with
// mistakes is still the name of its document.
func (p part) metadata(v object.Value) (name, namespace string, namePos object.Pos) {
	meta, _ := v.Get("metadata")
	written, _ := meta.Get("name")
	return meta.TextOf("name"), p.child("metadata", "namespace").Text, written.Pos
}

// otherSpecs returns the specs that the spec called name depends on. A spec that names itself is
// rejected.
func (p part) otherSpecs(field, name string) (out []object.SpecDependency) {
	for _, item := range p.children(field) {
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
	p.eachNamed(name, "policy", func(m NamedModule, item part) {
		out = append(out, Policy{Name: m.Name, CueRef: m.CueRef, Input: item.Field("input"), Pos: m.Pos, Overridable: item.Flag("overridable")})
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

// cueRef returns the reference of a module, or the zero value.
func (p part) cueRef() CueRef {
	if !p.Given() {
		return CueRef{}
	}
	ref := CueRef{Pos: p.Pos, PullSecretRef: p.child("pullSecretRef", "name").Text, Verify: p.verify()}
	kind := p.child("type")
	ref.Type, ref.TypePos = RefType(kind.Text), kind.Pos
	ref.Ref, ref.RefPos = p.textAndPos("ref")
	if block, ok := p.blocks[ref.RefPos]; ok {
		ref.RefPos, ref.RefIndent = block.Pos, block.Indent
	}
	ref.Path, ref.PathPos = p.textAndPos("path")
	p.rejectUnfetched(ref)
	return ref
}

// verify returns the signature that a module must have, or nil.
func (p part) verify() *Verify {
	v := p.child("verify")
	if !v.Given() {
		return nil
	}
	return &Verify{Provider: v.child("provider").Text, SecretRef: v.child("secretRef", "name").Text}
}

// rejectUnfetched rejects fields for fetched modules in a reference that needs no fetch: credentials
// and signatures would give a false sense of safety there.
func (p part) rejectUnfetched(ref CueRef) {
	if t, _ := reftype.Of(string(ref.Type)); t.Remote || ref.Type == "" {
		return
	}
	for _, name := range []string{"pullSecretRef", "verify"} {
		if v := p.child(name); v.Given() {
			v.Fail("remove it", "has no meaning for type %q", ref.Type)
		}
	}
	if ref.Type == RefEmbedded && strings.ContainsAny(ref.Ref, "/\\") {
		p.Decoder.Fail(ref.RefPos, p.Path.Append(object.Field("ref")), "", "%q is not the name of an embedded module", ref.Ref)
	}
}

// Names for the module of a PivotCluster (plugin/api/v1alpha1.PivotCluster).
const (
	// clusterModule is the field with the module.
	clusterModule = "clusterModule"
	// embeddedCluster is the default module of the program for a PivotCluster.
	embeddedCluster = "cluster"
	// selfInput is a field of the input that a controller adds to the spec.
	selfInput = "self"
	// clusterNamespacePrefix begins the namespace of its objects.
	clusterNamespacePrefix = "rw-"
)

// decodePivotCluster decodes a PivotCluster document. Its spec is the input, which the module
// checks.
func (d *decoder) decodePivotCluster(v object.Value) Transform {
	doc := d.check(pivotTable(), v, nil)
	t := Transform{Kind: KindPivotCluster, Pos: v.Pos}
	name, _, namePos := doc.metadata(v)
	t.Name = name
	t.NamePos = namePos
	t.Namespace = clusterNamespacePrefix + name
	err := checkClusterName(name)
	if err != nil {
		doc.child("metadata", "name").Fail("", "%v", err)
	}
	if namespace := doc.child("metadata", "namespace"); namespace.Given() {
		namespace.Fail("remove it: its objects are in the namespace "+t.Namespace, "a PivotCluster has no namespace")
	}
	spec := doc.child("spec")
	t.Input, _ = v.Get("spec")
	if self := spec.child(selfInput); self.Given() {
		self.Fail("remove it: the controller of the cluster itself sets it", "unknown field %q", selfInput)
	}
	t.CueRef = CueRef{Type: RefEmbedded, TypePos: v.Pos, Ref: embeddedCluster, RefPos: v.Pos, Pos: v.Pos}
	if ref := spec.child(clusterModule); ref.Given() {
		t.CueRef = ref.cueRef()
	}
	once := spec.namedOnce("workers") && spec.child("networking").namedOnce("loadBalancerPools")
	t.InputUnsure = d.Stray || err != nil || !once || t.Input.Kind != object.KindMap
	return t
}

// namedOnce reports whether all names in a list differ, and adds a mistake at the second item of a
// name.
func (p part) namedOnce(list string) bool {
	before := len(p.Errs)
	seen := map[string]bool{}
	for _, item := range p.children(list) {
		name := item.child("name")
		if seen[name.Text] && name.Text != "" {
			name.Fail("choose another name", "%q is written twice", name.Text)
		}
		seen[name.Text] = true
	}
	return len(p.Errs) == before
}

// checkClusterName returns an error if the name of a PivotCluster cannot be a prefix of the names of
// machines.
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
	// DefaultGatewayModule is the default module of the program for a Gateway.
	DefaultGatewayModule = "gateway"
)

// decodeGateway decodes a Gateway document. Its spec is the input, except for the module and
// dependsOn; render/workload/gateway decodes the input after environments were merged over it.
func (d *decoder) decodeGateway(v object.Value) Transform {
	doc := d.check(gatewayTable(), v, nil)
	t := Transform{Kind: KindGateway, Pos: v.Pos}
	t.Name, t.Namespace, t.NamePos = doc.metadata(v)
	spec := doc.child("spec")
	t.CueRef = CueRef{Type: RefEmbedded, TypePos: v.Pos, Ref: DefaultGatewayModule, RefPos: v.Pos, Pos: v.Pos}
	if ref := spec.child(moduleField); ref.Given() {
		t.CueRef = ref.cueRef()
	}
	t.DependsOn = spec.otherSpecs("dependsOn", t.Name)
	written, _ := v.Get("spec")
	t.Input = written.Without(object.Fields(moduleField)).Without(object.Fields("dependsOn"))
	t.InputUnsure = d.Stray || t.Input.Kind != object.KindMap
	return t
}

// Overlay is laid over the objects of a spec that it selects.
type Overlay struct {
	// Pos and Path are its place in the document.
	Pos       object.Pos
	Path      object.Path
	Select    Selector
	DependsOn []object.Dependency
	ReadyWhen []object.Ready
	Needs     []object.Need
	// Apply has the policies that are set; "" and nil keep the policies of the object.
	Apply object.Apply
	// Patch is a strategic merge patch (a map), a list of operations of RFC 6902, or of
	// KindNone.
	Patch object.Value

	// Others are objects of the spec to which the overlay was applied before: the objects of
	// the resources of a workload. Found is set if it selected one of them.
	Others []object.Ref
	Found  bool
}

// Selector selects objects of a spec: all fields that are given must match. Texts are patterns of
// path.Match.
type Selector struct {
	Pos                          object.Pos
	Kind, Name, Namespace, Group string
	Labels                       map[string]string
}

// Matches reports whether o is selected.
func (s Selector) Matches(o object.Object) bool {
	fields := [...]struct{ pattern, text string }{
		{s.Kind, o.Kind()}, {s.Name, o.Name()}, {s.Namespace, o.Namespace()}, {s.Group, o.Group()},
	}
	for _, field := range fields {
		if ok, err := path.Match(field.pattern, field.text); field.pattern != "" && (err != nil || !ok) {
			return false
		}
	}
	labels := o.Labels()
	for name, want := range s.Labels {
		if got, ok := labels[name]; !ok || got != want {
			return false
		}
	}
	return true
}

// Overlays returns the field overlays of the spec called name, for a document that another decoder
// reads, with the block scalars of that document.
func Overlays(p document.Part, blocks map[object.Pos]Block, name string) []Overlay {
	return part{p, blocks}.overlays(name)
}

// overlays returns the overlays of a spec called name.
func (p part) overlays(name string) []Overlay {
	var out []Overlay
	for _, item := range p.children("overlays") {
		out = append(out, item.overlay(name))
		if len(item.Members) < 2 {
			item.Fail("write what is laid over: readyWhen, dependsOn, needs, apply or patch", "lays nothing over what it selects")
		}
	}
	return out
}

// overlay decodes one overlay of a spec called name.
func (p part) overlay(name string) Overlay {
	s := p.child("select")
	out := Overlay{Pos: p.Pos, Path: p.Path, Patch: p.Field("patch"), Select: Selector{
		Pos: s.Pos, Kind: s.child("kind").Text, Name: s.child("name").Text,
		Namespace: s.child("namespace").Text, Group: s.child("group").Text, Labels: s.Texts("labels"),
	}}
	if s.Given() && len(s.Members) == 0 {
		s.Fail("write one of kind, name, namespace, group, labels; name: \"*\" selects all", "selects nothing")
	}

	// A dependency is a node of this spec, a node of another, or another spec.
	for _, item := range p.children("dependsOn") {
		spec, node, full := strings.Cut(item.Text, "/")
		if !full {
			spec = name
			node = item.Text
		}
		empty := spec == "" || (node == "" && !full)
		if empty || strings.ContainsAny(spec+node, "/ \t\r\n") {
			item.Fail("", "%q is no node: expected a node of this spec (\"node\"), of another (\"spec/node\"), or a spec (\"spec/\")", item.Text)
			continue
		}
		out.DependsOn = append(out.DependsOn, object.Dependency{ID: object.MakeID(spec, node), Pos: item.Pos})
	}
	for _, item := range p.children("readyWhen") {
		out.ReadyWhen = append(out.ReadyWhen, item.ready())
	}
	for _, item := range p.children("needs") {
		out.Needs = append(out.Needs, object.Need{
			APIVersion: item.child("apiVersion").Text, Kind: item.child("kind").Text, Namespace: item.child("namespace").Text,
			Name: item.child("name").Text, Ready: item.child("ready").Text, Pos: item.Pos,
		})
	}

	// A field of apply that is not given changes nothing.
	a := p.child("apply")
	out.Apply = object.Apply{
		Mode: a.child("mode").Text, Conflict: a.child("conflict").Text,
		Adopt: a.child("adopt").Text, Deletion: a.child("deletion").Text,
	}
	if a.child("prune").Given() {
		prune := a.Flag("prune")
		out.Apply.Prune = &prune
	}

	// Some operations of a patch need a place or a value.
	for _, op := range p.children("patch") {
		for name, kinds := range map[string][]string{"from": {"copy", "move"}, "value": {"add", "replace", "test"}} {
			if !op.child(name).Given() && slices.Contains(kinds, op.child("op").Text) {
				op.child(name).Fail("", "is missing")
			}
		}
	}
	return out
}
