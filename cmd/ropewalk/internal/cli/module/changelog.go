// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/render/evaluate"
)

// writeChangelog writes the section of a version into a file in the form of keepachangelog.com. The
// section goes ahead of earlier sections, or replaces the section of the same version: writing it
// twice changes nothing.
func (c compatibility) writeChangelog(name, version string) error {
	data, err := os.ReadFile(name) //nolint:gosec // the user names it
	if errors.Is(err, fs.ErrNotExist) {
		data, err = []byte("# Changelog\n"), nil
	}
	if err == nil {
		err = os.WriteFile(name, []byte(c.withSection(string(data), version)), 0o644) //nolint:gosec // it is for everyone
	}
	if err != nil {
		return &command.EnvironmentError{Err: err}
	}
	return nil
}

// withSection returns the text of a changelog with the section of a version.
func (c compatibility) withSection(text, version string) string {
	// Replace the section of this version.
	section := c.section(version)
	if start := strings.Index("\n"+text, "\n## "+version+"\n"); start >= 0 {
		end := len(text)
		if length := strings.Index(text[start+3:], "\n## "); length >= 0 {
			end = start + 3 + length + 1
		}
		return text[:start] + section + text[end:]
	}

	// Put the section ahead of the first, or at the end of a changelog without sections.
	if first := strings.Index("\n"+text, "\n## "); first >= 0 {
		return text[:first] + section + text[first:]
	}
	return strings.TrimRight(text, "\n") + "\n\n" + strings.TrimRight(section, "\n") + "\n"
}

// section returns the section of a version, with the changes that break users first.
func (c compatibility) section(version string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n", version)
	for _, part := range []struct {
		level evaluate.Level
		title string
	}{
		{evaluate.LevelMajor, "Breaking"},
		{evaluate.LevelUndecided, "May break"},
		{evaluate.LevelMinor, "Added and changed"},
		{evaluate.LevelPatch, "Fixed"},
	} {
		begun := false
		for _, item := range c.Changes {
			if item.Level != string(part.level) {
				continue
			}
			if !begun {
				fmt.Fprintf(&b, "### %s\n\n", part.title)
				begun = true
			}
			fmt.Fprintf(&b, "- %s: %s\n", cell(item.about()), cell(item.Text))
		}
		if begun {
			b.WriteString("\n")
		}
	}
	return b.String()
}
