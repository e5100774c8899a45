// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/internal/digests"
	"github.com/ropewalk/ropewalk/source/lock"
)

// Version is the apiVersion of the documents.
const Version = "ropewalk.dev/v1alpha1"

// The kinds of documents.
const (
	KindBuildPlan    = "BuildPlan"
	KindDeployPlan   = "DeployPlan"
	KindArtifactSync = "ArtifactSync"
	KindInstallation = "Installation"
	KindPreviewPlan  = "PreviewPlan"
)

// Engines returns the engines that documents name.
func Engines() []string { return []string{"flux", "argocd", "transform"} }

// Header begins each document. A field without omitempty is required in all of them.
type Header struct {
	APIVersion string   `yaml:"apiVersion"`
	Kind       string   `yaml:"kind"`
	Metadata   Metadata `yaml:"metadata"`
}

// Metadata names a document.
type Metadata struct {
	Name   string            `yaml:"name"`
	Labels map[string]string `yaml:"labels,omitempty"`
}

// BuildPlan is what a build fetches, renders and pushes.
type BuildPlan struct {
	Header `yaml:",inline"`
	Spec   BuildPlanSpec `yaml:"spec"`
	// Checksum is that of the document without it: it finds accidents. A signature beside
	// the file is what makes a plan trusted.
	Checksum string `yaml:"checksum"`
}

// BuildPlanSpec is the content of a BuildPlan.
type BuildPlanSpec struct {
	// Ropewalk is the version that wrote the plan.
	Ropewalk    string   `yaml:"ropewalk"`
	Paths       []string `yaml:"paths,omitempty"`
	Environment string   `yaml:"environment,omitempty"`
	Dialect     string   `yaml:"dialect"`
	// Options are the other options of the command build, by their names.
	Options map[string][]string `yaml:"options,omitempty"`
	// Again are the options whose values may be secret: the build is given them again.
	Again []string `yaml:"again,omitempty"`
	// Inputs is the digest of what the specs are given, values and workload files included.
	Inputs    string        `yaml:"inputs"`
	Variables *Variables    `yaml:"variables,omitempty"`
	Sources   []lock.Source `yaml:"sources,omitempty"`
	Modules   []lock.Module `yaml:"modules,omitempty"`
	// Credentials are the names of the Secrets that the references name.
	Credentials []string    `yaml:"credentials,omitempty"`
	Destination Destination `yaml:"destination"`
	Artifact    Built       `yaml:"artifact"`
}

// Variables are those of ${NAME} in workloads.
type Variables struct {
	Names []string `yaml:"names"`
	// Digest is that of names and values together.
	Digest string `yaml:"digest"`
}

// Destination is where a build pushes to.
type Destination struct {
	Repository string   `yaml:"repository"`
	Tags       []string `yaml:"tags"`
}

// Built is what a build makes.
type Built struct {
	Digest string `yaml:"digest"`
	Tree   string `yaml:"tree"`
}

// DeployPlan is what deploy writes.
type DeployPlan struct {
	Header   `yaml:",inline"`
	Spec     DeployPlanSpec `yaml:"spec"`
	Checksum string         `yaml:"checksum"`
}

// DeployPlanSpec is the content of a DeployPlan.
type DeployPlanSpec struct {
	Ropewalk string `yaml:"ropewalk"`
	// Artifact is the reference with the digest.
	Artifact string `yaml:"artifact"`
	Target   `yaml:",inline"`
	// Documents is the digest of what is written.
	Documents string `yaml:"documents"`
}

// Target is how an artifact is applied.
type Target struct {
	Engine string `yaml:"engine"`
	// Namespace is that of the objects, where the artifact leaves it open.
	Namespace string `yaml:"namespace,omitempty"`
	// EngineNamespace is that of the engine's objects: argocd for Argo CD and
	// flux-system for the others where it is "".
	EngineNamespace string `yaml:"engineNamespace,omitempty"`
	// Insecure is set if the cluster speaks to the registry without TLS.
	Insecure bool    `yaml:"insecure,omitempty"`
	Secrets  Secrets `yaml:"secrets,omitempty"`
	// Cluster is the one that the engine applies to, where it is not its own.
	Cluster *Cluster `yaml:"cluster,omitempty"`
}

// Secrets are the names of Secrets in the namespace of the engine.
type Secrets struct {
	// Pull holds the credentials of the registry, for Flux and its OCIRepository.
	Pull string `yaml:"pull,omitempty"`
	// Verify holds public keys of cosign, for Flux and its OCIRepository.
	Verify string `yaml:"verify,omitempty"`
}

// ArtifactSync is artifacts to copy.
type ArtifactSync struct {
	Header `yaml:",inline"`
	Spec   ArtifactSyncSpec `yaml:"spec"`
}

// ArtifactSyncSpec is the content of an ArtifactSync.
type ArtifactSyncSpec struct {
	Verify    Verify `yaml:"verify,omitempty"`
	Artifacts []Copy `yaml:"artifacts"`
}

// Verify are the public keys of which one must have signed.
type Verify struct {
	// Keys are files, relative to the document.
	Keys []string `yaml:"keys"`
}

// Copy is one artifact to copy.
type Copy struct {
	From string   `yaml:"from"`
	To   string   `yaml:"to"`
	Tags []string `yaml:"tags,omitempty"`
}

// Installation is a cluster, or a part of one, and what runs there.
type Installation struct {
	Header `yaml:",inline"`
	Spec   InstallationSpec `yaml:"spec"`
}

// InstallationSpec is the content of an Installation.
type InstallationSpec struct {
	Environment string `yaml:"environment,omitempty"`
	// Registry is the folder of repositories that the cluster pulls from.
	Registry   string `yaml:"registry"`
	Target     `yaml:",inline"`
	Verify     Verify      `yaml:"verify,omitempty"`
	Components []Component `yaml:"components"`
}

// Component is an artifact of an Installation.
type Component struct {
	Name string `yaml:"name"`
	// From is the repository that the build pushed to.
	From string `yaml:"from"`
	// Version is the tag. With Digest as well, the tag is moved to the digest.
	Version   string `yaml:"version,omitempty"`
	Digest    string `yaml:"digest,omitempty"`
	Namespace string `yaml:"namespace,omitempty"`
}

// Seal sets the checksum, and returns the document as YAML.
func (p *BuildPlan) Seal() ([]byte, error) { return seal(p, &p.Checksum) }

// Seal sets the checksum, and returns the document as YAML.
func (p *DeployPlan) Seal() ([]byte, error) { return seal(p, &p.Checksum) }

// seal sets the checksum at a field of a document, and returns the document as YAML.
func seal(document any, at *string) (_ []byte, err error) {
	*at, err = checksum(document)
	if err != nil {
		return nil, err
	}
	out, err := yaml.Marshal(document)
	if len(out) > maxBytes {
		return nil, fmt.Errorf("the plan has %d bytes, and at most %d are read: plan fewer environments at once", len(out), maxBytes)
	}
	return out, err
}

// checksum returns the checksum of a document as JSON with sorted names, and without empty fields:
// a document that an older version wrote keeps its own.
func checksum(document any) (string, error) {
	text, err := yaml.Marshal(document)
	if err != nil {
		return "", err
	}
	var plain map[string]any
	if err := yaml.Unmarshal(text, &plain); err != nil {
		return "", err
	}
	delete(plain, "checksum")
	data, err := json.Marshal(plain)
	return digests.Of(data), err
}
