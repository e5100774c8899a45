// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/internal/printable"
)

func (a Commands) artifactCopy() *cobra.Command {
	var r command.RegistryFlags
	opts := artifact.CopyOptions{Referrers: true}
	var bare bool
	format := command.NewChoice("text", "json")
	cmd := &cobra.Command{
		Use:   "copy FROM TO",
		Short: "Copy an artifact with its signatures and attestations",
		Long: `Copy an artifact from a registry or a layout to another one, with its barrier layers and
everything that is attached to it. Digests stay as they are, so signatures do too. TO
without a tag has the tag of FROM.

Where the tag at TO leads to the same artifact already, nothing is copied, and two
requests find that out. What was attached to FROM after it was copied, such as a later
signature, and what TO has lost since, are not seen then: --check looks for both, and
copies what is missing. It requests the content of the artifact, of each barrier layer and
of what is attached to them, and for its size. It does not look for what is attached to
something attached that TO has already, and reads no content again, except in a layout.

Signatures of cosign v2 that TO has and FROM has not stay there.
` + command.LocationHelp,
		Example: `  ropewalk artifact copy oci://ghcr.io/acme/shop:v1 oci://registry.prod.acme.com/shop:v1
  ropewalk artifact copy oci-layout:out/shop oci://ghcr.io/acme/shop:v1`,
		Args: cobra.ExactArgs(2),
		RunE: a.Run(func(ctx context.Context, args []string) error {
			opts.Referrers = !bare
			if err := checkTarget(args[1], opts.Tags, artifact.Options{}); err != nil {
				return err
			}
			return a.WithLocation(ctx, &r, "text", args[0], false, func(from command.Location) (any, string, error) {
				if strings.HasPrefix(args[1], string(artifact.LayoutDir)+":") {
					// A folder is made only for what is there.
					if _, err := from.Resolve(ctx, from.Reference); err != nil {
						return nil, "", err
					}
				}
				return nil, "", a.WithLocation(ctx, &r, format.Value, args[1], true, func(to command.Location) (any, string, error) {
					return a.copyArtifact(ctx, from, to, opts)
				})
			})
		}),
	}
	f := cmd.Flags()
	f.StringArrayVar(&opts.Tags, "tag", nil, "another `TAG` at the destination; may be repeated")
	f.BoolVar(&bare, "bare", false, "leave signatures and attestations behind")
	f.BoolVar(&opts.Check, "check", false, "where TO has the artifact, look for what was attached since and for what TO has lost")
	format.Add(cmd, "format", "how to print what was done")
	r.Add(cmd)
	return cmd
}

func (a Commands) copyArtifact(ctx context.Context, from, to command.Location, opts artifact.CopyOptions) (any, string, error) {
	tag := to.Reference
	if !to.Given && from.Given && !strings.HasPrefix(from.Reference, "sha256:") {
		tag = from.Reference
	}
	bar := command.NewProgress(a.Streams, "copying")
	opts.Tags = append([]string{tag}, opts.Tags...)
	opts.At = to.Time
	opts.Progress = bar.Bytes
	if host, repository, _ := strings.Cut(from.Repository, "/"); host != "" && strings.HasPrefix(to.Repository, host+"/") {
		opts.MountFrom = repository
	}
	copied, err := artifact.Copy(ctx, from.Store, to.Store, from.Reference, opts)
	bar.Clear()
	if err != nil {
		return nil, "", copyError(from, to, tag, err)
	}
	attached := printable.Count(len(copied.Referrers), "referrer")
	if copied.Simple > 0 {
		attached += " and " + printable.Count(copied.Simple, "cosign signature")
	}
	attached += " copied"
	switch {
	case !opts.Referrers:
		attached = "left behind"
	case !copied.Checked:
		attached = "not looked at, since the artifact was there: --check looks for later signatures"
	}
	return copied, fmt.Sprintf("%s\n  digest    %s\n  changed   %s\n  attached  %s\n",
		to.At(tag), copied.Digest, yesNo(copied.Changed), attached), nil
}

// copyError returns an error of a copy with the location that it is of. A tag that is written
// wrongly is a mistake on the command line.
func copyError(from, to command.Location, tag string, err error) error {
	var of *artifact.SourceError
	switch {
	case errors.Is(err, artifact.ErrReference):
		return err
	case errors.As(err, &of):
		return command.LocationError(from, err)
	}
	to.Reference = tag
	return command.LocationError(to, err)
}
