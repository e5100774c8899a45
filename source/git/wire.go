// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/source"
)

// The packets that hold no data; see gitprotocol-common(5) and gitprotocol-v2(5).
const (
	flush = "0000"
	delim = "0001"
)

// agent is what this program calls itself to servers.
const agent = "agent=ropewalk"

// line is the connection to git upload-pack on a server.
type line interface {
	// hello reads what the server says first.
	hello(ctx context.Context) (*bufio.Reader, error)
	// ask sends a request and reads the answer.
	ask(ctx context.Context, request []byte) (*bufio.Reader, error)
	close()
}

// wire is a repository without the git binary, by protocol version 2, or
// version 0 where the server knows no other.
type wire struct {
	line     line
	transfer int64
	with     credentials

	begun   bool
	version int
	// features are what the server is able to do, by name.
	features map[string]string
	// adverts are the references, which version 0 lists at once.
	adverts []advert
	memory  memory
	// whole says that all blobs are here.
	whole bool
}

var (
	_ remote  = (*wire)(nil)
	_ objects = (*wire)(nil)
)

// dial prepares a connection; the server is asked later.
func (f *Fetcher) dial(_ context.Context, at location, with credentials) (remote, error) {
	var l line
	var err error
	if at.scheme == schemeSSH {
		l, err = newSSH(at, with, f.Scratch)
	} else {
		l = newHTTP(at, with, f.CA)
	}
	if err != nil {
		return nil, err
	}
	return &wire{line: l, transfer: f.transfer(), with: with, features: map[string]string{}}, nil
}

func (w *wire) close() { w.line.close() }

// begin reads what the server says first.
func (w *wire) begin(ctx context.Context) error {
	if w.begun {
		return nil
	}
	from, err := w.line.hello(ctx)
	if err != nil {
		return err
	}
	w.begun = true
	first, _, err := readPacket(from)
	if err != nil {
		return err
	}
	if bytes.HasPrefix(first, []byte("# service=")) {
		if _, _, err := readPacket(from); err != nil { // a flush
			return err
		}
		if first, _, err = readPacket(from); err != nil {
			return err
		}
	}
	text := strings.TrimSuffix(string(first), "\n")
	switch text {
	case "version 2":
		w.version = 2
		err = eachPacket(from, func(p string) error {
			name, value, _ := strings.Cut(p, "=")
			w.features[name] = value
			return nil
		})
	case "version 1":
		err = w.listing(from, nil)
	default:
		err = w.listing(from, first)
	}
	if err == nil && w.features["object-format"] != "" && w.features["object-format"] != "sha1" {
		err = source.Refuse(source.ErrUnavailable, fmt.Sprintf("the repository has hashes of %s, which needs the git binary: install git", w.features["object-format"]))
	}
	return err
}

// listing reads the references of version 0, which has the features behind the
// first one.
func (w *wire) listing(from *bufio.Reader, first []byte) error {
	take := func(p string) error {
		p, features, ok := strings.Cut(p, "\x00")
		for feature := range strings.FieldsSeq(features) {
			name, value, _ := strings.Cut(feature, "=")
			if w.features[name] = value; name == "symref" {
				if target, ok := strings.CutPrefix(value, "HEAD:"); ok {
					w.adverts = append(w.adverts, advert{name: "symref", symref: target})
				}
			}
		}
		id, name, _ := strings.Cut(p, " ")
		switch {
		case ok && name == "capabilities^{}", id == "shallow":
		case strings.HasSuffix(name, peeled):
			if last := len(w.adverts) - 1; last >= 0 && w.adverts[last].name+peeled == name {
				w.adverts[last].commit = id
			}
		default:
			w.adverts = append(w.adverts, advert{name: name, id: id})
		}
		return nil
	}
	if first != nil {
		if err := take(strings.TrimSuffix(string(first), "\n")); err != nil {
			return err
		}
	}
	err := eachPacket(from, take)
	// What HEAD stands for is among the features.
	if i := slices.IndexFunc(w.adverts, func(a advert) bool { return a.name == "symref" }); i >= 0 {
		symref := w.adverts[i].symref
		w.adverts = slices.Delete(w.adverts, i, i+1)
		for i := range w.adverts {
			if w.adverts[i].name == "HEAD" {
				w.adverts[i].symref = symref
			}
		}
	}
	return err
}

