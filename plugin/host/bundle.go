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

// ErrManyClusters means that a bundle is for several clusters, and that the options do not name a
// cluster as the environment.
var ErrManyClusters = errors.New("one render is for one of them")

// latest is the version of a module whose instance has no version.
const latest = "latest"

// readBundle evaluates a bundle. It is evaluated with the files that it may import, or by itself
// if it imports nothing.
func readBundle(ctx context.Context, f found, b project.Bundle) (*evaluate.Bundle, error) {
	// The text shows which values of the runtime the bundle reads, and whether it imports.
	pos := object.Pos{File: b.File.Name}
	var texts []byte
	for _, file := range b.Files() {
		texts = append(append(texts, file.Data...), '\n')
	}
	files := evaluate.BundleFiles{Cluster: f.opts.Environment, Values: f.runtime.valuesOf(texts)}

	// Imports need the module that the bundle is in.
	module := evaluate.Module{Dir: ".", Label: path.Dir(b.File.Name)}
	content := source.Builder{Limits: f.modules.host.Limits}
	if bytes.Contains(texts, []byte("import")) || bytes.Contains(texts, []byte("@embed")) {
		w, _ := f.modules.reference(spec.CueRef{Type: spec.RefPath, Ref: ".", Pos: pos, TypePos: pos, RefPos: pos}, nil)
		tree, err := f.modules.complete(ctx, w.key)
		if err != nil {
			return nil, &object.Error{Stage: object.StageResolve, Pos: pos, Err: err}
		}
		module = f.modules.module(w, tree, nil)
		if err := copyTree(&content, tree.FS); err != nil {
			return nil, &object.Error{Stage: object.StageResolve, Pos: pos, Err: err}
		}
	}

	// The files get names of their own: CUE leaves out files of some names (x_test.cue), and a
	// runtime may lie elsewhere.
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
	err = errors.Join(err, treeErr)
	if err != nil {
		return nil, &object.Error{Stage: object.StageResolve, Pos: pos, Err: err}
	}
	module.FS = tree.FS
	module.Digest = tree.Digest
	return evaluate.ReadBundle(ctx, f.opts.Evaluator, evaluate.Subject{
		Spec: project.Label(path.Base(path.Dir(b.File.Name))), Pos: pos, Module: module, Limits: f.opts.Limits,
	}, files)
}

// copyTree adds the files of a tree.
func copyTree(builder *source.Builder, tree fs.FS) error {
	return fs.WalkDir(tree, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		return builder.Add(name, data)
	})
}

// withInstances adds the instances of a bundle to the documents. Timoni applies them in their
// order, each when the one before is ready.
func withInstances(f found, docs documents, b project.Bundle, evaluated evaluate.Bundle) documents {
	// The name of an instance is also the name of its spec.
	taken := project.Names(docs.Documents)
	before := ""
	for _, i := range evaluated.Instances {
		// Mistakes in an instance are reported at its field.
		field := object.Fields("bundle", "instances", i.Name)
		ref := moduleOf(f, b, i, field)
		err := spec.CheckName(i.Name)
		if err != nil {
			f.FailAt(i.Pos, field, "rename the instance: its name is that of a spec", err)
			continue
		}
		if slices.Contains(taken, i.Name) {
			f.FailAt(i.Pos, field, "", fmt.Errorf("duplicate spec name %q", i.Name))
			continue
		}
		err = spec.CheckName(i.Namespace.Text)
		if i.Namespace.Kind != object.KindNone && err != nil {
			f.FailAt(i.Namespace.Pos, field.Append(object.Field("namespace")), "", err)
		}

		// The instance becomes a Transform that depends on the one before it.
		if i.Values.Kind == object.KindNone {
			// Timoni merges an instance without values too, which sorts the values of the module.
			i.Values = object.Value{Kind: object.KindMap, Pos: i.Pos}
		}
		t := spec.Transform{
			Name: i.Name, Namespace: i.Namespace.Text, Pos: i.Pos, NamePos: i.Pos, Instance: field,
			CueRef: ref, Input: i.Values, InputUnsure: i.Unsure, AllowSecrets: i.AllowSecrets,
			AllowSecretsPos: slices.Repeat([]object.Pos{i.Pos}, len(i.AllowSecrets)),
		}
		if before != "" {
			t.DependsOn = []object.SpecDependency{{Name: before, Pos: i.Pos}}
		}
		taken = append(taken, i.Name)
		before = i.Name
		docs.Transforms = append(docs.Transforms, t)
	}
	return docs
}

// withClusters makes the bundle the project if there is no other, and its clusters environments.
func withClusters(f found, docs documents, b project.Bundle, evaluated evaluate.Bundle) documents {
	// The bundle may be all that there is.
	if len(docs.Projects) == 0 {
		docs.Projects = []spec.Project{{Name: evaluated.Name.Text, Pos: object.Pos{File: b.File.Name}}}
		if evaluated.Name.Text != "" {
			docs.Projects[0].Name = project.Label(evaluated.Name.Text)
		}
	}
	p := &docs.Projects[0]
	environments := maps.Clone(p.Environments)
	if environments == nil {
		environments = map[string]spec.Environment{}
	}

	// A cluster may be an environment of the project already.
	var names []string
	for _, c := range evaluated.Clusters {
		names = append(names, c.Name)
		if _, known := environments[c.Name]; !known {
			environments[c.Name] = spec.Environment{Name: c.Name, Pos: c.Pos}
		}
	}
	p.Environments = environments

	// A render is for one of them.
	switch {
	case len(names) > 1 && f.opts.Environment == "":
		docs.Incomplete = true
		f.Fail(evaluated.Clusters[0].Pos, "choose one with --env: "+strings.Join(names, ", "),
			fmt.Errorf("the bundle is for %d clusters, and %w", len(names), ErrManyClusters))
	case len(names) > 0 && f.opts.Environment != "" && !slices.Contains(names, f.opts.Environment):
		docs.Incomplete = true
		if _, known := environments[f.opts.Environment]; known {
			f.Fail(evaluated.Clusters[0].Pos, object.Suggest(f.opts.Environment, names),
				fmt.Errorf("environment %q is no cluster of the bundle", f.opts.Environment))
		}
	}
	return docs
}

