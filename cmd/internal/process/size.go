// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// Size is a flag that takes a number of bytes, such as 256MiB.
type Size int64

var _ pflag.Value = (*Size)(nil)

// String writes the size with the largest unit that divides it.
func (s *Size) String() string {
	n := int64(*s)
	units := []string{"", "KiB", "MiB", "GiB"}
	i := 0
	for i < len(units)-1 && n != 0 && n%1024 == 0 {
		n /= 1024
		i++
	}
	return strconv.FormatInt(n, 10) + units[i]
}

// Type returns the word that help prints for the value.
func (*Size) Type() string { return "size" }

// Set reads a whole number with a unit, as a resource of Kubernetes has it: no unit, Ki, Mi or Gi,
// with or without a final B.
func (s *Size) Set(text string) error {
	number := strings.TrimRight(text, "KMGiB")
	shift, known := map[string]int{"": 0, "Ki": 10, "Mi": 20, "Gi": 30}[strings.TrimSuffix(text[len(number):], "B")]
	n, err := strconv.ParseInt(number, 10, 64)
	fits := n > 0 && n <= math.MaxInt64>>shift
	if err != nil || !known || !fits {
		return errors.New("expected a size such as 256MiB")
	}
	*s = Size(n << shift)
	return nil
}
