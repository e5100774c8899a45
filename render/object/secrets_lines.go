// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"regexp"
	"strings"
	"sync"
)

// key is a name in a line of a file, up to its colon or equals sign.
var key = regexp.MustCompile(`(?:^|[\s{,"'\[(])([\w.-]+)["'\]]*[ \t]*(?:=|:(?:[ \t"'{\[]|$))`)

// placeholder matches the placeholders of a workload: an output of a resource, or a variable. A
// text that only looks like a placeholder may be a part of a password.
var placeholder = regexp.MustCompile(`\$\{(?:(?:metadata|resources|secrets)\.[\w.-]+|[A-Z_][A-Z0-9_]*)\}`)

// wholePlaceholder is a text that is nothing but a placeholder for an output, maybe without the
// brace that [Secrets.AddText] cuts: it names a secret and does not hold it. A placeholder with
// more text around it may be a part of a password.
var wholePlaceholder = regexp.MustCompile(`^\$\{(?:metadata|resources|secrets)\.[\w.-]+\}?$`)

// defaulted is a reference to a variable with a value of its own, such as ${NAME:-value}.
var defaulted = regexp.MustCompile(`\$\{(\w+):?[-+?]`)

// stars returns stars in the length of text. Spaces, quotes, brackets and placeholders stay.
func stars(text string) string {
	out := []byte(text)
	for i, c := range out {
		if !strings.ContainsRune(" \t\"'{}[],", rune(c)) {
			out[i] = '*'
		}
	}
	for _, at := range placeholder.FindAllStringIndex(text, -1) {
		copy(out[at[0]:at[1]], text[at[0]:at[1]])
	}
	return string(out)
}

// Mask returns a line of a file with stars in the place of secrets, of credentials in URLs, and
// of all that follows a sensitive name. A caret under the line thus stays where it is. The
// argument before has the lines before it. A line without a name, and a line deeper than a
// sensitive name alone in its line, may continue a text that begins there.
func (s *Secrets) Mask(line, before string) string {
	return s.mask(line, before, func(masked string) string { return masked })
}

// MaskCUE masks a line of CUE as Mask does. Only literals are values in CUE: references to other
// fields, and what only CUE reads, stay.
func (s *Secrets) MaskCUE(line, before string) string {
	return s.mask(line, before, func(masked string) string {
		if len(masked) != len(line) || strings.Contains(before, `"""`) || strings.Contains(before, `'''`) {
			return masked // It may be a part of a text over several lines.
		}
		out := []byte(line)
		for _, value := range literalOfCUE.FindAllStringIndex(line, -1) {
			copy(out[value[0]:value[1]], masked[value[0]:value[1]])
		}
		return string(out)
	})
}

// literalOfCUE is a text, a number or a comment.
var literalOfCUE = regexp.MustCompile(`#+".*?(?:"#+|$)|"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|\b[0-9][\w.]*|//.*`)

// AddCUE hides secrets in CUE that is not evaluated, as AddText does. A reference to a field of
// the text or to an import is no value, such as _secrets.password, and neither is the name of a
// type, such as string. A name that the text does not have may be a secret without its quotes.
func (s *Secrets) AddCUE(text string) {
	if strings.Contains(text, `"""`) || strings.Contains(text, "'''") {
		s.AddText(text) // Lines of a text are no CUE.
		return
	}
	words := sync.OnceValue(func() map[string]bool {
		out := map[string]bool{}
		for _, m := range nameInCUE.FindAllStringSubmatch(text, -1) {
			out[m[1]+m[2]] = true
		}
		return out
	})
	s.addText(text, func(expr string) {
		for _, name := range referenceInCUE.FindAllStringSubmatch(literalOfCUE.ReplaceAllString(expr, " "), -1) {
			if !words()[name[1]] && !wordOfCUE.MatchString(name[1]) {
				s.addValue(expr)
				return
			}
		}
		for _, value := range literalOfCUE.FindAllString(expr, -1) {
			s.addValue(value)
		}
	})
}

// What a text of CUE declares, by a field, an alias or an import; what it refers to; and words
// of the language.
var (
	nameInCUE      = regexp.MustCompile(`([\w#$]+)"?[?!]?(?:\s*:|\s*=)|"(?:[^"\n]*/)?([\w-]+)"\s*(?:\n|$)`)
	referenceInCUE = regexp.MustCompile(`([A-Za-z_#$][\w#$]*)(?:\.[\w#$]+)*`)
	wordOfCUE      = regexp.MustCompile(`^(_|_?string|bytes|bool|null|true|false|number|rune|u?int\d*|float\d*|len|close|and|or|div|mod|quo|rem|if|for|in|let)$`)
)

// mask does the work of Mask. It calls ofNames with each line that is masked for a sensitive
// name, and shows what that returns.
func (s *Secrets) mask(line, before string, ofNames func(masked string) string) string {
	// Hide credentials in URLs, and what follows sensitive names.
	line = withoutCredentials(line, func(text string) string { return strings.Repeat("*", len(text)) })
	if continues(line, before) {
		return ofNames(stars(line))
	}
	if at := valueAt(line, before); at >= 0 {
		line = line[:at] + stars(line[at:])
	}
	if at := sensitiveKey(line); at >= 0 {
		line = line[:at] + stars(line[at:])
	}

	// A default may stand on the same line as a sensitive name.
	for _, m := range defaulted.FindAllStringSubmatchIndex(line, -1) {
		if SensitiveName(line[m[2]:m[3]]) {
			line = line[:m[1]] + stars(line[m[1]:])
			break
		}
	}
	line = ofNames(line)

	// Hide the secrets that are known by their text.
	if s == nil {
		return line
	}
	for _, text := range s.texts() {
		for _, form := range forms(text) {
			switch {
			case s.names[form], ordinary.MatchString(form) && len(form) >= plainSecret:
				line = starValues(line, form)
			case len(form) >= plainSecret:
				line = strings.ReplaceAll(line, form, stars(form))
			default:
				line = strings.ReplaceAll(line, `"`+form+`"`, `"`+stars(form)+`"`)
			}
		}
	}
	return line
}

