// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Release writes the files of a release of Ropewalk into a directory: archives for each platform,
// checksums, lists of components, the image, the chart and the manifests by the digest of that image,
// an install script, a formula and, with a key, signatures.
//
// The same commit, version and toolchain give the same bytes: times are that of the commit, entries
// are sorted, owners are left out, and the packages of the image come from debian.lock, by SHA-256.
//
// Usage:
//
//	release -version v0.1.0 -out DIR [-platforms linux/amd64,…] [-key FILE] [-mirror URL]
//	release -lock FILE [-mirror URL]
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run does what the arguments say, and prints the files that it wrote.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	opts := Options{Root: "../../..", Password: func() ([]byte, error) { return []byte(os.Getenv("COSIGN_PASSWORD")), nil }}
	platforms, lock := "", ""
	flags.StringVar(&opts.Version, "version", "", "`VERSION` of the release, such as v0.1.0")
	flags.StringVar(&opts.Out, "out", "", "`DIR` to write; what is in it is removed")
	flags.StringVar(&platforms, "platforms", "", "`LIST` of platforms, such as linux/amd64,darwin/arm64 (default all)")
	flags.StringVar(&opts.Key, "key", "", "`FILE` of the private key to sign with")
	flags.StringVar(&opts.Mirror, "mirror", "", "`URL` of Debian's mirror (default that of apt, or "+debianMirror+")")
	flags.StringVar(&lock, "lock", "", "write the lock of Debian packages to `FILE`, and nothing else")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if lock != "" {
		return WriteLock(ctx, lock, opts.Mirror)
	}
	opts.Platforms = allPlatforms()
	if platforms != "" {
		opts.Platforms = strings.Split(platforms, ",")
	}
	return Write(ctx, opts, stdout)
}
