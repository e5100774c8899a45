// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/draw"
	"github.com/ropewalk/ropewalk/render/order"
)

func (a *app) graphCommand() *cobra.Command {
	var flags projectFlags
	var format choice
	var output string
	cmd := &cobra.Command{
		Use:   "graph [PATH...|-]",
		Short: "Draw what comes before what",
		Long: `Draw the graph of a render: its waves, its objects, and the edges between them with
the reason for each. Objects are not checked against schemas here.

The formats dot and mermaid are for other tools; svg is a picture that any browser
shows.
` + projectHelp + `

` + exitCodes,
		Example: `  ropewalk graph shop
  ropewalk graph shop --format svg -o shop.svg
  ropewalk graph shop --dialect flux --format mermaid
  ropewalk graph shop --format dot | dot -Tpng > shop.png
  ropewalk graph shop --format json | jq '.edges[] | select(.gating)'`,
		RunE: a.run(func(ctx context.Context, args []string) error {
			flags.skipSchemas = true
			return a.runGraph(ctx, &flags, format.value, output, args)
		}),
	}
	format = newChoice("text", "dot", "mermaid", "svg", "json")
	format.add(cmd, "format", "how to draw it")
	cmd.Flags().StringVarP(&output, "output", "o", "", "`FILE` to write to, and not standard output")
	flags.add(cmd)
	return cmd
}

func (a *app) runGraph(ctx context.Context, flags *projectFlags, format, output string, paths []string) error {
	r, err := a.render(ctx, flags, paths)
	if err != nil {
		return err
	}
	defer r.close()
	a.warn(r.Warnings)
	var b bytes.Buffer
	if err := drawPlan(&b, r.Plan, format); err != nil {
		return err
	}
	if output == "" {
		return a.write(b.Bytes())
	}
	return writeFile(output, b.Bytes())
}

func drawPlan(w io.Writer, plan *order.Plan, format string) error {
	switch format {
	case "text":
		return draw.Text(w, plan)
	case "dot":
		return draw.Dot(w, plan)
	case "mermaid":
		return draw.Mermaid(w, plan)
	case "svg":
		return draw.SVG(w, plan)
	case "json":
		return draw.JSON(w, plan)
	}
	return fmt.Errorf("unknown format %q", format)
}
