// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/git"
)

// A commit is resolved without asking a server.
func ExampleFetcher_Resolve() {
	fetcher := &git.Fetcher{Binary: git.FindBinary(), Timeout: time.Minute}
	resolved, err := fetcher.Resolve(context.Background(), source.Ref{
		Type: source.TypeGit, Ref: "https://git.example.com/org/modules.git?commit=4b825dc642cb6eb9a060e54bf8d69288fbee4904", Path: "shop",
	})
	fmt.Println(resolved.Revision, resolved.Immutable, err)
	// Output: sha1:4b825dc642cb6eb9a060e54bf8d69288fbee4904 true <nil>
}

func ExampleFetcher_Fetch() {
	_, err := new(git.Fetcher).Fetch(context.Background(), source.Ref{Type: source.TypeGit, Ref: "https://git.example.com/org/modules.git?ref=main"})
	fmt.Println(errors.Is(err, source.ErrReference))
	// Output: true
}
