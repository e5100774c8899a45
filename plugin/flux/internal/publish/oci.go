// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	orasremote "oras.land/oras-go/v2/registry/remote"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/manifest"
	"github.com/ropewalk/ropewalk/artifact/signature"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
	"github.com/ropewalk/ropewalk/plugin/host/publishing"
	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/render/emit"
)

// OCI opens repositories of registries. It is safe for concurrent use.
type OCI struct {
	// Registries connects to registries: by http for all hosts where plain is true.
	// Nil is the zero value of remote.Registries.
	Registries func(plain bool) (*remote.Registries, error)
	// DefaultServiceAccount is the account of Transforms that name no account; it may be "".
	DefaultServiceAccount string
	// Identity logs in at registries of clouds; nil leaves spec.output.oci.provider to
	// Flux.
	Identity *Identity
	// Now is the clock, for retention tags; time.Now where nil.
	Now func() time.Time
}

// Open returns the repository of a Transform. It asks no registry yet. The client as reads the
// Secrets that the Transform names.
func (o OCI) Open(ctx context.Context, t *v1alpha1.Transform, as client.Client) (Store, error) {
	out := t.Spec.Output.OCI
	r := &repository{
		oci: o, transform: t, out: out, as: as,
		name: strings.TrimPrefix(out.Repository, "oci://"), tag: Tag(t),
	}
	if out.SigningKeyRef != nil {
		keys, err := r.secret(ctx, out.SigningKeyRef.Name, "spec.output.oci.signingKeyRef")
		if err != nil && t.DeletionTimestamp.IsZero() {
			return nil, err // The key may be deleted together with the Transform.
		}
		r.verified = len(keys["cosign.pub"]) > 0
	}
	return r, nil
}

// Repository returns the repository of a Transform, logged in as for its pushes. It asks no
// registry yet.
func (o OCI) Repository(ctx context.Context, t *v1alpha1.Transform, as client.Client) (artifact.Store, error) {
	out := t.Spec.Output.OCI
	r := &repository{oci: o, transform: t, out: out, as: as, name: strings.TrimPrefix(out.Repository, "oci://")}
	repo, err := r.connect(ctx)
	if err != nil {
		return nil, err
	}
	return repo, nil
}

// Tag returns the tag of a Transform, which leads to its newest complete artifact.
func Tag(t *v1alpha1.Transform) string {
	const most = 80 // The end of the tag needs room too, and a tag has 128 characters.
	tag := "transform." + t.Namespace + "." + t.Name
	if len(tag) > most {
		sum := sha256.Sum256([]byte(tag))
		tag = tag[:most-17] + "." + hex.EncodeToString(sum[:8])
	}
	return tag
}

// repository is a repository of a Transform.
type repository struct {
	oci       OCI
	transform *v1alpha1.Transform
	out       *v1alpha1.OCIOutput
	as        client.Client
	// name is host/name, and tag is the tag of the Transform.
	name, tag string
	// verified says that Flux has the key to verify signatures.
	verified bool
	// repo is set at its first use.
	repo *orasremote.Repository
}

var _ Store = (*repository)(nil)

// Release publishes a render.
func (r *repository) Release(ctx context.Context, render Render) (Published, error) {
	// Everything that can be refused without a registry comes first.
	set, err := pack(render)
	if err != nil {
		return Published{}, err
	}
	to, err := r.connect(ctx)
	if err != nil {
		return Published{}, err
	}
	signer, err := r.signer(ctx)
	if err != nil {
		return Published{}, err
	}

	// The plan and the attestations are attached before the tags move.
	tags := []string{r.tag}
	for _, tag := range r.out.Tags {
		tags = append(tags, string(tag))
	}
	p := publishing.Publication{Set: set, Signer: signer, Push: artifact.PushOptions{At: r.now()}}
	p.Extra = func(ctx context.Context, pushed artifact.Pushed) ([]artifact.Referrer, error) {
		return planReferrer(ctx, to, desired(render, pushed))
	}
	if r.out.Attest == nil || *r.out.Attest {
		p.Graph, p.Build = render.Graph, render.Build
		if render.Images != nil {
			p.Images = render.Images()
		}
	}
	pushed, err := p.Publish(ctx, to, tags)
	if err == nil && !pushed.Changed {
		// Health checks may have changed where no file has.
		err = attachPlan(ctx, to, desired(render, pushed))
	}
	if err != nil {
		return Published{}, r.explain(err)
	}
	return Published{Desired: desired(render, pushed), Tree: pushed.Tree, Location: r.out.Repository, Changed: pushed.Changed}, nil
}

// Pack returns what Release would publish if nothing was there before.
func (r *repository) Pack(_ context.Context, render Render) (Published, error) {
	set, err := pack(render)
	if err != nil {
		return Published{}, err
	}
	pushed := artifact.Pushed{Digest: set.Complete.Descriptor.Digest.String()}
	for _, l := range set.Layers {
		pushed.Layers = append(pushed.Layers, artifact.LayerRef{Name: l.Name, Digest: l.Descriptor.Digest.String()})
	}
	return Published{Desired: desired(render, pushed), Tree: set.Complete.Tree, Location: r.out.Repository}, nil
}

