// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/layout"
	"github.com/ropewalk/ropewalk/cmd/internal/process"
	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/source"
)

// LocationHelp describes how artifacts are named.
const LocationHelp = `
REFERENCE is oci://REGISTRY/REPOSITORY[:TAG|@DIGEST], oci-layout:DIR[:TAG|@DIGEST] for a
directory, or oci-archive:FILE.tar[:TAG|@DIGEST]; the tag is latest where there is none.
Credentials are those of docker (` + "`docker login`" + `); localhost needs no TLS.`

// RegistryFlags are the flags of every command that speaks to servers.
type RegistryFlags struct {
	PlainHTTP hosts
	ca        []string
}

// Add adds the flags to a command.
func (r *RegistryFlags) Add(cmd *cobra.Command) {
	cmd.Flags().Var(&r.PlainHTTP, "plain-http", "`HOST[:PORT]` of a registry or Git server to speak to without TLS;\nmay be repeated")
	r.AddCA(cmd)
}

// AddCA adds only the flag for certificate authorities.
func (r *RegistryFlags) AddCA(cmd *cobra.Command) {
	addTexts(cmd.Flags(), &r.ca, "ca", "", "`FILE` of certificate authorities (PEM) to trust for registries and Git servers,\nbeside those of the system; may be repeated")
}

// Registries connects to registries as the user does. It speaks to localhost without TLS, unless
// authorities are named.
func (r *RegistryFlags) Registries() (*remote.Registries, error) {
	out := &remote.Registries{
		Credentials: remote.DockerConfig(dockerConfig()),
		PlainHTTP:   func(host string) bool { return r.Plain(host) || (len(r.ca) == 0 && isLocalhost(host)) },
		Proxy:       http.ProxyFromEnvironment,
		UserAgent:   "ropewalk/" + process.CurrentRelease().Version,
	}
	ca, err := r.Authorities()
	if err != nil {
		return nil, err
	}
	if len(ca) > 0 {
		out.CA = map[string][]byte{"": ca}
	}
	return out, nil
}

// Plain reports whether a host, with its port, is one of --plain-http.
func (r *RegistryFlags) Plain(host string) bool {
	return slices.ContainsFunc(r.PlainHTTP, func(plain string) bool { return strings.EqualFold(plain, host) })
}

// isLocalhost reports whether a host, with its port, is this machine by its usual name.
func isLocalhost(host string) bool {
	name, _, _ := strings.Cut(host, ":")
	return strings.EqualFold(name, "localhost")
}

// Authorities returns the certificate authorities in the files of --ca, in PEM.
func (r *RegistryFlags) Authorities() ([]byte, error) {
	var out []byte
	for _, name := range r.ca {
		data, err := ReadRegular(name)
		if err != nil {
			return nil, err
		}
		if !x509.NewCertPool().AppendCertsFromPEM(data) {
			return nil, Usagef("", "--ca %s: the file contains no PEM certificate", name)
		}
		out = append(append(out, data...), '\n')
	}
	return out, nil
}

// dockerConfig returns the path of the file with docker's credentials, or "" if there is no home
// directory.
func dockerConfig() string {
	if dir := os.Getenv("DOCKER_CONFIG"); dir != "" {
		return filepath.Join(dir, "config.json")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".docker", "config.json")
}

// IsArtifact reports whether an argument names an artifact.
func IsArtifact(arg string) bool {
	for _, prefix := range []string{"oci://", string(artifact.LayoutDir) + ":", string(artifact.LayoutFile) + ":"} {
		if strings.HasPrefix(arg, prefix) {
			return true
		}
	}
	return false
}

// Location is the place of an artifact in a registry or a layout.
type Location struct {
	artifact.Store
	// name is the location without tag and digest, with its prefix.
	name string
	// Reference is the tag or the digest; Given says that the user wrote it.
	Reference string
	Given     bool
	// Repository is the name in its registry, "" for layouts.
	Repository string
	// Time is the time of a push. It is zero for a new archive, so that the same push gives the same
	// bytes.
	Time time.Time
	// Close ends the use of the location; an archive is written only then.
	Close func() error
	// abandon removes the layout that was made for work that failed.
	abandon func(context.Context) error
}

// At returns the location with a reference, as the user would write it.
func (p Location) At(reference string) string {
	if strings.HasPrefix(reference, "sha256:") {
		return p.name + "@" + reference
	}
	return p.name + ":" + reference
}

// Open opens the location that arg names; create makes a layout that is not there.
func (a *App) Open(ctx context.Context, r *RegistryFlags, arg string, create bool) (Location, error) {
	location, err := artifact.ParseLocation(arg)
	if err != nil {
		return Location{}, &UsageError{Err: err}
	}
	p := Location{
		name: string(location.Kind) + ":" + location.Name, Reference: cmp.Or(location.Digest, location.Tag, "latest"),
		Given: location.Tag != "" || location.Digest != "", Time: time.Now(), Close: func() error { return nil },
		abandon: func(context.Context) error { return nil },
	}

	// A registry is opened with its first request only.
	if location.Kind == artifact.Registry {
		p.name = "oci://" + location.Name
		p.Repository = location.Name
		registries, err := r.Registries()
		if err != nil {
			return Location{}, err
		}
		repository, err := registries.Repository(ctx, location.Name, nil)
		if err != nil {
			return Location{}, &UsageError{Err: err}
		}
		p.Store = repository
		return p, nil
	}

	// A layout is opened now, and made if it may be.
	openLayout := layout.Open
	if location.Kind == artifact.LayoutFile {
		openLayout = layout.OpenArchive
		if _, err := os.Lstat(location.Name); errors.Is(err, fs.ErrNotExist) {
			p.Time = time.Time{}
		}
	}
	opened, err := openLayout(location.Name, create)
	if err != nil {
		return Location{}, layoutError(arg, err)
	}
	p.Store, p.Close, p.abandon = opened, opened.Close, opened.Abandon
	return p, nil
}