// refs lists references.
func (w *wire) refs(ctx context.Context, patterns []string) ([]advert, error) {
	if err := w.begin(ctx); err != nil {
		return nil, w.judge(ctx, err)
	}
	found := w.adverts
	if w.version == 2 {
		request := w.command("ls-refs")
		request.line("peel")
		request.line("symrefs")
		for _, p := range patterns {
			if !strings.HasSuffix(p, peeled) {
				request.line("ref-prefix " + strings.TrimSuffix(p, "*"))
			}
		}
		request.raw(flush)
		from, err := w.line.ask(ctx, request.Bytes())
		if err == nil {
			found = nil
			err = eachPacket(from, func(p string) error {
				found = append(found, readRef(p))
				return nil
			})
		}
		if err != nil {
			return nil, w.judge(ctx, err)
		}
	}
	return slices.DeleteFunc(slices.Clone(found), func(a advert) bool {
		return !slices.ContainsFunc(patterns, func(p string) bool {
			prefix, star := strings.CutSuffix(p, "*")
			return a.name == p || star && strings.HasPrefix(a.name, prefix)
		})
	}), nil
}

// readRef reads a line of ls-refs.
func readRef(p string) advert {
	fields := strings.Fields(p)
	var a advert
	for i, field := range fields {
		switch {
		case i == 0:
			a.id = field
		case i == 1:
			a.name = field
		case strings.HasPrefix(field, "symref-target:"):
			a.symref = strings.TrimPrefix(field, "symref-target:")
		case strings.HasPrefix(field, "peeled:"):
			a.commit = strings.TrimPrefix(field, "peeled:")
		}
	}
	return a
}

// open fetches commits, without blobs where the server is able to.
func (w *wire) open(ctx context.Context, ids []string) (objects, error) {
	if slices.ContainsFunc(ids, func(id string) bool { return len(id) != 40 }) {
		return nil, source.Refuse(source.ErrUnavailable, "a commit of SHA-256 needs the git binary: install git")
	}
	if err := w.begin(ctx); err != nil {
		return nil, w.judge(ctx, err)
	}
	filter := w.version == 2 && slices.Contains(strings.Fields(w.features["fetch"]), "filter")
	w.whole = !filter
	return w, w.judge(ctx, w.fetch(ctx, ids, filter))
}

// need fetches blobs.
func (w *wire) need(ctx context.Context, ids []string) error {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { _, ok := w.memory[id]; return ok })
	if w.whole || len(ids) == 0 {
		return nil
	}
	return w.judge(ctx, w.fetch(ctx, ids, false))
}

// fetch gets objects into memory, and of commits all that belongs to them but
// for their parents.
func (w *wire) fetch(ctx context.Context, ids []string, filter bool) error {
	if w.memory == nil {
		w.memory = memory{}
	}
	var request packets
	if w.version == 2 {
		request = w.command("fetch")
		request.line("no-progress")
		request.line("ofs-delta")
		for _, id := range ids {
			request.line("want " + id)
		}
		request.line("deepen 1")
		if filter {
			request.line("filter blob:none")
		}
		request.line("done")
		request.raw(flush)
	} else {
		for i, id := range ids {
			if i == 0 {
				id += " ofs-delta side-band-64k no-progress shallow " + agent
			}
			request.line("want " + id)
		}
		request.line("deepen 1")
		request.raw(flush)
		request.line("done")
	}
	from, err := w.line.ask(ctx, request.Bytes())
	if err != nil {
		return err
	}
	if err := toPack(from, w.version == 2); err != nil {
		return err
	}
	return w.memory.unpack(&band{from: from}, &w.transfer)
}

