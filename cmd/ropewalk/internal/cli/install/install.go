// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"oras.land/oras-go/v2/registry"

	"github.com/ropewalk/ropewalk/cmd/internal/process"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/deploy"
)

// Commands has the commands of this package.
type Commands struct{ *command.App }

// flags are those of both commands.
type flags struct {
	image        string
	export, helm bool
}

// Command returns the command install.
func (a Commands) Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Write the manifests that install Ropewalk beside Argo CD or Flux",
		Long: `Write the manifests that install Ropewalk beside Argo CD or Flux, with the image of the
version of this command. A project is not installed: "ropewalk render" writes its manifests,
and "ropewalk deploy" what points an engine at an artifact.`,
	}
	cmd.AddCommand(a.argocd(), a.flux())
	return cmd
}

func (a Commands) argocd() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "argocd --export",
		Short: "Write the sidecar for the repo-server of Argo CD",
		Long: `Write the sidecar for the repo-server of Argo CD as a component of kustomize in one file:
save it as kustomization.yaml in a folder, and name the folder in the components of the
kustomization that installs Argo CD. With --helm, write values for the chart argo-cd instead.

` + command.ExitCodes,
		Example: `  ropewalk install argocd --export >ropewalk/kustomization.yaml
  ropewalk install argocd --export --helm >values.yaml
  helm upgrade argocd argo/argo-cd --reuse-values --values values.yaml`,
		Args: cobra.NoArgs,
		RunE: a.Run(func(context.Context, []string) error {
			if f.helm {
				return a.write(f, deploy.ArgoCDValues)
			}
			return a.write(f, deploy.ArgoCD)
		}),
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.helm, "helm", false, "write values for the chart argo-cd")
	return cmd
}

func (a Commands) flux() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "flux --export",
		Short: "Write the controller of Transforms for Flux",
		Long: `Write the controller of Transforms for Flux: definitions, the namespace ropewalk-system,
access, the controller, its Service and network policy. Flux has to be in the namespace
flux-system already.

` + command.ExitCodes,
		Example: `  ropewalk install flux --export | kubectl apply --server-side -f -`,
		Args:    cobra.NoArgs,
		RunE:    a.Run(func(context.Context, []string) error { return a.write(f, deploy.Flux) }),
	}
	f.add(cmd)
	return cmd
}

func (f *flags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.export, "export", false, "write the manifests to standard output")
	cmd.Flags().StringVar(&f.image, "image", "", "`IMAGE` to run, such as registry.example.com/ropewalk@sha256:… (default that of the\nversion of this command)")
}

// write writes what manifests gives for the image.
func (a Commands) write(f flags, manifests func(image string) string) error {
	if !f.export {
		return command.Usagef("add --export, and apply what it writes", "ropewalk applies nothing to a cluster by itself")
	}
	image, err := imageOf(f.image, process.CurrentRelease().Version)
	if err != nil {
		return err
	}
	return a.Write([]byte(manifests(image)))
}

// imageOf returns the image of the caller, or that of a released version. The version of
// a commit between two releases ends in its time and its digest.
func imageOf(image, version string) (string, error) {
	switch {
	case image != "" && !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]*$`).MatchString(image):
		return "", command.Usagef("", "--image %q is no name of an image", image)
	case image != "":
		return image, checkImage(image)
	case !regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`).MatchString(version), regexp.MustCompile(`\d{14}-[0-9a-f]{12}$`).MatchString(version):
		return "", command.Usagef("name one of your own by --image", "this is a development build (%s), which has no released image", version)
	}
	return deploy.Image + ":" + version, nil
}

// checkImage refuses a name that no kubelet would pull.
func checkImage(image string) error {
	name, digest, pinned := strings.Cut(image, "@")
	if !strings.Contains(name, "/") {
		name = "docker.io/library/" + name
	}
	if _, err := registry.ParseReference(name); err != nil {
		return command.Usagef("", "--image %q is no name of an image: %w", image, err)
	}
	if err := (registry.Reference{Reference: digest}).ValidateReferenceAsDigest(); pinned && err != nil {
		return command.Usagef("a digest is sha256: and 64 hex digits", "--image %q has no digest behind its @", image)
	}
	return nil
}
