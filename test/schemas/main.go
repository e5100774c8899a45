// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }

// run writes the data files and returns the exit code.
func run(args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("schemas", flag.ContinueOnError)
	flags.SetOutput(stderr)
	kubernetes := flags.String("kubernetes", "", "source tree of k8s.io/kubernetes")
	api := flags.String("api", "", "source tree of k8s.io/api, of the same version")
	older := flags.String("before", "", "source trees of the older versions of k8s.io/kubernetes, comma-separated")
	definitions := flags.String("crds", "", "directory of CustomResourceDefinitions")
	zones := flags.String("zones", "", "zoneinfo.zip of a Go distribution")
	out := flags.String("out", "", "directory to write to")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if *out == "" || *kubernetes == "" && *definitions == "" && *zones == "" {
		return complain(stderr, errors.New("-out and one of -kubernetes, -crds and -zones are needed"), 2)
	}
	if err := generate(*kubernetes, *api, strings.FieldsFunc(*older, func(c rune) bool { return c == ',' }), *definitions, *zones, *out); err != nil {
		return complain(stderr, err, 1)
	}
	return 0
}

func complain(stderr io.Writer, err error, code int) int {
	// There is nobody to tell that standard error is closed.
	_, _ = fmt.Fprintln(stderr, "schemas:", err)
	return code
}

func generate(kubernetes, api string, older []string, definitions, zones, out string) error {
	if err := os.MkdirAll(out, 0o750); err != nil {
		return err
	}
	if kubernetes != "" {
		if err := writeKubernetes(kubernetes, api, older, out); err != nil {
			return err
		}
	}
	if zones != "" {
		if err := writeZones(zones, filepath.Join(out, "zones.txt")); err != nil {
			return err
		}
	}
	if definitions == "" {
		return nil
	}
	return writeDefinitions(definitions, filepath.Join(out, "crds"))
}

// writeZones writes the names of the time zones, sorted.
func writeZones(archive, out string) error {
	r, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // It was read only.
	var names []string
	for _, f := range r.File {
		if !f.FileInfo().IsDir() {
			names = append(names, f.Name+"\n")
		}
	}
	slices.Sort(names)
	return os.WriteFile(out, []byte(strings.Join(names, "")), 0o600)
}

// compact is v as JSON without spaces and HTML escapes, and with a newline.
func compact(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}
