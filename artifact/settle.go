// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/errcode"
)

const (
	// settling is the first pause after a list was written: how long others have
	// to end a write that they began before ours. Each pause is twice the one
	// before it, up to eight times the first.
	settling = 200 * time.Millisecond
	// passes is how often a list is looked at until it is given up.
	passes = 10
	// quiet is how many passes in a row must find nothing to write.
	quiet = 2
	// flicker is the first pause before a write is tried again that a registry
	// refused for what another client was writing in that moment.
	flicker = 20 * time.Millisecond
	// flickers is how often such a write is tried.
	flickers = 7
)

// attachment is a referrer that was written to a store.
type attachment struct {
	to                Store
	subject, referrer ocispec.Descriptor
	data              []byte // the manifest of the referrer
}

// ledger holds what is attached in one go, so that its lists are settled
// together and not one after another. It may be used by several goroutines.
type ledger struct {
	mu      sync.Mutex
	entries []attachment
}

// ledgerKey is the key of the ledger in a context.
type ledgerKey struct{}

// together has all that is attached under the context that it gives be settled
// by the function that it gives. Inside of another together that one settles.
func together(ctx context.Context) (inner context.Context, settle func() error) {
	if _, nested := ctx.Value(ledgerKey{}).(*ledger); nested {
		return ctx, func() error { return nil }
	}
	l := &ledger{}
	return context.WithValue(ctx, ledgerKey{}, l), func() error { return settleAll(ctx, l.entries) }
}

// attached settles an attachment, or leaves that to who called together.
func attached(ctx context.Context, a attachment) error {
	l, later := ctx.Value(ledgerKey{}).(*ledger)
	if !later {
		return settleAll(ctx, []attachment{a})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, a)
	return nil
}

// settleAll looks again, a little later, that what was attached is still listed.
//
// Without a referrers API the list of a subject is one manifest that everybody
// writes as a whole, and who read it before our entry was in it writes it
// without. No registry compares before it swaps. So everybody who writes stays
// until the list was quiet for a while, and puts back whatever is gone that was
// in it, of others too: an entry is lost only where its writer is gone already
// and another one takes longer between its read and its write than the pauses
// are together.
func settleAll(ctx context.Context, entries []attachment) error {
	if len(entries) == 0 {
		return nil
	}
	first := entries[0]
	if !keepsLists(first.to) {
		_, listed, err := resolve(ctx, first.to, listTag(first.subject.Digest))
		if listed = listed || isFlicker(err); !listed {
			return err
		}
	}
	lists := newLists(entries)
	clean := 0
	for i := range passes {
		if err := pause(ctx, settling<<min(i, 3), first.referrer, i); err != nil {
			return err
		}
		wrote := false
		for _, l := range lists {
			again, err := l.pass(ctx)
			if err != nil {
				return about(l.subject.Digest.String(), err)
			}
			wrote = wrote || again
		}
		clean++
		if wrote {
			clean = 0
		}
		if clean == quiet {
			return nil
		}
	}
	return errRewritten(first.subject)
}

// keepsLists reports whether a registry is known to have no referrers API, so
// that its lists are manifests. Whoever wrote a referrer knows it by then: to
// claim the API changes nothing, and is refused where there is none.
func keepsLists(to Store) bool {
	r, ok := to.(interface{ SetReferrersCapability(capable bool) error })
	return ok && errors.Is(r.SetReferrersCapability(true), remote.ErrReferrersCapabilityAlreadySet)
}

// knowsReferrers reports whether a registry has the referrers API. Whoever asked
// for referrers knows it by then.
func knowsReferrers(to Store) bool {
	_, ok := to.(interface{ SetReferrersCapability(capable bool) error })
	return ok && !keepsLists(to)
}

// listPrefix is what the tag of a list of referrers begins with; the digest of
// the subject follows, without its algorithm.
//
// See https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#referrers-tag-schema.
const listPrefix = "sha256-"

// listTag is the tag of the list of referrers of a manifest.
func listTag(subject digest.Digest) string { return listPrefix + subject.Encoded() }

func errRewritten(subject ocispec.Descriptor) error {
	return refuse(ErrBusy, "%s: the list of its referrers is rewritten by others each time: try again", subject.Digest)
}

// list is the list of referrers of one subject, and what must stay in it.
type list struct {
	to      Store
	subject ocispec.Descriptor
	own     []attachment
	seen    []ocispec.Descriptor // those of others
}

// newLists are the lists of attachments, in the order of their first ones.
func newLists(entries []attachment) []*list {
	var out []*list
	for _, e := range entries {
		i := slices.IndexFunc(out, func(l *list) bool { return l.subject.Digest == e.subject.Digest })
		if i < 0 {
			i = len(out)
			out = append(out, &list{to: e.to, subject: e.subject})
		}
		out[i].own = append(out[i].own, e)
	}
	return out
}

