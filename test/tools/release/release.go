// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ropewalk/ropewalk/deploy"
)

const (
	repository = "https://github.com/ropewalk/ropewalk"
	deployName = "ghcr.io/ropewalk/deploy"
	chartName  = "ghcr.io/ropewalk/charts/ropewalk-controller"
)

// Options say which release is written, and where to.
type Options struct {
	// Version is that of the release, with its v.
	Version string
	// Root is the checkout whose commit is released.
	Root string
	// Out is the directory to write.
	Out string
	// Platforms are those of the archives, as GOOS/GOARCH. The image has those of them
	// that it can have, see [imagePlatforms].
	Platforms []string
	// Key is the file of the private key; "" signs nothing. Password returns its password.
	Key      string
	Password func() ([]byte, error)
	// Mirror is where Debian packages come from; "" is the mirror of apt.
	Mirror string
}

// release is what the files of one release have in common.
type release struct {
	Options
	revision string            // the commit, with -dirty where files differ from it
	time     time.Time         // that of the commit, or SOURCE_DATE_EPOCH
	work     string            // a temporary directory
	programs map[string]string // "linux/amd64 ropewalk" -> file
	stdout   io.Writer
}

func allPlatforms() []string {
	return []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64"}
}

// Write writes a release, and prints each file and what is not signed.
func Write(ctx context.Context, opts Options, stdout io.Writer) error {
	r, err := newRelease(ctx, opts, stdout)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(r.work) }()

	if err := r.compile(ctx); err != nil {
		return err
	}
	if err := r.writeArchives(ctx); err != nil {
		return err
	}
	if err := r.writeSBOMs(); err != nil {
		return err
	}
	image, err := r.writeImage(ctx)
	if err != nil {
		return err
	}
	if err := r.writeDeploy(ctx, image); err != nil {
		return err
	}
	if err := r.writeInstallers(); err != nil {
		return err
	}
	return r.sign(ctx)
}

// newRelease checks the options, and looks at the commit.
func newRelease(ctx context.Context, opts Options, stdout io.Writer) (*release, error) {
	if !regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`).MatchString(opts.Version) {
		return nil, fmt.Errorf("version %q: expected one such as v0.1.0: make release VERSION=v0.1.0", opts.Version)
	}
	for _, p := range opts.Platforms {
		if !slices.Contains(allPlatforms(), p) {
			return nil, fmt.Errorf("platform %q: expected one of %s", p, strings.Join(allPlatforms(), ", "))
		}
	}
	if opts.Out == "" {
		return nil, errors.New("-out: expected a directory")
	}
	r := &release{Options: opts, programs: map[string]string{}, stdout: stdout}
	revision, err := r.output(ctx, "git", "rev-parse", "HEAD")
	if err != nil {
		return nil, err
	}
	changes, err := r.output(ctx, "git", "status", "--porcelain")
	if err != nil {
		return nil, err
	}
	if r.revision = revision; changes != "" {
		r.revision += "-dirty"
		fmt.Fprintln(stdout, "the files differ from the commit: this is no release to publish")
	}
	epoch := os.Getenv("SOURCE_DATE_EPOCH")
	if epoch == "" {
		if epoch, err = r.output(ctx, "git", "log", "-1", "--format=%ct"); err != nil {
			return nil, err
		}
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	r.time = time.Unix(seconds, 0).UTC()
	if err := os.RemoveAll(opts.Out); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(opts.Out, 0o755); err != nil { //nolint:gosec // what is published is readable
		return nil, err
	}
	r.work, err = os.MkdirTemp("", "release")
	return r, err
}

// compile builds the programs of each platform; the controller is in the image only.
func (r *release) compile(ctx context.Context) error {
	for _, platform := range r.Platforms {
		names := []string{"ropewalk", "ropewalk-components"}
		if slices.Contains(imagePlatforms(), platform) {
			names = append(names, "ropewalk-controller")
		}
		for _, name := range names {
			file := filepath.Join(r.work, strings.ReplaceAll(platform, "/", "_"), name)
			if err := r.build(ctx, platform, name, file); err != nil {
				return err
			}
			r.programs[platform+" "+name] = file
		}
	}
	return nil
}

// build compiles one program, with the flags of the Dockerfile.
func (r *release) build(ctx context.Context, platform, name, file string) error {
	const process = "github.com/ropewalk/ropewalk/cmd/internal/process"
	link := fmt.Sprintf("-s -w -X %[1]s.linkedVersion=%[2]s -X %[1]s.linkedRevision=%[3]s", process, r.Version, r.revision)
	goos, goarch, _ := strings.Cut(platform, "/")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", //nolint:gosec // arguments of this file
		"-tags", "grpcnotrace,kustomize_disable_go_plugin_support", "-ldflags", link, "-o", file, "./cmd/"+name)
	cmd.Dir, cmd.Stderr = r.Root, os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=", "GOOS="+goos, "GOARCH="+goarch)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s for %s: %w", name, platform, err)
	}
	return nil
}

// output runs a program in the checkout, and returns what it prints, trimmed.
func (r *release) output(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stderr = r.Root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// imageTag is the image by the version, and chartVersion that of the chart.
func (r *release) imageTag() string     { return deploy.Image + ":" + r.Version }
func (r *release) chartVersion() string { return strings.TrimPrefix(r.Version, "v") }

// write writes one file of the release, and prints its size and name.
func (r *release) write(name string, data []byte) error {
	fmt.Fprintf(r.stdout, "%12d  %s\n", len(data), name)
	return os.WriteFile(filepath.Join(r.Out, name), data, 0o644) //nolint:gosec // what is published is readable
}

// checksum is the SHA-256 of a file of the release, in hex.
func (r *release) checksum(name string) (string, error) {
	data, err := os.ReadFile(filepath.Join(r.Out, name))
	return fmt.Sprintf("%x", sha256.Sum256(data)), err
}

// writeChecksums writes checksums.txt, of all files that are there, as sha256sum does. The layouts
// are covered by digests.txt.
func (r *release) writeChecksums() ([]byte, error) {
	entries, err := os.ReadDir(r.Out)
	if err != nil {
		return nil, err
	}
	var out []byte
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		sum, err := r.checksum(e.Name())
		if err != nil {
			return nil, err
		}
		out = fmt.Appendf(out, "%s  %s\n", sum, e.Name())
	}
	return out, r.write("checksums.txt", out)
}
