// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// encode keeps the chunks.
func encode(t testing.TB, all []Entry) (out []Chunk) {
	require.NoError(t, Encode(all, func(c Chunk) error {
		c.Data = bytes.Clone(c.Data)
		out = append(out, c)
		return nil
	}))
	return out
}

// reading returns chunks in turn, and then an error.
func reading(chunks []Chunk, end error) func() (Chunk, error) {
	return func() (Chunk, error) {
		if len(chunks) == 0 {
			return Chunk{}, end
		}
		c := chunks[0]
		chunks = chunks[1:]
		return c, nil
	}
}

func TestASnapshotCrossesInChunks(t *testing.T) {
	for _, n := range []int{0, 1, 100, 3000} {
		all := entries(n)
		if n == 100 {
			all[50].Object = []byte(`"` + strings.Repeat("x", 3*ChunkSize) + `"`)
			all[50].Digest = Sum(all[50].Object)
		}
		chunks := encode(t, all)
		for i, c := range chunks {
			require.Equal(t, i, c.Index)
			require.NoError(t, c.Check())
			require.NotEmpty(t, c.Data)
			if i < len(chunks)-1 {
				require.Len(t, c.Data, ChunkSize)
			}
		}
		require.LessOrEqual(t, len(chunks[max(0, len(chunks)-1):]), 1)
		got, err := Decode(reading(chunks, io.EOF), Digest(all))
		require.NoError(t, err)
		require.Equal(t, all, got)
		require.Equal(t, chunks, encode(t, got), "the same entries give the same chunks")
	}
	require.Greater(t, len(encode(t, entries(3000))), 2)
}

func TestAChunkThatIsExactlyFullIsTheLast(t *testing.T) {
	e := Entry{Object: []byte(`""`)}
	size := len(encode(t, []Entry{e})[0].Data)
	e.Object = []byte(`"` + strings.Repeat("x", ChunkSize-size) + `"`)
	chunks := encode(t, []Entry{e})
	require.Len(t, chunks, 1)
	require.Len(t, chunks[0].Data, ChunkSize)
}

func TestWhatIsNotAsItsDigestSaysIsCorrupt(t *testing.T) {
	all := entries(3000)
	digest := Digest(all)
	for name, change := range map[string]func(c []Chunk) []Chunk{
		"a bit of a chunk":            func(c []Chunk) []Chunk { c[1].Data[100] ^= 1; return c },
		"a chunk that is missing":     func(c []Chunk) []Chunk { return slices.Delete(c, 1, 2) },
		"the last chunk":              func(c []Chunk) []Chunk { return c[:len(c)-1] },
		"two chunks in another order": func(c []Chunk) []Chunk { c[0], c[1] = c[1], c[0]; return c },
		"a chunk that comes twice":    func(c []Chunk) []Chunk { return slices.Insert(c, 1, c[1]) },
		"no chunks":                   func([]Chunk) []Chunk { return nil },
		"the chunks of another one":   func([]Chunk) []Chunk { return encode(t, entries(2999)) },
		"an object with another digest": func([]Chunk) []Chunk {
			other := slices.Clone(all)
			other[7].Object = []byte(`{"secret":"hunter2"}`)
			return encode(t, other)
		},
		"text": func([]Chunk) []Chunk {
			data := []byte(`{"ref": "hunter2"`)
			return []Chunk{{Sum: Sum(data), Data: data}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Decode(reading(change(encode(t, all)), io.EOF), digest)
			require.ErrorIs(t, err, ErrCorrupt)
			require.Nil(t, got)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestAnErrorOfTheReaderIsNoCorruption(t *testing.T) {
	down := errors.New("server is down")
	for _, n := range []int{0, 1, 2} {
		_, err := Decode(reading(encode(t, entries(3000))[:n], down), "")
		require.Equal(t, down, err)
	}
}

func TestEncodeEndsWithAnError(t *testing.T) {
	full := errors.New("full")
	for after := range 3 {
		n := 0
		err := Encode(entries(3000), func(Chunk) error {
			if n++; n > after {
				return full
			}
			return nil
		})
		require.ErrorIs(t, err, full)
		require.Equal(t, after+1, n)
	}
	require.Error(t, Encode([]Entry{{Object: []byte("{")}}, func(Chunk) error { return nil }))
}

// FuzzDecode decodes what may have been staged by another: it is the snapshot, or corrupt.
func FuzzDecode(f *testing.F) {
	all := entries(3)
	f.Add(encode(f, all)[0].Data, 10)
	f.Add([]byte(`{}`), 1)
	f.Add([]byte("null\n[]"), 0)
	digest := Digest(all)
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		cut = min(max(cut, 0), len(data))
		chunks := []Chunk{{Sum: Sum(data[:cut]), Data: data[:cut]}, {Index: 1, Sum: Sum(data[cut:]), Data: data[cut:]}}
		got, err := Decode(reading(chunks, io.EOF), digest)
		if err != nil {
			require.ErrorIs(t, err, ErrCorrupt)
			return
		}
		require.Equal(t, digest, Digest(got))
	})
}
