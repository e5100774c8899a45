// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"
)

// Secrets are texts that no message may show: the one place that decides it. Render gathers them
// (data of Secrets, inputs whose names say that they are secret, values of a runtime) and hides
// them in its errors and warnings, before any adapter has them. The zero value holds no secrets.
type Secrets struct {
	known map[string]bool
	// bytes is their length together.
	bytes int
	// read counts the bytes that were searched for sensitive names.
	read int
	// full means that there are more than are known: then no message shows a value that was
	// given, and no line of a file is shown.
	full bool
	// open are nodes whose object is no Secret.
	open map[ID]bool
	// names are the words of names that an author gave to services and objects.
	names  map[string]bool
	quoted *strings.Replacer
	plain  *strings.Replacer
	// written are the forms of all of them.
	written []string
	// words are the secrets that are ordinary words.
	words []string
}

// Bounds of what is hidden. Shorter texts are hidden where they stand in quotes only:
// as a part of words they would hide half of a message.
const (
	plainSecret = 6
	maxSecrets  = 10_000
	// maxSecretBytes limits their length together: each has eleven forms in messages.
	maxSecretBytes = 1 << 20
	// maxRead limits the search for sensitive names in texts that are not evaluated, in bytes: a
	// megabyte takes half a second.
	maxRead = 1 << 20
	// maxSought limits the bytes that are read after sensitive names, over and over where a line
	// has several.
	maxSought = 16 << 20
)

// ordinary are passwords that are words, as which names and paths have them too. They are
// hidden where values stand.
var ordinary = regexp.MustCompile(`^[a-z]{2,20}$`)

// common are passwords that are a part of names and of the words of messages. Messages quote
// values, so that these are hidden in quotes only; lines of files are another matter.
var common = regexp.MustCompile(`(?i)^(pass(word|wd|phrase)|secret|credentials?|object|string|boolean|array|integer|number|null|none|true|false|default|chart|template|values?|metadata|namespace|labels?|annotations?|containers?|images?|configs?|services?|clusters?|resources?)$`)

// hidden stands for a secret in a message.
const hidden = "(hidden)"

// sensitive matches names of fields and variables that end like names of secrets. It does not match
// names of objects and references (secretName, secretKeyRef).
var sensitive = regexp.MustCompile(`(?i)(passw(or)?d|passphrase|pwd|^pw|_pw|secret|token|(api|access|private|secret|signing|encryption)[-_]?key|credentials?)[-_0-9]*$`)

// SensitiveName reports whether a field or a variable of this name holds a secret.
func SensitiveName(name string) bool {
	return sensitive.MatchString(name) && !strings.HasPrefix(name, "allow")
}

// Add hides a text from now on, in all forms in which messages write it.
func (s *Secrets) Add(text string) {
	const shortest = 2 // One character is no secret, and stands in many messages.
	if len(strings.TrimSpace(text)) < shortest || s.known[text] || wholePlaceholder.MatchString(text) {
		return
	}
	if len(s.known) >= maxSecrets || s.bytes+len(text) > maxSecretBytes {
		s.full = true
		return
	}
	s.bytes += len(text)
	if s.known == nil {
		s.known = map[string]bool{}
	}
	s.known[text], s.quoted, s.plain = true, nil, nil

	// Parsers show what they read of it, without the signs around it.
	isSign := func(c rune) bool { return unicode.IsSpace(c) || strings.ContainsRune("*&!|>%@#'\"-", c) }
	if trimmed := strings.TrimFunc(text, isSign); trimmed != text && len(trimmed) >= plainSecret {
		s.Add(trimmed)
	}

	// Messages may show a single line of it.
	if lines := strings.Split(strings.TrimSpace(text), "\n"); len(lines) > 1 {
		for _, line := range lines {
			line = strings.TrimSpace(line)
			if len(line) >= plainSecret {
				s.Add(line)
			}
		}
	}
}

