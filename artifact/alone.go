// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"
	"oras.land/oras-go/v2/registry/remote"
)

// A copy that is alone need not settle what it attaches. Where lists of
// referrers are manifests under tags, it knows that it is alone like this:
//
//  1. It writes each subject under its retention tag, which no other copy has
//     too, since it holds the time to the nanosecond.
//  2. Then it lists the tags. It is alone if no list of referrers is there yet,
//     and no retention tag of others for the same subjects. Meanwhile it writes the
//     manifests of the referrers, which nobody sees before a list names them.
//  3. It writes each list, once and whole, reads it back, and goes if it holds
//     what was written and nothing else. No pause.
//
// Of two who copy at once at least one sees the other, because both write before
// they look. Who is not alone waits for a turn before it touches a list, for three
// quarters of one at least, and sees nothing of the other one before that one wrote
// its first subject. Who is alone is done in less than that, from that write on, or
// settles after all. So who waited reads the list that the other one wrote, keeps
// it, and settles what it adds.
//
// That is four requests in a row, so that a copy is alone up to about 150 ms for
// each of them. How long who is alone may take cannot follow what its requests
// take: who waits for it does not know that, and may be nearer to the registry.
//
// Who signs what a tag leads to comes after the list, because tags move last, and
// reads it as well. What is left is somebody who attaches to a digest that no tag
// leads to yet, reads that there is no list, and stalls until the copy has read
// its own one back. Copies of the same referrers lose nothing whatever happens.
//
// To settle each copy, as signing does, was not chosen: it waits for 0.6 s, where
// a copy takes 0.02 s. Nor was a tag under which writers stand in line: registries
// without a referrers API mostly refuse to delete it.
const (
	// turn is about how long who is not alone waits, by a quarter less or more.
	turn = time.Second
	// swift is how long after the first step who is alone may begin to write a list.
	// The rest until done is for a write that takes long to arrive.
	swift = turn / 2
	// done is how long who is alone may take from the first step to the last: a
	// little less than the shortest turn.
	done = turn * 7 / 10
	// tagPages is how many pages of tags are read to see who else is there, and
	// tagPage how many tags a page has; registries may give fewer.
	tagPages, tagPage = 3, 1000
	// listing is how long the tags may take. It saves time where it is quick, and
	// where it is not, settling does as well. It is no longer than clients wait before
	// they ask a server again that has no time, so that it is not asked again.
	listing = turn / 5
)

// errCrowded ends the listing of tags.
var errCrowded = errors.New("not alone")

// alone says whether nobody else writes to the lists that this copy is about to
// write, and has waited for its turn where somebody may.
func (c *copier) alone(ctx context.Context) (bool, error) {
	if len(c.subjects(c.writes[1])) == 0 || !keepsLists(c.to) {
		return false, nil // there are no lists
	}
	if c.announced() {
		if c.looked(ctx) {
			return true, nil
		}
		// A registry that does not list its tags leaves it open who is there.
	} else if c.listsThere {
		return false, nil // who keeps a list was not alone when it was written
	}
	c.waits()
	return false, pause(ctx, turn, c.root.desc, 0)
}

// waits says that the copy is about to wait for others.
func (c *copier) waits() {
	if c.opts.Waiting != nil {
		c.opts.Waiting()
	}
}

// late says whether a copy that is alone takes longer than it may.
func (c *copier) late(limit time.Duration) bool { return time.Since(c.began) >= limit }

// looked says that nobody else is there. Meanwhile it writes referrers, without
// their lists; those of which that fails are written again.
func (c *copier) looked(ctx context.Context) bool {
	c.unlisted = unlisted(c.to)
	var early errgroup.Group
	early.SetLimit(parallel - 1) // the listing is one more
	if c.unlisted != nil {
		for _, w := range slices.Concat(c.writes[1:]...) {
			if w.subject == nil || isIndex(w.desc.MediaType) {
				continue
			}
			early.Go(func() error {
				if c.unlisted.Push(ctx, w.desc, bytes.NewReader(w.data)) == nil {
					c.first(c.early, w.desc, "")
				}
				return nil
			})
		}
	}
	inner, cancel := context.WithTimeout(ctx, listing)
	err := c.seen(inner)
	cancel()
	_ = early.Wait() // it gives no errors
	if err != nil {
		c.unlisted = nil
	}
	return err == nil
}

// subjects are the digests, with no prefix, of what referrers are about.
func (c *copier) subjects(writes []write) []string {
	var out []string
	for _, w := range writes {
		if w.subject != nil && !slices.Contains(out, w.subject.Digest.Encoded()) {
			out = append(out, w.subject.Digest.Encoded())
		}
	}
	return out
}

// announced says whether this copy has written a retention tag for each whole
// and layer to which it attaches, and one that no other copy writes.
func (c *copier) announced() bool {
	if c.opts.At.Nanosecond() == 0 {
		return false // the time is unknown, or no clock was that exact
	}
	return !slices.ContainsFunc(c.subjects(c.writes[1]), func(hex string) bool {
		return !slices.ContainsFunc(c.writes[0], func(w write) bool { return w.tag != "" && w.desc.Digest.Encoded() == hex })
	})
}

