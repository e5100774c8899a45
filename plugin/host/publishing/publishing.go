// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package publishing packs a finished render, attaches its statements and signs it: what lies
// between a render and the store that it is pushed to.
package publishing

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/signature"
	"github.com/ropewalk/ropewalk/artifact/statement"
	"github.com/ropewalk/ropewalk/internal/memfs"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload"
)

// Publication is a render on its way into a registry or a layout.
type Publication struct {
	// Set is the render, packed: see [Pack].
	Set artifact.Set
	// Graph is the document of the plan, as JSON; nil attaches none.
	Graph []byte
	// Build is the provenance; a Build without a project attaches none.
	Build statement.Build
	// Images are those that the objects run; nil attaches no SBOM.
	Images []string
	// Signer signs the artifact and what is attached to it; nil signs nothing.
	Signer *signature.Signer
	// Extra returns what else is attached to an artifact that is new; it may be nil.
	Extra func(ctx context.Context, pushed artifact.Pushed) ([]artifact.Referrer, error)
	// Push are the options of the push; Sealed is set here.
	Push artifact.PushOptions
}

// Publish pushes a render, attaches its statements, signs it, and sets the tags last, so that no
// tag ever resolves to an unsigned render. A render that is in the store already is not changed.
func (p Publication) Publish(ctx context.Context, to artifact.Store, tags []string) (artifact.Pushed, error) {
	opts := p.Push
	opts.Sealed = func(ctx context.Context, pushed artifact.Pushed) error { return p.attach(ctx, to, pushed, true) }
	pushed, err := artifact.Push(ctx, to, p.Set, tags, opts)
	if err == nil && !pushed.Changed && p.Signer != nil {
		// It may have been pushed before without a signature.
		err = p.attach(ctx, to, pushed, false)
	}
	return pushed, err
}

// Attach attaches the statements to what was pushed, and signs it.
func (p Publication) Attach(ctx context.Context, to artifact.Store, pushed artifact.Pushed) error {
	return p.attach(ctx, to, pushed, true)
}

// attachment is a statement about a render.
type attachment struct {
	predicate string
	text      func() ([]byte, error)
}

// attachments returns the statements about what was pushed.
func (p Publication) attachments(pushed artifact.Pushed) []attachment {
	about := statement.Subject{Digest: pushed.Digest}
	var out []attachment
	if p.Graph != nil {
		out = append(out, attachment{statement.PredicateGraph, func() ([]byte, error) { return statement.Graph(p.Graph, about) }})
	}
	if p.Build.Project != "" {
		out = append(out, attachment{statement.PredicateProvenance, func() ([]byte, error) { return statement.Provenance(p.Build, about) }})
	}
	if p.Images != nil {
		out = append(out, attachment{statement.PredicateSBOM, func() ([]byte, error) { return statement.SBOM(p.Images, about) }})
	}
	return out
}

// attach attaches the statements, and signs if there is a signer. Statements that an artifact has
// already, signed or not, are kept, unless it is fresh.
func (p Publication) attach(ctx context.Context, to artifact.Store, pushed artifact.Pushed, fresh bool) error {
	subject, err := to.Resolve(ctx, pushed.Digest)
	if err != nil {
		return err
	}
	subject = ocispec.Descriptor{MediaType: subject.MediaType, Digest: subject.Digest, Size: subject.Size}
	group, inner := errgroup.WithContext(ctx)
	for _, a := range p.attachments(pushed) {
		group.Go(func() error { return p.attachOne(inner, to, subject, a, fresh) })
	}
	if fresh && p.Extra != nil {
		group.Go(func() error {
			extra, err := p.Extra(inner, pushed)
			for _, r := range extra {
				if err == nil {
					_, err = artifact.Attach(inner, to, subject, r)
				}
			}
			return err
		})
	}
	if err := group.Wait(); err != nil || p.Signer == nil {
		return err
	}
	_, err = artifact.SignSet(ctx, to, pushed.Digest, p.Signer)
	return err
}

