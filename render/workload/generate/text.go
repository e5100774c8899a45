// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/resource"
)

// RootResources begins the placeholders of resources.
const RootResources = "resources"

// Text is text after its placeholders were resolved: literal pieces and
// references to secrets, in order. Text with any reference is tainted
// entirely. No piece ever holds the value of a secret, and nothing in a literal can
// turn it into a reference.
type Text struct {
	// Pieces hold no empty literal, and no two that touch: see [Join].
	Pieces []Piece
	Pos    object.Pos
}

// Piece is literal text, or a reference where secret is not nil.
type Piece struct {
	Literal string
	// Verbatim is set if the literal is a value from outside, in which no $(NAME) is a
	// reference.
	Verbatim bool
	// Public is set if the literal is an output of a server for a laptop, whose credentials
	// are public knowledge.
	Public bool
	Secret *Secret
	// Escape writes the value of the secret as part of a URL.
	Escape bool
}

// Secret is a reference to one secret.
type Secret struct {
	// Resource and output are the names that the author uses.
	Resource, Output string
	// URL is the output of the resource that is a complete URL with this secret in
	// it, "" where there is none.
	URL string
	// Written is the placeholder of what is no output of a resource; "" where it is one.
	Written string
	// Name identifies the reference in its workload: letters, digits and _,
	// such as db__password.
	Name string
	resource.Reference
}

// reference returns the placeholder of the secret without its braces, for messages.
func (s *Secret) reference() string {
	return cmp.Or(s.Written, RootResources+"."+s.Resource+"."+s.Output)
}

// Tainted reports whether t holds a secret.
func (t Text) Tainted() bool {
	for _, p := range t.Pieces {
		if p.Secret != nil {
			return true
		}
	}
	return false
}

// Plain returns a text that is not tainted.
func (t Text) Plain() string {
	if len(t.Pieces) == 1 {
		return t.Pieces[0].Literal
	}
	var b strings.Builder
	for _, p := range t.Pieces {
		b.WriteString(p.Literal)
	}
	return b.String()
}

// private returns a text that is not tainted, without what is public.
func (t Text) private() string {
	return Text{Pieces: slices.DeleteFunc(slices.Clone(t.Pieces), func(p Piece) bool { return p.Public })}.Plain()
}

// Single returns the only secret that t consists of, or nil if there is more or something else.
func (t Text) Single() *Secret {
	if len(t.Pieces) == 1 && !t.Pieces[0].Escape {
		return t.Pieces[0].Secret
	}
	return nil
}

// Join returns pieces, in which adjacent literals are one and empty ones are left out.
func Join(pieces []Piece) []Piece {
	if len(pieces) == 1 {
		return pieces
	}
	out := make([]Piece, 0, len(pieces))
	for i := 0; i < len(pieces); i++ {
		if pieces[i].Secret != nil {
			out = append(out, pieces[i])
			continue
		}
		end := i
		joined := pieces[i]
		for end < len(pieces) && pieces[end].Secret == nil && pieces[end].Verbatim == joined.Verbatim && pieces[end].Public == joined.Public {
			end++
		}
		if s := (Text{Pieces: pieces[i:end]}).Plain(); s != "" {
			joined.Literal = s
			out = append(out, joined)
		}
		i = end - 1
	}
	return out
}
