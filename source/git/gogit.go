// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/ropewalk/ropewalk/source"
)

// session is the part of transport.UploadPackSession that a fetch needs.
type session interface {
	AdvertisedReferencesContext(ctx context.Context) (*packp.AdvRefs, error)
	UploadPack(ctx context.Context, req *packp.UploadPackRequest) (*packp.UploadPackResponse, error)
	Close() error
}

var _ session = transport.UploadPackSession(nil)

// library is a repository on a server by way of go-git. It receives all files of
// one commit, into memory.
type library struct {
	session session
	// limit bounds a pack, in bytes, before and after decompression.
	limit   int64
	with    credentials
	listing *packp.AdvRefs
}

var _ remote = (*library)(nil)

// dial prepares a connection; the first request opens it.
func (f *Fetcher) dial(server location, with credentials) (remote, error) {
	var s session
	var err error
	if server.scheme == schemeSSH {
		s, err = newSSH(server, with, f.Scratch)
	} else {
		s, err = newHTTP(server, with, f.CA, f.transfer())
	}
	if err != nil {
		return nil, err
	}
	return &library{session: s, limit: f.transfer(), with: with}, nil
}

func (l *library) close() { _ = l.session.Close() } // nothing is pending

// list reads the references, once. A server of protocol version 0 sends them first.
func (l *library) list(ctx context.Context) error {
	if l.listing != nil {
		return nil
	}
	listing, err := l.session.AdvertisedReferencesContext(ctx)
	if errors.Is(err, transport.ErrEmptyRemoteRepository) {
		listing, err = packp.NewAdvRefs(), nil
	}
	l.listing = listing
	return l.explain(ctx, err)
}

// listRefs lists references.
func (l *library) listRefs(ctx context.Context, patterns []string) ([]advert, error) {
	if err := l.list(ctx); err != nil {
		return nil, err
	}
	var adverts []advert
	if l.listing.Head != nil {
		head := advert{name: "HEAD", id: l.listing.Head.String()}
		for _, symref := range l.listing.Capabilities.Get(capability.SymRef) {
			if target, ok := strings.CutPrefix(symref, "HEAD:"); ok {
				head.symref = target
			}
		}
		adverts = append(adverts, head)
	}
	for name, id := range l.listing.References {
		a := advert{name: name, id: id.String()}
		if commit, ok := l.listing.Peeled[name]; ok {
			a.commit = commit.String()
		}
		adverts = append(adverts, a)
	}

	// The server lists everything; git would filter by the patterns itself.
	adverts = slices.DeleteFunc(adverts, func(a advert) bool {
		return !slices.ContainsFunc(patterns, func(p string) bool {
			prefix, star := strings.CutSuffix(p, "*")
			return a.name == p || (star && strings.HasPrefix(a.name, prefix))
		})
	})
	slices.SortFunc(adverts, func(a, b advert) int { return cmp.Compare(a.name, b.name) })
	return adverts, nil
}

// open fetches a commit, or the tag that leads to it, without history. If the server does not
// serve a commit by its hash, all branches and tags are fetched, with their history.
func (l *library) open(ctx context.Context, c chosen, _ bool) (objects, error) {
	id := cmp.Or(c.tag, c.commit)
	if len(id) != 40 {
		return nil, source.Refuse(source.ErrUnavailable, needsBinary("a commit of SHA-256"))
	}
	if err := l.list(ctx); err != nil {
		return nil, err
	}

	// A hash that is in the listing, or that the server serves by itself, needs no history.
	can := l.listing.Capabilities
	request := packp.NewUploadPackRequestFromCapabilities(can)
	want := plumbing.NewHash(id)
	advertised := l.listing.Head != nil && *l.listing.Head == want
	for _, other := range l.listing.References {
		advertised = advertised || other == want
	}
	deep := !advertised && !can.Supports(capability.AllowReachableSHA1InWant) && !can.Supports(capability.AllowTipSHA1InWant)
	switch {
	case deep:
		for name, id := range l.listing.References {
			if strings.HasPrefix(name, heads) || strings.HasPrefix(name, tags) {
				request.Wants = append(request.Wants, id)
			}
		}
	default:
		request.Wants = []plumbing.Hash{want}
	}

	// The request asks for the least that the server can send.
	if !deep && can.Supports(capability.Shallow) {
		request.Depth = packp.DepthCommits(1)
		_ = request.Capabilities.Set(capability.Shallow)
	}
	if can.Supports(capability.NoProgress) {
		_ = request.Capabilities.Set(capability.NoProgress)
	}
	if len(request.Wants) == 0 {
		return nil, source.Refuse(source.ErrAbsent, "the repository is empty")
	}

	// The whole pack is read before it is unpacked: the limit is on both.
	response, err := l.session.UploadPack(ctx, request)
	if err != nil {
		return nil, l.explain(ctx, err)
	}
	defer func() { _ = response.Close() }() // it has been read, or is of no use
	pack, err := l.read(response, request.Capabilities)
	var stored *memory.Storage
	if err == nil {
		stored, err = unpack(pack, l.limit)
	}
	if err != nil {
		return nil, l.explain(ctx, err)
	}

	// Even the whole history may lack the commit.
	if deep && stored.HasEncodedObject(want) != nil {
		return nil, source.Refuse(source.ErrAbsent, "the server does not have that commit, or does not serve it by its hash")
	}
	return store{stored, errLacking}, nil
}