// layoutError returns the error of a layout that cannot be opened. The system may name another path
// than the user wrote.
func layoutError(arg string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return &EnvironmentError{
			Err:  &fullError{text: fmt.Sprintf("%q cannot be opened: %q: %v", arg, path.Path, path.Err), err: err},
			Hint: "name a layout, or something that is not there yet, in a directory where you may write",
		}
	}
	hint := ""
	if errors.Is(err, artifact.ErrNotLayout) && !strings.Contains(err.Error(), "choose another") {
		hint = "name another one; to write to one that is not there yet makes it"
	}
	return &EnvironmentError{Err: err, Hint: hint}
}

// LocationError returns what went wrong at a location, as users read it.
func LocationError(p Location, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}

	// An error that is explained already stays.
	var explained *EnvironmentError
	if errors.As(err, &explained) {
		return err // It is about another location, and names it.
	}

	// Name the complete reference, unless the error is about the content.
	ofContent := false
	for _, is := range []error{
		artifact.ErrSignature, artifact.ErrDigest, artifact.ErrDamaged, artifact.ErrShape,
		artifact.ErrLimit, artifact.ErrReference, artifact.ErrBusy,
	} {
		ofContent = ofContent || errors.Is(err, is)
	}
	if p.Repository != "" && !ofContent {
		err = remote.Explain(err, p.At(p.Reference))
	} else {
		err = inFull(p, err)
	}
	var usage *UsageError
	if errors.As(err, &usage) {
		return err
	}

	// Name the flag that may help.
	hint := ""
	var plain *source.PlainError
	switch {
	case errors.As(err, &plain):
		hint = "--plain-http " + plain.Host // the host of its tokens may be another than the host of the registry
	case p.Repository != "" && strings.Contains(err.Error(), "signed by an unknown authority"):
		hint = "--ca FILE"
	}
	return &EnvironmentError{Err: err, Hint: hint}
}

// RegistryError explains an error at a location of a registry to users.
func RegistryError(location artifact.Location, err error) error {
	p := Location{name: "oci://" + location.Name, Repository: location.Name, Reference: location.Reference()}
	return LocationError(p, err)
}

// inFull returns an error that names the complete reference of a location, and not only the tag or the
// digest.
func inFull(p Location, err error) error {
	text := err.Error()
	full := p.At(p.Reference)
	if strings.Contains(text, full) {
		return err
	}
	tag := strconv.Quote(p.Reference)
	if strings.Contains(text, tag) {
		return &fullError{text: strings.Replace(text, tag, strconv.Quote(full), 1), err: err}
	}
	return &fullError{text: strconv.Quote(full) + ": " + text, err: err}
}

// fullError is an error under a longer text.
type fullError struct {
	text string
	err  error
}

func (e *fullError) Error() string { return e.text }
func (e *fullError) Unwrap() error { return e.err }

// WithLocation opens a location, does the work there, closes it, and then prints the result as
// [App.Outcome] does: an archive is written by closing it. If something went wrong, a layout that
// was made for the work is removed, and an archive is left as it was. An error is one of the
// location, except for mistakes on the command line and in manifests.
func (a *App) WithLocation(
	ctx context.Context, r *RegistryFlags, format, arg string, create bool, work func(Location) (data any, text string, err error),
) error {
	p, err := a.Open(ctx, r, arg, create)
	if err != nil {
		return err
	}
	data, text, err := work(p)
	if err != nil {
		_ = p.abandon(ctx) // the error before counts
	}
	if closeErr := p.Close(); err == nil && closeErr != nil {
		return &EnvironmentError{Err: closeErr}
	}
	var mistake *object.Error
	switch {
	case err == nil:
		return a.Outcome(format, data, text)
	case errors.Is(err, artifact.ErrReference):
		return &UsageError{Err: err}
	case errors.As(err, &mistake):
		return err
	}
	return LocationError(p, err)
}

// splitRepository takes the tag or the digest off an OCI reference.
func splitRepository(ref string) (repository, reference string) {
	if i := strings.LastIndex(ref, "@sha256:"); i >= 0 { // Any other @ ends credentials, which are refused.
		return ref[:i], ref[i+1:]
	}
	slash := strings.LastIndexByte(ref, '/')
	colon := strings.LastIndexByte(ref, ':')
	// A colon before the last slash belongs to a port or a scheme.
	if colon > slash {
		return ref[:colon], ref[colon+1:]
	}
	return ref, ""
}
