// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	runtimectrl "github.com/fluxcd/pkg/runtime/controller"
	"github.com/spf13/pflag"

	"github.com/ropewalk/ropewalk/plugin/flux"
)

// gates says which feature gates are on, like the flag --feature-gates of Flux. The type of that
// flag keeps its values in variables of its package, for all of a process.
type gates map[string]bool

var _ pflag.Value = (*gates)(nil)

// gateExternalArtifact is Flux's gate of that name: here, it allows output as an ExternalArtifact,
// which needs --storage-path too.
const gateExternalArtifact = runtimectrl.FeatureGateExternalArtifact

// defaultGates returns all gates with their defaults. They have the names of Flux, if it has them,
// and the same gates are off.
func defaultGates() gates { return gates{gateExternalArtifact: true, flux.GateWorkloadIdentity: false} }

// help names all gates with their defaults.
func (g *gates) help() string { return strings.ReplaceAll(g.String(), ",", ", ") }

// String returns the value of the flag that gives the same gates.
func (g *gates) String() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(*g)) {
		out = append(out, fmt.Sprintf("%s=%t", name, (*g)[name]))
	}
	return strings.Join(out, ",")
}

// Type returns the word that help prints for the value.
func (*gates) Type() string { return "gates" }

// Set switches the gates that text names.
func (g *gates) Set(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		isOn, err := strconv.ParseBool(value)
		if _, known := (*g)[name]; !known || err != nil {
			return fmt.Errorf("%q: expected NAME=true or NAME=false, of %s", part, strings.Join(slices.Sorted(maps.Keys(*g)), ", "))
		}
		(*g)[name] = isOn
	}
	return nil
}

// word reports whether text is one of words.
func word(text, words string) bool { return slices.Contains(strings.Fields(words), text) }