// read reads a pack up to the end of the answer. The pack may come in a side band.
func (l *library) read(response io.Reader, can *capability.List) ([]byte, error) {
	switch {
	case can.Supports(capability.Sideband64k):
		response = sideband.NewDemuxer(sideband.Sideband64k, response)
	case can.Supports(capability.Sideband):
		response = sideband.NewDemuxer(sideband.Sideband, response)
	}
	pack, err := io.ReadAll(io.LimitReader(response, l.limit+1))
	if err == nil && int64(len(pack)) > l.limit {
		err = errTooMuch(l.limit)
	}
	return pack, err
}

// unpack reads a pack into memory, where every object has the name of its content. The size
// of all objects is checked before any of them is in memory.
func unpack(pack []byte, limit int64) (*memory.Storage, error) {
	if err := measure(pack, limit); err != nil {
		return nil, err
	}
	stored := memory.NewStorage()
	parser, err := packfile.NewParserWithStorage(packfile.NewScanner(bytes.NewReader(pack)), stored)
	if err == nil {
		_, err = parser.Parse()
	}
	if err != nil {
		return nil, errBroken(err)
	}
	return stored, nil
}

// measure refuses a pack whose objects together are larger than the limit.
func measure(pack []byte, limit int64) error {
	scanner := packfile.NewScanner(bytes.NewReader(pack))
	_, count, err := scanner.Header()
	if err != nil {
		return errBroken(err)
	}

	// Headers have the sizes, so only deltas have to be unpacked.
	remaining := limit
	for range count {
		header, err := scanner.NextObjectHeader()
		if err != nil {
			return errBroken(err)
		}
		remaining -= header.Length
		if remaining < 0 {
			return errTooMuch(limit)
		}
		if !header.Type.IsDelta() {
			continue
		}
		// A delta starts with the sizes of its base and of its result.
		var delta bytes.Buffer
		if _, _, err := scanner.NextObject(&delta); err != nil {
			return errBroken(err)
		}
		_, n := binary.Uvarint(delta.Bytes())
		size, m := binary.Uvarint(delta.Bytes()[max(n, 0):])
		if n <= 0 || m <= 0 {
			return errBroken(errors.New("a delta cannot be read"))
		}
		if size > uint64(remaining) { //nolint:gosec // it is not negative
			return errTooMuch(limit)
		}
		remaining -= int64(size) //nolint:gosec // it is at most remaining
	}
	return nil
}

// errBroken returns the error for a pack that cannot be read. A pack that was cut off may be
// complete next time.
func errBroken(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, packfile.ErrEmptyPackfile) {
		return source.Refuse(source.ErrUnavailable, cutOff)
	}
	return source.Refuse(source.ErrDigest, fmt.Sprintf("the server sent a pack that cannot be read (%s)", firstLine(err.Error())))
}

// explain maps an error of the connection to one for callers, without credentials.
func (l *library) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil && !isSentinel(err) {
		return ctx.Err()
	}

	// The libraries wrap what callers know; some of the wrappers have no Unwrap.
	var unexpected *plumbing.UnexpectedError // it does not unwrap
	if errors.As(err, &unexpected) {
		err = unexpected.Err
	}
	if isSentinel(err) {
		return err
	}
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err // the caller names the URL
	}

	// What is left is text of the server, or a fault of the network.
	var line *pktline.ErrorLine
	var data *packp.ErrUnexpectedData
	var network net.Error
	switch {
	case errors.As(err, &line):
		return diagnose(l.with.scrub(line.Text))
	case errors.As(err, &data) && bytes.Contains(data.Data, []byte("object-format=sha256")):
		return source.Refuse(source.ErrUnavailable, needsBinary("a repository of SHA-256"))
	case errors.As(err, &network):
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, transport.ErrEmptyUploadPackRequest), errors.Is(err, packp.ErrEmptyInput):
		return source.Refuse(source.ErrUnavailable, cutOff)
	}
	return diagnose(l.with.scrub(err.Error()))
}

// isSentinel reports whether an error is one for callers already.
func isSentinel(err error) bool {
	return slices.ContainsFunc([]error{
		source.ErrNotFound, source.ErrUnauthorized, source.ErrUnavailable, source.ErrHostKey, source.ErrDigest,
		source.ErrLimit, source.ErrReference, source.ErrNotRegular, source.ErrPath,
	}, func(sentinel error) bool { return errors.Is(err, sentinel) })
}

// needsBinary returns the message for what go-git cannot do.
func needsBinary(feature string) string { return feature + " needs the git binary: install git" }
