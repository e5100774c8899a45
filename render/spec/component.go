// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/internal/reftype"
	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/document/kinds"
	"github.com/ropewalk/ropewalk/render/object"
)

// Component describes the source of the objects of a component: exactly one of Manifests,
// Kustomize and Helm is set.
type Component struct {
	// Pos is the line of the field manifests, kustomize, helm or artifact.
	Pos object.Pos
	// Path leads to that field in the document.
	Path object.Path
	// Source holds the files. If its Type is "", they are files of the project, and paths
	// are relative to the folder of the document.
	Source    CueRef
	Manifests *Manifests
	Kustomize *Kustomize
	Helm      *Helm
	// Substitute are the values of ${NAME} in the objects, or nil if none are replaced.
	// SubstituteUnknown decides about names without a value, such as UnknownEmpty.
	Substitute        map[string]string
	SubstituteUnknown string
	// OfUnit marks a component that an engine such as Argo CD applies. Objects with
	// metadata.generateName are accepted, and get a name that says so. The text of Manifests is
	// made of a template, and all of its objects have the position of the text.
	OfUnit bool
}

// Text is a string of a document, such as a path.
type Text struct {
	Text string
	// Pos is the position of the first character of a block scalar; later lines are
	// indented by Indent.
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
	// Fields are fields of a kustomization that is laid over the one at Path. The names are
	// in [KustomizeFields], and the values are unchanged.
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

// ChartKey returns the key of a chart of a repository in [Kustomize].Charts.
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
	// Repo is the URL of an HTTP repository, or "".
	Repo Text
	// Version is a version or a range; "" is the latest version that is not a prerelease.
	Version       Text
	PullSecretRef string
	Verify        *Verify
	// Values win over ValuesFiles, which are paths in the project, in order.
	Values      object.Value
	ValuesFiles []Text
	// Sets are arguments of the command line, or of an engine, which win over Values.
	Sets []HelmSet
	// ReleaseName is "" for the name of the spec.
	ReleaseName string
	// Namespace is "" for the namespace of the context.
	Namespace   string
	SkipCRDs    bool
	APIVersions []string
	// Hooks is HooksWaves or HooksReject.
	Hooks string
	// PostRenderers are fields of kustomizations that are laid over the objects of the
	// templates, one after the other.
	PostRenderers []object.Value
}

// KustomizeFields returns the fields of a kustomization that a component lays over another.
func KustomizeFields() []string {
	return []string{
		"commonAnnotations", "components", "images", "labels", "namePrefix", "nameSuffix", "namespace", "patches", "replacements", "replicas",
	}
}

// componentKinds returns the fields of which a component has exactly one.
func componentKinds() []string { return []string{"artifact", "helm", "kustomize", "manifests"} }

