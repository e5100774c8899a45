// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// text is text after its placeholders were resolved: literal pieces and
// references to secrets, in order. Text with any reference is tainted as a
// whole. No piece ever holds the value of a secret, and nothing in a literal can
// turn it into a reference.
type text struct {
	pieces []piece
	pos    object.Pos
}

// piece is literal text, or a reference where secret is not nil.
type piece struct {
	literal string
	secret  *secret
	// escape writes the value of the secret as part of a URL.
	escape bool
}

// secret is a reference to one secret.
type secret struct {
	// resource and output say what the author calls it.
	resource, output string
	// url is the output of the resource that is a whole URL with this secret in
	// it, "" where there is none.
	url string
	// name identifies the reference in its workload: letters, digits and _,
	// such as db__password.
	name string
	// kubernetes says that it is a Secret in the namespace of the workload (key is
	// its name, property the key inside of it), and not in the store of the
	// environment.
	kubernetes             bool
	key, property, version string
}

// said is the placeholder of the secret without its braces, for messages.
func (s *secret) said() string { return rootResources + "." + s.resource + "." + s.output }

// tainted reports whether t holds a secret.
func (t text) tainted() bool {
	for _, p := range t.pieces {
		if p.secret != nil {
			return true
		}
	}
	return false
}

// plain is the text where it is not tainted.
func (t text) plain() string {
	if len(t.pieces) == 1 {
		return t.pieces[0].literal
	}
	var b strings.Builder
	for _, p := range t.pieces {
		b.WriteString(p.literal)
	}
	return b.String()
}

// whole is the only secret that t consists of, nil where there is more or other.
func (t text) whole() *secret {
	if len(t.pieces) == 1 && !t.pieces[0].escape {
		return t.pieces[0].secret
	}
	return nil
}
