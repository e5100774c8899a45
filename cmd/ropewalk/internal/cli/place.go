// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

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

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/layout"
	"github.com/ropewalk/ropewalk/cmd/internal/process"
	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/source"
)

// placeHelp says how artifacts are named.
const placeHelp = `
REFERENCE is oci://REGISTRY/REPOSITORY[:TAG|@DIGEST], oci-layout:DIR[:TAG|@DIGEST] for a
directory, or oci-archive:FILE.tar[:TAG|@DIGEST]; the tag is latest where there is none.
Credentials are those of docker (` + "`docker login`" + `).`

// registryFlags are those of every command that speaks to servers.
type registryFlags struct {
	plainHTTP hosts
	ca        []string
}

func (r *registryFlags) add(cmd *cobra.Command) {
	cmd.Flags().Var(&r.plainHTTP, "plain-http", "`HOST[:PORT]` of a registry or Git server to speak to without TLS;\nmay be repeated")
	r.addCA(cmd)
}

func (r *registryFlags) addCA(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&r.ca, "ca", nil, "`FILE` of certificate authorities (PEM) to trust for registries and Git servers,\nbeside those of the system; may be repeated")
}

// registries connects to registries as the user does.
func (r *registryFlags) registries() (*remote.Registries, error) {
	out := &remote.Registries{
		Credentials: remote.DockerConfig(dockerConfig()),
		PlainHTTP:   r.plain,
		Proxy:       http.ProxyFromEnvironment,
		UserAgent:   "ropewalk/" + process.CurrentRelease().Version,
	}
	ca, err := r.authorities()
	if err != nil {
		return nil, err
	}
	if len(ca) > 0 {
		out.CA = map[string][]byte{"": ca}
	}
	return out, nil
}

// plain reports whether a host, with its port, is one of --plain-http.
func (r *registryFlags) plain(host string) bool {
	return slices.ContainsFunc(r.plainHTTP, func(given string) bool { return strings.EqualFold(given, host) })
}

// authorities are those of the files of --ca, in PEM.
func (r *registryFlags) authorities() ([]byte, error) {
	var out []byte
	for _, name := range r.ca {
		data, err := readRegular(name)
		if err != nil {
			return nil, err
		}
		if !x509.NewCertPool().AppendCertsFromPEM(data) {
			return nil, usagef("", "--ca %s: it holds no certificate in PEM", name)
		}
		out = append(append(out, data...), '\n')
	}
	return out, nil
}

// dockerConfig is the file of docker's credentials.
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

// isArtifact reports whether an argument names an artifact.
func isArtifact(arg string) bool {
	for _, prefix := range []string{"oci://", string(artifact.LayoutDir) + ":", string(artifact.LayoutFile) + ":"} {
		if strings.HasPrefix(arg, prefix) {
			return true
		}
	}
	return false
}

// place is where an artifact is, or will be.
type place struct {
	artifact.Store
	// name is the place without tag and digest, with its prefix.
	name string
	// reference is the tag or the digest; given says that the user wrote one.
	reference string
	given     bool
	// repository is the name in its registry, "" for layouts.
	repository string
	// close ends the use of the place; an archive is written only then.
	close func() error
	// abandon takes away what was made for work that failed.
	abandon func(context.Context) error
}

// at is the place with a reference, as the user would write it.
func (p place) at(reference string) string {
	if strings.HasPrefix(reference, "sha256:") {
		return p.name + "@" + reference
	}
	return p.name + ":" + reference
}

// open opens the place that arg names; create makes a layout that is not there.
func (a *app) open(ctx context.Context, r *registryFlags, arg string, create bool) (place, error) {
	at, err := artifact.ParseLocation(arg)
	if err != nil {
		return place{}, &usageError{err: err}
	}
	p := place{
		name: string(at.Kind) + ":" + at.Name, reference: cmp.Or(at.Digest, at.Tag, "latest"),
		given: at.Tag != "" || at.Digest != "", close: func() error { return nil },
		abandon: func(context.Context) error { return nil },
	}
	if at.Kind == artifact.Registry {
		p.name, p.repository = "oci://"+at.Name, at.Name
		registries, err := r.registries()
		if err != nil {
			return place{}, err
		}
		repository, err := registries.Repository(ctx, at.Name, nil)
		if err != nil {
			return place{}, &usageError{err: err}
		}
		p.Store = repository
		return p, nil
	}
	openLayout := layout.Open
	if at.Kind == artifact.LayoutFile {
		openLayout = layout.OpenArchive
	}
	opened, err := openLayout(at.Name, create)
	if err != nil {
		return place{}, layoutError(arg, err)
	}
	p.Store, p.close, p.abandon = opened, opened.Close, opened.Abandon
	return p, nil
}

// layoutError is why a layout cannot be opened. What the system says of a path may
// be of another one than the user wrote.
func layoutError(arg string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return &environmentError{
			err:  &fullError{text: fmt.Sprintf("%q cannot be opened: %q: %v", arg, path.Path, path.Err), err: err},
			hint: "name a layout, or something that is not there yet, in a place where you may write",
		}
	}
	hint := ""
	if errors.Is(err, artifact.ErrNotLayout) && !strings.Contains(err.Error(), "choose another") {
		hint = "name another one; to write to one that is not there yet makes it"
	}
	return &environmentError{err: err, hint: hint}
}

// placeError is what went wrong at a place, as users read it.
func placeError(p place, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	var done *environmentError
	if errors.As(err, &done) {
		return err // It was of another place, and names that.
	}
	own := false
	for _, is := range []error{
		artifact.ErrSignature, artifact.ErrDigest, artifact.ErrDamaged, artifact.ErrShape, artifact.ErrLimit, artifact.ErrReference, artifact.ErrBusy,
	} {
		own = own || errors.Is(err, is)
	}
	if p.repository != "" && !own {
		err = remote.Explain(err, p.at(p.reference))
	} else {
		err = inFull(p, err)
	}
	var usage *usageError
	if errors.As(err, &usage) {
		return err
	}
	hint := ""
	var plain *source.PlainError
	switch {
	case errors.As(err, &plain):
		hint = "--plain-http " + plain.Host // which may be that of its tokens
	case p.repository != "" && strings.Contains(err.Error(), "signed by an unknown authority"):
		hint = "--ca FILE"
	}
	return &environmentError{err: err, hint: hint}
}

// inFull is an error that names the whole reference of a place, and not the tag
// or the digest alone.
func inFull(p place, err error) error {
	text, whole := err.Error(), p.at(p.reference)
	if strings.Contains(text, whole) {
		return err
	}
	tag := strconv.Quote(p.reference)
	if strings.Contains(text, tag) {
		return &fullError{text: strings.Replace(text, tag, strconv.Quote(whole), 1), err: err}
	}
	return &fullError{text: strconv.Quote(whole) + ": " + text, err: err}
}

// fullError is an error under a longer text.
type fullError struct {
	text string
	err  error
}

func (e *fullError) Error() string { return e.text }
func (e *fullError) Unwrap() error { return e.err }