// AddNames keeps the names of the services, volumes and networks of a compose file, and their
// words, in messages. A password that is one of these words is hidden in the place of a value: in
// quotes, after a sensitive name, and in lines of files unless it is part of a path or a name.
func (s *Secrets) AddNames(v Value) {
	for _, field := range [...]string{"services", "volumes", "networks"} {
		named, _ := v.Get(field)
		for _, m := range named.Members {
			s.addName(m.Name, nil)
		}
	}
}

// readable are words, with a number behind them or not, and names of such words: what else is in
// the name of an object may be a secret that a module made it of.
var readable = regexp.MustCompile(`^(?:[a-z]{2,20}[0-9]{0,3}(?:[-_.]|$))+$`)

// addName keeps a name and its words in messages. If allowed is not nil, it keeps only those that
// match it.
func (s *Secrets) addName(name string, allowed *regexp.Regexp) {
	if s.names == nil {
		s.names = map[string]bool{}
	}
	for _, word := range append(strings.FieldsFunc(name, func(c rune) bool { return strings.ContainsRune("-_./", c) }), name) {
		if allowed == nil || allowed.MatchString(word) {
			s.names[word] = true
		}
	}
	s.quoted, s.plain = nil, nil
}

// named matches what follows a word that is a key, the source of a mount, or the beginning of a
// longer name or path.
var named = regexp.MustCompile(`^(?:[-_./][\w/]|["']?:(?:\s|$)|:/[^/])`)

// nameOf is the beginning of a line whose value is a name.
var nameOf = regexp.MustCompile(`^[\s-]*(?:container_name|hostname):`)

// starValues returns a line with stars in the place of a word, wherever the word may be a value.
func starValues(line, word string) string {
	if nameOf.MatchString(line) {
		return line
	}
	return replaceValues(line, word, stars(word))
}

// replaceValues returns line with by in the place of a word, wherever the word may be a value. It
// is none in a path, as a name, and at the beginning of a longer word.
func replaceValues(line, word, by string) string {
	for offset := 0; ; {
		i := strings.Index(line[offset:], word)
		if i < 0 {
			return line
		}
		begin := offset + i
		offset = begin + len(word)
		begins := begin == 0 || strings.ContainsRune(" \t\"'{[,/", rune(line[begin-1]))
		isPath, isName := begin > 0 && line[begin-1] == '/', begins && named.MatchString(line[offset:])
		longer := offset < len(line) && (line[offset] == '_' || isLetterOrDigit(line[offset]))
		if !isPath && !isName && !longer {
			line = line[:begin] + by + line[offset:]
			offset = begin + len(by)
		}
	}
}

func isLetterOrDigit(c byte) bool {
	isLetter := (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
	return isLetter || (c >= '0' && c <= '9')
}

// holders are names of what has secrets in it, or has them where an author takes a name for
// a value: no line shows any of it.
var holders = regexp.MustCompile(`(?i)^(stringData|users|authorization|cookie)$`)

// sensitiveKey returns the start of the value of the first sensitive name of a line, or -1 if the
// line has no sensitive name.
func sensitiveKey(line string) int {
	for offset := 0; ; {
		m := key.FindStringSubmatchIndex(line[offset:])
		if m == nil {
			return -1
		}
		if name := line[offset+m[2] : offset+m[3]]; SensitiveName(name) || holders.MatchString(name) {
			return offset + m[1]
		}
		offset += m[3] // The end of this name may begin the next name.
	}
}

// continues reports whether a line may be a part of the value of a sensitive name in one of
// the lines before it.
func continues(line, before string) bool {
	depth, named := indent(line), key.MatchString(line)
	for before != "" && (depth > 0 || !named) {
		before = strings.TrimRight(before, "\r\n")
		at := strings.LastIndexAny(before, "\r\n") + 1
		above := before[at:]
		before = before[:at]
		switch {
		case strings.TrimSpace(above) == "", named && indent(above) >= depth, !named && !key.MatchString(above):
			// It has the same parent, is deeper, or is the rest of something too.
		case sensitiveKey(above) >= 0:
			return true
		default:
			depth, named = indent(above), true
		}
	}
	return false
}

// indent returns how deep a line is, in bytes.
func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// pair is the name and the value of a variable in a list of them, in one line or in two.
var pair = regexp.MustCompile(`\bname["']?:[ \t]*["']?([\w.-]+)["']?[ \t]*[,\n]\s*["']?value["']?:`)

// valueAt returns where in line the value of a variable of a sensitive name begins, or -1 if the
// line has no such value. The name may stand in the last of the lines before.
func valueAt(line, before string) int {
	above := before[strings.LastIndexByte(strings.TrimRight(before, "\r\n"), '\n')+1:]
	both := above + line
	for _, m := range pair.FindAllStringSubmatchIndex(both, -1) {
		if m[1] > len(above) && SensitiveName(both[m[2]:m[3]]) {
			return m[1] - len(above)
		}
	}
	return -1
}
