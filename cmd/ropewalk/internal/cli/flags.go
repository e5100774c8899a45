// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
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

// size is a flag that takes a number of bytes, such as 256MiB.
type size int64

var _ pflag.Value = (*size)(nil)

// String writes the size with the largest unit that divides it.
func (s *size) String() string {
	n, units := int64(*s), []string{"", "KiB", "MiB", "GiB"}
	i := 0
	for i < len(units)-1 && n != 0 && n%1024 == 0 {
		n /= 1024
		i++
	}
	return strconv.FormatInt(n, 10) + units[i]
}

// Type is what help prints for the value.
func (s *size) Type() string { return "size" }

// Set reads a whole number with a unit: none, Ki, Mi or Gi, with or without
// a final B.
func (s *size) Set(text string) error {
	number := strings.TrimRight(text, "KMGiB")
	shift, ok := unitShift(strings.TrimSuffix(text[len(number):], "B"))
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || !ok || n <= 0 || n > math.MaxInt64>>shift {
		return errors.New("expected a size such as 256MiB")
	}
	*s = size(n << shift)
	return nil
}

func unitShift(unit string) (int, bool) {
	switch unit {
	case "":
		return 0, true
	case "Ki":
		return 10, true
	case "Mi":
		return 20, true
	case "Gi":
		return 30, true
	}
	return 0, false
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
