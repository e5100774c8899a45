// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/signature"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/internal/printable"
)

func (a Commands) artifactSign() *cobra.Command {
	var r command.RegistryFlags
	var key string
	format := command.NewChoice("text", "json")
	cmd := &cobra.Command{
		Use:   "sign REFERENCE --key FILE",
		Short: "Sign an artifact and its barrier layers",
		Long: `Sign an artifact and its barrier layers with a private key, as a Sigstore bundle that is
attached to it. No server but the registry is contacted. The same key signs to the same
bytes, so that signing twice changes nothing.
` + command.LocationHelp,
		Example: `  ropewalk artifact keygen release
  ropewalk artifact sign oci://ghcr.io/acme/shop:v1 --key release.key`,
		Args: cobra.ExactArgs(1),
		RunE: a.Run(func(ctx context.Context, args []string) error {
			if key == "" {
				return command.Usagef("add --key FILE; \"ropewalk artifact keygen\" makes one", "--key is missing")
			}
			signer, err := command.ReadSigner(key)
			if err != nil {
				return err
			}
			return a.WithLocation(ctx, &r, format.Value, args[0], false, func(p command.Location) (any, string, error) {
				signed, err := artifact.SignSet(ctx, p.Store, p.Reference, signer)
				var text strings.Builder
				for _, s := range signed {
					fmt.Fprintf(&text, "%s signed, signature %s\n", p.At(s.Digest), s.Signature)
				}
				return signed, text.String(), err
			})
		}),
	}
	cmd.Flags().StringVar(&key, "key", "", "`FILE` of the private key (PEM, cosign's own too; its password is in\n$COSIGN_PASSWORD)")
	format.Add(cmd, "format", "how to print what was done")
	r.Add(cmd)
	return cmd
}

func (a Commands) artifactVerify() *cobra.Command {
	var r command.RegistryFlags
	var keys []string
	format := command.NewChoice("text", "json")
	cmd := &cobra.Command{
		Use:   "verify REFERENCE --key FILE",
		Short: "Check that an artifact is signed by a known key",
		Long: `Check that an artifact and each of its barrier layers is signed by one of the public
keys, by a Sigstore bundle or by a signature of cosign v2, and that its content and all
that is attached to it is what its digests say. Exit code 1 says that it is not, and 3
that it could not be read: nothing is there, or the registry refuses or does not answer.
` + command.LocationHelp,
		Example: `  ropewalk artifact verify oci://ghcr.io/acme/shop:v1 --key release.pub`,
		Args:    cobra.ExactArgs(1),
		RunE: a.Run(func(ctx context.Context, args []string) error {
			verifier, err := readVerifier(keys)
			if err != nil {
				return err
			}
			return a.WithLocation(ctx, &r, format.Value, args[0], false, func(p command.Location) (any, string, error) {
				digests, err := artifact.VerifySet(ctx, p, p.Reference, verifier)
				if err != nil {
					return nil, "", err
				}
				var text strings.Builder
				for _, d := range digests {
					strangers, err := checkContent(ctx, p, d, verifier)
					if err != nil {
						return nil, "", err
					}
					for _, s := range strangers {
						a.Note("ropewalk: warning: %s\n", s)
					}
					text.WriteString(p.At(d) + " is signed by a known key\n")
				}
				return map[string]any{"verified": digests}, text.String(), nil
			})
		}),
	}
	cmd.Flags().StringArrayVar(&keys, "key", nil, "`FILE` of a public key (PEM); may be repeated")
	format.Add(cmd, "format", "how to print it")
	r.Add(cmd)
	return cmd
}

// checkContent reads an artifact and everything that is attached to it: a signature is of a
// manifest, and the content must be what the manifest says. It returns what is attached without the
// signature of a known key: a client that may push may have put it there.
func checkContent(ctx context.Context, p command.Location, digest string, keys *signature.Verifier) (strangers []string, err error) {
	if _, err := artifact.Inspect(ctx, p, digest, artifact.PullOptions{}); err != nil {
		return nil, err
	}
	subject, err := p.Resolve(ctx, digest)
	if err != nil {
		return nil, err
	}
	attached, err := artifact.Referrers(ctx, p, subject, "")
	if err != nil {
		return nil, err
	}
	for _, r := range attached {
		data, err := artifact.ReadReferrer(ctx, p, subject, r, signature.MaxBundle)
		if err != nil {
			return nil, err
		}
		what := strings.Join(nonEmpty(attachedName(cmp.Or(r.Annotations["dev.sigstore.bundle.predicateType"], r.ArtifactType)), string(r.Digest)), " ")
		if r.ArtifactType != signature.BundleType {
			strangers = append(strangers, what+" is attached and not signed")
		} else if _, err := keys.Bundle(data, digest); err != nil {
			strangers = append(strangers, what+" is attached and no known key signed it")
		}
	}
	return strangers, nil
}