// toPack reads an answer up to the pack.
func toPack(from *bufio.Reader, two bool) error {
	for {
		p, _, err := readPacket(from)
		switch text := strings.TrimSuffix(string(p), "\n"); {
		case err != nil:
			return err
		case two && text == "packfile", !two && text == "NAK":
			return nil
		}
	}
}

// command begins a request of version 2.
func (w *wire) command(name string) packets {
	var p packets
	p.line("command=" + name)
	p.line(agent)
	if w.features["object-format"] != "" {
		p.line("object-format=sha1")
	}
	p.raw(delim)
	return p
}

// judge makes an error of the connection one for callers.
func (w *wire) judge(ctx context.Context, err error) error {
	var sentinel bool
	for _, known := range []error{
		source.ErrNotFound, source.ErrUnauthorized, source.ErrUnavailable, source.ErrHostKey, source.ErrDigest, source.ErrLimit, source.ErrReference,
	} {
		sentinel = sentinel || errors.Is(err, known)
	}
	var message said
	switch {
	case errors.As(err, &message):
		return diagnose(w.with.scrubbed(string(message)))
	case err == nil || sentinel:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case isCertificate(err):
		return source.Refuse(source.ErrHostKey, "the certificate of the server is by no known authority, or for another host: put the authority into the Secret as ca.crt, or have the system trust it")
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return source.Refuse(source.ErrUnavailable, "the server ended its answer too early; try again later")
	}
	return diagnose(w.with.scrubbed(err.Error()))
}

// said is what a server says is wrong, as it came: it may hold credentials.
type said string

// Error is what it says.
func (s said) Error() string { return string(s) }

// packets is a request.
type packets struct{ bytes.Buffer }

func (p *packets) line(text string) { p.raw(fmt.Sprintf("%04x%s\n", len(text)+5, text)) }
func (p *packets) raw(text string)  { p.WriteString(text) }

// readPacket reads a packet; end says that it is a flush, and data is nil where
// the packet is one that holds none.
func readPacket(from *bufio.Reader) (data []byte, end bool, err error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(from, head); err != nil {
		return nil, false, err
	}
	size, err := strconv.ParseUint(string(head), 16, 16)
	if err != nil {
		return nil, false, source.Refuse(source.ErrUnavailable, "what answers there is no Git server")
	}
	if size < 4 {
		return nil, size == 0, nil
	}
	data = make([]byte, size-4)
	if _, err := io.ReadFull(from, data); err != nil {
		return nil, false, err
	}
	if message, ok := bytes.CutPrefix(data, []byte("ERR ")); ok {
		return nil, false, said(message)
	}
	return data, false, nil
}

// eachPacket reads lines up to the next flush.
func eachPacket(from *bufio.Reader, do func(string) error) error {
	for total := 0; ; {
		p, end, err := readPacket(from)
		if err != nil || end {
			return err
		}
		if total += len(p); total > maxListing {
			return source.Refuse(source.ErrLimit, fmt.Sprintf("the server lists more than %d bytes of references", maxListing))
		}
		if err := do(strings.TrimSuffix(string(p), "\n")); err != nil {
			return err
		}
	}
}

// band reads the pack out of the packets of the side band, up to their end.
type band struct {
	from *bufio.Reader
	rest []byte
	end  bool
}

// Read reads of the pack.
func (b *band) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		if b.end {
			return 0, io.EOF
		}
		data, end, err := readPacket(b.from)
		if err != nil {
			return 0, err
		}
		if b.end = end; len(data) == 0 {
			continue
		}
		switch data[0] {
		case 1:
			b.rest = data[1:]
		case 3:
			return 0, said(data[1:])
		}
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}
