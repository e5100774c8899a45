// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/signature"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/plugin/host/release"
	"github.com/ropewalk/ropewalk/render/object"
)

func (a Commands) artifactSync() *cobra.Command {
	var r command.RegistryFlags
	var check bool
	parallel := 8
	format := command.NewChoice("text", "json")
	cmd := &cobra.Command{
		Use:   "sync FILE...",
		Short: "Copy the artifacts of installations to their registries",
		Long: `Copy the artifacts that documents of kind ArtifactSync and Installation list, each with its
barrier layers, signatures and attestations, many at once.

What is there already costs two requests. One that fails stops no other; what was copied
stays, and the next run copies the rest. Where a document has verify.keys, what is copied
must be signed by one of them; --check verifies and compares all, as in "artifact copy".
Exit code 1 says that something is not signed or not what its digest says, and 3 that
something could not be read or written.

Credentials are those of docker (` + "`docker login`" + `).`,
		Example: `  ropewalk artifact sync installations/*.yaml
  ropewalk artifact sync release.yaml --check --format json`,
		Args: cobra.MinimumNArgs(1),
		RunE: a.Run(func(ctx context.Context, args []string) error {
			if parallel < 1 || parallel > 64 {
				return command.Usagef("", "--parallel %d: expected 1 to 64", parallel)
			}
			items, err := a.syncItems(args)
			if err != nil {
				return err
			}
			return a.runSync(ctx, &r, items, release.SyncOptions{Check: check, Parallel: parallel, At: time.Now()}, format.Value)
		}),
	}
	f := cmd.Flags()
	f.BoolVar(&check, "check", false, "verify and compare what is there already too")
	f.IntVar(&parallel, "parallel", parallel, "copy `N` at once")
	format.Add(cmd, "format", "how to print what was done")
	r.Add(cmd)
	return cmd
}

// syncItems returns the artifacts of documents, each once.
func (a Commands) syncItems(files []string) (items []release.Item, err error) {
	var mistakes object.Errors
	seen := map[string]bool{}
	for _, name := range files {
		documents, err := a.readDocuments(name)
		var wrong object.Errors
		if errors.As(err, &wrong) {
			mistakes = append(mistakes, wrong...)
			continue
		} else if err != nil {
			return nil, err
		}
		for _, document := range documents {
			more, err := itemsOf(name, document)
			if err != nil {
				return nil, err
			}
			for _, i := range more {
				if key := fmt.Sprint(i.From, i.To, i.Tags, i.Keys != nil); !seen[key] {
					seen[key] = true
					items = append(items, i)
				}
			}
		}
	}
	return items, mistakes.Err()
}

// itemsOf returns the artifacts of one document in the file name.
func itemsOf(name string, document any) ([]release.Item, error) {
	switch d := document.(type) {
	case *release.ArtifactSync:
		keys, err := keysOf(name, d.Spec.Verify)
		return d.Items(keys), err
	case *release.Installation:
		keys, err := keysOf(name, d.Spec.Verify)
		return d.Items(keys), err
	default:
		return nil, command.Usagef("", "%s: expected a document of kind %s or %s", name, release.KindArtifactSync, release.KindInstallation)
	}
}

// readDocuments reads a file of documents of a release, of which there is at least one.
func (a Commands) readDocuments(name string) (out []any, err error) {
	data, err := command.ReadRegular(name)
	if err != nil {
		return nil, err
	}
	var mistakes object.Errors
	from := 0
	for _, at := range append(separators.FindAllIndex(data, -1), []int{len(data), len(data)}) {
		before, text := data[:from], data[from:at[0]]
		from = at[1]
		if len(bytes.TrimSpace(text)) == 0 && (len(out) > 0 || len(mistakes) > 0 || at[0] < len(data)) {
			continue
		}
		// Empty lines in place of what is before keep the lines of positions.
		document, err := a.parseRelease(name, append(bytes.Repeat([]byte("\n"), bytes.Count(before, []byte("\n"))), text...))
		var wrong object.Errors
		if errors.As(err, &wrong) {
			mistakes = append(mistakes, wrong...)
		} else if err != nil {
			return nil, err
		}
		out = append(out, document)
	}
	return out, mistakes.Err()
}

// separators are the lines between the documents of a file.
var separators = regexp.MustCompile(`(?m)^---[ \t]*(?:#.*)?\r?$`)

// keysOf reads the public keys of a document. It returns nil if it has none.
func keysOf(name string, verify release.Verify) (*signature.Verifier, error) {
	if len(verify.Keys) == 0 {
		return nil, nil //nolint:nilnil // no key checks nothing
	}
	var files []string
	for _, key := range verify.Keys {
		if !filepath.IsAbs(key) {
			key = filepath.Join(filepath.Dir(name), key)
		}
		files = append(files, key)
	}
	return readVerifier(files)
}

// runSync copies artifacts, and prints a report.
func (a Commands) runSync(ctx context.Context, r *command.RegistryFlags, items []release.Item, opts release.SyncOptions, format string) error {
	// All copies share the connections and the tokens.
	registries, err := r.Registries()
	if err != nil {
		return err
	}
	// One set of connections and tokens is for all.
	opts.Open = func(ctx context.Context, at artifact.Location) (artifact.Store, error) {
		return registries.Repository(ctx, at.Name, nil)
	}
	opts.Explain = command.RegistryError

	// Copy, with progress on a terminal.
	bar := command.NewProgress(a.Streams, "copying")
	opts.Progress = bar.Bytes
	results := release.Sync(ctx, items, opts)
	bar.Clear()

	// Count the results, and print them as data.
	count := map[string]int{}
	var failed []error
	rows := [][]string{{"STATUS", "TO", "DIGEST", "FROM"}}
	for _, one := range results {
		count[one.Status]++
		rows = append(rows, []string{one.Status, one.To, one.Digest, one.From})
		if one.Err != nil {
			failed = append(failed, one.Err)
		}
	}
	summary := map[string]any{"results": results, "copied": count["copied"], "unchanged": count["unchanged"], "failed": count["failed"]}
	if err := a.Outcome(format, summary, command.Table(rows)); err != nil {
		return err
	}

	// Report the errors and the totals.
	for _, one := range results {
		if one.Err != nil {
			a.Note("ropewalk: %s: %s\n", one.To, (*object.Secrets)(nil).Hide(one.Reason))
			if hint := command.HintOf(one.Err); hint != "" {
				a.Note("  %s\n", hint)
			}
		}
	}
	a.Note("%d copied, %d unchanged, %d failed\n", count["copied"], count["unchanged"], count["failed"])
	if len(failed) > 0 {
		return errors.Join(append(failed, command.ErrReported)...)
	}
	return nil
}