// Publish makes files an artifact of a layer, for a hand-over.
func (r *repository) Publish(ctx context.Context, layer string, files []emit.File) (string, error) {
	tree, err := folder(files)
	if err != nil {
		return "", err
	}
	a, err := artifact.Pack(tree, artifact.Options{Annotations: map[string]string{annotationUnit: layer}, Limits: packing()})
	if err != nil {
		return "", err
	}
	repo, err := r.connect(ctx)
	if err != nil {
		return "", err
	}
	signer, err := r.signer(ctx)
	if err != nil {
		return "", err
	}

	// The artifact is signed before its tag moves.
	digest := a.Descriptor.Digest.String()
	sign := func(ctx context.Context, pushed artifact.Pushed) error {
		if signer == nil {
			return nil
		}
		_, err := artifact.SignSet(ctx, repo, pushed.Digest, signer)
		return err
	}
	_, err = artifact.Push(ctx, repo, artifact.Set{Complete: a}, []string{r.interim(digest)}, artifact.PushOptions{Sealed: sign})
	return digest, r.explain(err)
}

// annotationUnit has the name of the layer that an artifact of a hand-over is for.
const annotationUnit = "dev.ropewalk.unit"

// interim returns the tag of an artifact of a hand-over.
func (r *repository) interim(digest string) string {
	return r.interims() + strings.TrimPrefix(digest, "sha256:")[:16]
}

// interims returns the beginning of the tags of hand-overs.
func (r *repository) interims() string { return r.tag + ".handover-" }

// Files returns the files of an artifact.
func (r *repository) Files(ctx context.Context, _, digest string) ([]emit.File, error) {
	repo, err := r.connect(ctx)
	if err != nil {
		return nil, err
	}
	pulled, err := artifact.Pull(ctx, repo, digest, artifact.PullOptions{Limits: packing()})
	if errors.Is(err, artifact.ErrNotFound) {
		return nil, r.gone(digest)
	}
	if err != nil {
		return nil, r.explain(err)
	}
	out := make([]emit.File, len(pulled.Files))
	for i, f := range pulled.Files {
		out[i] = emit.File{Path: f.Path, Data: f.Data}
	}
	return out, nil
}

// Desired returns the plan that was stored with a complete artifact.
func (r *repository) Desired(ctx context.Context, digest string) (delivery.Desired, error) {
	repo, err := r.connect(ctx)
	if err != nil {
		return delivery.Desired{}, err
	}
	whole, err := repo.Resolve(ctx, digest)
	if errors.Is(err, artifact.ErrNotFound) {
		return delivery.Desired{}, r.gone(digest)
	}
	if err != nil {
		return delivery.Desired{}, r.explain(err)
	}
	plan, err := newestPlan(ctx, repo, manifest.Bare(whole))
	switch {
	case err != nil:
		return delivery.Desired{}, r.explain(err)
	case plan == nil:
		return delivery.Desired{}, fmt.Errorf("%w: %s has no plan of its delivery attached", delivery.ErrGone, r.at(digest))
	}
	return plan.Plan, nil
}

// connect returns the repository, logged in.
func (r *repository) connect(ctx context.Context) (*orasremote.Repository, error) {
	if r.repo != nil {
		return r.repo, nil
	}
	registries := &remote.Registries{}
	if r.oci.Registries != nil { // They know how to reach a registry, and trust its certificate.
		var err error
		registries, err = r.oci.Registries(r.out.Insecure)
		if err != nil {
			return nil, err
		}
	}
	secret, err := r.credentials(ctx)
	if err != nil {
		return nil, err
	}
	repo, err := registries.Repository(ctx, r.name, secret)
	if err != nil {
		return nil, err
	}
	r.repo = repo
	return repo, nil
}

// signer returns the key to sign with, or nil if nothing is signed.
func (r *repository) signer(ctx context.Context) (*signature.Signer, error) {
	if r.out.SigningKeyRef == nil {
		return nil, nil //nolint:nilnil // nothing is signed then
	}
	const field = "spec.output.oci.signingKeyRef"
	secret, err := r.secret(ctx, r.out.SigningKeyRef.Name, field)
	if err != nil {
		return nil, err
	}
	key, ok := secret["cosign.key"]
	if !ok {
		return nil, secretError(field, r.out.SigningKeyRef.Name, "it has no entry cosign.key")
	}
	signer, err := signature.ParsePrivateKey(key, func() ([]byte, error) { return secret["cosign.password"], nil })
	if err != nil {
		return nil, secretError(field, r.out.SigningKeyRef.Name, "cosign.key cannot be read: %v", err)
	}
	return signer, nil
}

// now returns the present time, which tests replace.
func (r *repository) now() time.Time {
	if r.oci.Now != nil {
		return r.oci.Now()
	}
	return time.Now()
}

// at returns the name of an artifact for messages.
func (r *repository) at(digest string) string { return r.out.Repository + "@" + digest }

// gone returns the error of an artifact that is not there any more.
func (r *repository) gone(digest string) error {
	return fmt.Errorf("%w: %s", delivery.ErrGone, r.at(digest))
}

// explain returns an error of the registry for people; nil stays nil. An error that is not of the
// registry is returned as it is.
func (r *repository) explain(err error) error {
	isLocal := errors.Is(err, artifact.ErrReference) || errors.Is(err, artifact.ErrShape) || errors.Is(err, artifact.ErrLimit)
	if err == nil || isLocal {
		return err
	}
	return remote.Explain(err, cmp.Or(r.out.Repository, r.name))
}
