// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/internal/reftype"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source"
)

// ErrManyClusters means that a bundle is for several clusters and that the options name
// none of them as the environment.
var ErrManyClusters = errors.New("one render is for one of them")

// latest is the version of a module whose instance names none.
const latest = "latest"

// bundles makes every instance of the bundles a Transform, and the clusters of their
// runtime environments of the project.
func (l *loading) bundles(ctx context.Context) error {
	for _, b := range l.Bundles {
		if l.opts.Evaluator == nil {
			l.Fail(object.Pos{File: b.File.Name}, "", errors.New("bundles of Timoni cannot be read here"))
			continue
		}
		if definition := l.runtime.definition; definition.Name != "" {
			b.Runtime = definition
		}
		out, err := l.readBundle(ctx, b)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			l.Errs = append(l.Errs, object.AsErrors(err, object.StageSpec)...)
			l.docs.Incomplete = true
		}
		if out != nil {
			l.addBundle(b, *out)
		}
	}
	return nil
}

// readBundle evaluates a bundle. It is evaluated with the files that it may import, or
// alone where it imports nothing.
func (l *loading) readBundle(ctx context.Context, b project.Bundle) (*evaluate.Bundle, error) {
	pos := object.Pos{File: b.File.Name}
	var texts []byte
	for _, file := range b.Files() {
		texts = append(append(texts, file.Data...), '\n')
	}
	files := evaluate.BundleFiles{Cluster: l.opts.Environment, Values: l.runtime.of(texts)}
	module := evaluate.Module{Dir: ".", Label: path.Dir(b.File.Name)}
	content := source.Builder{Limits: l.modules.host.Limits}
	if bytes.Contains(texts, []byte("import")) || bytes.Contains(texts, []byte("@embed")) {
		w, _ := l.modules.reference(spec.CueRef{Type: spec.RefPath, Ref: ".", Pos: pos, TypePos: pos, RefPos: pos}, nil)
		tree, err := l.modules.complete(ctx, w.key)
		if err != nil {
			return nil, &object.Error{Stage: object.StageResolve, Pos: pos, Err: err}
		}
		module = l.modules.module(w, tree, nil)
		if err := copyTree(&content, tree.FS); err != nil {
			return nil, &object.Error{Stage: object.StageResolve, Pos: pos, Err: err}
		}
	}
	// Names of their own: CUE leaves out files of some names (x_test.cue), and a runtime may
	// lie elsewhere.
	if module.Sources == nil {
		module.Sources = map[string]evaluate.Source{}
	}
	var err error
	add := func(name string, file spec.File) string {
		name = path.Join(module.Dir, name)
		module.Sources[name] = evaluate.Source{Pos: object.Pos{File: file.Name, Line: 1, Column: 1}}
		err = errors.Join(err, content.Add(name, file.Data))
		return name
	}
	files.File = add("ropewalk-bundle.cue", b.File)
	for i, file := range b.More {
		files.More = append(files.More, add(fmt.Sprintf("ropewalk-bundle-%d.cue", i+1), file))
	}
	if b.Runtime.Name != "" {
		files.Runtime = add("ropewalk-runtime.cue", b.Runtime)
	}
	tree, treeErr := content.Tree(b.File.Name, "")
	if err = errors.Join(err, treeErr); err != nil {
		return nil, &object.Error{Stage: object.StageResolve, Pos: pos, Err: err}
	}
	module.FS, module.Digest = tree.FS, tree.Digest
	result, err := l.opts.Evaluator.Evaluate(ctx, evaluate.Request{
		Spec: project.Label(path.Base(path.Dir(b.File.Name))), Pos: pos, Module: module, Bundle: &files, Limits: l.opts.Limits,
	})
	return result.Bundle, err
}

// copyTree adds the files of a tree.
func copyTree(to *source.Builder, from fs.FS) error {
	return fs.WalkDir(from, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		return to.Add(name, data)
	})
}

