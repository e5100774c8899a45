// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Single is a flag that takes a text, and is given once: of two keys or two
// targets it would be unclear which one counts.
type Single struct {
	To  *string
	set bool
}

var _ pflag.Value = (*Single)(nil)

// String is the text.
func (s *Single) String() string {
	if s.To == nil {
		return ""
	}
	return *s.To
}

// Type is what help prints for the value.
func (*Single) Type() string { return "string" }

// Set takes the text, the first time.
func (s *Single) Set(text string) error {
	if s.set {
		return fmt.Errorf("it is given twice, first as %q", *s.To)
	}
	*s.To, s.set = text, true
	return nil
}

// hosts is a flag that takes hosts, with their ports, and may be repeated.
type hosts []string

var _ pflag.Value = (*hosts)(nil)

// String is all of them.
func (h *hosts) String() string { return strings.Join(*h, ",") }

// Type is what help prints for the value.
func (*hosts) Type() string { return "host" }

// Set takes one more host. What is a URL or a reference would match nothing, and
// is refused with the host that is in it.
func (h *hosts) Set(text string) error {
	host := text
	if _, rest, marked := strings.Cut(host, "://"); marked {
		host = rest
	}
	host, _, _ = strings.Cut(host, "/")
	if parsed, err := url.Parse("http://" + host); err != nil || parsed.Hostname() == "" || parsed.User != nil || parsed.Host != host {
		return errors.New("expected HOST or HOST:PORT, such as registry.acme.com:5000")
	}
	if host != text {
		return fmt.Errorf("expected the host alone: write %s", host)
	}
	*h = append(*h, text)
	return nil
}

// ReadRegular reads a file that the user names. What is no file, such as a pipe,
// may have no writer, and reading it never ends; only one that the
// shell has made for this process is taken.
func ReadRegular(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, &EnvironmentError{Err: err}
	}
	given := name == "/dev/stdin" || slices.Contains([]string{"/dev/fd", "/proc/self/fd"}, filepath.Dir(name))
	if !info.Mode().IsRegular() && !given {
		return nil, &EnvironmentError{Err: fmt.Errorf("%s is not a regular file", name)}
	}
	data, err := os.ReadFile(name) //nolint:gosec // the user names it
	if err != nil {
		return nil, &EnvironmentError{Err: err}
	}
	return data, nil
}
