// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	_ "embed"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	debianSuite  = "trixie"
	debianMirror = "https://deb.debian.org"
	snapshots    = "https://snapshot.debian.org/archive"
)

//go:embed debian.lock
var debianLock string

// debianPackage is a line of the lock.
type debianPackage struct {
	arch, name, version, sha256 string
	path                        string // below the mirror, such as debian/pool/main/g/git/git_….deb
}

// wanted are the packages that the image is made of, with all that they depend on.
func wanted() []string {
	return []string{"git", "openssh-client", "ca-certificates", "dash", "base-files"}
}

// unwanted are taken for installed, so that nothing of them or of what they depend on gets into
// the image. Only scripts that run at an installation need them, and commands of git that no
// program of ours runs: those in Perl, and its manual.
func unwanted() []string {
	return []string{
		"perl", "liberror-perl", "git-man", "debconf", "adduser", "passwd", "base-passwd", "openssl", "mawk",
		"debianutils", "init-system-helpers",
	}
}

// readLock returns the packages of an architecture, and the snapshot of Debian's archive that
// has them when the mirrors have newer ones.
func readLock(text, arch string) (packages []debianPackage, snapshot string, err error) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		switch {
		case len(f) == 2 && f[0] == "snapshot":
			snapshot = f[1]
		case len(f) == 0 || f[0] == "#":
		case len(f) != 5:
			return nil, "", fmt.Errorf("debian.lock: %q: expected five fields: make release-lock", strings.TrimSpace(line))
		case f[0] == arch:
			packages = append(packages, debianPackage{arch: f[0], name: f[1], version: f[2], sha256: f[3], path: f[4]})
		}
	}
	if len(packages) == 0 {
		return nil, "", fmt.Errorf("debian.lock has no packages for %s: make release-lock", arch)
	}
	return packages, snapshot, nil
}

// WriteLock lets apt resolve the wanted packages for each architecture of the image, in a
// directory of its own. apt checks the signature of the archive by the keyring of Debian.
func WriteLock(ctx context.Context, file, mirror string) error {
	var out strings.Builder
	fmt.Fprintf(&out, "# Copyright 2026 The Ropewalk Authors\n# SPDX-License-Identifier: Apache-2.0\n"+
		"# The packages of the image, by make release-lock: architecture, name, version, SHA-256, path.\n"+
		"snapshot %s\n", time.Now().UTC().Format("20060102T150405Z"))
	for _, platform := range imagePlatforms() {
		packages, err := resolve(ctx, strings.TrimPrefix(platform, "linux/"), mirrorOf(ctx, mirror))
		if err != nil {
			return err
		}
		for _, p := range packages {
			fmt.Fprintln(&out, p.arch, p.name, p.version, p.sha256, p.path)
		}
	}
	return os.WriteFile(file, []byte(out.String()), 0o644) //nolint:gosec // a source file
}

// mirrorOf returns the mirror to ask first: that of the caller, or of apt, or Debian's own.
func mirrorOf(ctx context.Context, mirror string) string {
	if mirror != "" {
		return strings.TrimSuffix(mirror, "/")
	}
	out, _ := exec.CommandContext(ctx, "apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages").Output()
	for line := range strings.Lines(string(out)) {
		if base, ok := strings.CutSuffix(strings.TrimSuffix(strings.TrimSpace(line), "/"), "/debian"); ok {
			return base
		}
	}
	return debianMirror
}

// resolve returns what apt would install on an empty machine.
func resolve(ctx context.Context, arch, mirror string) ([]debianPackage, error) {
	dir, err := os.MkdirTemp("", "apt")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	const signed = "[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]"
	sources := fmt.Sprintf("deb %[1]s %[2]s/debian %[3]s main\ndeb %[1]s %[2]s/debian-security %[3]s-security main\n", signed, mirror, debianSuite)
	status := "" // one of them provides awk, and the others may
	for _, name := range unwanted() {
		status += fmt.Sprintf("Package: %s\nStatus: install ok installed\nVersion: 999\nArchitecture: %s\nMulti-Arch: foreign\nProvides: awk\nMaintainer: -\nDescription: -\n\n", name, arch)
	}
	for name, text := range map[string]string{"sources.list": sources, "status": status, "apt.conf": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"lists/partial", "archives/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o750); err != nil {
			return nil, err
		}
	}
	apt := func(args ...string) ([]byte, error) {
		options := []string{
			"Dir::State=" + dir, "Dir::State::lists=" + dir + "/lists", "Dir::State::status=" + dir + "/status", "Dir::Cache=" + dir,
			"Dir::Etc::sourcelist=" + dir + "/sources.list", "Dir::Etc::sourceparts=/dev/null", "Dir::Etc::preferencesparts=/dev/null",
			"APT::Architecture=" + arch, "APT::Architectures=" + arch, "APT::Install-Recommends=false", "APT::Sandbox::User=root", "Acquire::ForceHash=SHA256",
		}
		for _, o := range options {
			args = append(args, "-o", o)
		}
		cmd := exec.CommandContext(ctx, "apt-get", args...) //nolint:gosec // arguments of this file
		cmd.Stderr = os.Stderr
		return cmd.Output()
	}
	if out, err := apt("update", "-q"); err != nil {
		return nil, fmt.Errorf("apt-get update: %w\n%s", err, out)
	}
	out, err := apt(append([]string{"install", "-y", "--print-uris"}, wanted()...)...)
	if err != nil {
		return nil, fmt.Errorf("apt-get install: %w\n%s", err, out)
	}
	return parseURIs(string(out), arch, mirror)
}

// parseURIs reads what apt-get --print-uris prints.
func parseURIs(text, arch, mirror string) ([]debianPackage, error) {
	var out []debianPackage
	for _, m := range regexp.MustCompile(`(?m)^'([^']+)' (\S+)\.deb \d+ SHA256:([0-9a-f]{64})`).FindAllStringSubmatch(text, -1) {
		path, err := url.PathUnescape(strings.TrimPrefix(m[1], mirror+"/"))
		if err != nil {
			return nil, err
		}
		full, err := url.PathUnescape(m[2])
		if err != nil {
			return nil, err
		}
		f := strings.Split(full, "_")
		if len(f) != 3 {
			return nil, fmt.Errorf("%q: expected NAME_VERSION_ARCHITECTURE", full)
		}
		if !slices.Contains(unwanted(), f[0]) {
			out = append(out, debianPackage{arch: arch, name: f[0], version: f[1], sha256: m[3], path: path})
		}
	}
	slices.SortFunc(out, func(a, b debianPackage) int { return strings.Compare(a.name, b.name) })
	return out, nil
}
