// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"slices"
	"strings"

	"deps.dev/util/semver"
	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source"
)

// maxBytes is how large a document may be.
const maxBytes = 8 << 20

// ErrPlan is what errors.Is finds in the error of a plan that was altered or is newer than
// the program: such a plan is not as it was locked.
var ErrPlan = source.ErrLocked

// Kinds returns the kinds of documents, sorted.
func Kinds() []string {
	return []string{KindArtifactSync, KindBuildPlan, KindDeployPlan, KindInstallation, KindPreviewPlan}
}

// KindOf returns the kind of the only document of data, or "" if it is none of this package.
func KindOf(data []byte) string {
	var header struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string `yaml:"kind"`
	}
	if len(data) > maxBytes || yaml.Unmarshal(data, &header) != nil || !slices.Contains(Kinds(), header.Kind) ||
		!strings.HasPrefix(header.APIVersion, "ropewalk.dev/") {
		return ""
	}
	return header.Kind
}

// Read reads a document, which is a *BuildPlan, *DeployPlan, *PreviewPlan, *ArtifactSync or *Installation. The
// argument program is the version of the program. The error is an object.Errors with every
// mistake.
func Read(name string, data []byte, program string) (any, error) {
	v, err := spec.ParseValue(spec.File{Name: name, Data: data})
	if err != nil {
		return nil, err
	}
	kind := v.TextOf("kind")
	i := slices.Index(Kinds(), kind)
	if i < 0 {
		return nil, wrong(v.Pos, "", nil, "it is none of %s with apiVersion %s", strings.Join(Kinds(), ", "), Version)
	}
	in, _ := v.Get("spec")
	if version, wrote := v.TextOf("apiVersion"), in.TextOf("ropewalk"); version != Version || newer(wrote, program) {
		return nil, wrong(v.Pos, "use a newer ropewalk", ErrPlan, "it is of version %s, written by ropewalk %q, and this is ropewalk %s, which reads %s", version, wrote, program, Version)
	}
	var d document.Decoder
	d.Decode(Tables()[i].Root, v, nil)
	if err := d.Errs.Sorted().Err(); err != nil {
		return nil, err
	}
	out := []any{&ArtifactSync{}, &BuildPlan{}, &DeployPlan{}, &Installation{}, &PreviewPlan{}}[i]
	if err := yaml.Unmarshal(v.JSON(), out); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, check(out, v)
}

// newer compares two versions. A version that is not of a release is not newer.
func newer(version, program string) bool {
	a, errA := semver.Go.Parse(version)
	b, errB := semver.Go.Parse(program)
	return errA == nil && errB == nil && a.Compare(b) > 0
}

// check reports mistakes in a document as a whole, which was written as v. It writes the fields that
// namespaces of an Installation name into them.
func check(out any, v object.Value) error {
	switch d := out.(type) {
	case *BuildPlan:
		return checkUnaltered(d, d.Checksum, v)
	case *DeployPlan:
		return checkUnaltered(d, d.Checksum, v)
	case *PreviewPlan:
		return checkUnaltered(d, d.Checksum, v)
	case *Installation:
		var errs object.Errors
		at := object.Fields("spec", "components")
		list, _ := v.Lookup(at)
		seen := map[string]bool{}
		for i, c := range d.Spec.Components {
			in := at.Append(object.Index(i))
			if name, _ := list.Items[i].Get("name"); seen[c.Name] {
				errs = append(errs, document.Mistake(name.Pos, in.Append(object.Field("name")), "", "%q is there twice", c.Name))
			}
			seen[c.Name] = true
			if c.Version == "" && c.Digest == "" {
				errs = append(errs, document.Mistake(list.Items[i].Pos, in, "write version or digest", "the component %q lacks version and digest", c.Name))
			}
		}
		errs = append(errs, d.checkEngine(v)...)
		errs = append(errs, d.resolveNamespaces(v)...)
		return errs.Sorted().Err()
	}
	return nil
}

// checkUnaltered returns an error if a plan does not have its checksum.
func checkUnaltered(plan any, want string, v object.Value) error {
	if got, err := checksum(plan); err != nil || got != want {
		at, _ := v.Get("checksum")
		return wrong(at.Pos, "restore it, or make it again with --plan", ErrPlan, "the plan was altered: its checksum is %s, and the document says %s", got, want)
	}
	return nil
}

// wrong returns a mistake in a document as a whole. What errors.Is finds in it is the
// argument is, which may be nil.
func wrong(pos object.Pos, hint string, is error, format string, args ...any) error {
	e := document.Mistake(pos, nil, hint, format, args...)
	e.Err = planError{e.Err, is}
	return object.Errors{e}
}

// planError is an error that is another one too.
type planError struct {
	error

	is error
}

// Is reports whether the error is the target.
func (e planError) Is(target error) bool { return e.is != nil && target == e.is }
