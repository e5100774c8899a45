// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package impact

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/statement"
	"github.com/ropewalk/ropewalk/cmd/internal/process"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/plugin/host/release"
)

// examineInstallation returns the components of an Installation. Each is an artifact that was built
// before, and does not change. Its provenance names the modules that it was built with.
func (x *examining) examineInstallation(ctx context.Context, p place) (out []Consumer) {
	read, err := release.Read(p.shown, p.installation, process.CurrentRelease().Version)
	if err != nil {
		return []Consumer{x.broken(p, "", err)}
	}
	doc, ok := read.(*release.Installation)
	if !ok {
		return nil
	}
	for _, c := range doc.Spec.Components {
		out = append(out, x.examineComponent(ctx, p, doc, c))
	}
	return out
}

// examineComponent returns a component of an Installation.
func (x *examining) examineComponent(ctx context.Context, p place, doc *release.Installation, c release.Component) Consumer {
	out := Consumer{Verdict: Unused, Path: p.shown, Name: doc.Metadata.Name + "/" + c.Name, Environment: doc.Spec.Environment}
	ctx, cancel := context.WithTimeout(ctx, x.flags.each)
	defer cancel()
	reference := c.From + "@" + c.Digest
	if c.Digest == "" {
		reference = c.From + ":" + c.Version
	}
	dependencies, err := x.provenance(ctx, reference)
	if err != nil {
		out.fail(Broken, late(ctx, err, x.flags.each))
		return out
	}
	for _, d := range dependencies {
		if baseOf(x.target.kind, d.URI) == x.target.base {
			tag, _, _ := strings.Cut(d.Annotations.Revision, "@")
			out.Verdict = Same
			out.From = append(out.From, cmp.Or(tag, d.URI))
			out.Note = reference + " was built with it, and stays as it is: the new version comes with the next build"
		}
	}
	return out
}

// dependency is what an artifact was built of, as its provenance says.
type dependency struct {
	URI         string `json:"uri"`
	Annotations struct {
		Revision string `json:"revision"`
	} `json:"annotations"`
}

// provenance returns the sources of an artifact. An artifact of another tool has none.
func (x *examining) provenance(ctx context.Context, reference string) ([]dependency, error) {
	at, err := x.Open(ctx, &x.flags.Sources.RegistryFlags, reference, false)
	if err != nil {
		return nil, err
	}
	defer at.Close() //nolint:errcheck // nothing was written
	subject, err := at.Resolve(ctx, at.Reference)
	if err != nil {
		return nil, command.LocationError(at, err)
	}
	text, err := artifact.Attached(ctx, at, subject, statement.PredicateProvenance)
	if errors.Is(err, artifact.ErrNotFound) {
		return nil, nil
	} else if err != nil {
		return nil, command.LocationError(at, err)
	}
	var attached struct {
		Predicate struct {
			BuildDefinition struct {
				ResolvedDependencies []dependency `json:"resolvedDependencies"`
			} `json:"buildDefinition"`
		} `json:"predicate"`
	}
	err = json.Unmarshal(text, &attached)
	return attached.Predicate.BuildDefinition.ResolvedDependencies, err
}
