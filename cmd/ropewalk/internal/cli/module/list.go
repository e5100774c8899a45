// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/manifest"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
)

// maxRepositories limits the names that are read from a registry.
const maxRepositories = 100_000

// errEnough ends the reading of a list.
var errEnough = errors.New("enough")

func (a Commands) list() *cobra.Command {
	var flags command.RegistryFlags
	format := command.NewChoice("text", "json")
	cmd := &cobra.Command{
		Use: "list oci://REGISTRY[/REPOSITORY]", Short: "List the versions of a module, or the repositories of a registry",
		Long: `List the versions of the module in a repository, the highest first, with the digest and
the floating tags of each. For a registry alone, list its repositories. Many registries do
not support this.

` + command.ExitCodes,
		Example: `  ropewalk module list oci://ghcr.io/acme/acme.example/web
  ropewalk module list oci://registry.acme.example --format json`,
		Args: cobra.ExactArgs(1),
		RunE: a.Run(func(ctx context.Context, args []string) error {
			name, ok := strings.CutPrefix(args[0], "oci://")
			if !ok {
				return command.Usagef("write oci://"+args[0], "%s is no repository", args[0])
			}
			if host := strings.TrimSuffix(name, "/"); host != "" && !strings.Contains(host, "/") {
				return a.listRepositories(ctx, &flags, format.Value, host)
			}
			location, err := artifact.ParseLocation(args[0])
			if err != nil {
				return &command.UsageError{Err: err}
			}
			if location.Tag != "" || location.Digest != "" {
				return command.Usagef("leave out what is behind its name", "%s is one version, and no repository", args[0])
			}
			return a.WithLocation(ctx, &flags, format.Value, args[0], false, func(location command.Location) (any, string, error) {
				out, err := versionsOf(ctx, location)
				return out, out.text(), err
			})
		}),
	}
	cmd.Flags().SortFlags = false
	format.Add(cmd, "format", "how to print it")
	flags.Add(cmd)
	return cmd
}

// listed is a version in a list.
type listed struct {
	Version string   `json:"version"`
	Digest  string   `json:"digest"`
	Tags    []string `json:"tags,omitempty"`
}

type listing []listed

func (l listing) text() string {
	rows := [][]string{{"VERSION", "DIGEST", "TAGS"}}
	for _, v := range l {
		rows = append(rows, []string{v.Version, v.Digest, strings.Join(v.Tags, ", ")})
	}
	return command.Table(rows)
}

// versionsOf returns the versions of a repository, the highest first, each with the floating tags
// that lead to its digest.
func versionsOf(ctx context.Context, location command.Location) (listing, error) {
	versions, err := releases(ctx, location.Store)
	if err != nil {
		return nil, err
	}
	if len(versions) == 0 {
		return nil, &command.EnvironmentError{
			Err:  fmt.Errorf("oci://%s has no tag that is a version", location.Repository),
			Hint: "ropewalk module list oci://REGISTRY lists the repositories of a registry that tells them",
		}
	}

	// A floating tag that does not exist leads to "".
	digest := func(tag string) (string, error) {
		desc, err := location.Resolve(ctx, tag)
		if manifest.Missing(err) {
			return "", nil
		}
		return desc.Digest.String(), err
	}

	// Resolve each floating tag once.
	floating := map[string][]string{}
	var resolved []string
	for _, r := range slices.Backward(versions) {
		for _, tag := range r.floating() {
			if slices.Contains(resolved, tag) {
				continue
			}
			resolved = append(resolved, tag)
			target, err := digest(tag)
			if err != nil {
				return nil, err
			}
			floating[target] = append(floating[target], tag)
		}
	}

	// List the versions with the tags of their digests.
	var out listing
	for _, r := range slices.Backward(versions) {
		version := listed{Version: r.text}
		version.Digest, err = digest(r.text)
		if err != nil {
			return nil, err
		}
		version.Tags = floating[version.Digest]
		delete(floating, version.Digest) // If two versions have this digest, the higher version has its tags.
		out = append(out, version)
	}
	return out, nil
}

// listRepositories lists the repositories of a registry.
func (a Commands) listRepositories(ctx context.Context, flags *command.RegistryFlags, format, host string) error {
	registries, err := flags.Registries()
	if err != nil {
		return err
	}
	names := []string{}
	err = registries.Repositories(ctx, host, func(page []string) error {
		names = append(names, page...)
		if len(names) > maxRepositories {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return command.RegistryError(artifact.Location{Kind: artifact.Registry, Name: host}, err)
	}
	if errors.Is(err, errEnough) {
		a.Note("only the first %d are listed\n", maxRepositories)
		names = names[:maxRepositories]
	}
	slices.Sort(names)
	var text strings.Builder
	for _, name := range names {
		text.WriteString(command.Table([][]string{{"oci://" + host + "/" + name}}))
	}
	return a.Outcome(format, names, text.String())
}