// AddText hides what follows sensitive names in a text that may be no YAML, JSON or CUE at
// all: texts in quotes, what else is in the line, and deeper lines below it.
func (s *Secrets) AddText(text string) { s.addText(text, s.addValue) }

// addText does the work of AddText. It calls add with the rest of each line that may hold a
// secret.
func (s *Secrets) addText(text string, add func(remaining string)) {
	s.read += len(text)
	if s.read > maxRead {
		s.full = true
		return
	}

	// What follows a sensitive name is a secret, and so are the lines that are deeper than the
	// name.
	nameIndent := -1 // the indent of the name that lines are below
	sought := 0
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if depth := indent(line); nameIndent >= 0 && (depth > nameIndent || depth == len(line)) {
			add(line)
			continue
		}
		nameIndent = -1
		for remaining := line; ; {
			at := sensitiveKey(remaining)
			if at < 0 {
				break
			}
			remaining = remaining[at:]
			nameIndent = indent(line)
			sought += len(remaining)
			if sought > maxSought {
				s.full = true
				return
			}
			add(remaining)
		}
	}
}

// literal is a text in quotes, with escapes.
var literal = regexp.MustCompile(`"(?:[^"\\]|\\.)*"?|'(?:[^']|\'\')*'?`)

// addValue hides the text in quotes that the rest of a line begins with, or all of a list or
// a map, and the rest itself.
func (s *Secrets) addValue(text string) {
	quotes := literal.FindAllString(text, -1)
	isOpen := len(quotes) > 1 && strings.HasPrefix(strings.TrimSpace(text), quotes[0])
	if isOpen {
		quotes = quotes[:1] // Others are of other fields.
	}
	for _, quoted := range quotes {
		inner := strings.TrimSuffix(quoted[1:], quoted[:1])
		if !strings.ContainsFunc(inner, unicode.IsLetter) && !strings.ContainsFunc(inner, unicode.IsDigit) {
			continue
		}
		s.Add(inner)
		if plain, err := strconv.Unquote(`"` + inner + `"`); err == nil && quoted[0] == '"' {
			s.Add(plain)
		}
		s.Add(strings.ReplaceAll(inner, "''", "'"))
	}
	if isOpen {
		return
	}
	text = regexp.MustCompile(`^\s*(?:[!&]\S*\s+)*`).ReplaceAllString(text, "") // The tag and the anchor.
	text = strings.Trim(text, " \t{}[],\"'|>*-")
	if len(text) >= plainSecret {
		s.Add(text)
	}
}

// AddNode hides the data of the object of n. The name of the object is applied as it is, and
// keeps its words in messages, see [readable]: a password that is one of these words is hidden in
// the place of a value.
func (s *Secrets) AddNode(n *Node) {
	s.addName(n.Object.Name(), readable)
	s.AddObject(n.Object)
	if n.Object.Kind() == "Secret" || n.Object["items"] != nil {
		return
	}
	if s.open == nil {
		s.open = map[ID]bool{}
	}
	s.open[n.ID] = true
}

// AddObject hides the data of o if it is a Secret or a list with Secrets, or if it carries the
// annotation of kubectl with a Secret in it.
func (s *Secrets) AddObject(o Object) {
	if items, ok := o["items"].([]any); ok {
		for _, item := range items {
			if m, ok := item.(map[string]any); ok {
				s.AddObject(m)
			}
		}
	}
	if o.Kind() != "Secret" || o.Group() != "" {
		return
	}
	for _, field := range [...]string{"data", "stringData"} {
		values, _ := o[field].(map[string]any)
		for _, v := range values {
			text, _ := v.(string)
			s.Add(text)
			if decoded, err := base64.StdEncoding.DecodeString(text); field == "data" && err == nil {
				s.Add(string(decoded))
			}
		}
	}
}