// pass reads the list, and writes what is gone from it. A list that cannot be
// read in this moment counts as one that was written.
func (l *list) pass(ctx context.Context) (wrote bool, err error) {
	now, err := Referrers(ctx, l.to, l.subject, "")
	if flickers := isFlicker(err); err != nil {
		if flickers {
			err = nil
		}
		return true, err
	}
	for _, own := range l.own {
		if holds(now, own.referrer) {
			continue
		}
		wrote = true
		if err := sendReferrer(ctx, l.to, own.referrer, own.data); err != nil {
			return true, err
		}
	}
	gone := l.seen
	l.seen = now
	for _, other := range gone {
		if holds(now, other) {
			continue
		}
		_, data, err := readManifest(ctx, l.to, other)
		if missing(err) {
			continue // it was deleted, and not lost
		}
		if err != nil {
			return true, err
		}
		wrote = true
		l.seen = append(l.seen, other)
		if err := sendReferrer(ctx, l.to, other, data); err != nil {
			return true, err
		}
	}
	return wrote, nil
}

// sendReferrer is pushReferrer that is tried again.
func sendReferrer(ctx context.Context, to Writer, d ocispec.Descriptor, data []byte) error {
	return persist(ctx, d, func(int) error { return pushReferrer(ctx, to, d, data) })
}

// persist tries a write until the registry does not refuse it for what another
// client writes in that moment. send is told how often it was tried before.
func persist(ctx context.Context, d ocispec.Descriptor, send func(before int) error) error {
	for i := 0; ; i++ {
		err := send(i)
		if !isFlicker(err) {
			return err
		}
		if i == flickers-1 {
			return gaveUp(d, err)
		}
		if err := pause(ctx, flicker<<i, d, i); err != nil {
			return err
		}
	}
}

// steadyReferrers are all referrers of a manifest, asked for again where others
// write their list in that moment.
func steadyReferrers(ctx context.Context, from Reader, subject ocispec.Descriptor) (list []ocispec.Descriptor, _ error) {
	err := persist(ctx, subject, func(int) (err error) { list, err = Referrers(ctx, from, subject, ""); return err })
	return list, err
}

// steadyResolve is resolve, asked again where others write there in that moment.
func steadyResolve(ctx context.Context, from Reader, reference string) (d ocispec.Descriptor, exists bool, _ error) {
	jitter := ocispec.Descriptor{Digest: digestOf([]byte(reference))}
	err := persist(ctx, jitter, func(int) (err error) { d, exists, err = resolve(ctx, from, reference); return err })
	return d, exists, err
}

// gaveUp is the error of a write that was tried often enough. What a registry
// says of digests is left out, because the content is as its digest says.
func gaveUp(d ocispec.Descriptor, err error) error {
	var answer *errcode.ErrorResponse
	if !errors.As(err, &answer) || answer.StatusCode == http.StatusInternalServerError {
		return err
	}
	return refuse(ErrBusy, "%s: the registry was sent what it names, and says that it does not have it (%d): others may write the same content at once: try again",
		d.Digest, answer.StatusCode)
}

// isFlicker says whether a registry read something while it was being written.
//
// docker-registry 2.8 empties the file that links a blob into a repository, and
// the one of a tag, and then writes it, also where it writes the same once more.
// Who pushes a manifest in that moment hears that its blob is unknown, with
// DIGEST_INVALID beside it, which is about that file and not about the content;
// who reads the tag gets 500.
func isFlicker(err error) bool {
	var answer *errcode.ErrorResponse
	if !errors.As(err, &answer) {
		return false
	}
	if answer.StatusCode == http.StatusInternalServerError {
		return true
	}
	return slices.ContainsFunc(answer.Errors, func(e errcode.Error) bool {
		return e.Code == errcode.ErrorCodeManifestBlobUnknown || e.Code == errcode.ErrorCodeBlobUnknown
	})
}

// pause waits for between three and five quarters of a time. Where in between
// comes from the digest, so that those who write at once do not stay in step.
func pause(ctx context.Context, length time.Duration, d ocispec.Descriptor, turn int) error {
	hex := strings.TrimPrefix(d.Digest.String(), "sha256:")
	at := 2 * turn % max(1, len(hex)-1)
	share, err := strconv.ParseUint(hex[at:min(at+2, len(hex))], 16, 8)
	if err != nil {
		share = 0 // no digest, no jitter
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(length*3/4 + length*time.Duration(share)/512): //nolint:gosec // it is a byte
		return nil
	}
}