// attachOne attaches a statement.
func (p Publication) attachOne(ctx context.Context, to artifact.Store, subject ocispec.Descriptor, a attachment, fresh bool) error {
	if !fresh {
		if _, err := artifact.Attached(ctx, to, subject, a.predicate); !errors.Is(err, artifact.ErrNotFound) {
			return err
		}
	}
	text, err := a.text()
	if err != nil {
		return err
	}
	_, err = artifact.AttachStatement(ctx, to, subject, text, a.predicate, p.Signer)
	return err
}

// Pack packs the files of a render: all of them, each at the root, and each layer too if there are
// several barrier layers. With opts.Folders there are no layers, and files stay in the folders of
// their layers.
func Pack(files []emit.File, layers []emit.Layer, opts artifact.Options) (artifact.Set, error) {
	if opts.Folders {
		return packFolders(files, opts)
	}

	// An artifact has no folders, so the names must differ.
	all := map[string][]byte{}
	parts := map[string]map[string][]byte{}
	for _, f := range files {
		name := path.Base(f.Path)
		if _, twice := all[name]; twice {
			return artifact.Set{}, fmt.Errorf("two files are named %q, and an artifact has no folders", name)
		}
		all[name] = f.Data
		dir := path.Dir(f.Path)
		if parts[dir] == nil {
			parts[dir] = map[string][]byte{}
		}
		parts[dir][name] = f.Data
	}
	tree, err := memfs.New(all)
	if err != nil {
		return artifact.Set{}, err
	}

	// A single layer is the render itself.
	var packed []artifact.Layer
	for _, l := range layers {
		if len(layers) < 2 {
			break // The render is the layer.
		}
		part, err := memfs.New(parts[path.Clean(l.Dir)])
		if err != nil {
			return artifact.Set{}, err
		}
		packed = append(packed, artifact.Layer{Name: l.Name, FS: part})
	}
	return artifact.PackSet(tree, packed, opts)
}

// packFolders packs files under their paths.
func packFolders(files []emit.File, opts artifact.Options) (artifact.Set, error) {
	tree := make(map[string][]byte, len(files))
	for _, f := range files {
		tree[f.Path] = f.Data
	}
	packed, err := memfs.New(tree)
	if err != nil {
		return artifact.Set{}, err
	}
	return artifact.PackSet(packed, nil, opts)
}

// BuildOf describes the build of a render, for its provenance.
func BuildOf(loaded host.Loaded, sources []render.Source, version string) statement.Build {
	b := statement.Build{
		Project: loaded.Name, Dialect: string(loaded.Request.Emit.Dialect), Version: version, Preview: loaded.Request.Preview.ID,
	}

	// Everything that a render depends on is part of its inputs.
	inputs := sha256.New()
	for _, s := range loaded.Request.Specs {
		b.Environment = s.Evaluate.Context.Environment
		// A hash takes everything: it never fails. Names end in a byte that no name has.
		_, _ = fmt.Fprintf(inputs, "%s\x00%s\x00", s.Evaluate.Spec, s.Evaluate.Input.JSON())
		for _, tag := range object.SortedKeys(s.Evaluate.Module.Tags) {
			_, _ = fmt.Fprintf(inputs, "%s\x00%s\x00", tag, s.Evaluate.Module.Tags[tag])
		}
		if c := s.Evaluate.Component; c != nil && c.Helm != nil {
			for _, set := range c.Helm.Sets {
				_, _ = fmt.Fprintf(inputs, "%s\x00%s\x00%s\x00", set.Flag, set.Text, set.Content)
			}
		}
		if s.Workload != nil {
			writeWorkloadInputs(inputs, *s.Workload, loaded.Request.Workloads.Config)
		}
	}

	// What is loosened is public with the artifact.
	for _, s := range loaded.Request.Specs {
		for _, o := range s.Loosened {
			if b.Parameters == nil {
				b.Parameters = map[string]string{}
			}
			b.Parameters["policyOverrides."+s.Evaluate.Spec+"."+o.Policy] = (*object.Secrets)(nil).Hide(o.Action + ": " + o.Reason)
		}
	}

	// Variables have a digest of their own, and sources are those that were fetched.
	b.Variables = variablesDigest(loaded.Request.Specs)
	b.Inputs = "sha256:" + hex.EncodeToString(inputs.Sum(nil))
	for _, s := range sources {
		uri := s.Pinned
		if uri == "" {
			uri = s.Origin
		}
		b.Sources = append(b.Sources, statement.Source{URI: uri, Digest: s.Digest, Revision: s.Revision})
	}
	return b
}

