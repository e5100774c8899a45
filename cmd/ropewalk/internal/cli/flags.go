// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ropewalk/ropewalk/render/object"
)

// choice is a flag that takes one of a few words.
type choice struct {
	value string
	words []string
}

var _ pflag.Value = (*choice)(nil)

func newChoice(words ...string) choice { return choice{value: words[0], words: words} }

// String is the word that was chosen.
func (c *choice) String() string { return c.value }

// Type is what help prints for the value.
func (c *choice) Type() string { return strings.Join(c.words, "|") }

// Set chooses text, which must be one of the words.
func (c *choice) Set(text string) error {
	if !slices.Contains(c.words, text) {
		last := len(c.words) - 1
		return fmt.Errorf("expected %s or %s", strings.Join(c.words[:last], ", "), c.words[last])
	}
	c.value = text
	return nil
}

// add makes c a flag of cmd, with completion of its words.
func (c *choice) add(cmd *cobra.Command, name, usage string) {
	cmd.Flags().Var(c, name, usage)
	// This fails only for a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(c.words, cobra.ShellCompDirectiveNoFileComp))
}

// flagError names the flag that an unknown one may have meant.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	best, ok := object.Nearest(unknown.GetSpecifiedName(), known)
	if !ok {
		return err
	}
	return fmt.Errorf("%w: did you mean --%s?", err, best)
}
