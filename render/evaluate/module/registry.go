// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"context"
	"fmt"
	"strings"

	"cuelang.org/go/mod/modconfig"
	"cuelang.org/go/mod/modfile"
	"cuelang.org/go/mod/module"
)

// offlineRegistry answers for modules that are in cue.mod/pkg, and for no
// other: evaluation has no network. An answer without files makes the loader
// look in cue.mod/pkg.
type offlineRegistry struct{ tree *tree }

var _ modconfig.Registry = offlineRegistry{}

// ModFile implements modconfig.Registry.
func (r offlineRegistry) ModFile(_ context.Context, mv module.Version) (*modfile.File, error) {
	if err := r.check(mv); err != nil {
		return nil, err
	}
	text := fmt.Sprintf("module: %q\nlanguage: version: %q\n", mv.Path(), languageVersion)
	return modfile.Parse([]byte(text), mv.Path()+"/cue.mod/module.cue")
}

// Fetch implements modconfig.Registry.
func (r offlineRegistry) Fetch(_ context.Context, mv module.Version) (module.SourceLoc, error) {
	return module.SourceLoc{}, r.check(mv)
}

// ModuleVersions implements modconfig.Registry.
func (r offlineRegistry) ModuleVersions(context.Context, string) ([]string, error) {
	return nil, nil
}

func (r offlineRegistry) check(mv module.Version) error {
	base, _, _ := strings.Cut(mv.Path(), "@")
	if r.tree.vendors(base) {
		return nil
	}
	return fmt.Errorf("module %q is not vendored: put its files under %q", mv.String(), "cue.mod/pkg/"+base)
}
