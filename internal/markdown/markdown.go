// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package markdown writes text of others into the Markdown of comments on change
// requests, as GitHub, GitLab and Gitea read it: nothing in a name is markup, a link, a
// mention or HTML, and nothing is hidden.
//
// Callers: render/diff, and the command line for previews.
package markdown

import (
	"regexp"
	"strings"

	"github.com/ropewalk/ropewalk/internal/printable"
)

// Code is text in one line as a code span, whatever is in it.
func Code(text string) string {
	text = printable.Line(text)
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return fence + text + fence
}

// Cell is text in one line as code in a cell of a table. A bar ends the cell even in a
// code span, and a backslash before it may be escaped itself: where there is one, the
// text is HTML with nothing left in it that means anything.
func Cell(text string) string {
	switch {
	case text == "":
		return ""
	case strings.Contains(text, "|"):
		return "<code>" + Text(text) + "</code>"
	}
	return Code(text)
}

// Text keeps text in one line from being taken for markup, links and mentions. A server
// finds mentions and links in the text that is left after the markup, where an
// escape is gone; a space of no width stays.
func Text(text string) string {
	return unreferred(strings.NewReplacer(append(inert(), "|", "&#124;",
		"\\", "\\\\", "*", "\\*", "_", "\\_", "`", "\\`", "[", "\\[", "]", "\\]", "~", "\\~", "$", "\\$")...).Replace(printable.Line(text)))
}

// HTML is text in one line for an element of HTML, in which Markdown means nothing, such
// as the summary of details.
func HTML(text string) string {
	return unreferred(strings.NewReplacer(inert()...).Replace(printable.Line(text)))
}

// reference is what GitHub (GH-1) and GitLab (!1, &1, $1) take for a reference, beside #1:
// what is referred to shows in public that it was.
var reference = regexp.MustCompile(`(!|&amp;|\\?\$|\b[gG][hH]-)([0-9])`)

func unreferred(text string) string { return reference.ReplaceAllString(text, "$1&#8203;$2") }

// inert replaces what is HTML, a mention or a link.
func inert() []string {
	return []string{"&", "&amp;", "<", "&lt;", ">", "&gt;", "@", "@&#8203;", "#", "#&#8203;", "://", ":&#8203;//", "www.", "www&#8203;."}
}

// Fenced is a block of lines of a language; a line must hold no end of line but its own.
func Fenced(language, lines string) string {
	fence := "```"
	for strings.Contains(lines, fence) {
		fence += "`"
	}
	return fence + language + "\n" + lines + fence + "\n"
}
