// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"fmt"
	"regexp"
	"strings"

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
		{[]string{"Host key verification failed", "REMOTE HOST IDENTIFICATION HAS CHANGED"}, source.ErrHostKey,
			"the key of the host is not the one in known_hosts: check it with whoever runs the server"},
		{[]string{"hasDotgit", "hasDot:", "hasDotdot", "fullPathname", "gitmodulesPath", "gitmodulesName", "gitmodulesUrl", "gitmodulesSymlink"}, source.ErrPath,
			"the repository holds a path that git does not take"},
		{[]string{"fsck error", "hash mismatch", "SHA1 COLLISION", "index-pack died", "inflate", "bad object", "did not send all necessary objects", "pack has bad", "packfile"}, source.ErrDigest,
			"what the server sent is not what it said, or was cut off: try again, and if that is of no use, check the server with git fsck"},
		{[]string{"Permission denied", "Authentication failed", "could not read Username", "could not read Password", "error: 401", "error: 403", "invalid credentials"}, source.ErrUnauthorized,
			"the server does not take the credentials, or wants some: check the Secret of the reference"},
		{[]string{"not our ref", "remote ref", "unadvertised object", "no such remote"}, source.ErrNotFound,
			"the server does not have that commit, or does not give it out by its hash"},
		{[]string{"error: 404", "not found", "does not appear to be a git repository", "no such repository", "does not exist", "not a git repository"}, source.ErrNotFound,
			"there is no repository, or none that these credentials may see"},
		{[]string{"certificate"}, source.ErrUnavailable, "the certificate of the server is by no known authority: put the authority into the Secret as ca.crt"},
		{[]string{"unable to update url base from redirection", "error: 30"}, source.ErrReference,
			"the server sends the request on to another place, which credentials do not follow: write the URL of that place"},
		{[]string{"mismatched algorithms"}, source.ErrUnavailable, "the repository has hashes of another kind"},
	}
}

// diagnose is the error for what a program or server said. Everything unknown
// is one that may pass.
func diagnose(said string) error {
	for _, s := range signs() {
		for _, text := range s.texts {
			if strings.Contains(strings.ToLower(said), strings.ToLower(text)) {
				return source.Refuse(s.is, fmt.Sprintf("%s (%s)", s.hint, gist(said)))
			}
		}
	}
	return source.Refuse(source.ErrUnavailable, fmt.Sprintf("the server did not answer as it should (%s); try again later", gist(said)))
}

// gist is the line of a program's output that says what is wrong, as text that
// can be printed and is not long.
func gist(said string) string {
	const longest = 240
	best := ""
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		fatal := strings.HasPrefix(line, "fatal:") || strings.HasPrefix(line, "error:") || strings.HasPrefix(line, "remote: ")
		if line != "" && (best == "" || fatal && !strings.HasPrefix(best, "fatal:") && !strings.HasPrefix(best, "error:")) {
			best = line
		}
	}
	best = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return -1
		}
		return r
	}, best)
	if len(best) > longest {
		best = strings.ToValidUTF8(best[:longest], "") + "…"
	}
	return withoutUsers(best)
}

// withoutUsers takes what stands before the host out of the URLs in a text.
func withoutUsers(text string) string {
	return regexp.MustCompile(`(https?://)[^/@\s']*@`).ReplaceAllString(text, "$1***@")
}
