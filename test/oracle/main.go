// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run judges what args name and returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	verdicts, err := judgeAll(args, stdin)
	if err != nil {
		return complain(stderr, err)
	}
	encoder := json.NewEncoder(stdout)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(verdicts); err != nil {
		return complain(stderr, err)
	}
	if slices.ContainsFunc(verdicts, func(v Verdict) bool { return v.Refused }) {
		return 1
	}
	return 0
}

func complain(stderr io.Writer, err error) int {
	// There is nobody to tell that standard error is closed.
	_, _ = fmt.Fprintln(stderr, "oracle:", err)
	return 2
}

// judgeAll judges every document of the files and directories that args name;
// "-", or no argument at all, is standard input.
func judgeAll(args []string, stdin io.Reader) ([]Verdict, error) {
	if len(args) == 0 {
		args = []string{"-"}
	}
	judge := NewJudge()
	verdicts := []Verdict{}
	for _, arg := range args {
		if arg == "-" {
			content, err := io.ReadAll(stdin)
			if err != nil {
				return nil, err
			}
			verdicts = append(verdicts, judge.Stream("-", content)...)
			continue
		}
		files, err := manifests(arg)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			verdicts = append(verdicts, judge.Stream(filepath.ToSlash(file), content)...)
		}
	}
	return verdicts, nil
}

// manifests is the YAML files at or below path, in order.
func manifests(path string) (files []string, err error) {
	err = filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		switch filepath.Ext(file) {
		case ".yaml", ".yml", ".json":
			files = append(files, file)
		}
		return nil
	})
	return files, err
}