// DecodeComponent decodes the component v, which stands at the path at in its document. The argument
// blocks is like [Manifest].Blocks.
func DecodeComponent(v object.Value, at object.Path, blocks map[object.Pos]Block) (Component, object.Errors) {
	d := &decoder{blocks: blocks}
	c := Component{Pos: v.Pos, Path: at}

	// One of the fields decides the kind of component.
	var given []string
	for _, kind := range componentKinds() {
		if m, ok := v.Get(kind); ok && m.Kind != object.KindNull {
			given = append(given, kind)
			c.Pos = m.Pos
			c.Path = at.Append(object.Field(kind))
		}
	}

	// A field that is unknown at the root may belong below a kind.
	table := builtTable()
	if len(at) == 1 { // A Component has more beside it.
		table = ownBuiltTable()
	}
	p := d.check(table, v, at)
	for _, e := range d.Errs {
		name := e.Path[strings.LastIndex(e.Path, ".")+1:]
		switch kind := kindOf(name); {
		case !strings.HasPrefix(e.Err.Error(), "unknown field"):
		case slices.Contains(given, "helm") && strings.HasPrefix(e.Pos.File, "--"):
			e.Hint = "a value of the chart is set as helm.values.NAME=VALUE"
		case kind == "" || e.Path != at.Append(object.Field(name)).String():
		case len(given) == 0 || slices.Contains(given, kind):
			e.Hint = fmt.Sprintf("it goes under %s: {%s: …}", kind, name)
		}
	}

	// An artifact is a source with manifests.
	c.Source = p.child("source").cueRef()
	c.Manifests = p.child("manifests").manifests()
	c.Kustomize = p.child("kustomize").kustomize()
	c.Helm = p.child("helm").helm(c.Source.Type != "")
	c.Substitute = p.Texts("substitute")
	c.SubstituteUnknown = cmp.Or(p.child("substituteUnknown").Text, UnknownEmpty)
	if a := p.child("artifact"); a.Given() {
		if source := p.child("source"); source.Given() {
			source.Fail("remove it: ref of the artifact is its source", "an artifact has no source beside it")
		}
		c.Source = a.artifact()
		c.Manifests = &Manifests{Paths: []Text{{Text: ".", Pos: a.Pos}}}
	}

	// A component is built in exactly one way.
	switch {
	case len(given) > 1:
		p.child(given[1]).Fail("make two components of it", "a component is built in one way, and this one has %s", strings.Join(given, " and "))
	case len(given) == 0 && p.Given():
		p.Fail("write one of them: manifests: {paths: [./deploy]}, kustomize: {path: .}, helm: {chart: …} or artifact: {ref: oci://…}",
			"expected one of %s", strings.Join(componentKinds(), ", "))
	}
	return c, d.Errs
}

// kindOf returns the only kind of component that has a field of this name, or "" if several kinds
// or none have it.
func kindOf(name string) (kind string) {
	for _, field := range builtTable().Fields {
		hasName := slices.ContainsFunc(field.Fields, func(f document.Field) bool { return f.Name == name })
		if slices.Contains(componentKinds(), field.Name) && hasName {
			if kind != "" {
				return ""
			}
			kind = field.Name
		}
	}
	return kind
}

// inside returns a path in a source, and reports one that leads elsewhere.
func (p part) inside() Text {
	switch {
	case strings.Contains(p.Text, "://"):
		p.Fail("name where the files come from in source: {type: git, ref: …}", "expected a path, got %s", strconv.Quote(p.Text))
	case path.IsAbs(p.Text):
		p.Fail("write a path relative to this file, or in the source", "%q is absolute", p.Text)
	}
	return p.asText()
}

// paths returns the paths of a list, in a source.
func (p part) paths(name string) []Text {
	var out []Text
	for _, item := range p.children(name) {
		out = append(out, item.inside())
	}
	return out
}

// manifests decodes a component of manifests, or returns nil if the field is not given.
func (p part) manifests() *Manifests {
	if !p.Given() {
		return nil
	}
	out := &Manifests{Inline: p.child("inline").asText(), Paths: p.paths("paths")}
	if out.Inline.Text == "" && len(out.Paths) == 0 {
		p.Fail("write inline: | with YAML below it, or paths: [./deploy]", "holds neither inline nor paths")
	}
	return out
}

// artifact returns the source of a component that is an artifact.
func (p part) artifact() CueRef {
	ref := CueRef{
		Type: RefType(reftype.OCI), TypePos: p.Pos, Pos: p.Pos,
		PullSecretRef: p.child("pullSecretRef", "name").Text, Verify: p.verify(),
	}
	ref.Ref, ref.RefPos = p.textAndPos("ref")
	ref.Path, ref.PathPos = p.textAndPos("path")
	return ref
}