// seen is an error where somebody else is or was at one of the subjects, or
// where that cannot be known.
func (c *copier) seen(ctx context.Context) error {
	subjects, pages, longest := c.subjects(slices.Concat(c.writes[1:]...)), 0, 0
	return lister(c.to).Tags(ctx, "", func(tags []string) error {
		pages++
		for _, tag := range tags {
			if c.foreign(tag, subjects) {
				return errCrowded
			}
		}
		// A page that is shorter than one before it is the last one, so that nobody
		// has to ask for what comes after it.
		longest = max(longest, len(tags))
		if pages == tagPages && len(tags) == longest {
			return errCrowded
		}
		return nil
	})
}

// lister is a store that lists tags in large pages.
func lister(to Store) interface {
	Tags(ctx context.Context, last string, fn func(tags []string) error) error
} {
	r, ok := to.(*remote.Repository)
	if !ok {
		return to
	}
	return &remote.Repository{Client: r.Client, Reference: r.Reference, PlainHTTP: r.PlainHTTP, HandleWarning: r.HandleWarning, TagListPageSize: tagPage}
}

// foreign says whether a tag is the list of one of the subjects, or a retention
// tag of one that this copy has not written.
func (c *copier) foreign(tag string, subjects []string) bool {
	if hex, ok := strings.CutPrefix(tag, listPrefix); ok {
		return slices.Contains(subjects, hex)
	}
	r, ok := parseRetention(tag)
	return ok && slices.Contains(subjects, digest.Digest(r.digest).Encoded()) &&
		!slices.ContainsFunc(c.writes[0], func(w write) bool { return w.tag == tag })
}

// unlisted is a repository to which referrers are written without their lists:
// the client of oras-go adds each to its list by two more requests, which is one
// write of the list for each referrer if they come at the wrong moment. It is nil
// where the store is none.
func unlisted(to Store) Writer {
	r, ok := to.(*remote.Repository)
	if !ok {
		return nil
	}
	out := &remote.Repository{
		Client: r.Client, Reference: r.Reference, PlainHTTP: r.PlainHTTP, ManifestMediaTypes: r.ManifestMediaTypes, HandleWarning: r.HandleWarning,
	}
	if out.SetReferrersCapability(true) != nil {
		return nil
	}
	return out
}

// firstLists writes the lists of what was written unlisted. One that comes late
// does not write over what others may have listed since: it adds to it.
func (c *copier) firstLists(ctx context.Context, level []write) error {
	if c.unlisted == nil {
		return nil
	}
	group, inner := errgroup.WithContext(ctx)
	for _, hex := range c.subjects(level) {
		group.Go(func() error {
			own := slices.DeleteFunc(slices.Clone(level), func(w write) bool { return w.subject == nil || w.subject.Digest.Encoded() != hex })
			return about(listPrefix+hex, c.within(inner, func() error { return c.firstList(inner, own, listPrefix+hex) }))
		})
	}
	return group.Wait()
}

// firstList writes the list of the referrers of one subject.
func (c *copier) firstList(ctx context.Context, own []write, tag string) error {
	data, err := listOf(own)
	if err != nil {
		return err
	}
	d := describe(ocispec.MediaTypeImageIndex, data)
	if !c.late(swift) {
		return persist(ctx, d, func(int) error { return c.unlisted.PushReference(ctx, d, bytes.NewReader(data), tag) })
	}
	for _, w := range own {
		if err := sendReferrer(ctx, c.to, w.desc, w.data); err != nil {
			return err
		}
	}
	return nil
}

// listOf is a list of referrers, as the distribution specification wants it.
func listOf(referrers []write) ([]byte, error) {
	list := indexJSON{SchemaVersion: 2, MediaType: ocispec.MediaTypeImageIndex}
	for _, w := range referrers {
		m, err := parseManifest(w.desc.MediaType, w.data)
		if err != nil {
			return nil, about(w.desc.Digest.String(), err)
		}
		d := plain(w.desc)
		d.ArtifactType, d.Annotations = m.artifactType(), m.Annotations
		list.Manifests = append(list.Manifests, d)
	}
	return encode(list)
}

// indexJSON is an index as it is written, in this order of fields.
type indexJSON struct {
	SchemaVersion int              `json:"schemaVersion"`
	MediaType     string           `json:"mediaType"`
	Manifests     []descriptorJSON `json:"manifests"`
}

// unchanged says whether each list holds what this copy attached, and nothing else.
func (c *copier) unchanged(ctx context.Context) (bool, error) {
	lists := newLists(c.attached)
	same := make([]bool, len(lists))
	group, inner := errgroup.WithContext(ctx)
	for i, l := range lists {
		group.Go(func() error {
			return c.within(inner, func() error {
				now, err := Referrers(inner, l.to, l.subject, "")
				if isFlicker(err) {
					return nil // somebody writes it
				}
				same[i] = len(now) == len(l.own) && !slices.ContainsFunc(l.own, func(a attachment) bool { return !holds(now, a.referrer) })
				return err
			})
		})
	}
	err := group.Wait()
	return !slices.Contains(same, false), err
}