// replacers returns what hides texts in quotes and texts anywhere. It makes both when the first
// text is hidden.
func (s *Secrets) replacers() (quoted, plain *strings.Replacer) {
	if s.plain != nil {
		return s.quoted, s.plain
	}
	var inQuotes, anywhere []string
	s.written, s.words = nil, nil
	for _, text := range s.texts() {
		inQuotes = append(inQuotes, strconv.Quote(text), hidden)
		written := forms(text)
		s.written = append(s.written, written...)
		if len(text) < plainSecret {
			continue
		}
		for _, form := range written {
			switch {
			case common.MatchString(form), s.names[form]:
			case ordinary.MatchString(form):
				s.words = append(s.words, form)
			default:
				anywhere = append(anywhere, form, hidden)
			}
		}
	}
	s.quoted, s.plain = strings.NewReplacer(inQuotes...), strings.NewReplacer(anywhere...)
	return s.quoted, s.plain
}

// texts returns the known secrets, the longest first: a shorter one may be a part of it.
func (s *Secrets) texts() []string {
	return slices.SortedFunc(maps.Keys(s.known), func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) })
}

var oneLine = strings.NewReplacer("\n", " ", "\t", " ", "\r", " ") //nolint:gochecknoglobals // a constant

// forms returns the ways in which messages write a text.
func forms(text string) []string {
	inner := func(quoted []byte) string { return string(quoted[1 : len(quoted)-1]) }
	inJSON, _ := json.Marshal(text) // A text always encodes.
	out := []string{text, inner([]byte(strconv.Quote(text))), inner([]byte(strconv.QuoteToASCII(text))), inner(inJSON)}
	for _, c := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		out = append(out, c.EncodeToString([]byte(text)))
	}
	out = append(out, url.QueryEscape(text), url.PathEscape(text), strings.ReplaceAll(text, "'", "''"))
	out = append(out, oneLine.Replace(text)) // Messages of CUE become one line in the same way.
	slices.Sort(out)
	return slices.Compact(out)
}

// Hide returns text without the secrets.
func (s *Secrets) Hide(text string) string { return s.hide(text, true) }

// hide does the work of Hide. If words is set, secrets that are ordinary words are hidden outside
// of quotes too. It is not set for the path to a field, which consists of names.
func (s *Secrets) hide(text string, words bool) string {
	if s == nil || len(s.known) == 0 {
		return withoutCredentials(text, hiddenInURL)
	}
	quoted, plain := s.replacers()
	text = plain.Replace(quoted.Replace(s.withoutNumbers(text)))
	for i := 0; words && i < len(s.words); i++ {
		text = replaceValues(text, s.words[i], hidden)
	}
	return withoutCredentials(s.shortened(text), hiddenInURL)
}

// hideMessage returns the message of e without the secrets. The name of an unknown field stays,
// even if a password is the same short word: it is no value, and the path shows it too.
func (s *Secrets) hideMessage(e *Error) string {
	const unknown = "unknown field "
	name := lastName(e.Path)
	if rest, ok := strings.CutPrefix(e.message(), unknown+strconv.Quote(name)); ok && s.Hide(name) == name {
		return unknown + strconv.Quote(name) + s.Hide(rest)
	}
	return s.Hide(e.message())
}

// hideOption returns the file of a position without the secrets: it may be an option of the
// command, which may hold a secret. The name of a file is needed to find it, so it stays, even if a
// password is a word of it.
func (s *Secrets) hideOption(where string) string {
	if strings.HasPrefix(where, "-") || strings.Contains(where, "://") {
		return s.Hide(where)
	}
	return withoutCredentials(where, hiddenInURL)
}

// ellipsis marks the cut of a long text in a message.
const ellipsis = "…"