// addBundle adds the instances of a bundle to the documents. Timoni applies them in
// their order, each when the one before is ready.
func (l *loading) addBundle(b project.Bundle, from evaluate.Bundle) {
	l.addProject(b, from)
	taken := project.Names(l.docs)
	before := ""
	for _, i := range from.Instances {
		at := object.Fields("bundle", "instances", i.Name)
		ref := l.moduleOf(b, i, at)
		if err := spec.CheckName(i.Name); err != nil {
			l.failAt(i.Pos, at, "rename the instance: its name is that of a spec", err)
			continue
		}
		if slices.Contains(taken, i.Name) {
			l.failAt(i.Pos, at, "", fmt.Errorf("duplicate spec name %q", i.Name))
			continue
		}
		if err := spec.CheckName(i.Namespace.Text); i.Namespace.Kind != object.KindNone && err != nil {
			l.failAt(i.Namespace.Pos, at.Append(object.Field("namespace")), "", err)
		}
		if i.Values.Kind == object.KindNone {
			// Timoni merges an instance without values too, which sorts those of the module.
			i.Values = object.Value{Kind: object.KindMap, Pos: i.Pos}
		}
		t := spec.Transform{
			Name: i.Name, Namespace: i.Namespace.Text, Pos: i.Pos, NamePos: i.Pos, Instance: at,
			CueRef: ref, Input: i.Values, InputUnsure: i.Unsure, AllowSecrets: i.AllowSecrets,
			AllowSecretsPos: slices.Repeat([]object.Pos{i.Pos}, len(i.AllowSecrets)),
		}
		if before != "" {
			t.DependsOn = []object.SpecDependency{{Name: before, Pos: i.Pos}}
		}
		taken, before = append(taken, i.Name), i.Name
		l.docs.Transforms = append(l.docs.Transforms, t)
	}
}

// addProject makes the bundle the project where there is no other, and its clusters
// environments.
func (l *loading) addProject(b project.Bundle, from evaluate.Bundle) {
	if len(l.docs.Projects) == 0 {
		l.docs.Projects = []spec.Project{{Name: from.Name.Text, Pos: object.Pos{File: b.File.Name}}}
		if from.Name.Text != "" {
			l.docs.Projects[0].Name = project.Label(from.Name.Text)
		}
	}
	p := &l.docs.Projects[0]
	environments := maps.Clone(p.Environments)
	if environments == nil {
		environments = map[string]spec.Environment{}
	}
	var names []string
	for _, c := range from.Clusters {
		names = append(names, c.Name)
		if _, known := environments[c.Name]; !known {
			environments[c.Name] = spec.Environment{Name: c.Name, Pos: c.Pos}
		}
	}
	p.Environments = environments
	switch {
	case len(names) > 1 && l.opts.Environment == "":
		l.docs.Incomplete = true
		l.Fail(from.Clusters[0].Pos, "choose one with --env: "+strings.Join(names, ", "),
			fmt.Errorf("the bundle is for %d clusters, and %w", len(names), ErrManyClusters))
	case len(names) > 0 && l.opts.Environment != "" && !slices.Contains(names, l.opts.Environment):
		l.docs.Incomplete = true
		if _, known := environments[l.opts.Environment]; known {
			l.Fail(from.Clusters[0].Pos, object.Suggest(l.opts.Environment, names),
				fmt.Errorf("environment %q is no cluster of the bundle", l.opts.Environment))
		}
	}
}

