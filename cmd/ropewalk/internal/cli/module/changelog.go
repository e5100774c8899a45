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

// writeChangelog writes the section of a version into a file in the form of keepachangelog.com: ahead
// of the earlier ones, or in place of the one of that version, so that writing it twice changes nothing.
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
	section := c.section(version)
	if rest := strings.Index("\n"+text, "\n## "+version+"\n"); rest >= 0 {
		end := len(text)
		if next := strings.Index(text[rest+3:], "\n## "); next >= 0 {
			end = rest + 3 + next + 1
		}
		return text[:rest] + section + text[end:]
	}
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
		{evaluate.LevelMajor, "Breaking"}, {evaluate.LevelUndecided, "May break"}, {evaluate.LevelMinor, "Added and changed"}, {evaluate.LevelPatch, "Fixed"},
	} {
		begun := false
		for _, one := range c.Changes {
			if one.Level != string(part.level) {
				continue
			}
			if !begun {
				fmt.Fprintf(&b, "### %s\n\n", part.title)
				begun = true
			}
			fmt.Fprintf(&b, "- %s: %s\n", cell(one.about()), cell(one.Text))
		}
		if begun {
			b.WriteString("\n")
		}
	}
	return b.String()
}
