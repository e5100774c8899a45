// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact_test

import (
	"context"
	"fmt"
	"os"
	"testing/fstest"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/layout"
	"github.com/ropewalk/ropewalk/artifact/signature"
)

func ExamplePack() {
	files := fstest.MapFS{"00-Namespace--shop.yaml": {Data: []byte("kind: Namespace\n")}}
	a, err := artifact.Pack(files, artifact.Options{Source: "https://git.example/shop", Revision: "main@sha1:4f0c8ae1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(a.Files, a.Tree)
	_, err = artifact.Pack(fstest.MapFS{"kustomization.yaml": {}}, artifact.Options{})
	fmt.Println(err)
	// Output:
	// 1 sha256:d5510c5b9ab25a6a1635973c83ffe30b45ea4c2381d06e59fd2b0bf95d388405
	// "kustomization.yaml" cannot be packed: Argo CD would run kustomize: leave it out
}

func Example() {
	dir, err := os.MkdirTemp("", "ropewalk")
	if err != nil {
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx := context.Background()
	store, err := layout.Open(dir, true)
	if err != nil {
		return
	}
	for _, revision := range []string{"main@sha1:1", "main@sha1:2"} {
		set, err := artifact.PackSet(fstest.MapFS{"a.yaml": {Data: []byte("kind: Namespace\n")}}, nil, artifact.Options{Revision: revision})
		if err != nil {
			return
		}
		pushed, err := artifact.Push(ctx, store, set, []string{"v1"}, artifact.PushOptions{})
		fmt.Println(pushed.Changed, err)
	}
	private, public, err := signature.GenerateKey()
	if err != nil {
		return
	}
	signer, err := signature.ParsePrivateKey(private, nil)
	if err != nil {
		return
	}
	_, err = artifact.SignSet(ctx, store, "v1", signer)
	fmt.Println(err)
	verifier, err := signature.ParsePublicKeys(public)
	if err != nil {
		return
	}
	verified, err := artifact.VerifySet(ctx, store, "v1", verifier)
	fmt.Println(len(verified), err)
	// Output:
	// true <nil>
	// false <nil>
	// <nil>
	// 1 <nil>
}

func ExampleParseLocation() {
	l, err := artifact.ParseLocation("oci-layout:out:v1")
	fmt.Println(l.Kind, l.Name, l.Tag, err)
	l, err = artifact.ParseLocation("oci://ghcr.io/org/shop")
	fmt.Println(l.Kind, l.Name, l.Reference(), err)
	// Output:
	// oci-layout out v1 <nil>
	// oci ghcr.io/org/shop latest <nil>
}