// variablesDigest returns a digest of the variables that workloads refer to, with their values,
// which it never shows. It returns "" if there are none.
func variablesDigest(specs []render.Spec) string {
	all := map[string]string{}
	for _, s := range specs {
		if s.Workload != nil {
			maps.Copy(all, s.Workload.Variables)
		}
	}
	if len(all) == 0 {
		return ""
	}
	sum := sha256.New()
	for _, name := range object.SortedKeys(all) {
		_, _ = fmt.Fprintf(sum, "%s %q\x00", name, all[name])
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

// writeWorkloadInputs writes the inputs of a workload beside its document: the files that it
// names, and the settings of the project for all workloads. Lengths separate contents
// that can hold any byte.
func writeWorkloadInputs(w io.Writer, s workload.Source, c spec.Workloads) {
	for _, name := range object.SortedKeys(s.Files) {
		_, _ = fmt.Fprintf(w, "%q %d\x00%s", name, len(s.Files[name]), s.Files[name])
	}
	for _, name := range object.SortedKeys(s.Variables) {
		_, _ = fmt.Fprintf(w, "${%s} %q\x00", name, s.Variables[name])
	}
	if len(c.Images.Mirrors)+len(c.Images.PullSecrets)+len(c.Secrets.Providers) > 0 {
		_, _ = fmt.Fprintf(w, "%q %q %q %q\x00", c.Images.Mirrors, c.Images.PullSecrets, c.Secrets.Providers, c.Secrets.DefaultProvider)
	}
	for what, sources := range []map[string]spec.SecretSource{c.Secrets.Bindings, c.Images.PullSecretsFrom} {
		for _, name := range object.SortedKeys(sources) {
			b := sources[name]
			_, _ = fmt.Fprintf(w, "%d %q %q %q\x00", what, name, []string{b.Provider, b.Secret, b.Version, b.Key}, b.Keys)
		}
	}
	secrets := []string{c.Secrets.Backend, c.Secrets.StoreName, c.Secrets.StoreKind, c.Secrets.KubernetesStore, c.Secrets.RefreshInterval}
	_, _ = fmt.Fprintf(w, "%q %q %#v %q %s %s\x00", secrets, c.Policies, c.Network, c.CanaryProvider, c.Secrets.Provider.JSON(), c.Config.JSON())
}

// Images returns the container images that objects run, sorted, each once.
func Images(nodes []*object.Node) []string {
	seen := map[string]bool{}
	for _, n := range nodes {
		for _, at := range [][]string{
			{"spec"}, {"spec", "template", "spec"}, {"spec", "jobTemplate", "spec", "template", "spec"}, {"template", "spec"},
		} {
			for _, list := range []string{"initContainers", "containers", "ephemeralContainers"} {
				for _, c := range n.Object.List(slices.Concat(at, []string{list})...) {
					container, _ := c.(map[string]any)
					if image, _ := container["image"].(string); image != "" {
						seen[image] = true
					}
				}
			}
			for _, v := range n.Object.List(slices.Concat(at, []string{"volumes"})...) {
				volume, _ := v.(map[string]any)
				mounted, _ := volume["image"].(map[string]any)
				if image, _ := mounted["reference"].(string); image != "" {
					seen[image] = true
				}
			}
		}
	}
	return append([]string{}, object.SortedKeys(seen)...)
}
