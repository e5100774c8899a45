// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/internal/printable"
)

// Stage names the step of the pipeline that found an error.
type Stage string

// The stages, in the order in which they run.
const (
	StageSpec     Stage = "spec"
	StageResolve  Stage = "resolve"
	StageEvaluate Stage = "evaluate"
	StageGraph    Stage = "graph"
	StageOrder    Stage = "order"
	StageCheck    Stage = "check"
	StageEmit     Stage = "emit"
)

// Severity distinguishes an error from a warning and from a note. The zero value is an error.
type Severity int

// The severities.
const (
	SeverityError Severity = iota
	SeverityWarning
	// SeverityNote is for the record and asks for nothing, such as a policy that a spec loosens,
	// and what it ignores by that. No option makes an error of it.
	SeverityNote
)

// String returns "error", "warning" or "note".
func (s Severity) String() string {
	switch s {
	case SeverityError:
	case SeverityWarning:
		return "warning"
	case SeverityNote:
		return "note"
	}
	return "error"
}

// MarshalJSON writes the name.
func (s Severity) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// Note is a further position that has to do with an error, such as the line of
// the module that demanded a value.
type Note struct {
	Pos  Pos    `json:"pos"`
	Text string `json:"text"`
}

// Error is one mistake of one user at one position. Pos is always in the
// user's own text where there is any that has to do with it: the spec, the
// values, the command line; then in the module.
type Error struct {
	Stage    Stage
	Severity Severity
	Pos      Pos
	// Path is the location inside the document at Pos or inside the object Node,
	// such as spec.input.replicas; "" where it is the document itself.
	Path string
	// Node is the node whose object is wrong, "" where the mistake is elsewhere.
	Node ID
	// Policy is the policy that was violated, "" for other mistakes.
	Policy string
	// Reason is why the author loosened the policy, "" where the policy holds as it is.
	Reason string
	// Err describes the mistake and what was expected: lower-case, one line.
	Err error
	// Hint says what to do, "" where the message has it already.
	Hint string
	// Notes are further positions, nearest first.
	Notes []Note
	// Secrets must not appear in an excerpt of a file; nil where no secrets are known. Secret means
	// that no excerpt shows anything: the value itself may be a secret.
	Secrets *Secrets `cbor:"-"`
	Secret  bool     `cbor:"-"`
	// Named means that the value at Path is a placeholder as a whole, which names an output and
	// holds no secret, whatever the name of its field says.
	Named bool `cbor:"-"`
}

// Error returns one line: position, stage, message and hint.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Pos.IsValid() {
		b.WriteString(e.Pos.String() + ": ")
	}
	if e.Stage != "" {
		b.WriteString(string(e.Stage) + ": ")
	}
	b.WriteString(e.Sentence())
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	return b.String()
}

