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

// Component is what the objects of a component are built of: exactly one of Manifests,
// Kustomize and Helm is set.
type Component struct {
	// Pos is the line of the field that says how it is built.
	Pos object.Pos
	// Path leads to that field in the document.
	Path object.Path
	// Source holds the files; where its Type is "", they are those of the project, and
	// paths are relative to the folder of the document.
	Source    CueRef
	Manifests *Manifests
	Kustomize *Kustomize
	Helm      *Helm
}

// Text is a string of a document, such as a path.
type Text struct {
	Text string
	// Pos is that of the first character of a block scalar; later lines are indented by
	// Indent.
	Pos    object.Pos
	Indent int
}

// Manifests are Kubernetes objects as they are.
type Manifests struct {
	// Inline is YAML or JSON.
	Inline Text
	// Paths are files, and folders with all that is below them, in Source.
	Paths []Text
}

// Kustomize is a kustomization.
type Kustomize struct {
	// Path is the folder of the kustomization, in Source.
	Path Text
	// Fields are fields of a kustomization that is laid over that of Path: the names are
	// those of [KustomizeFields], the rest is as it was written.
	Fields object.Value
	// EnableHelm allows helmCharts.
	EnableHelm bool
	// AnyPath is the load restrictor none: files may be outside of the folder that refers
	// to them. No file outside of Source is read.
	AnyPath bool
	// Remotes are the files and folders, in the tree of the build, of the remote
	// references of its kustomizations, by their text; the caller of the engine has
	// fetched them.
	Remotes map[string]string
	// Charts are the folders, in the tree of the build, of the charts of helmCharts, by
	// [ChartKey].
	Charts map[string]string
}

// ChartKey is the key of a chart of a repository in [Kustomize].Charts.
func ChartKey(repo, name, version string) string { return repo + " " + name + " " + version }

// Hooks of a chart.
const (
	// HooksWaves puts hooks before and after the other objects.
	HooksWaves = "waves"
	// HooksReject refuses a chart with hooks.
	HooksReject = "reject"
)

// Helm is a Helm chart with its values.
type Helm struct {
	// Chart is the path of a folder or an archive in Source, a reference oci://…, or the
	// name of a chart of Repo.
	Chart Text
	// Repo is the URL of an HTTP repository; "" where there is none.
	Repo Text
	// Version is one or a range; "" is the latest one that is no prerelease.
	Version       Text
	PullSecretRef string
	Verify        *Verify
	// Values win over ValuesFiles, which are paths in the project, in order.
	Values      object.Value
	ValuesFiles []Text
	// Sets are arguments of the command line, which win over Values.
	Sets []HelmSet
	// ReleaseName is that of the spec where it is "".
	ReleaseName string
	// Namespace is that of the context where it is "".
	Namespace   string
	SkipCRDs    bool
	APIVersions []string
	// Hooks is HooksWaves or HooksReject.
	Hooks string
}

// HelmSet is an argument of --set, --set-string, --set-json or --set-file as Helm reads it.
type HelmSet struct {
	Flag, Text string
	// Content is what the file of --set-file holds.
	Content string
	// Pos is the position for messages.
	Pos object.Pos
}

// KustomizeFields are the fields of a kustomization that a component lays over another.
func KustomizeFields() []string {
	return []string{
		"commonAnnotations", "components", "images", "labels", "namePrefix", "nameSuffix", "namespace", "patches", "replacements", "replicas",
	}
}

// componentKinds are the fields that say how a component is built.
func componentKinds() []string { return []string{"artifact", "helm", "kustomize", "manifests"} }

