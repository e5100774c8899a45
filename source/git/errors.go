// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/source"
)

// Messages that both ways have.
const (
	changedHostKey = "the host key of the server is not the one in known_hosts: check with its administrator"
	cutOff         = "the answer of the server ended too early; try again later"
)

// errListingTooLong returns the error for too many references.
func errListingTooLong() error {
	return source.OverLimit("the server lists more than %d bytes of references", maxListing)
}

func errTooMuch(limit int64) error {
	return source.OverLimit("the server sends more than %d bytes for one commit", limit)
}

// symptom maps texts of programs and servers to a sentinel and a message for the caller.
type symptom struct {
	texts []string
	is    error
	hint  string
}

// symptoms returns the known messages of git and of servers. Git may write several of them, and the
// first in this list counts.
func symptoms() []symptom {
	return []symptom{
		{[]string{"host key is known for"}, source.ErrHostKey,
			"known_hosts has no key for the host: get it with ssh-keyscan, check it, and add it"},
		{[]string{"Host key verification failed", "REMOTE HOST IDENTIFICATION HAS CHANGED", "knownhosts: key"}, source.ErrHostKey, changedHostKey},
		{[]string{"no common algorithm for host key"}, source.ErrHostKey,
			"the server has no host key of a type that is in known_hosts: check with its administrator"},
		{[]string{
			"hasDotgit", "hasDot:", "hasDotdot", "fullPathname",
			"gitmodulesPath", "gitmodulesName", "gitmodulesUrl", "gitmodulesSymlink",
		}, source.ErrPath, "the repository holds a path that git refuses"},
		{[]string{
			"fsck error", "hash mismatch", "SHA1 COLLISION", "index-pack died", "inflate", "bad object",
			"did not send all necessary objects", "pack has bad", "packfile",
		}, source.ErrDigest,
			"the objects that the server sent are damaged or incomplete: try again, and if that does not help, run git fsck on the server"},
		{[]string{
			"Permission denied", "Authentication failed", "could not read Username", "could not read Password",
			"error: 401", "error: 403", "invalid credentials", "unable to authenticate",
		}, source.ErrUnauthorized,
			"credentials are wrong or missing: check the Secret of the reference, or the credentials of git and ssh where it names none"},
		{[]string{"not our ref", "remote ref", "unadvertised object", "no such remote"}, source.ErrAbsent,
			"the server does not have that commit, or does not serve it by its hash"},
		{[]string{
			"error: 404", "error: 410", "not found", "does not appear to be a git repository",
			"no such repository", "does not exist", "not a git repository",
		}, source.ErrAbsent,
			"there is no repository at the URL, or the credentials give no access to it"},
		{[]string{"connection refused", "failed to connect to", "couldn't connect to server"}, source.ErrUnavailable,
			"connection refused: correct host and port, or try again later"},
		{[]string{"could not resolve host", "no such host"}, source.ErrUnavailable,
			"the host name cannot be resolved: correct it, or try again later"},
		{[]string{"certificate"}, source.ErrHostKey,
			"the certificate of the server is by no known authority, or for another host: " +
				"add the authority to the Secret as ca.crt, or have the system trust it"},
		{[]string{"unable to update url base from redirection", "error: 30", "http redirect:"}, source.ErrReference, redirected},
		{[]string{"mismatched algorithms"}, source.ErrUnavailable, "the repository has another hash algorithm than the reference"},
	}
}

// diagnose returns the error for what a program or server wrote. A text that is not known is
// an error that may pass.
func diagnose(text string) error {
	text = withoutAccess(text)
	why := firstLine(text)
	for _, s := range symptoms() {
		for _, sign := range s.texts {
			if !strings.Contains(strings.ToLower(text), strings.ToLower(sign)) {
				continue
			}
			if strings.Contains(why, "could not read Username") || strings.Contains(why, "could not read Password") {
				// Git has no other credentials, and may not prompt for them.
				return source.Refuse(s.is, s.hint)
			}
			return source.Refuse(s.is, fmt.Sprintf("%s (%s)", s.hint, why))
		}
	}
	return source.Refuse(source.ErrUnavailable, fmt.Sprintf("the server failed (%s); try again later", why))
}

// firstLine returns the line of a program's output that matters most, as short and printable
// text. This is the first line that git calls an error, or the last line of ssh, which stands
// before git reports that nothing came.
func firstLine(output string) string {
	const longest = 240

	// Lines of decoration, and those that only say that nothing came, tell no reason.
	var lines []string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if strings.Trim(line, "@") != "" {
			lines = append(lines, line)
		}
	}
	if reasons := slices.DeleteFunc(slices.Clone(lines), isGeneric); len(reasons) > 0 {
		lines = reasons
	}

	// The later form wins: a line of git itself goes before one of the server.
	best := ""
	if len(lines) > 0 {
		best = lines[len(lines)-1]
	}
	for _, form := range []string{`^remote: `, `^(fatal|error):`} {
		if i := slices.IndexFunc(lines, regexp.MustCompile(form).MatchString); i >= 0 {
			best = lines[i]
		}
	}

	// The text comes from a server, so it must be safe to print.
	best = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, best)
	best = printable.Cut(best, longest, "…")
	return regexp.MustCompile(`(https?://)[^/@\s']*@`).ReplaceAllString(best, "$1***@")
}

// isGeneric reports whether a line only says that nothing came.
func isGeneric(line string) bool {
	return slices.ContainsFunc([]string{
		"fatal: Could not read from remote repository", "Please make sure you have the correct access rights", "and the repository exists",
		"fatal: the remote end hung up", "fatal: early EOF",
	}, func(text string) bool { return strings.HasPrefix(line, text) })
}

// withoutAccess removes the URL from an output of git. The caller names the URL, and any text
// may stand in it.
func withoutAccess(output string) string {
	for _, c := range []struct{ from, to, instead string }{
		{"unable to access '", "': ", ""}, {"repository 'http", "' not found", "repository not found"},
	} {
		before, rest, ok := strings.Cut(output, c.from)
		if _, reason, found := strings.Cut(rest, c.to); ok && found {
			output = before + c.instead + reason
		}
	}
	return output
}
