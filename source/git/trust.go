// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The variables by which git takes authorities and configuration; see git(1)
// and git-config(1).
const (
	caVariable    = "GIT_SSL_CAINFO="
	countVariable = "GIT_CONFIG_COUNT="
)

// bundles are where systems keep their authorities in one file: Debian and
// Alpine, Fedora, SUSE, macOS and the BSDs.
func bundles() []string {
	return []string{
		"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
	}
}

// trust has git trust the authorities in ca beside those of the Secret, or of
// the user or the system where the Secret has none. Git takes one file, which
// has all of them then. A http.<url>.sslCAInfo of the user outranks it.
func (c *command) trust(ctx context.Context, ca []byte) error {
	if c.at.scheme == schemeSSH || len(c.with.ca)+len(ca) == 0 {
		return nil
	}
	all := c.with.ca
	if len(all) == 0 {
		all = c.known(ctx)
	}
	all = slices.Concat(bytes.TrimRight(all, "\n"), []byte("\n"), ca)
	c.set("http.sslCAInfo", filepath.Join(c.dir, "ca.crt"))
	return c.write("ca.crt", string(all))
}

// known are the authorities of the user, whose variable would outrank the
// configuration and so goes, or of the system; nothing where they are in no file
// that can be read.
func (c *command) known(ctx context.Context) []byte {
	files := bundles()
	// It fails where nothing is configured.
	if out, _, err := c.run(ctx, nil, "config", "--type=path", "--get", "http.sslCAInfo"); err == nil {
		files = []string{strings.TrimSpace(string(out))}
	}
	c.env = slices.DeleteFunc(c.env, func(pair string) bool {
		name, mine := strings.CutPrefix(pair, caVariable)
		if mine {
			files = []string{name}
		}
		return mine
	})
	for _, name := range files {
		if data, err := os.ReadFile(name); err == nil { //nolint:gosec // the user or the system says which
			return data
		}
	}
	return nil
}

// set adds configuration of git to the environment, behind what is there.
func (c *command) set(key, value string) {
	count := 0
	c.env = slices.DeleteFunc(c.env, func(pair string) bool {
		text, mine := strings.CutPrefix(pair, countVariable)
		if n, err := strconv.Atoi(text); mine && err == nil && n > 0 {
			count = n
		}
		return mine
	})
	n := strconv.Itoa(count)
	c.env = append(c.env, "GIT_CONFIG_KEY_"+n+"="+key, "GIT_CONFIG_VALUE_"+n+"="+value, countVariable+strconv.Itoa(count+1))
}
