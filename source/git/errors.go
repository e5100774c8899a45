// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/ropewalk/ropewalk/source"
)

// sign is what programs write when something is wrong, and what that means for
// a caller.
type sign struct {
	texts []string
	is    error
	hint  string
}

// signs are in the order in which they count: git says more than one thing.
func signs() []sign {
	return []sign{
		{[]string{"host key is known for"}, source.ErrHostKey,
			"known_hosts has no key for the host: ssh-keyscan prints what to check and put there"},
		{[]string{"Host key verification failed", "REMOTE HOST IDENTIFICATION HAS CHANGED"}, source.ErrHostKey,
			"the key of the host is not the one in known_hosts: check it with whoever runs the server"},
		{[]string{"hasDotgit", "hasDot:", "hasDotdot", "fullPathname", "gitmodulesPath", "gitmodulesName", "gitmodulesUrl", "gitmodulesSymlink"}, source.ErrPath,
			"the repository holds a path that git does not take"},
		{[]string{"fsck error", "hash mismatch", "SHA1 COLLISION", "index-pack died", "inflate", "bad object", "did not send all necessary objects", "pack has bad", "packfile"}, source.ErrDigest,
			"what the server sent is not what it said, or was cut off: try again, and if that is of no use, check the server with git fsck"},
		{[]string{"Permission denied", "Authentication failed", "could not read Username", "could not read Password", "error: 401", "error: 403", "invalid credentials"}, source.ErrUnauthorized,
			"the server does not take the credentials, or wants some: check the Secret of the reference, or what git and ssh log in with where it names none"},
		{[]string{"not our ref", "remote ref", "unadvertised object", "no such remote"}, source.ErrAbsent,
			"the server does not have that commit, or does not give it out by its hash"},
		{[]string{"error: 404", "not found", "does not appear to be a git repository", "no such repository", "does not exist", "not a git repository"}, source.ErrAbsent,
			"there is no repository, or none that these credentials may see"},
		{[]string{"connection refused", "failed to connect to", "couldn't connect to server"}, source.ErrUnavailable,
			"nothing listens there: correct host and port, or try again later"},
		{[]string{"could not resolve host", "no such host"}, source.ErrUnavailable, "the host has no address: correct the name, or try again later"},
		{[]string{"certificate"}, source.ErrHostKey,
			"the certificate of the server is by no known authority, or for another host: put the authority into the Secret as ca.crt, or have the system trust it"},
		{[]string{"unable to update url base from redirection", "error: 30"}, source.ErrReference, sentOn},
		{[]string{"mismatched algorithms"}, source.ErrUnavailable, "the repository has hashes of another kind"},
	}
}

// diagnose is the error for what a program or server said. Everything unknown
// is one that may pass.
func diagnose(said string) error {
	said = withoutAccess(said)
	for _, s := range signs() {
		for _, text := range s.texts {
			if strings.Contains(strings.ToLower(said), strings.ToLower(text)) {
				why := gist(said)
				if strings.Contains(why, "could not read Username") || strings.Contains(why, "could not read Password") {
					// Git was refused with what it has, and may not ask for more.
					return source.Refuse(s.is, s.hint)
				}
				return source.Refuse(s.is, fmt.Sprintf("%s (%s)", s.hint, why))
			}
		}
	}
	return source.Refuse(source.ErrUnavailable, fmt.Sprintf("the server did not answer as it should (%s); try again later", gist(said)))
}

// gist is the line of a program's output that says what is wrong, as text that
// can be printed and is not long: the first that git calls an error, or the last
// of ssh, which comes before git says no more than that nothing came.
func gist(said string) string {
	const longest = 240
	best, rank := "", 0
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		of := rankOf(line)
		if of > rank || of == rank && of == saysWhy {
			best, rank = line, of
		}
	}
	best = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, best)
	if len(best) > longest {
		best = strings.ToValidUTF8(best[:longest], "") + "…"
	}
	return withoutUsers(best)
}

// How much lines of output say, least first.
const (
	saysNothing = iota
	saysThat    // that nothing came
	saysWhy     // anything else
	saysRemote  // what the server says
	saysError   // an error of git
)

// rankOf is how much a line says.
func rankOf(line string) int {
	for _, text := range []string{
		"fatal: Could not read from remote repository", "Please make sure you have the correct access rights", "and the repository exists",
		"fatal: the remote end hung up", "fatal: early EOF",
	} {
		if strings.HasPrefix(line, text) {
			return saysThat
		}
	}
	switch {
	case strings.Trim(line, "@") == "":
		return saysNothing
	case strings.HasPrefix(line, "fatal:"), strings.HasPrefix(line, "error:"):
		return saysError
	case strings.HasPrefix(line, "remote: "):
		return saysRemote
	}
	return saysWhy
}

// withoutAccess leaves the URL out of what git says, which the caller names, and
// in which anything may stand.
func withoutAccess(said string) string {
	for _, c := range []struct{ from, to, instead string }{
		{"unable to access '", "': ", ""}, {"repository 'http", "' not found", "repository not found"},
	} {
		before, rest, ok := strings.Cut(said, c.from)
		if _, reason, found := strings.Cut(rest, c.to); ok && found {
			said = before + c.instead + reason
		}
	}
	return said
}

// withoutUsers takes what stands before the host out of the URLs in a text.
func withoutUsers(text string) string {
	return regexp.MustCompile(`(https?://)[^/@\s']*@`).ReplaceAllString(text, "$1***@")
}
