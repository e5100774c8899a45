// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/signature"
)

// Item is one artifact to copy.
type Item struct {
	// From and To are where it is, and where it goes.
	From, To artifact.Location
	// Tags are further tags at To.
	Tags []string
	// Keys are those of which one must have signed it; nil checks nothing.
	Keys *signature.Verifier
}

// Items returns the artifacts of a sync.
func (s *ArtifactSync) Items(keys *signature.Verifier) []Item {
	var out []Item
	for _, c := range s.Spec.Artifacts {
		out = append(out, item(c.From, c.To, c.Tags, keys))
	}
	return out
}

// Items returns the artifacts of an Installation, from where they are built to its registry.
func (i *Installation) Items(keys *signature.Verifier) []Item {
	var out []Item
	for _, c := range i.Spec.Components {
		from := c.From + "@" + c.Digest
		to := i.Spec.Registry + "/" + c.Name
		if c.Digest == "" {
			from = c.From + ":" + c.Version
		}
		if c.Version != "" {
			to += ":" + c.Version
		}
		out = append(out, item(from, to, nil, keys))
	}
	return out
}

// item returns one copy. The texts were checked when the document was read.
func item(from, to string, tags []string, keys *signature.Verifier) Item {
	out := Item{Tags: tags, Keys: keys}
	out.From, _ = artifact.ParseLocation(from)
	out.To, _ = artifact.ParseLocation(to)
	if out.To.Tag == "" && out.From.Digest == "" && len(tags) == 0 {
		out.To.Tag = out.From.Tag
	}
	return out
}

// Result is what became of an item.
type Result struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Status is copied, unchanged or failed.
	Status string `json:"status"`
	Digest string `json:"digest,omitempty"`
	Bytes  int64  `json:"bytes"`
	// Verified reports that the signature was checked.
	Verified bool   `json:"verified,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Err      error  `json:"-"`
}

// SyncOptions configure [Sync].
type SyncOptions struct {
	// Open returns the store of a location.
	Open func(ctx context.Context, at artifact.Location) (artifact.Store, error)
	// Explain returns an error as users read it, and where it is of.
	Explain func(at artifact.Location, err error) error
	// Check compares what is attached, and verifies, also where nothing has changed.
	Check bool
	// Parallel is how many are copied at once.
	Parallel int
	// At is the time in the retention tags.
	At time.Time
	// Progress is called with the bytes that were written; it may be nil.
	Progress func(bytes int64)
}

// Sync copies artifacts with what is attached to them. A copy that fails stops no other, and what
// was copied stays, so that the next run goes on from there. Results are in the order of the
// items.
func Sync(ctx context.Context, items []Item, opts SyncOptions) []Result {
	out := make([]Result, len(items))
	var group errgroup.Group
	group.SetLimit(opts.Parallel)
	for i, one := range items {
		group.Go(func() error {
			out[i] = copyOne(ctx, one, opts)
			return nil
		})
	}
	_ = group.Wait() // The errors are in the results.
	return out
}

// copyOne copies one artifact.
func copyOne(ctx context.Context, i Item, opts SyncOptions) Result {
	// The result names the end that has failed.
	out := Result{From: i.From.String(), To: i.To.String(), Status: "failed"}
	fail := func(at artifact.Location, err error) Result {
		out.Err = opts.Explain(at, err)
		out.Reason = out.Err.Error()
		return out
	}
	from, err := opts.Open(ctx, i.From)
	if err != nil {
		return fail(i.From, err)
	}
	to, err := opts.Open(ctx, i.To)
	if err != nil {
		return fail(i.To, err)
	}

	// A registry can mount what another repository of it has.
	copying := artifact.CopyOptions{Referrers: true, Check: opts.Check, At: opts.At, Progress: opts.Progress, Tags: i.Tags}
	if i.To.Tag != "" {
		copying.Tags = append([]string{i.To.Tag}, i.Tags...)
	}
	host, repository, _ := strings.Cut(i.From.Name, "/")
	if strings.HasPrefix(i.To.Name, host+"/") {
		copying.MountFrom = repository
	}

	// Nothing is copied before its signatures are verified.
	if i.Keys != nil {
		copying.Verify = func(ctx context.Context, digest string) error {
			out.Verified = true
			_, err := artifact.VerifySet(ctx, from, digest, i.Keys)
			return err
		}
	}
	copied, err := artifact.Copy(ctx, from, to, i.From.Reference(), copying)
	if err != nil {
		at := i.To
		if of := (*artifact.SourceError)(nil); errors.As(err, &of) {
			at = i.From
		}
		out.Verified = false
		return fail(at, err)
	}
	out.Digest = copied.Digest
	out.Bytes = copied.Bytes
	out.Status = "unchanged"
	if copied.Changed {
		out.Status = "copied"
	}
	return out
}

// At returns the reference of a component in the registry of an Installation: the digest if it has
// one, or else the version.
func (i *Installation) At(c Component) string {
	return i.Spec.Registry + "/" + c.Name + cmp.Or(prefixed("@", c.Digest), prefixed(":", c.Version))
}

// prefixed returns text behind a prefix, or "" if it is empty.
func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}