// kustomize decodes a component of kustomize, or returns nil if the field is not given.
func (p part) kustomize() *Kustomize {
	if !p.Given() {
		return nil
	}
	out := &Kustomize{Path: p.child("path").inside(), EnableHelm: p.Flag("enableHelm"), AnyPath: p.child("loadRestrictor").Text == "none"}
	overlay := object.Value{Kind: object.KindMap, Pos: p.Pos}
	for _, name := range KustomizeFields() {
		if i := slices.IndexFunc(p.Members, func(m object.Member) bool { return m.Name == name }); i >= 0 {
			overlay.Members = append(overlay.Members, p.Members[i])
		}
	}
	if len(overlay.Members) > 0 {
		out.Fields = overlay
	}
	return out
}

// helm decodes a component of Helm, or returns nil if the field is not given. The argument source
// reports whether the component has a source.
func (p part) helm(source bool) *Helm {
	if !p.Given() {
		return nil
	}
	out := &Helm{
		Chart: p.child("chart").asText(), Repo: p.child("repo").asText(), Version: p.child("version").asText(),
		Values: p.Field("values"), ValuesFiles: p.paths("valuesFiles"), SkipCRDs: p.Flag("skipCRDs"),
		Namespace: p.child("namespace").Text, ReleaseName: p.child("releaseName").Text,
		Hooks: cmp.Or(p.child("hooks").Text, HooksWaves), APIVersions: p.Words("apiVersions"),
		PullSecretRef: p.child("pullSecretRef", "name").Text, Verify: p.verify(),
	}

	for _, item := range p.children("postRenderers") {
		if k := item.Field("kustomize"); k.Kind == object.KindMap {
			out.PostRenderers = append(out.PostRenderers, k)
		}
	}

	// A repository of charts is a URL.
	chart, repo := p.child("chart"), p.child("repo")
	if repo.Given() && !strings.HasPrefix(repo.Text, "https://") && !strings.HasPrefix(repo.Text, "http://") {
		hint := "write the URL of the folder that holds index.yaml, https://…"
		if strings.HasPrefix(repo.Text, "oci://") {
			hint = fmt.Sprintf("write chart: %s/%s, without repo", strings.TrimSuffix(repo.Text, "/"), chart.Text)
		}
		repo.Fail(hint, "%q is not the URL of a chart repository", repo.Text)
	}

	// A chart of a folder comes from the source, and any other chart does not.
	local := !repo.Given() && !strings.HasPrefix(chart.Text, "oci://")
	switch {
	case local && strings.Contains(chart.Text, "://"):
		chart.Fail("name the repository in repo, and the chart by its name", "%q is neither a path nor the reference of an OCI chart", chart.Text)
	case local && path.IsAbs(chart.Text):
		chart.inside()
	case local && out.Version.Text != "":
		p.child("version").Fail("remove it, or name the repository in repo", "a chart of a folder has no version to choose")
	case local && (out.PullSecretRef != "" || out.Verify != nil):
		p.Fail("write it in source", "a chart of a folder has neither pullSecretRef nor verify of its own")
	case !local && source:
		chart.Fail("remove source, or name the folder of the chart in it", "the chart does not come from the source")
	}
	return out
}

// decodeComponent decodes a Component document. The component itself is decoded after environments
// were merged over it, see [DecodeComponent].
func (d *decoder) decodeComponent(v object.Value) Transform {
	doc := d.check(componentTable(), v, nil)
	t := Transform{Kind: KindComponent, Pos: v.Pos, Blocks: d.blocks}
	t.Name, t.Namespace, t.NamePos = doc.metadata(v)
	doc.child("spec").decodeShared(&t)
	spec, _ := v.Get("spec")
	t.Component = object.Value{Kind: spec.Kind, Pos: spec.Pos}
	ofSpec := kinds.OfSpec()
	for _, m := range spec.Members {
		if !slices.ContainsFunc(ofSpec, func(f document.Field) bool { return f.Name == m.Name }) {
			t.Component.Members = append(t.Component.Members, m)
		}
	}
	t.InputUnsure = d.Stray || spec.Kind != object.KindMap
	return t
}
