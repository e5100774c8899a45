// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"

	"github.com/ropewalk/ropewalk/source"
)

// memory is objects by their hashes.
type memory map[string]object

type object struct {
	kind plumbing.ObjectType
	data []byte
}

// read gives an object.
func (m memory) read(id string, fits fits) ([]byte, error) {
	o, ok := m[id]
	if !ok {
		return nil, lacking(id)
	}
	if err := fits(o.kind.String(), int64(len(o.data))); err != nil {
		return nil, err
	}
	return o.data, nil
}

// read gives an object that was fetched.
func (w *wire) read(id string, fits fits) ([]byte, error) { return w.memory.read(id, fits) }

// late is a delta whose base comes after it.
type late struct {
	offset int64
	base   string
	delta  []byte
}

// unpack reads a pack; see gitformat-pack(5). Every object gets the name that
// its content has, whatever anybody said. Budget is how many bytes there may
// be, uncompressed; what was read is taken off.
func (m memory) unpack(from io.Reader, budget *int64) error {
	scanner := packfile.NewScanner(from)
	_, count, err := scanner.Header()
	if err != nil {
		return broken(err)
	}
	limit := *budget
	byOffset := map[int64]object{}
	var waiting []late
	add := func(offset int64, o object) {
		byOffset[offset] = o
		m[plumbing.ComputeHash(o.kind, o.data).String()] = o
	}
	spend := func(size int64) error {
		if *budget -= size; size < 0 || *budget < 0 {
			return tooMuch(limit)
		}
		return nil
	}
	for range count {
		header, err := scanner.NextObjectHeader()
		if err != nil {
			return broken(err)
		}
		if err := spend(header.Length); err != nil {
			return err
		}
		var data bytes.Buffer
		if _, _, err := scanner.NextObject(&data); err != nil {
			return broken(err)
		}
		o := object{kind: header.Type, data: data.Bytes()}
		if header.Type == plumbing.REFDeltaObject || header.Type == plumbing.OFSDeltaObject {
			base, ok := byOffset[header.OffsetReference]
			if header.Type == plumbing.REFDeltaObject {
				if base, ok = m[header.Reference.String()]; !ok {
					waiting = append(waiting, late{header.Offset, header.Reference.String(), o.data})
					continue
				}
			}
			if !ok {
				return broken(errors.New("a base is missing"))
			}
			if o, err = patch(base, o.data, spend); err != nil {
				return err
			}
		}
		add(header.Offset, o)
	}
	if err := m.catchUp(waiting, spend, add); err != nil {
		return err
	}
	// The checksum and the end of the side band belong to the answer.
	if _, err := scanner.Checksum(); err != nil && !errors.Is(err, io.EOF) {
		return broken(err)
	}
	_, err = io.Copy(io.Discard, from)
	return err
}

// catchUp applies the deltas whose bases came late.
func (m memory) catchUp(waiting []late, spend func(int64) error, add func(int64, object)) error {
	for len(waiting) > 0 {
		var still []late
		for _, l := range waiting {
			base, ok := m[l.base]
			if !ok {
				still = append(still, l)
				continue
			}
			o, err := patch(base, l.delta, spend)
			if err != nil {
				return err
			}
			add(l.offset, o)
		}
		if len(still) == len(waiting) {
			return broken(errors.New("a base is missing"))
		}
		waiting = still
	}
	return nil
}

// patch applies a delta, whose size is judged before.
func patch(base object, delta []byte, spend func(int64) error) (object, error) {
	rest := delta
	var size int64
	for range 2 { // the size of the base, then that of the result
		size = 0
		for shift := uint(0); ; shift += 7 {
			if len(rest) == 0 || shift > 56 {
				return object{}, broken(errors.New("a delta cannot be read"))
			}
			part := rest[0]
			rest = rest[1:]
			size |= int64(part&0x7f) << shift
			if part&0x80 == 0 {
				break
			}
		}
	}
	if err := spend(size); err != nil {
		return object{}, err
	}
	data, err := packfile.PatchDelta(base.data, delta)
	if err != nil {
		return object{}, broken(err)
	}
	return object{kind: base.kind, data: data}, nil
}

// broken is the error for a pack that cannot be read. What was cut off may be
// whole next time.
func broken(err error) error {
	var message said
	if errors.As(err, &message) {
		return err
	}
	for _, known := range []error{source.ErrNotFound, source.ErrUnavailable, source.ErrUnauthorized, source.ErrDigest} {
		if errors.Is(err, known) {
			return err
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, packfile.ErrEmptyPackfile) {
		return source.Refuse(source.ErrUnavailable, "the server ended its answer too early; try again later")
	}
	return source.Refuse(source.ErrDigest, fmt.Sprintf("the server sent a pack that cannot be read (%s)", gist(err.Error())))
}