// moduleOf returns the reference to the module of an instance. A mistake in it is reported, and
// leaves it empty.
func moduleOf(f found, b project.Bundle, i evaluate.Instance, field object.Path) spec.CueRef {
	// A field that is not written is reported at the instance.
	field = field.Append(object.Field("module"))
	pos := i.URL.Pos
	if !pos.IsValid() {
		pos = i.Pos
	}
	ref := spec.CueRef{Pos: pos, TypePos: pos, RefPos: pos, VersionPos: i.Version.Pos, DigestPos: i.Digest.Pos}
	ref.Pos.File = cmp.Or(ref.Pos.File, b.File.Name)
	url := i.URL.Text
	version := cmp.Or(i.Version.Text, latest)

	// Only references that Timoni has are taken.
	switch {
	case url == "":
		return ref
	case strings.HasPrefix(url, "file://"):
		// The reference is relative to the file of the bundle that has it, or to the first file
		// where its text is in another package.
		if !slices.ContainsFunc(b.More, func(file spec.File) bool { return file.Name == ref.Pos.File }) {
			ref.Pos.File = b.File.Name
		}
		ref.Type = spec.RefPath
		ref.Ref = path.Clean(strings.TrimPrefix(url, "file://"))
		refuseDigest(f, i, field)
		return ref
	case !strings.HasPrefix(url, "oci://"):
		err := fmt.Errorf("%q: expected oci://HOST/REPOSITORY, or file://PATH relative to the bundle", url)
		f.FailAt(pos, field.Append(object.Field("url")), "", err)
		return ref
	case !regexp.MustCompile(`^\w[\w.-]{0,127}$`).MatchString(version):
		err := fmt.Errorf("%q is not a version: expected one such as 1.2.3, or latest", version)
		f.FailAt(i.Version.Pos, field.Append(object.Field("version")), "", err)
		return ref
	case i.Digest.Text != "" && !regexp.MustCompile(`^sha256:[0-9a-f]{64}$`).MatchString(i.Digest.Text):
		err := fmt.Errorf("%q is not a digest: expected sha256: and 64 hexadecimal digits", i.Digest.Text)
		f.FailAt(i.Digest.Pos, field.Append(object.Field("digest")), "", err)
		return ref
	}

	// The digest counts, and the version is compared with it later.
	ref.Type = spec.RefType(reftype.OCI)
	ref.Ref = url
	if i.Digest.Text == "" || version != latest {
		ref.Ref += ":" + version
	}
	if i.Digest.Text != "" {
		ref.Ref += "@" + i.Digest.Text
	}
	return ref
}

// refuseDigest refuses the digest of a module in a folder, as Timoni does: a folder has no digest.
// It warns of a version, which Timoni ignores.
func refuseDigest(f found, i evaluate.Instance, field object.Path) {
	const unknown = "unknown" // the digest of such a module, for Timoni
	if i.Digest.Text != "" && i.Digest.Text != unknown {
		f.FailAt(i.Digest.Pos, field.Append(object.Field("digest")), "remove it, or take the module from a registry: oci://HOST/REPOSITORY",
			errors.New("a module in a folder has no digest that could be compared"))
	}
	if i.Version.Text != "" && i.Version.Text != latest {
		f.FailAt(i.Version.Pos, field.Append(object.Field("version")), "remove it, or take the module from a registry: oci://HOST/REPOSITORY",
			fmt.Errorf("a module in a folder has no versions: it is used as it is, not as version %q", i.Version.Text))
		f.Errs[len(f.Errs)-1].Severity = object.SeverityWarning
	}
}

// checkVersion refuses a digest that does not belong to the version beside it, as Timoni does. The
// annotations of an artifact have its version, so that no request for the tag is needed.
func checkVersion(f found, t spec.Transform, tree source.Tree) {
	name, digest, pinned := strings.Cut(t.CueRef.Ref, "@")
	if _, other, ok := strings.Cut(tree.Pinned, "@"); ok && other != digest {
		return // It stands in for the module of that digest.
	}
	_, version, _ := strings.Cut(path.Base(name), ":")
	isExact := regexp.MustCompile(`^v?\d+\.\d+\.\d+`).MatchString(version)
	isComparable := pinned && isExact && tree.Version != ""
	if isComparable && strings.TrimPrefix(version, "v") != strings.TrimPrefix(tree.Version, "v") {
		f.FailAt(t.CueRef.RefPos, t.Instance.Append(object.Field("module"), object.Field("digest")), "correct one of them",
			fmt.Errorf("the digest is that of version %s, and the version is %s", tree.Version, version))
	}
}