// Sentence returns what is wrong, after the policy, the object and the path that it concerns. It
// has no position, stage, hint or notes, for callers that show those separately. The names in it
// are escaped, so that they stay within one line.
func (e *Error) Sentence() string {
	var b strings.Builder
	if e.Policy != "" {
		b.WriteString("policy " + printable.Line(e.Policy) + ": ")
	}
	if e.Node != "" {
		b.WriteString(printable.Line(string(e.Node)) + ": ")
	}
	if e.Path != "" {
		b.WriteString(printable.Line(e.Path) + ": ")
	}
	if e.Err != nil {
		b.WriteString(e.Err.Error())
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// MarshalJSON writes the error as data, for --format json.
func (e *Error) MarshalJSON() ([]byte, error) {
	message := ""
	if e.Err != nil {
		message = e.Err.Error()
	}
	return json.Marshal(struct {
		Stage    Stage    `json:"stage"`
		Severity Severity `json:"severity"`
		Pos      Pos      `json:"pos,omitzero"`
		Path     string   `json:"path,omitempty"`
		Node     ID       `json:"node,omitempty"`
		Policy   string   `json:"policy,omitempty"`
		Reason   string   `json:"reason,omitempty"`
		Message  string   `json:"message"`
		Hint     string   `json:"hint,omitempty"`
		Notes    []Note   `json:"notes,omitempty"`
	}{e.Stage, e.Severity, e.Pos, e.Path, e.Node, e.Policy, e.Reason, message, e.Hint, e.Notes})
}

// Errors is all mistakes of one run.
type Errors []*Error

// Error returns one line for each mistake.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the single mistakes, for errors.Is and errors.As.
func (es Errors) Unwrap() []error {
	out := make([]error, len(es))
	for i, e := range es {
		out[i] = e
	}
	return out
}

// Repeats reports whether e is the same mistake as o, reached by another way. An anchor of YAML
// has one position, however many aliases lead to it. A field that is missing in a map has the
// position of the map, as all other missing fields have, but another name.
func (e *Error) Repeats(o *Error) bool {
	samePlace := e.ofDocument() && o.ofDocument() && e.Pos == o.Pos && lastName(e.Path) == lastName(o.Path)
	return samePlace && e.Severity == o.Severity && e.message() == o.message()
}

// ofDocument reports whether e is about a place in a document that an author wrote.
func (e *Error) ofDocument() bool { return e.Stage == StageSpec && e.Node == "" && e.Pos.Column > 0 }

// lastName returns the name that a path ends with. It returns "" if the path ends with an item of
// a list.
func lastName(path string) string {
	if p := ParsePath(path); len(p) > 0 {
		return p[len(p)-1].Name
	}
	return ""
}

// withoutRepeats returns the errors of es, which is sorted, without those that repeat another at
// the same position.
func withoutRepeats(es Errors) Errors {
	out := es[:0]
	for _, e := range es {
		first := len(out)
		for first > 0 && out[first-1].Pos == e.Pos {
			first--
		}
		if !slices.ContainsFunc(out[first:], e.Repeats) {
			out = append(out, e)
		}
	}
	return out
}

// Sorted returns es by position, then path, node and message, with each mistake once. It leaves
// out a warning about a value that is refused: the warning follows from the error.
func (es Errors) Sorted() Errors {
	out := slices.Clone(es)
	slices.SortStableFunc(out, func(a, b *Error) int {
		return cmp.Or(
			a.Pos.Compare(b.Pos),
			strings.Compare(a.Path, b.Path),
			strings.Compare(string(a.Node), string(b.Node)),
			strings.Compare(a.Error(), b.Error()),
			cmp.Compare(a.Severity, b.Severity),
		)
	})
	out = slices.CompactFunc(out, func(a, b *Error) bool { return a.Error() == b.Error() })
	out = withoutRepeats(out)
	refused := map[Pos][]string{}
	for _, e := range out.Failures() {
		refused[e.Pos] = append(refused[e.Pos], e.Path)
	}
	return slices.DeleteFunc(out, func(e *Error) bool {
		paths := refused[e.Pos]
		isRefused := slices.Contains(paths, "") || slices.Contains(paths, e.Path)
		return e.Severity == SeverityWarning && e.Pos.Column > 0 && isRefused
	})
}

// Err returns es as an error. It returns nil if es holds no mistake of severity error.
func (es Errors) Err() error {
	if len(es.Failures()) == 0 {
		return nil
	}
	return es
}

// In returns the errors with a prefix in front of the names of their files, such as main: for those
// of a revision.
func (es Errors) In(prefix string) Errors {
	placed := func(pos Pos) Pos {
		if pos.File != "" {
			pos.File = prefix + pos.File
		}
		return pos
	}
	out := make(Errors, len(es))
	for i, e := range es {
		named := *e
		named.Pos = placed(e.Pos)
		named.Notes = slices.Clone(e.Notes)
		for j := range named.Notes {
			named.Notes[j].Pos = placed(named.Notes[j].Pos)
		}
		out[i] = &named
	}
	return out
}

// Failures returns the mistakes that are errors.
func (es Errors) Failures() Errors { return es.withSeverity(SeverityError) }

// Warnings returns the mistakes that are only warnings.
func (es Errors) Warnings() Errors { return es.withSeverity(SeverityWarning) }

// Notes returns what is on record, and is no mistake.
func (es Errors) Notes() Errors { return es.withSeverity(SeverityNote) }

// withSeverity returns the mistakes of one severity.
func (es Errors) withSeverity(s Severity) Errors {
	var out Errors
	for _, e := range es {
		if e.Severity == s {
			out = append(out, e)
		}
	}
	return out
}

// AsErrors returns every mistake inside err, whatever wraps it. An error that is no mistake of a
// user becomes one of the given stage without a position.
func AsErrors(err error, stage Stage) Errors {
	if err == nil {
		return nil
	}
	var many Errors
	if errors.As(err, &many) {
		return many
	}
	var one *Error
	if errors.As(err, &one) {
		return Errors{one}
	}
	return Errors{{Stage: stage, Err: err}}
}
