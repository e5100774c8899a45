// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/signature"
	"github.com/ropewalk/ropewalk/artifact/statement"
	"github.com/ropewalk/ropewalk/cmd/internal/process"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/internal/digests"
	"github.com/ropewalk/ropewalk/plugin/host/output"
	"github.com/ropewalk/ropewalk/plugin/host/release"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/spec"
)

// deployFlags are those of deploy.
type deployFlags struct {
	command.RegistryFlags
	release.Target
	engine command.Choice
	name   string
	keys   []string
	plan   string
	dir    string
	// reviewed is the file of a PreviewPlan, and review what is in it.
	reviewed string
	review   *review
}

// Deploy returns the command deploy.
func (a Commands) Deploy() *cobra.Command {
	flags := deployFlags{engine: command.NewChoice(release.Engines()...)}
	cmd := &cobra.Command{
		Use:   "deploy ARTIFACT@DIGEST|PLAN|INSTALLATION...",
		Short: "Write the documents by which an engine applies artifacts",
		Long: `Write the documents by which Flux or Argo CD applies artifacts by their digests: an
OCIRepository and a Kustomization for each barrier layer, one after another, or an
Application. The content of an artifact is never touched: what was built, signed and
reviewed is what runs.

--engine transform writes an OCIRepository and a Transform of its manifests: the
controller of Ropewalk checks, orders and publishes them again. It is for artifacts that
have no order of their own, of Flux, kustomize or others.

Only the namespace can be chosen here, for artifacts of "build --namespace-at-deploy".
--plan writes a DeployPlan of one artifact in place of the documents; "deploy PLAN" writes
the same bytes later. An Installation is deployed to its engine: each component of it
from its registry, by the digest or by what the version leads to now.

With --key, or verify.keys of an Installation, the artifact must be signed. Argo CD checks
no signatures of artifacts, and finds the credentials of a registry by its URL.

ARTIFACT is oci://REGISTRY/REPOSITORY, where the engine can fetch it. Credentials are those
of docker (` + "`docker login`" + `).

` + command.ExitCodes,
		Example: `  ropewalk deploy oci://ghcr.io/acme/shop@sha256:… --engine flux --namespace shop | kubectl apply -f -
  ropewalk deploy oci://ghcr.io/acme/shop@sha256:… --engine argocd --plan shop.yaml
  ropewalk deploy shop.yaml
  ropewalk deploy installations/*.yaml --reviewed reviewed.yaml -o clusters
  ropewalk deploy installations/*.yaml -o clusters`,
		Args: cobra.MinimumNArgs(1),
	}
	f := cmd.Flags()
	flags.engine.Add(cmd, "engine", "engine that applies the artifact")
	f.StringVarP(&flags.Namespace, "namespace", "n", "", "namespace of the objects, where the artifact leaves it open")
	f.StringVar(&flags.EngineNamespace, "engine-namespace", "", "namespace of the documents (default argocd for Argo CD, else flux-system)")
	f.StringVar(&flags.Secrets.Pull, "pull-secret", "", "`NAME` of the Secret with credentials of the registry; not for argocd")
	f.StringVar(&flags.Secrets.Verify, "verify-secret", "", "`NAME` of the Secret with the public keys that Flux verifies with; not for argocd")
	f.StringVar(&flags.name, "name", "", "`NAME` of the documents (default the last part of the repository)")
	f.StringArrayVar(&flags.keys, "key", nil, "`FILE` of a public key (PEM) of which one must have signed; may be repeated")
	f.StringVar(&flags.plan, "plan", "", "`FILE` to write a DeployPlan to, or -, in place of the documents")
	f.StringVar(&flags.reviewed, "reviewed", "", reviewedHelp)
	f.StringVarP(&flags.dir, "output", "o", "", "`DIR` to write to, a file for each artifact; standard output where it is not given")
	flags.Add(cmd)
	cmd.RunE = a.Run(func(ctx context.Context, args []string) error {
		if flags.plan != "" && (len(args) > 1 || flags.dir != "") {
			return command.Usagef("", "--plan is for one artifact, and without -o")
		}
		for _, name := range []string{flags.Namespace, flags.EngineNamespace, flags.Secrets.Pull, flags.Secrets.Verify, flags.name} {
			if name != "" && spec.CheckName(name) != nil {
				return command.Usagef("", "%q: %s", name, spec.CheckName(name))
			}
		}
		var err error
		flags.review, err = a.readReview(flags.reviewed)
		if err != nil {
			return err
		}
		var files []emit.File
		for _, arg := range args {
			if !command.IsArtifact(arg) {
				for _, own := range []string{"engine", "namespace", "engine-namespace", "pull-secret", "verify-secret", "name", "plan"} {
					if f.Changed(own) {
						return command.Usagef("leave it out, or name an artifact", "--%s is what the document %s says", own, arg)
					}
				}
			}
			more, err := a.deployOne(ctx, &flags, arg)
			if err != nil {
				return err
			}
			files = append(files, more...)
		}
		return a.writeDeploy(ctx, &flags, files)
	})
	return cmd
}

