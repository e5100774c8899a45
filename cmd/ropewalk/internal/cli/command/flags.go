// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/object"
)

// Choice is a flag that takes one of a few words.
type Choice struct {
	Value string
	Words []string
}

var _ pflag.Value = (*Choice)(nil)

// NewChoice is a flag with one of some words; the first is the default.
func NewChoice(words ...string) Choice { return Choice{Value: words[0], Words: words} }

// String is the word that was chosen.
func (c *Choice) String() string { return c.Value }

// Type is what help prints for the value.
func (c *Choice) Type() string { return strings.Join(c.Words, "|") }

// Set chooses text, which must be one of the words.
func (c *Choice) Set(text string) error {
	if !slices.Contains(c.Words, text) {
		last := len(c.Words) - 1
		return fmt.Errorf("expected %s or %s", strings.Join(c.Words[:last], ", "), c.Words[last])
	}
	c.Value = text
	return nil
}

// Add makes c a flag of cmd, with completion of its words.
func (c *Choice) Add(cmd *cobra.Command, name, usage string) {
	cmd.Flags().Var(c, name, usage)
	// This fails only for a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(c.Words, cobra.ShellCompDirectiveNoFileComp))
}

// FlagError names the flag that an unknown one may have meant.
func FlagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		if strings.Contains(err.Error(), "missing unit in duration") {
			return fmt.Errorf("%w: write the unit, such as 10s or 5m", err)
		}
		return err
	}
	err = errors.New(printable.Line(err.Error()))
	if name := unknown.GetSpecifiedName(); name == "t" || name == "tag" || name == "tags" || name == "inject" {
		return fmt.Errorf("%w: CUE tags go under spec.tags of a Transform", err)
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	// A name that goes on is the flag itself: --environment, --env.
	best, ok := object.Nearest(unknown.GetSpecifiedName(), known)
	for _, k := range known {
		if rest := unknown.GetSpecifiedName(); !ok && len(k) > 2 && strings.HasPrefix(rest, k) {
			best, ok = k, true
		}
	}
	if !ok {
		return err
	}
	return fmt.Errorf("%w: did you mean --%s?", err, best)
}
