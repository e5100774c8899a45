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

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ropewalk/ropewalk/artifact/signature"
	"github.com/ropewalk/ropewalk/render/spec"
)

// Once refuses a second value for flags that take a single value, of a command and of all commands
// below it: of two environments or two targets only the last would count. It also refuses an empty
// value, which often comes from a variable that is not set, unless this turns off a default.
func Once(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		_, list := f.Value.(pflag.SliceValue)
		if _, more := f.Value.(*hosts); !list && !more {
			f.Value = &once{Value: f.Value, flag: f, allowsEmpty: f.DefValue != ""}
		}
	})
	for _, c := range cmd.Commands() {
		Once(c)
	}
}

// once is a value that is set once, or to the same again.
type once struct {
	pflag.Value
	flag  *pflag.Flag
	first string
	set   bool
	// allowsEmpty accepts an empty value, which turns off the default of the flag.
	allowsEmpty bool
}

// Set sets the value, the first time.
func (o *once) Set(text string) error {
	if short := o.flag.Shorthand; short != "" && short+text == o.flag.Name {
		return fmt.Errorf("write --%s with two dashes", o.flag.Name)
	}
	if text == "" && !o.allowsEmpty {
		return errors.New("it is empty: set the variable that it takes the value from, or leave the flag away")
	}
	if o.set && text != o.first {
		return fmt.Errorf("it is given twice, first as %q", o.first)
	}
	o.first = text
	o.set = true
	return o.Value.Set(text)
}

// hosts is a flag that takes hosts, with their ports, and may be repeated.
type hosts []string

var _ pflag.Value = (*hosts)(nil)

// String returns all hosts, separated by commas.
func (h *hosts) String() string { return strings.Join(*h, ",") }

// Type returns the word that help prints for the value.
func (*hosts) Type() string { return "host" }

// Set takes a further host. A URL or a reference would match no host, and is refused
// with the host that is in it.
func (h *hosts) Set(text string) error {
	host := text
	if _, rest, marked := strings.Cut(host, "://"); marked {
		host = rest
	}
	host, _, _ = strings.Cut(host, "/")
	if !isHost(host) {
		return errors.New("expected HOST or HOST:PORT, such as registry.acme.com:5000")
	}
	if host != text {
		return fmt.Errorf("expected the host alone: write %s", host)
	}
	*h = append(*h, text)
	return nil
}

// isHost reports whether text is a host, with or without a port.
func isHost(text string) bool {
	parsed, err := url.Parse("http://" + text)
	return err == nil && parsed.Hostname() != "" && parsed.User == nil && parsed.Host == text
}

// ReadRegular reads a file that the user names. A pipe may have no writer, and
// reading it would never end, so only a pipe that the shell has made for this
// process is read.
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

// ReadSigner reads the private key in a file, with its password from $COSIGN_PASSWORD. It returns
// nil if name is "".
func ReadSigner(name string) (*signature.Signer, error) {
	if name == "" {
		return nil, nil //nolint:nilnil // no key is no signer
	}
	data, err := ReadRegular(name)
	if err != nil {
		return nil, err
	}
	signer, err := signature.ParsePrivateKey(data, func() ([]byte, error) {
		password, set := os.LookupEnv("COSIGN_PASSWORD")
		if !set {
			return nil, fmt.Errorf("the key has a password: put it into $COSIGN_PASSWORD")
		}
		return []byte(password), nil
	})
	if err != nil {
		return nil, &UsageError{Err: fmt.Errorf("%s: %w", name, err)}
	}
	return signer, nil
}

// texts is the value of a flag that may be repeated, as pflag.StringArrayVar has it. That one sets
// up a writer of CSV for each flag, to print that it has no default: a megabyte over all commands,
// and with it the first garbage collection of a small render.
type texts []string

// addTexts adds a flag that may be repeated.
func addTexts(f *pflag.FlagSet, to *[]string, name, short, usage string) {
	f.VarP((*texts)(to), name, short, usage)
}

// String returns nothing: such a flag has no default.
func (*texts) String() string { return "" }

// Type names the value in messages of pflag.
func (*texts) Type() string { return "stringArray" }

// Set adds a text.
func (t *texts) Set(text string) error {
	*t = append(*t, text)
	return nil
}

// Append adds a text, for what looks at the lists of any command.
func (t *texts) Append(text string) error { return t.Set(text) }

// Replace replaces all texts.
func (t *texts) Replace(all []string) error {
	*t = all
	return nil
}

// GetSlice returns all texts.
func (t *texts) GetSlice() []string { return *t }

// helmSet returns the values of flags that charts take as Helm does.
func (p *ProjectFlags) helmSet() (out []spec.HelmSet) {
	for _, group := range []struct {
		flag string
		args []string
	}{{"--set", p.set}, {"--set-string", p.setString}, {"--set-json", p.setJSON}, {"--set-file", p.setFile}} {
		for _, arg := range group.args {
			out = append(out, spec.HelmSet{Flag: group.flag, Text: arg})
		}
	}
	return out
}
