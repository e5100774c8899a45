// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/local"
	"github.com/ropewalk/ropewalk/source/modules"
)

// Media types and annotations of Timoni. Source: timoni.sh/module-distribution, facts of
// github.com/stefanprodan/timoni/pkg/oci.
const (
	timoniConfig  = "application/vnd.timoni.config.v1+json"
	timoniContent = "application/vnd.timoni.content.v1.tar+gzip"
	timoniType    = "sh.timoni.content.type"
	timoniFile    = "timoni.cue"
)

// packed is a module as a registry stores it.
type packed struct {
	image artifact.Image
	// path is the path of a module of CUE; "" for a module of Timoni.
	path string
	// readme is its README.md; nil if it has none.
	readme []byte
	timoni bool
}

// pack reads the module of a folder.
func pack(ctx context.Context, folder string, version release, flags *publishFlags) (packed, error) {
	// Read the files, and annotate the version with its source.
	tree, err := local.Fetcher{Root: folder}.Fetch(ctx, source.Ref{Ref: "."})
	if err != nil {
		return packed{}, &command.EnvironmentError{Err: err}
	}
	annotations := map[string]string{ocispec.AnnotationVersion: version.text}
	if flags.source != "" {
		annotations[ocispec.AnnotationSource] = flags.source
	}
	if flags.revision != "" {
		annotations[ocispec.AnnotationRevision] = flags.revision
	}
	var module packed
	module.readme, err = os.ReadFile(folder + "/README.md") //nolint:gosec // the user names the folder
	if err != nil && !os.IsNotExist(err) {
		return packed{}, &command.EnvironmentError{Err: err}
	}

	// A module of Timoni has layers of its own.
	if _, err := fs.Stat(tree.FS, timoniFile); err == nil {
		module.timoni = true
		module.image, err = packTimoni(tree, annotations)
		return module, err
	}

	// A module of CUE is packed as the cue command packs it.
	if !strings.HasPrefix(version.text, "v") {
		return packed{}, command.Usagef("write v"+version.text, "%s: versions of CUE modules begin with v", version.text)
	}
	p, err := modules.Pack(tree, version.text, cue.SchemaPath)
	var unpublished *modules.NotPublishedError
	if errors.As(err, &unpublished) {
		return packed{}, &object.Error{
			Stage: object.StageCheck,
			Pos:   object.Pos{File: filepath.Join(folder, unpublished.File), Line: unpublished.Line, Column: 1},
			Err:   unpublished,
			Hint:  "depend on a module that has the package, or write it into this one: ropewalk vendor k8s --in types",
		}
	}
	if err != nil {
		return packed{}, &object.Error{Stage: object.StageCheck, Pos: object.Pos{File: folder}, Err: err}
	}
	module.path = p.Path
	module.image, err = artifact.NewImage(artifact.Blob{MediaType: modules.TypeConfig, Data: []byte("{}")}, []artifact.Blob{
		{MediaType: modules.TypeZip, Data: p.Zip}, {MediaType: modules.TypeModuleFile, Data: p.ModuleFile},
	}, p.Tree.Digest, annotations)
	return module, err
}

// packTimoni makes the two layers of a Timoni module: its vendored files, and the module itself.
func packTimoni(tree source.Tree, annotations map[string]string) (artifact.Image, error) {
	// Sort the files into the layers.
	var vendored, sources []string
	err := fs.WalkDir(tree.FS, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir():
		case strings.HasPrefix(name, "cue.mod/"):
			vendored = append(vendored, name)
		default:
			sources = append(sources, name)
		}
		return err
	})
	if err != nil {
		return artifact.Image{}, err
	}

	// Pack the layers.
	var layers []artifact.Blob
	for _, part := range []struct {
		kind  string
		names []string
	}{{"module/vendor", vendored}, {"module", sources}} {
		data, err := artifact.TarGzip(tree.FS, part.names)
		if err != nil {
			return artifact.Image{}, err
		}
		layers = append(layers, artifact.Blob{MediaType: timoniContent, Data: data, Annotations: map[string]string{timoniType: part.kind}})
	}
	return artifact.NewImage(artifact.Blob{MediaType: timoniConfig, Data: []byte("{}")}, layers, tree.Digest, annotations)
}

// checkRepository refuses a repository in which the clients of the module do not find it, and a
// version that they do not know.
func (p packed) checkRepository(repository string, version release) error {
	hasV := strings.HasPrefix(version.text, "v")
	switch {
	case p.timoni && hasV:
		return command.Usagef("write "+strings.TrimPrefix(version.text, "v"), "%s: versions of Timoni modules have no v", version.text)
	case p.timoni:
		return nil
	case repository != p.path && !strings.HasSuffix(repository, "/"+p.path):
		host, _, _ := strings.Cut(repository, "/")
		hint := "publish to oci://%s/%s, or to that below a folder; CUE_REGISTRY is what is before the path of the module"
		text := "repository %s does not end in the path of the module, %s: cue mod get would not find it"
		return command.Usagef(fmt.Sprintf(hint, host, p.path), text, repository, p.path)
	}
	return nil
}