// DecodeComponent reads how a component is built; at leads to v in its document, and blocks
// are as in [Manifest].
func DecodeComponent(v object.Value, at object.Path, blocks map[object.Pos]Block) (Component, object.Errors) {
	d := &decoder{blocks: blocks}
	f := d.fields(v, at)
	c := Component{Pos: v.Pos, Path: at}
	var given []string
	for _, kind := range componentKinds() {
		if m, ok := v.Get(kind); ok && m.Kind != object.KindNull {
			given, c.Pos, c.Path = append(given, kind), m.Pos, at.Append(object.Field(kind))
		}
	}
	if ref, p, ok := f.get("source"); ok {
		c.Source = d.cueRef(ref, p)
	}
	if m, ok := f.child("manifests"); ok {
		c.Manifests = m.manifests()
	}
	if k, ok := f.child("kustomize"); ok {
		c.Kustomize = k.kustomize()
	}
	if h, ok := f.child("helm"); ok {
		c.Helm = h.helm(c.Source.Type != "")
	}
	if a, ok := f.child("artifact"); ok {
		c.Source, c.Manifests = a.artifact(), &Manifests{Paths: []Text{{Text: ".", Pos: a.value.Pos}}}
		if s, ok := v.Get("source"); ok {
			f.fail(s.Pos, at.Append(object.Field("source")), "remove it: ref of the artifact is its source", "an artifact has no source beside it")
		}
	}
	stray := len(d.errs)
	if len(at) == 1 { // A Component has these beside it, decoded before.
		f.known = append(f.known, "adopt", "allowSecrets", "dependsOn", "overlays", "policies")
	}
	f.done()
	for _, e := range d.errs[stray:] {
		name := e.Path[strings.LastIndex(e.Path, ".")+1:]
		switch kind := kindOf(name); {
		case c.Helm != nil && strings.HasPrefix(e.Pos.File, "--"):
			e.Hint = "a value of the chart is set as helm.values.NAME=VALUE"
		case kind != "" && (len(given) == 0 || slices.Contains(given, kind)):
			e.Hint = fmt.Sprintf("it goes under %s: {%s: …}", kind, name)
		}
	}
	switch {
	case len(given) > 1:
		second, _ := v.Get(given[1])
		d.fail(second.Pos, at.Append(object.Field(given[1])), "make two components of it", "a component is built in one way, and this one has %s", strings.Join(given, " and "))
	case len(given) == 0 && len(d.errs) == stray && v.Kind == object.KindMap:
		d.fail(v.Pos, at, "write one of them: manifests: {paths: [./deploy]}, kustomize: {path: .}, helm: {chart: …} or artifact: {ref: oci://…}",
			"expected one of %s", strings.Join(componentKinds(), ", "))
	}
	return c, d.errs
}

// kindOf is the kind of component that alone has a field of this name; "" is none.
func kindOf(name string) (kind string) {
	of := func(read func(*fields)) []string {
		f := &fields{decoder: &decoder{}}
		read(f)
		return f.known
	}
	for _, of := range []struct {
		kind  string
		known []string
	}{
		{"artifact", of(func(f *fields) { f.artifact() })},
		{"helm", of(func(f *fields) { f.helm(false) })},
		{"kustomize", of(func(f *fields) { f.kustomize() })},
		{"manifests", of(func(f *fields) { f.manifests() })},
	} {
		if slices.Contains(of.known, name) {
			if kind != "" {
				return ""
			}
			kind = of.kind
		}
	}
	return kind
}

// where is a string with its place.
func (d *decoder) where(v object.Value) Text {
	if b, ok := d.blocks[v.Pos]; ok {
		return Text{Text: v.Text, Pos: b.Pos, Indent: b.Indent}
	}
	return Text{Text: v.Text, Pos: v.Pos}
}

// place is an optional string that must not be empty.
func (f *fields) place(name string) Text {
	v, at, ok := f.get(name)
	if !ok || !f.kind(v, at, object.KindString) {
		return Text{}
	}
	if v.Text == "" {
		f.fail(v.Pos, at, "", "must not be empty")
	}
	return f.where(v)
}

// inside is an optional path in a source.
func (f *fields) inside(name string) Text {
	t := f.place(name)
	f.checkInside(t, f.path.Append(object.Field(name)))
	return t
}

func (f *fields) checkInside(t Text, at object.Path) {
	switch {
	case strings.Contains(t.Text, "://"):
		f.fail(t.Pos, at, "name where the files come from in source: {type: git, ref: …}", "expected a path, got %s", strconv.Quote(t.Text))
	case path.IsAbs(t.Text):
		f.fail(t.Pos, at, "write a path relative to this file, or in the source", "%q is absolute", t.Text)
	}
}

// paths is an optional list of paths in a source.
func (f *fields) paths(name string) []Text {
	items, at := f.list(name)
	var out []Text
	for i, v := range items {
		if in := at.Append(object.Index(i)); f.kind(v, in, object.KindString) {
			if v.Text == "" {
				f.fail(v.Pos, in, "", "must not be empty")
			}
			t := f.where(v)
			f.checkInside(t, in)
			out = append(out, t)
		}
	}
	return out
}

func (f *fields) manifests() *Manifests {
	out := &Manifests{Inline: f.place("inline"), Paths: f.paths("paths")}
	stray := len(f.errs)
	f.done()
	if out.Inline.Text == "" && len(out.Paths) == 0 && len(f.errs) == stray && f.value.Kind == object.KindMap {
		f.fail(f.value.Pos, f.path, "write inline: | with YAML below it, or paths: [./deploy]", "holds neither inline nor paths")
	}
	return out
}

