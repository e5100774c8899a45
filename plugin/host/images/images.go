// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package images finds the container images that renders run, and the digests that
// registries have for them.
//
// # Invariants
//
// An image is kept as the objects name it. One that carries a digest needs no request; for
// another one the registry is sent one HEAD of the manifest, however many objects and
// spellings name it. All failures are reported at once, each at the first object that runs
// the image. Credentials are those of the registries alone: the pull secrets of a cluster
// are not read.
package images

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/ropewalk/ropewalk/artifact/statement"
	"github.com/ropewalk/ropewalk/internal/crash"
	"github.com/ropewalk/ropewalk/plugin/host/publishing"
	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/lock"
	"github.com/ropewalk/ropewalk/source/oci"
)

// parallel is how many images are resolved at once.
const parallel = 8

// injected is what a pod names where the injection of Istio fills its image in.
const injected = "auto"

// Used are the images of renders by their names in objects, with what runs them.
type Used map[string]*use

// use is what runs an image.
type use struct {
	// first is the first object, in the first environment that has it.
	first       *object.Node
	environment string
	// objects are all of them.
	objects map[object.ID]bool
}

// Add adds the images of the objects of a render in an environment, "" for none. Images that the
// cluster fills in are left out.
func (u Used) Add(environment string, nodes []*object.Node) {
	for _, n := range nodes {
		for _, image := range publishing.Images([]*object.Node{n}) {
			if image == injected {
				continue
			}
			if u[image] == nil {
				u[image] = &use{first: n, environment: environment, objects: map[object.ID]bool{}}
			}
			u[image].objects[n.ID] = true
		}
	}
}

// Resolve returns every image with its digest, sorted. Without registries no request is sent, and
// the digest of an image that carries none is "". Mistakes are object.Errors, sorted. A mistake of
// a server matches the sentinel of package source. An image that its registry does not have is a
// mistake of the objects instead.
func (u Used) Resolve(ctx context.Context, registries *remote.Registries) ([]lock.Image, error) {
	// Every image has a function that gives its digest, with or without a request.
	fetcher := oci.Fetcher{Explain: remote.Explain, Open: func(ctx context.Context, repository string, secret map[string][]byte) (oci.Repository, error) {
		return registries.Repository(ctx, repository, secret)
	}}
	names := object.SortedKeys(u)
	// Several names may lead to one image, which is asked for once.
	lookups := map[string]func() (string, error){}
	digests := make([]func() (string, error), len(names))
	for i, name := range names {
		location, digest, err := read(name)
		if location == "" || err != nil || registries == nil {
			digests[i] = func() (string, error) { return digest, err }
			continue
		}
		if lookups[location] == nil {
			lookups[location] = sync.OnceValues(func() (string, error) {
				at, err := fetcher.Resolve(ctx, source.Ref{Type: source.TypeOCI, Ref: location})
				_, digest, _ := strings.Cut(at.Ref.Ref, "@")
				return digest, err
			})
		}
		digests[i] = lookups[location]
	}
	out := make([]lock.Image, len(names))
	failed := make([]error, len(names))

	// Several registries are asked at once.
	var group errgroup.Group
	group.SetLimit(parallel)
	for i, name := range names {
		group.Go(func() (err error) {
			defer crash.Recover(&err)
			out[i].Image = name
			out[i].Digest, failed[i] = digests[i]()
			return ctx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}

	// Every image that cannot be resolved is reported.
	var mistakes object.Errors
	for i, name := range names {
		if failed[i] != nil {
			mistakes = append(mistakes, u[name].mistake(name, failed[i]))
		}
	}
	if len(mistakes) > 0 {
		return nil, mistakes.Sorted()
	}
	return out, nil
}

// read returns the reference that is looked up for an image, or the digest that it carries.
func read(name string) (location, digest string, err error) {
	image, err := statement.ParseImage(name)
	switch {
	case err != nil && mayHoldPassword(name):
		return "", "", source.Refuse(source.ErrReference, "it holds an @ that no digest follows: write HOST/NAME:TAG or HOST/NAME@sha256:…")
	case err != nil:
		_, why, _ := strings.Cut(err.Error(), fmt.Sprintf("%.300q: ", name))
		return "", "", source.Refuse(source.ErrReference, "it is no image: "+why)
	case image.Digest != "" && !strings.HasPrefix(image.Digest, "sha256:"):
		return "", "", source.Refuse(source.ErrReference, "its digest is not a sha256: name the image by that")
	case image.Digest != "":
		return "", image.Digest, nil
	}
	return "oci://" + image.Repository + ":" + image.Tag, "", nil
}

// mayHoldPassword reports whether an image has an @ that is not that of its digest.
func mayHoldPassword(name string) bool {
	before, _, _ := strings.Cut(strings.Replace(name, "@sha512:", "@sha256:", 1), "@sha256:")
	return strings.Contains(before, "@")
}

// mistake returns an error about an image at the first object that runs it.
func (u *use) mistake(name string, err error) *object.Error {
	if errors.Is(err, source.ErrAbsent) {
		err = errors.New(err.Error()) // The registry answered, so that the environment is good.
	}
	text := fmt.Sprintf("image %q", name)
	if mayHoldPassword(name) {
		text = "image"
	}
	if n := len(u.objects); n > 1 {
		text += fmt.Sprintf(", of %d objects", n)
	}
	if u.environment != "" {
		text = fmt.Sprintf("environment %s: ", u.environment) + text
	}
	at := u.first.SpecPos
	if at.Line == 0 && u.first.Pos.IsValid() {
		at = u.first.Pos // The spec is a folder.
	}
	return &object.Error{Stage: object.StageResolve, Pos: at, Node: u.first.ID, Err: fmt.Errorf("%s: %w", text, err)}
}