// deployment is one artifact to deploy.
type deployment struct {
	release.Target
	name, reference, file string
	keys                  *signature.Verifier
}

// deployOne returns what an engine deploys one argument by: a plan, or documents.
func (a Commands) deployOne(ctx context.Context, flags *deployFlags, arg string) ([]emit.File, error) {
	// An artifact is named by its digest.
	keys, err := flags.verifier()
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(arg, "oci://") {
		at, err := artifact.ParseLocation(arg)
		if err != nil || at.Digest == "" {
			return nil, command.Usagef("\"ropewalk artifact inspect\" prints the digest", "%s: an artifact is deployed by its digest, oci://REGISTRY/REPOSITORY@sha256:…", arg)
		}
		d := deployment{Target: flags.Target, name: cmp.Or(flags.name, path.Base(at.Name)), reference: arg, keys: keys}
		d.Engine = flags.engine.Value
		d.file = d.name + ".yaml"
		d.Insecure = flags.plainAt(at)
		return a.deployFile(ctx, flags, d, nil)
	}
	if command.IsArtifact(arg) {
		return nil, command.Usagef(fmt.Sprintf("ropewalk artifact copy %s oci://REGISTRY/REPOSITORY", arg), "%s: an engine fetches what it applies from a registry, and this is a file", arg)
	}

	// Each document brings its own options.
	documents, err := a.readDocuments(arg)
	if err != nil {
		return nil, err
	}
	var out []emit.File
	for _, document := range documents {
		more, err := a.deployDocument(ctx, flags, arg, document, keys)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

// deployDocument returns what an engine deploys one document in the file name by.
func (a Commands) deployDocument(ctx context.Context, flags *deployFlags, name string, document any, keys *signature.Verifier) ([]emit.File, error) {
	switch doc := document.(type) {
	case *release.DeployPlan:
		d := deployment{Target: doc.Spec.Target, name: doc.Metadata.Name, reference: doc.Spec.Artifact, file: doc.Metadata.Name + ".yaml", keys: keys}
		return a.deployFile(ctx, flags, d, doc)
	case *release.Installation:
		if own, err := keysOf(name, doc.Spec.Verify); err != nil {
			return nil, err
		} else if own != nil {
			keys = own
		}
		var out []emit.File
		for _, c := range doc.Spec.Components {
			d := deployment{Target: doc.Spec.Target, name: c.Name, reference: doc.At(c), file: doc.Metadata.Name + "/" + c.Name + ".yaml", keys: keys}
			d.Namespace = cmp.Or(c.Namespace, d.Namespace)
			more, err := a.deployFile(ctx, flags, d, nil)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
		}
		return out, nil
	}
	return nil, command.Usagef("", "%s: expected a document of kind %s or %s", name, release.KindDeployPlan, release.KindInstallation)
}

func (f *deployFlags) plainAt(at artifact.Location) bool {
	server, _, _ := strings.Cut(at.Name, "/")
	return f.Plain(server)
}

func (f *deployFlags) verifier() (*signature.Verifier, error) {
	if len(f.keys) == 0 {
		return nil, nil //nolint:nilnil // no key checks nothing
	}
	return readVerifier(f.keys)
}

// deployFile reads an artifact, and returns its documents or its plan. If it follows a plan, the
// result must be as the plan says.
func (a Commands) deployFile(ctx context.Context, flags *deployFlags, d deployment, follows *release.DeployPlan) ([]emit.File, error) {
	// Read the artifact, and check that it can be deployed so.
	var found release.Artifact
	var pinned string
	err := a.WithLocation(ctx, &flags.RegistryFlags, "text", d.reference, false, func(p command.Location) (_ any, _ string, err error) {
		found, err = readDeployed(ctx, p, d.keys, flags.review)
		pinned = p.At(found.Digest)
		return nil, "", err
	})
	if err != nil {
		return nil, err
	}
	if err := d.Suits(found); err != nil {
		return nil, command.Usagef("", "%s: %v", pinned, err)
	}
	if d.Engine == "argocd" && d.Secrets != (release.Secrets{}) {
		a.Note("ropewalk: warning: %s: Argo CD takes no names of Secrets: it finds credentials by the URL, and verifies nothing\n", d.name)
	}

	// Make the documents, which must be those of the plan.
	repository, _, _ := strings.Cut(pinned, "@")
	out := d.Documents(d.name, repository, found)
	sum := digests.Of(out)
	if follows != nil && sum != follows.Spec.Documents {
		return nil, planned(d.name, "the documents are %s, and the plan says %s: use ropewalk %s", sum, follows.Spec.Documents, follows.Spec.Ropewalk)
	}

	// Write a plan in place of the documents.
	if flags.plan != "" {
		plan := release.DeployPlan{
			Header: release.Header{APIVersion: release.Version, Kind: release.KindDeployPlan, Metadata: release.Metadata{Name: d.name}},
			Spec:   release.DeployPlanSpec{Ropewalk: process.CurrentRelease().Version, Artifact: pinned, Target: d.Target, Documents: sum},
		}
		out, err = plan.Seal()
	}
	return []emit.File{{Path: d.file, Data: out}}, err
}

// readDeployed reads what deploy needs to know of an artifact, and verifies the artifact if there
// are keys. It refuses an artifact that is not as reviewed.
func readDeployed(ctx context.Context, p command.Location, keys *signature.Verifier, reviewed *review) (release.Artifact, error) {
	pulled, err := artifact.Pull(ctx, p, p.Reference, artifact.PullOptions{})
	if err != nil {
		return release.Artifact{}, err
	}
	if keys != nil {
		if _, err := artifact.VerifySet(ctx, p, pulled.Digest, keys); err != nil {
			return release.Artifact{}, err
		}
	}
	out := release.Artifact{Digest: pulled.Digest, Annotations: pulled.Annotations, Layers: pulled.Layers}
	subject, err := p.Resolve(ctx, pulled.Digest)
	if err != nil {
		return out, err
	}
	if err := reviewed.checkPulled(ctx, p, subject, pulled); err != nil {
		return out, err
	}
	text, err := artifact.Attached(ctx, p, subject, statement.PredicateGraph)
	if errors.Is(err, artifact.ErrNotFound) {
		return out, nil
	} else if err != nil {
		return out, err
	}
	var attached struct {
		Predicate *release.Graph `json:"predicate"`
	}
	if err := json.Unmarshal(text, &attached); err != nil {
		return out, fmt.Errorf("the graph that is attached cannot be read: %w", err)
	}
	out.Graph = attached.Predicate
	return out, nil
}

// writeDeploy writes the plan, the files, or one stream.
func (a Commands) writeDeploy(ctx context.Context, flags *deployFlags, files []emit.File) error {
	switch {
	case flags.plan != "" && flags.plan != "-":
		if err := os.WriteFile(flags.plan, files[0].Data, 0o644); err != nil { //nolint:gosec // a plan holds no secret
			return &command.EnvironmentError{Err: err}
		}
		return nil
	case flags.dir != "":
		if err := output.Write(ctx, flags.dir, files, output.Options{}); err != nil {
			return &command.EnvironmentError{Err: err}
		}
		return nil
	}
	var all [][]byte
	for _, f := range files {
		all = append(all, f.Data)
	}
	return a.Write(bytes.Join(all, []byte("---\n")))
}