// moduleOf is the reference to the module of an instance. A mistake in it is reported,
// and leaves it empty.
func (l *loading) moduleOf(b project.Bundle, i evaluate.Instance, at object.Path) spec.CueRef {
	at = at.Append(object.Field("module"))
	pos := i.URL.Pos
	if !pos.IsValid() {
		pos = i.Pos
	}
	ref := spec.CueRef{Pos: pos, TypePos: pos, RefPos: pos, VersionPos: i.Version.Pos, DigestPos: i.Digest.Pos}
	ref.Pos.File = cmp.Or(ref.Pos.File, b.File.Name)
	url, version := i.URL.Text, cmp.Or(i.Version.Text, latest)
	switch {
	case url == "":
		return ref
	case strings.HasPrefix(url, "file://"):
		// The reference is relative to the file of the bundle that has it, or to the first one
		// where its text is in another package.
		if !slices.ContainsFunc(b.More, func(f spec.File) bool { return f.Name == ref.Pos.File }) {
			ref.Pos.File = b.File.Name
		}
		ref.Type, ref.Ref = spec.RefPath, path.Clean(strings.TrimPrefix(url, "file://"))
		l.refuseDigest(i, at)
		return ref
	case !strings.HasPrefix(url, "oci://"):
		l.failAt(pos, at.Append(object.Field("url")), "", fmt.Errorf("%q: expected oci://HOST/REPOSITORY, or file://PATH relative to the bundle", url))
		return ref
	case !regexp.MustCompile(`^\w[\w.-]{0,127}$`).MatchString(version):
		l.failAt(i.Version.Pos, at.Append(object.Field("version")), "", fmt.Errorf("%q is not a version: expected one such as 1.2.3, or latest", version))
		return ref
	case i.Digest.Text != "" && !regexp.MustCompile(`^sha256:[0-9a-f]{64}$`).MatchString(i.Digest.Text):
		l.failAt(i.Digest.Pos, at.Append(object.Field("digest")), "", fmt.Errorf("%q is not a digest: expected sha256: and 64 hexadecimal digits", i.Digest.Text))
		return ref
	}
	ref.Type, ref.Ref = spec.RefType(reftype.OCI), url
	if i.Digest.Text == "" || version != latest {
		ref.Ref += ":" + version
	}
	if i.Digest.Text != "" {
		ref.Ref += "@" + i.Digest.Text
	}
	return ref
}

// refuseDigest refuses the digest of a module in a folder, which has none, as Timoni does,
// and warns of a version, which Timoni ignores.
func (l *loading) refuseDigest(i evaluate.Instance, at object.Path) {
	const unknown = "unknown" // the digest of such a module, for Timoni
	if i.Digest.Text != "" && i.Digest.Text != unknown {
		l.failAt(i.Digest.Pos, at.Append(object.Field("digest")), "remove it, or take the module from a registry: oci://HOST/REPOSITORY",
			errors.New("a module in a folder has no digest that could be compared"))
	}
	if i.Version.Text != "" && i.Version.Text != latest {
		l.failAt(i.Version.Pos, at.Append(object.Field("version")), "remove it, or take the module from a registry: oci://HOST/REPOSITORY",
			fmt.Errorf("a module in a folder has no versions: it is used as it is, not as version %q", i.Version.Text))
		l.Errs[len(l.Errs)-1].Severity = object.SeverityWarning
	}
}

// sameVersion refuses a digest that is not that of the version beside it, as Timoni does;
// what an artifact says of its version tells it, without a request for the tag.
func (l *loading) sameVersion(t spec.Transform, tree source.Tree) {
	name, digest, pinned := strings.Cut(t.CueRef.Ref, "@")
	if _, other, ok := strings.Cut(tree.Pinned, "@"); ok && other != digest {
		return // It stands in for the module of that digest.
	}
	_, version, _ := strings.Cut(path.Base(name), ":")
	named := regexp.MustCompile(`^v?\d+\.\d+\.\d+`).MatchString(version)
	if pinned && named && tree.Version != "" && strings.TrimPrefix(version, "v") != strings.TrimPrefix(tree.Version, "v") {
		l.failAt(t.CueRef.RefPos, t.Instance.Append(object.Field("module"), object.Field("digest")), "correct one of them",
			fmt.Errorf("the digest is that of version %s, and the version is %s", tree.Version, version))
	}
}

func (l *loading) failAt(pos object.Pos, at object.Path, hint string, err error) {
	l.Errs = append(l.Errs, &object.Error{Stage: object.StageSpec, Pos: pos, Path: at.String(), Err: err, Hint: hint})
}
