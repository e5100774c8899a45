// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package markdown writes text of others into the Markdown of comments on change
// requests, as GitHub, GitLab and Gitea read it: nothing in a name is markup, a link, a
// mention or HTML, and nothing is hidden.
package markdown

import (
	"regexp"
	"strings"

	"github.com/ropewalk/ropewalk/internal/printable"
)

// Code returns text as a code span in one line. The fence is longer than any run of
// backquotes in the text.
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

// Cell returns text as code in one line, for a cell of a table. A bar ends the cell even in a
// code span, and a backslash before the bar may itself be escaped. So text with a bar is
// written as HTML, with every character escaped that Markdown or HTML reads.
func Cell(text string) string {
	switch {
	case text == "":
		return ""
	case strings.Contains(text, "|"):
		return "<code>" + Text(text) + "</code>"
	}
	return Code(text)
}

// Text escapes text in one line, so that it is not taken for markup, links or mentions. A
// server finds mentions and links in the text that is left after the markup, where a
// backslash is gone; a space of no width stays.
func Text(text string) string {
	return breakReferences(strings.NewReplacer(append(inert(), "|", "&#124;",
		"\\", "\\\\", "*", "\\*", "_", "\\_", "`", "\\`", "[", "\\[", "]", "\\]", "~", "\\~", "$", "\\$")...).Replace(printable.Line(text)))
}

// HTML returns text in one line for an element of HTML in which Markdown means nothing, such
// as the summary of details.
func HTML(text string) string {
	return breakReferences(strings.NewReplacer(inert()...).Replace(printable.Line(text)))
}

// reference matches the references of GitHub (GH-1) and GitLab (!1, &1, $1), beside #1: the page of
// the target shows every reference in public.
var reference = regexp.MustCompile(`(!|&amp;|\\?\$|\b[gG][hH]-)([0-9])`)

// breakReferences puts a space of no width into what a server would take for a reference.
func breakReferences(text string) string { return reference.ReplaceAllString(text, "$1&#8203;$2") }

// inert replaces what is HTML, a mention or a link.
func inert() []string {
	return []string{"&", "&amp;", "<", "&lt;", ">", "&gt;", "@", "@&#8203;", "#", "#&#8203;", "://", ":&#8203;//", "www.", "www&#8203;."}
}

// Fenced returns lines as a fenced code block of a language. The end of a line is the only
// line break that a line may hold.
func Fenced(language, lines string) string {
	fence := "```"
	for strings.Contains(lines, fence) {
		fence += "`"
	}
	return fence + language + "\n" + lines + fence + "\n"
}