// shortened returns text without the parts of secrets that are next to an ellipsis.
func (s *Secrets) shortened(text string) string {
	const most = 1000 // No message has as many, and each is compared with all secrets.
	if strings.Count(text, ellipsis) > most {
		return hidden
	}
	for offset := 0; ; {
		i := strings.Index(text[offset:], ellipsis)
		if i < 0 {
			return text
		}
		before, after := text[:offset+i], text[offset+i+len(ellipsis):]
		before, quote := strings.CutSuffix(before, `"`)
		left, right := s.longestPart(before, false), s.longestPart(after, true)
		if left > 0 {
			before = before[:len(before)-left] + hidden
		} else if quote {
			before += `"`
		}
		if right > 0 {
			after = hidden + after[right:]
		}
		offset = len(before) + len(ellipsis)
		text = before + ellipsis + after
	}
}

// longestPart returns the length of the longest end of text, or of its beginning, that is a part of
// a secret. It returns 0 if that part is too short to count.
func (s *Secrets) longestPart(text string, atBeginning bool) (longest int) {
	piece := func(n int) string {
		if atBeginning {
			return text[:n]
		}
		return text[len(text)-n:]
	}
	for _, form := range s.written {
		least, most := max(longest+1, plainSecret), min(len(text), len(form))
		if least <= most && strings.Contains(form, piece(least)) {
			longest = least + sort.Search(most-least, func(i int) bool { return !strings.Contains(form, piece(least+i+1)) })
		}
	}
	return longest
}

// Error returns e without the secrets. An error about the data of an object shows no value: the
// object may be a Secret that nothing has evaluated.
func (s *Secrets) Error(e *Error) *Error {
	out := *e
	out.Secrets = s
	text, hint := s.hideMessage(e), s.Hide(e.Hint)
	mayShowData := e.ofSecret() && !e.Named && !s.open[e.Node]
	if s.full || mayShowData {
		out.Secret = true
		text = withoutValues(text)
	}
	if text != e.message() {
		out.Err = redacted{text, e.Err}
	}
	out.Hint = hint
	out.Reason = s.Hide(e.Reason)
	out.Path = s.hide(e.Path, false)
	out.Pos.File = s.hideOption(e.Pos.File)
	out.Node = s.hideID(e.Node)
	out.Notes = slices.Clone(e.Notes)
	for i, n := range out.Notes {
		out.Notes[i].Text, out.Notes[i].Pos.File = s.Hide(n.Text), s.hideOption(n.Pos.File)
	}
	return &out
}

// Shown returns an error that has been through no render as a message shows it: without
// credentials in URLs.
func Shown(e *Error) *Error {
	if e.Secrets != nil {
		return e
	}
	return (&Secrets{}).Error(e)
}

// Errors returns es without the secrets.
func (s *Secrets) Errors(es Errors) Errors {
	out := make(Errors, len(es))
	for i, e := range es {
		out[i] = s.Error(e)
	}
	return out
}

// ofSecret reports whether the error is about data of a Secret, or of a field that may hold a
// secret.
func (e *Error) ofSecret() bool {
	p, ok := ReadPath(strings.TrimPrefix(e.Path, "."))
	if !ok {
		return false
	}
	isSensitive := slices.ContainsFunc(p, func(s Step) bool {
		return s.Name == "stringData" || s.Name == "kubectl.kubernetes.io/last-applied-configuration" || SensitiveName(s.Name)
	})
	isData := len(p) > 1 && p[len(p)-2].Name == "data"
	return isSensitive || (isData && !slices.Contains([]string{"spec", "metadata", "resources", "containers"}, p[0].Name))
}

func (e *Error) message() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

// redacted is an error with another text. It matches the original for errors.Is, whose text no
// longer shows.
type redacted struct {
	text string
	err  error
}

func (r redacted) Error() string { return r.text }

// As finds the original error, as errors.As does.
func (r redacted) As(target any) bool { return errors.As(r.err, target) }

// Is reports whether the original error is target, so that callers can ask for its kind.
func (r redacted) Is(target error) bool { return errors.Is(r.err, target) }
