// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/ropewalk/ropewalk/render/object"
)

// Encoding by hand instead of gob or JSON: a warm evaluation takes two
// milliseconds, of which a reflecting encoder would take a quarter; and the
// difference between int64 and float64, and between an absent and an empty
// list, must survive.

// wireDepth bounds the nesting of values, as encoding/json does.
const wireDepth = 10_000

var (
	errShort = errors.New("message ends early")
	errDeep  = fmt.Errorf("value is nested more than %d deep", wireDepth)
)

// encoder appends to a frame. The first error sticks.
type encoder struct {
	buf  []byte
	file string // of the position before, which is most often that of the next
	err  error
}

func newEncoder() *encoder { return &encoder{buf: make([]byte, frameHead, 4<<10)} }

func (e *encoder) uint(n uint64) { e.buf = binary.AppendUvarint(e.buf, n) }
func (e *encoder) int(n int)     { e.buf = binary.AppendVarint(e.buf, int64(n)) }
func (e *encoder) int64(n int64) { e.buf = binary.AppendVarint(e.buf, n) }
func (e *encoder) byte(b byte)   { e.buf = append(e.buf, b) }
func (e *encoder) float64(f float64) {
	e.buf = binary.BigEndian.AppendUint64(e.buf, math.Float64bits(f))
}
func (e *encoder) fail(err error) { e.err = errors.Join(e.err, err) }
func (e *encoder) text(s string)  { e.uint(uint64(len(s))); e.buf = append(e.buf, s...) }
func (e *encoder) count(n int, is bool) { // is tells an empty list from none
	if !is {
		e.uint(0)
		return
	}
	e.uint(uint64(n) + 1) //nolint:gosec // a length is never negative
}

func (e *encoder) bool(b bool) {
	if b {
		e.byte(1)
		return
	}
	e.byte(0)
}

// decoder reads what an encoder wrote. The first error sticks, and whatever is
// read after it is zero.
type decoder struct {
	data string
	file string
	err  error
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
	d.data = ""
}

// finish is the first error, and one where something is left over.
func (d *decoder) finish() error {
	if d.err == nil && d.data != "" {
		d.fail(fmt.Errorf("message has %d bytes too many", len(d.data)))
	}
	return d.err
}

func (d *decoder) byte() byte {
	if d.data == "" {
		d.fail(errShort)
		return 0
	}
	b := d.data[0]
	d.data = d.data[1:]
	return b
}

func (d *decoder) bool() bool { return d.byte() != 0 }

func (d *decoder) uint() uint64 {
	var n uint64
	for shift := 0; shift < 64; shift += 7 {
		b := d.byte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	d.fail(errors.New("number is too long"))
	return 0
}

func (d *decoder) int64() int64 {
	n := d.uint()
	return int64(n>>1) ^ -int64(n&1) //nolint:gosec // the zigzag of binary.AppendVarint
}

func (d *decoder) int() int { return int(d.int64()) }

func (d *decoder) float64() float64 {
	if len(d.data) < 8 {
		d.fail(errShort)
		return 0
	}
	f := math.Float64frombits(binary.BigEndian.Uint64([]byte(d.data[:8])))
	d.data = d.data[8:]
	return f
}

func (d *decoder) text() string {
	n := d.uint()
	if n > uint64(len(d.data)) {
		d.fail(errShort)
		return ""
	}
	s := d.data[:n]
	d.data = d.data[n:]
	return s
}

// count is the length of a list; is tells an empty one from none. An element
// takes at least one byte, so that a count that lies is found at once.
func (d *decoder) count() (n int, is bool) {
	m := d.uint()
	if m == 0 {
		return 0, false
	}
	if m-1 > uint64(len(d.data)) {
		d.fail(errShort)
		return 0, false
	}
	return int(m - 1), true //nolint:gosec // at most len(d.data)
}

// encodeList writes each element of list.
func encodeList[T any](e *encoder, list []T, each func(T)) {
	e.count(len(list), list != nil)
	for _, v := range list {
		each(v)
	}
}

// decodeList reads what encodeList wrote.
func decodeList[T any](d *decoder, each func() T) []T {
	n, is := d.count()
	if !is {
		return nil
	}
	// An element in memory is much larger than one byte on the wire.
	list := make([]T, 0, min(n, 1024))
	for range n {
		if d.err != nil {
			return nil
		}
		list = append(list, each())
	}
	return list
}

// encodeMap writes a map in the order of its keys.
func encodeMap[V any](e *encoder, m map[string]V, each func(V)) {
	e.count(len(m), m != nil)
	for _, k := range object.SortedKeys(m) {
		e.text(k)
		each(m[k])
	}
}

// decodeMap reads what encodeMap wrote.
func decodeMap[V any](d *decoder, each func() V) map[string]V {
	n, is := d.count()
	if !is {
		return nil
	}
	m := make(map[string]V, min(n, 1024))
	for range n {
		if d.err != nil {
			return nil
		}
		k := d.text()
		m[k] = each()
	}
	return m
}
