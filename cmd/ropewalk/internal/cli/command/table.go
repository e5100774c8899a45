// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Table is rows of cells in columns, without blanks at the ends of lines. Cells hold no
// tabs and no line ends; see [OneLine].
func Table(rows [][]string) string {
	var b, out strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, cells := range rows {
		_, _ = fmt.Fprintln(t, strings.Join(cells, "\t")) // A builder takes everything.
	}
	_ = t.Flush()
	for line := range strings.Lines(b.String()) {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return out.String()
}