func (f *fields) artifact() CueRef {
	ref := CueRef{Type: RefType(reftype.OCI), TypePos: f.value.Pos, Pos: f.value.Pos}
	text := f.needText("ref")
	ref.Ref, ref.RefPos = text.Text, text.Pos
	if text.Text != "" && !strings.HasPrefix(text.Text, "oci://") {
		f.fail(text.Pos, f.path.Append(object.Field("ref")), "write oci://HOST/REPOSITORY@sha256:…", "%q is not the reference of an OCI artifact", text.Text)
	}
	ref.Path, ref.PathPos = f.text("path")
	ref.PullSecretRef, ref.Verify = f.access()
	f.done()
	return ref
}

// access decodes credentials, and the signature that is wanted.
func (f *fields) access() (secret string, verify *Verify) {
	if s, ok := f.child("pullSecretRef"); ok {
		secret = s.needText("name").Text
		s.done()
	}
	return secret, f.verify()
}

// flag is an optional bool.
func (f *fields) flag(name string) bool {
	v, at, ok := f.get(name)
	return ok && f.kind(v, at, object.KindBool) && v.Text == "true"
}

func (f *fields) kustomize() *Kustomize {
	out := &Kustomize{Path: f.inside("path"), EnableHelm: f.flag("enableHelm")}
	out.AnyPath = f.enum("loadRestrictor", "rootOnly", "none") == "none"
	laid := object.Value{Kind: object.KindMap, Pos: f.value.Pos}
	for _, name := range KustomizeFields() {
		if _, _, ok := f.get(name); ok {
			i := slices.IndexFunc(f.value.Members, func(m object.Member) bool { return m.Name == name })
			laid.Members = append(laid.Members, f.value.Members[i])
		}
	}
	if len(laid.Members) > 0 {
		out.Fields = laid
	}
	f.done()
	return out
}

func (f *fields) helm(source bool) *Helm {
	out := &Helm{
		Repo: f.place("repo"), Version: f.place("version"), Values: f.input("values"), ValuesFiles: f.paths("valuesFiles"),
		SkipCRDs: f.flag("skipCRDs"), Namespace: f.label("namespace"), Hooks: f.enum("hooks", HooksWaves, HooksReject),
		APIVersions: f.words("apiVersions"),
	}
	out.ReleaseName, _ = f.text("releaseName")
	out.PullSecretRef, out.Verify = f.access()
	chart := f.needText("chart")
	out.Chart = f.where(chart)
	if out.Hooks == "" {
		out.Hooks = HooksWaves
	}
	f.done()
	at := func(name string) object.Path { return f.path.Append(object.Field(name)) }
	if out.Repo.Text != "" && !strings.HasPrefix(out.Repo.Text, "https://") && !strings.HasPrefix(out.Repo.Text, "http://") {
		hint := "write the URL of the folder that holds index.yaml, https://…"
		if strings.HasPrefix(out.Repo.Text, "oci://") {
			hint = fmt.Sprintf("write chart: %s/%s, without repo", strings.TrimSuffix(out.Repo.Text, "/"), chart.Text)
		}
		f.fail(out.Repo.Pos, at("repo"), hint, "%q is not the URL of a chart repository", out.Repo.Text)
	}
	local := out.Repo.Text == "" && !strings.HasPrefix(chart.Text, "oci://")
	switch {
	case local && strings.Contains(chart.Text, "://"):
		f.fail(chart.Pos, at("chart"), "name the repository in repo, and the chart by its name", "%q is neither a path nor the reference of an OCI chart", chart.Text)
	case local && path.IsAbs(chart.Text):
		f.checkInside(out.Chart, at("chart"))
	case local && out.Version.Text != "":
		f.fail(out.Version.Pos, at("version"), "remove it, or name the repository in repo", "a chart of a folder has no version to choose")
	case local && (out.PullSecretRef != "" || out.Verify != nil):
		f.fail(f.value.Pos, f.path, "write it in source", "a chart of a folder has neither pullSecretRef nor verify of its own")
	case !local && source:
		f.fail(chart.Pos, at("chart"), "remove source, or name the folder of the chart in it", "the chart does not come from the source")
	}
	return out
}

// component decodes a Component document. How it is built is decoded after environments were
// merged over it, see [DecodeComponent].
func (d *decoder) component(v object.Value) Transform {
	doc := d.fields(v, nil)
	t := Transform{Kind: KindComponent, Pos: v.Pos, Blocks: d.blocks}
	t.Name, t.Namespace, t.NamePos = doc.metadata()
	spec := doc.needChild("spec")
	spec.ofSpec(&t)
	t.Component = object.Value{Kind: spec.value.Kind, Pos: spec.value.Pos}
	for _, m := range spec.value.Members {
		if !slices.Contains(spec.known, m.Name) {
			t.Component.Members = append(t.Component.Members, m)
		}
	}
	doc.done(spec.known...)
	t.InputUnsure = d.stray || spec.value.Kind != object.KindMap
	return t
}
