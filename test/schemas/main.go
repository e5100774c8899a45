// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }

// run writes the data files and returns the exit code.
func run(args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("schemas", flag.ContinueOnError)
	flags.SetOutput(stderr)
	kubernetes := flags.String("kubernetes", "", "source tree of k8s.io/kubernetes")
	definitions := flags.String("crds", "", "directory of CustomResourceDefinitions")
	out := flags.String("out", "", "directory to write to")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if *out == "" || *kubernetes == "" && *definitions == "" {
		return complain(stderr, errors.New("-out and one of -kubernetes and -crds are needed"), 2)
	}
	if err := generate(*kubernetes, *definitions, *out); err != nil {
		return complain(stderr, err, 1)
	}
	return 0
}

func complain(stderr io.Writer, err error, code int) int {
	// There is nobody to tell that standard error is closed.
	_, _ = fmt.Fprintln(stderr, "schemas:", err)
	return code
}

func generate(kubernetes, definitions, out string) error {
	if err := os.MkdirAll(out, 0o750); err != nil {
		return err
	}
	if kubernetes != "" {
		if err := writeKubernetes(kubernetes, out); err != nil {
			return err
		}
	}
	if definitions == "" {
		return nil
	}
	return writeDefinitions(definitions, filepath.Join(out, "crds"))
}

// compact is v as JSON without spaces and HTML escapes, and with a newline.
func compact(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}
