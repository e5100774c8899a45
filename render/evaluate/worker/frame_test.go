// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"reflect"
	"strconv"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/object"
)

// filler gives every field of a value something that is not zero, and no two fields
// the same.
type filler struct {
	t testing.TB
	n int
}

func (f *filler) fill(v reflect.Value, depth int) {
	f.n++
	switch v.Kind() {
	case reflect.String:
		v.SetString("text " + strconv.Itoa(f.n) + "\xff")
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(f.n))
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(uint64(f.n % 256)) //nolint:gosec // below 256
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), depth)
	case reflect.Slice:
		// Values hold values.
		if depth > 4 && v.Type().Elem().Kind() == reflect.Struct {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			f.fill(v.Index(i), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		element := reflect.New(v.Type().Elem()).Elem()
		f.fill(element, depth+1)
		v.SetMapIndex(reflect.ValueOf("key "+strconv.Itoa(f.n)), element)
	case reflect.Interface:
		switch v.Type() {
		case reflect.TypeFor[error]():
			v.Set(reflect.ValueOf(errors.New("text " + strconv.Itoa(f.n))))
		case reflect.TypeFor[fs.FS]():
		case reflect.TypeFor[any]():
			v.Set(reflect.ValueOf(map[string]any{
				"int": int64(f.n), "float": 1.0, "null": nil, "yes": true, "text": "ü\x00",
				"list": []any{int64(-1), []any{}, map[string]any{}, 2.5},
			}))
		default:
			f.t.Fatalf("fill %s", v.Type())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("cbor") == "-" {
				continue // render adds it to what a worker has sent
			}
			require.True(f.t, v.Type().Field(i).IsExported(), "%s.%s cannot be sent", v.Type(), v.Type().Field(i).Name)
			f.fill(v.Field(i), depth+1)
		}
	default:
		f.t.Fatalf("fill %s", v.Type())
	}
}

// sent is v as the other end of the wire has it.
func sent[T any](t testing.TB, v T) (out T) {
	t.Helper()
	c, err := newCodec()
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, c.send(&b, v))
	require.NoError(t, c.receive(bufio.NewReader(&b), maxFrame, &out))
	require.Zero(t, b.Len())
	return out
}

func sample4[T any](t testing.TB) (out T) {
	t.Helper()
	f := &filler{t: t}
	f.fill(reflect.ValueOf(&out).Elem(), 0)
	return out
}

func TestNoFieldOfACallIsLost(t *testing.T) {
	want := sample4[call](t)
	require.Equal(t, want, sent(t, want))
}

func TestNoFieldOfAResultIsLost(t *testing.T) {
	want := sample4[evaluate.Result](t)
	got := sent(t, reply{Result: frameOf(want)})
	result := got.result()
	require.Equal(t, want, result)
}

func TestNoFieldOfAReplyIsLost(t *testing.T) {
	want := sample4[reply](t)
	want.Result = resultFrame{}
	for i := range want.Mistakes {
		want.Mistakes[i].Error.Err = nil // the field beside it is sent
	}
	require.Equal(t, want, sent(t, want))
	require.Equal(t, reply{}, sent(t, reply{}))
	mistakes := sample4[object.Errors](t)
	mistakes = append(mistakes, &object.Error{Err: diagnose.Because(evaluate.ErrMemory, "too much")}, &object.Error{})
	got := mistakesOf(sent(t, mistakeFrames(mistakes)))
	require.Equal(t, mistakes, got)
	unknown := mistakesOf([]mistakeFrame{{Err: &reasonFrame{Text: "x", Sentinel: 9}}})
	require.EqualError(t, unknown[0].Err, "x", "a sentinel that is not known is left out")
}

func TestATreeSurvivesTheWire(t *testing.T) {
	want := fstest.MapFS{
		"a.cue": {Data: []byte("a: 1")}, "cue.mod/module.cue": {Data: []byte("x")},
		"link": {Mode: fs.ModeSymlink, Data: []byte("/etc/passwd")},
	}
	packed, err := pack(want)
	require.NoError(t, err)
	got, err := unpack(packed)
	require.NoError(t, err)
	for _, name := range []string{"a.cue", "cue.mod/module.cue"} {
		data, err := fs.ReadFile(got, name)
		require.NoError(t, err)
		require.Equal(t, want[name].Data, data)
	}
	info, err := fs.Stat(got, "link")
	require.NoError(t, err)
	require.Equal(t, fs.ModeSymlink, info.Mode().Type(), "what is no regular file must be refused at the other end too")
	require.Zero(t, info.Size())
	_, err = pack(brokenFS{})
	require.Error(t, err)
}

type brokenFS struct{}

func (brokenFS) Open(string) (fs.File, error) { return nil, errors.New("disk on fire") }

func TestDeepValuesAreSent(t *testing.T) {
	// encoding/json reads 10,000 levels.
	deep, list := object.Value{Kind: object.KindNull}, any(nil)
	for range 10_000 {
		deep = object.Value{Kind: object.KindList, Items: []object.Value{deep}}
		list = []any{list}
	}
	require.NoError(t, errorOf(sent(t, call{Request: evaluate.Request{Input: deep}}), sent(t, list)))
	for range 60_000 {
		list = []any{list}
	}
	c, err := newCodec()
	require.NoError(t, err)
	frame, err := c.marshal(list)
	require.NoError(t, err)
	var out any
	require.ErrorContains(t, c.receive(bufio.NewReader(bytes.NewReader(frame)), maxFrame, &out), "nested level")
}

// errorOf is nil: its arguments are what matters.
func errorOf(...any) error { return nil }

func TestFramesAreBounded(t *testing.T) {
	c, err := newCodec()
	require.NoError(t, err)
	var b bytes.Buffer
	var size *sizeError
	c.max = 10
	require.ErrorAs(t, c.send(&b, make([]byte, 10)), &size)
	require.Zero(t, b.Len())
	require.NoError(t, c.send(&b, "hello"))
	frame := b.Bytes()
	var text string
	require.NoError(t, c.receive(bufio.NewReader(bytes.NewReader(frame)), 100, &text))
	require.Equal(t, "hello", text)
	require.ErrorContains(t, c.receive(bufio.NewReader(bytes.NewReader(frame)), 3, &text), "exceeds the limit of 3")
	require.ErrorIs(t, c.receive(bufio.NewReader(bytes.NewReader(nil)), 3, &text), io.EOF)
	for n := 1; n < len(frame); n++ {
		require.ErrorIs(t, c.receive(bufio.NewReader(bytes.NewReader(frame[:n])), 100, &text), io.ErrUnexpectedEOF)
	}
}

// FuzzFrames is both ends: what the other one sends may be anything.
func FuzzFrames(f *testing.F) {
	c, err := newCodec()
	require.NoError(f, err)
	add := func(v any) {
		data, err := c.enc.Marshal(v)
		require.NoError(f, err)
		f.Add(data)
	}
	add(sample4[reply](f))
	call := sample4[call](f)
	add(message{Call: &call})
	packed, err := pack(fstest.MapFS{"a.cue": {Data: []byte("a: 1")}})
	require.NoError(f, err)
	add(hello{Memory: 1, Schemas: map[string][]byte{"x": packed}})
	f.Fuzz(func(_ *testing.T, data []byte) {
		frame := append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...) //nolint:gosec // small
		for _, v := range []any{&reply{}, &message{}, &hello{}} {
			if c.receive(bufio.NewReader(bytes.NewReader(frame)), 1<<16, v) != nil {
				continue
			}
			if r, ok := v.(*reply); ok {
				_ = r.result()
			}
		}
	})
}
