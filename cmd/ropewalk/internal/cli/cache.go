// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/internal/process"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/source/cache"
)

func (a commands) cacheCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "List, check and prune the cache of modules and renders",
		Long: `Look after the cache: what was fetched, where mutable references led, and the
finished renders of the plugins. Everything in it can be fetched or made again. Dependencies of CUE modules
are in the cache of CUE.`,
	}
	cmd.AddCommand(a.cacheLs(), a.cachePrune(), a.cacheVerify())
	return cmd
}

func (a commands) cacheLs() *cobra.Command {
	var dir string
	format := command.NewChoice("text", "json")
	cmd := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List what is in the cache",
		Long:    "List what is in the cache, with its size and when it was last used.",
		Example: "  ropewalk cache ls", Args: cobra.NoArgs,
		RunE: a.Run(func(ctx context.Context, _ []string) error {
			store, err := command.OpenCache(dir)
			if err != nil {
				return err
			}
			entries := []cache.Entry{}
			rows := [][]string{{"KIND", "SIZE", "USED", "KEY"}}
			for e, err := range store.Ls(ctx) {
				if err != nil {
					return &command.EnvironmentError{Err: err}
				}
				entries = append(entries, e)
				rows = append(rows, []string{e.Kind, command.BytesText(e.Size), e.Used.UTC().Format(time.RFC3339), command.OneLine(e.Key)})
			}
			return a.Outcome(format.Value, entries, command.Table(rows))
		}),
	}
	command.AddCacheDir(cmd, &dir)
	format.Add(cmd, "format", "how to print it")
	return cmd
}

func (a commands) cachePrune() *cobra.Command {
	var dir, kind string
	var opts cache.PruneOptions
	var limit process.Size
	cmd := &cobra.Command{
		Use: "prune", Short: "Delete what was not used for longest",
		Long: "Delete what was not used for longest, down to a size, or what is older than a time.",
		Example: `  ropewalk cache prune --older-than 720h
  ropewalk cache prune --max-size 100MiB
  ropewalk cache prune --all`,
		Args: cobra.NoArgs,
		RunE: a.Run(func(ctx context.Context, _ []string) error {
			store, err := command.OpenCache(dir)
			if err != nil {
				return err
			}
			opts.Kind = kind
			opts.MaxBytes = int64(limit)
			if !opts.All && opts.OlderThan == 0 && opts.MaxBytes == 0 {
				return command.Usagef("add --all, --older-than or --max-size", "prune needs a condition")
			}
			pruned, err := store.Prune(ctx, opts)
			if err != nil {
				return &command.EnvironmentError{Err: err}
			}
			return a.Print(fmt.Sprintf("%s deleted, %s\n", printable.Count(pruned.Entries, "file"), command.BytesText(pruned.Bytes)))
		}),
	}
	f := cmd.Flags()
	f.BoolVar(&opts.All, "all", false, "delete everything")
	f.DurationVar(&opts.OlderThan, "older-than", 0, "delete what was not used for `DURATION`, such as 720h")
	f.Var(&limit, "max-size", "delete what was not used for longest until the rest is not larger")
	f.StringVar(&kind, "kind", "", "`KIND` to delete: tree, pointer, resolution or render; all where it is not given")
	command.AddCacheDir(cmd, &dir)
	return cmd
}

func (a commands) cacheVerify() *cobra.Command {
	var dir string
	var opts cache.VerifyOptions
	cmd := &cobra.Command{
		Use: "verify", Short: "Check that the cache holds what it says",
		Long:    "Read every entry and check it against its digest. Exit code 1 says that one is bad.",
		Example: "  ropewalk cache verify --remove", Args: cobra.NoArgs,
		RunE: a.Run(func(ctx context.Context, _ []string) error {
			store, err := command.OpenCache(dir)
			if err != nil {
				return err
			}
			report, err := store.Verify(ctx, opts)
			if err != nil {
				return &command.EnvironmentError{Err: err}
			}
			for _, e := range report.Bad {
				a.Note("bad: %s\n", command.OneLine(e.File))
			}
			summary := fmt.Sprintf("%s in %s, %d bad, %d left over\n",
				command.BytesText(report.Bytes), printable.Count(report.Entries, "file"), len(report.Bad), len(report.Stale))
			if err := a.Print(summary); err != nil {
				return err
			}
			if len(report.Bad) > 0 {
				return command.ErrFoundReported()
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&opts.Remove, "remove", false, "delete what is bad or left over")
	command.AddCacheDir(cmd, &dir)
	return cmd
}
