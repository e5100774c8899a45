// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/ropewalk/ropewalk/internal/printable"
)

// Table returns rows of cells in columns, without blanks at the ends of lines. A cell is escaped as
// [printable.Line] does. [OneLine] joins the lines of a description before.
func Table(rows [][]string) string {
	var b, out strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, cells := range rows {
		line := make([]string, len(cells))
		for i, cell := range cells {
			line[i] = printable.Line(cell)
		}
		_, _ = fmt.Fprintln(t, strings.Join(line, "\t")) // A builder takes everything.
	}
	_ = t.Flush()
	for line := range strings.Lines(b.String()) {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return out.String()
}