// readVerifier reads public keys.
func readVerifier(names []string) (*signature.Verifier, error) {
	if len(names) == 0 {
		return nil, command.Usagef("add --key FILE of the public key", "--key is missing")
	}
	var all [][]byte
	for _, name := range names {
		data, err := command.ReadRegular(name)
		if err != nil {
			return nil, err
		}
		if _, err := signature.ParsePublicKeys(data); err != nil {
			return nil, &command.UsageError{Err: fmt.Errorf("%s: %w", name, err)}
		}
		all = append(all, data)
	}
	verifier, err := signature.ParsePublicKeys(all...)
	if err != nil {
		return nil, &command.EnvironmentError{Err: err}
	}
	return verifier, nil
}

func (a Commands) artifactPrune() *cobra.Command {
	var r command.RegistryFlags
	var keep int
	var older time.Duration
	var dry, expired bool
	format := command.NewChoice("text", "json")
	var cmd *cobra.Command
	cmd = &cobra.Command{
		Use:   "prune REFERENCE",
		Short: "Delete old pushes",
		Long: `Delete what was pushed by Ropewalk, is old, and has no tag of a user, with
all that is attached to it. What the barrier layers of a push that stays need, stays.
Deletions that the registry refuses are listed, and are not an error.

With --expired, delete just what was pushed with --expires for a time that has passed, under
all of its tags, and keep all else. An expiry that cannot be read is reported, and the push
is kept.
` + command.LocationHelp,
		Example: `  ropewalk artifact prune oci://ghcr.io/acme/shop --keep 10 --dry-run
  ropewalk artifact prune oci://ghcr.io/acme/shop-previews --expired`,
		Args: cobra.ExactArgs(1),
		RunE: a.Run(func(ctx context.Context, args []string) error {
			if keep < 0 || older < 0 {
				return command.Usagef("write 0 or more", "--keep %d --older-than %s: expected 0 or more", keep, older)
			}
			if expired && (cmd.Flags().Changed("keep") || cmd.Flags().Changed("older-than")) {
				return command.Usagef("leave --keep and --older-than out: the time stands in each push", "--expired keeps by neither number nor age")
			}
			opts := artifact.PruneOptions{Keep: keep, DryRun: dry}
			if expired {
				opts.Expired = time.Now()
			}
			if older > 0 {
				opts.After = time.Now().Add(-older)
			}
			return a.WithLocation(ctx, &r, format.Value, args[0], false, func(p command.Location) (any, string, error) {
				pruned, err := artifact.Prune(ctx, p, opts)
				return pruned, prunedText(pruned, dry), err
			})
		}),
	}
	f := cmd.Flags()
	f.IntVar(&keep, "keep", 10, "`N` of the newest pushes to keep")
	f.DurationVar(&older, "older-than", 0, "keep what is younger than `DURATION`, such as 720h")
	f.BoolVar(&expired, "expired", false, "delete just what has expired (artifact push --expires)")
	f.BoolVar(&dry, "dry-run", false, "delete nothing, and say what would go")
	format.Add(cmd, "format", "how to print what was done")
	r.Add(cmd)
	return cmd
}

func prunedText(p artifact.Pruned, dry bool) string {
	var b strings.Builder
	verb := "deleted"
	if dry {
		verb = "would delete"
	}
	for _, d := range p.Deleted {
		fmt.Fprintf(&b, "%s %s\n", verb, d)
	}
	for _, d := range p.Refused {
		fmt.Fprintf(&b, "not deleted: %s: %s\n", d, p.Reason)
	}
	for _, problem := range p.Problems {
		b.WriteString(printable.Linef("kept: %s\n", problem))
	}
	fmt.Fprintf(&b, "%d kept, %d %s, %d refused\n", len(p.Kept), len(p.Deleted), verb, len(p.Refused))
	return b.String()
}

func (a Commands) artifactKeygen() *cobra.Command {
	return &cobra.Command{
		Use:   "keygen NAME",
		Short: "Make a key pair to sign with",
		Long: `Make a key pair: NAME.key, readable by you only, and NAME.pub. Files that are
there already are not touched. The private key has no password; cosign makes one with
a password, and its keys work here too.`,
		Example: `  ropewalk artifact keygen release`,
		Args:    cobra.ExactArgs(1),
		RunE: a.Run(func(_ context.Context, args []string) error {
			private, public, err := signature.GenerateKey()
			if err != nil {
				return &command.EnvironmentError{Err: err}
			}
			if err := newFile(args[0]+".key", private, 0o600); err != nil {
				return err
			}
			if err := newFile(args[0]+".pub", public, 0o644); err != nil {
				_ = os.Remove(args[0] + ".key")
				return err
			}
			a.Note("%s.key and %s.pub are written; keep the first one secret\n", args[0], args[0])
			return nil
		}),
	}
}

// newFile writes a file, and refuses to replace one.
func newFile(name string, data []byte, mode os.FileMode) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode) //nolint:gosec // the user names it
	if errors.Is(err, fs.ErrExist) {
		return &command.EnvironmentError{Err: fmt.Errorf("%s exists, and a key is never overwritten", name), Hint: "choose another NAME, or move it away"}
	}
	if err != nil {
		return &command.EnvironmentError{Err: err}
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return &command.EnvironmentError{Err: err}
	}
	return nil
}
