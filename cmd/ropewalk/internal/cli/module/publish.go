// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/signature"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

// publishFlags are the flags of module publish.
type publishFlags struct {
	command.SourceFlags
	limits           command.LimitFlags
	signKey          string
	source, revision string
	acceptUndecided  bool
	acceptUncompared bool
	skipChecks       bool
	dryRun           bool
	format           command.Choice
}

func (a Commands) publish() *cobra.Command {
	flags := publishFlags{format: command.NewChoice("text", "json")}
	cmd := &cobra.Command{
		Use: "publish oci://REGISTRY/REPOSITORY:VERSION [MODULE]", Short: "Publish a version of a module",
		Long: `Publish the module in a folder as a version that never changes, such as v1.2.0.

A module of Ropewalk and a plain package become a module of CUE: "cue mod get" and a cueRef
of type oci take it. The repository ends in the path of the module (with CUE_REGISTRY set to
what is before it), and the major version is that of cue.mod/module.cue. A Timoni module is
published as Timoni does it, with a version without v.

Before anything is written the module passes vet and test, and is compared with the highest
version below: what breaks its users needs a higher major version (a minor one below
1.0.0), what adds to it a minor one. A comparison that is undecided needs --accept-undecided.

The version is written last, so that it is there wholly or not at all: content, provenance,
list of images, README and picture, signatures come first. Then the floating tags 1.2, 1 and
latest are moved, one by one, unless a higher version is there. They have no v: the cue
command would take v1 for a version. A second run
finishes what was cut short, with the same digest; a version that is there with other content
is an error, and with the same content it costs two requests.
` + command.ExitCodes,
		Example: `  ropewalk module publish oci://ghcr.io/acme/acme.example/web:v1.2.0
  ropewalk module publish oci://localhost:5000/acme.example/web:v0.1.0 ./web --plain-http localhost:5000 --dry-run
  ropewalk module publish oci://ghcr.io/acme/acme.example/web:v1.2.0 --sign-key release.key --source https://github.com/acme/web --revision main@sha1:<hash>`,
		Args: cobra.RangeArgs(1, 2),
		RunE: a.Run(func(ctx context.Context, args []string) error {
			return a.runPublish(ctx, &flags, args[0], argument(args[1:]))
		}),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&flags.dryRun, "dry-run", false, "check, compare, and print what would be written")
	f.StringVar(&flags.signKey, "sign-key", "", "`FILE` of the private key to sign with (PEM, cosign's own too; its password is\nin $COSIGN_PASSWORD)")
	f.StringVar(&flags.source, "source", "", "`URL` of the repository of the module")
	f.StringVar(&flags.revision, "revision", "", "`REVISION` of it, such as main@sha1:<hash>")
	f.BoolVar(&flags.acceptUndecided, "accept-undecided", false, "publish as a minor version what the comparison cannot decide")
	f.BoolVar(&flags.acceptUncompared, "accept-uncompared", false, "publish although the version before cannot be read or compared")
	f.BoolVar(&flags.skipChecks, "skip-checks", false, "publish without vet and test; the provenance says so")
	flags.format.Add(cmd, "format", "how to print what was done")
	flags.limits.Add(f, workersHelp)
	flags.Add(cmd)
	return cmd
}

// published is the result of publish, as data.
type published struct {
	Reference string `json:"reference"`
	Module    string `json:"module,omitempty"`
	Digest    string `json:"digest"`
	Tree      string `json:"tree"`
	// Changed reports that the version was written.
	Changed bool `json:"changed"`
	DryRun  bool `json:"dryRun,omitempty"`
	// Since is the version that it was compared with, and Verdict the gravest level of the changes.
	Since   string   `json:"since,omitempty"`
	Verdict string   `json:"verdict,omitempty"`
	Changes []change `json:"changes,omitempty"`
	// Moved lists the floating tags that lead to it now, and Kept the floating tags that lead to a
	// higher version.
	Moved  []string `json:"moved,omitempty"`
	Kept   []string `json:"kept,omitempty"`
	Signed bool     `json:"signed,omitempty"`
}

// publication is one run of publish.
type publication struct {
	Commands
	flags   *publishFlags
	folder  string
	version release
	packed  packed
	target  command.Location
	signer  *signature.Signer
	// checked holds the results of the checks, for the provenance.
	checked checks
	report  published
}

func (a Commands) runPublish(ctx context.Context, flags *publishFlags, reference, folder string) error {
	// Check the version before anything is read.
	a.JSON = flags.format.Value == "json"
	location, err := artifact.ParseLocation(reference)
	if err != nil {
		return &command.UsageError{Err: err}
	}
	if location.Kind != artifact.Registry {
		hint := "name a repository: oci://REGISTRY/REPOSITORY:VERSION"
		return command.Usagef(hint, "%s: modules are published to a registry", reference)
	}
	version, ok := parseRelease(location.Tag)
	if !ok {
		hint := "write a version with three numbers behind the repository, such as :v1.2.0"
		return command.Usagef(hint, "%s: %q is no version", reference, cmp.Or(location.Tag, location.Digest))
	}

	// Only files of the user can become a version.
	if foreign(folder) {
		return command.Usagef("name the folder of the module", "%s is published already: only a folder can be", folder)
	}
	if err := (artifact.Options{Source: flags.source, Revision: flags.revision}).Check(); err != nil {
		return &command.UsageError{Err: err}
	}

	// Pack the module, and check that its clients will find it.
	p := &publication{Commands: a, flags: flags, folder: folder, version: version}
	p.signer, err = command.ReadSigner(flags.signKey)
	if err != nil {
		return err
	}
	p.packed, err = pack(ctx, folder, version, flags)
	if err != nil {
		return err
	}
	if err := p.packed.checkRepository(location.Name, version); err != nil {
		return err
	}

	// Publish it.
	publishTo := func(target command.Location) (any, string, error) {
		p.target = target
		err := p.run(ctx)
		return p.report, p.report.text(), err
	}
	return a.WithLocation(ctx, &flags.RegistryFlags, flags.format.Value, reference, !flags.dryRun, publishTo)
}

// run compares the digest first, so that a version that exists is not checked again.
func (p *publication) run(ctx context.Context) error {
	// A version that exists only needs its floating tags.
	p.report = published{
		Reference: p.target.At(p.version.text),
		Module:    p.packed.path,
		Digest:    p.packed.image.Descriptor.Digest.String(),
		Tree:      p.packed.image.Tree,
		DryRun:    p.flags.dryRun,
	}
	digest, err := artifact.HasImage(ctx, p.target.Store, p.packed.image, p.version.text)
	if err != nil {
		return p.existsError(err)
	}
	if digest != "" {
		p.report.Digest = digest
		return p.moveTags(ctx, nil)
	}

	// Compare and check a new version.
	versions, err := releases(ctx, p.target.Store)
	if err != nil {
		return err
	}
	if err := p.compare(ctx, versions); err != nil {
		return err
	}
	if err := p.check(ctx); err != nil {
		return err
	}
	if p.flags.dryRun {
		return p.moveTags(ctx, versions)
	}

	// Push it, with its attachments before its tag.
	bar := command.NewProgress(p.Streams, "pushing")
	opts := artifact.PushOptions{At: time.Now(), Progress: bar.Bytes, Sealed: p.attach}
	pushed, err := artifact.PushImage(ctx, p.target.Store, p.packed.image, p.version.text, opts)
	bar.Clear()
	if err != nil {
		return p.existsError(err)
	}
	p.report.Digest = pushed.Digest
	p.report.Changed = pushed.Changed
	p.report.Signed = pushed.Changed && p.signer != nil
	return p.moveTags(ctx, versions)
}

// existsError returns err, as a finding if the version exists with other content.
func (*publication) existsError(err error) error {
	if errors.Is(err, artifact.ErrExists) {
		return &object.Error{Stage: object.StageCheck, Err: err}
	}
	return err
}

// compare compares the version with the highest version below it.
func (p *publication) compare(ctx context.Context, versions []release) error {
	older, found := versionBefore(versions, p.version)
	if !found {
		return nil
	}
	p.report.Since = older.text
	p.checked.since = older.text
	report, err := p.compareVersions(ctx, &p.flags.SourceFlags, &p.flags.limits, p.target.At(older.text), p.folder)
	var mistakes object.Errors
	switch {
	case errors.As(err, &mistakes), errors.Is(err, context.Canceled):
		return err
	case err != nil && p.flags.acceptUncompared:
		p.Note("not compared with %s: %v\n", older.text, err)
		return nil
	case err != nil:
		return fmt.Errorf("%s cannot be compared with (--accept-uncompared publishes all the same): %w", p.target.At(older.text), err)
	}
	p.report.Verdict = report.Verdict
	p.report.Changes = report.Changes
	p.checked.verdict = report.Verdict
	return p.checkLevel(older, evaluate.Level(report.Verdict))
}

// checkLevel refuses a version that is too low for its changes.
func (p *publication) checkLevel(older release, verdict evaluate.Level) error {
	step := p.version.step(older)
	hint := "\"ropewalk module compat " + p.target.At(older.text) + "\" lists what changed; publish " + older.next(verdict) + " or higher"
	refusal := func(format string, args ...any) error {
		return &object.Error{Stage: object.StageCheck, Err: fmt.Errorf(format, args...), Hint: hint}
	}

	// A patch must not add anything, and only a major version may break users.
	adds := verdict == evaluate.LevelMinor || verdict == evaluate.LevelUndecided
	switch {
	case step == evaluate.LevelMajor:
		return nil
	case verdict == evaluate.LevelMajor:
		return refusal("%s breaks users of %s: %s", p.version.text, older.text, firstChange(p.report.Changes, verdict))
	case verdict == evaluate.LevelUndecided && !p.flags.acceptUndecided:
		hint = "look at \"ropewalk module compat " + p.target.At(older.text) + "\"; " +
			"add --accept-undecided if no user is broken, or publish " + older.next(evaluate.LevelMajor)
		return refusal("whether %s breaks users of %s cannot be told: %s", p.version.text, older.text, firstChange(p.report.Changes, verdict))
	case step == "" && adds:
		return refusal("%s adds to %s, and is a patch of it: %s", p.version.text, older.text, firstChange(p.report.Changes, verdict))
	}
	return nil
}

// firstChange returns the first change of a level, as a sentence. It prefers a change of an input,
// since the changes of objects follow from it.
func firstChange(changes []change, level evaluate.Level) string {
	for _, ofInput := range []bool{true, false} {
		for _, c := range changes {
			if c.Level == string(level) && (c.Input != "") == ofInput {
				return c.about() + ": " + c.Text
			}
		}
	}
	return string(level)
}

// moveTags moves the floating tags that the version is the highest for. If versions is nil, they are
// not known yet: then a last tag that leads to the version shows that nothing is left to do.
func (p *publication) moveTags(ctx context.Context, versions []release) error {
	// A prerelease has no floating tags.
	tags := p.version.floating()
	if len(tags) == 0 {
		return nil
	}
	if versions == nil {
		d, err := p.target.Resolve(ctx, tags[len(tags)-1])
		if err == nil && d.Digest.String() == p.report.Digest {
			return nil
		}
		versions, err = releases(ctx, p.target.Store)
		if err != nil {
			return err
		}
	}

	// Move each tag, unless a higher version has it.
	for _, tag := range tags {
		if !p.version.leads(tag, versions) {
			p.report.Kept = append(p.report.Kept, tag)
			continue
		}
		p.report.Moved = append(p.report.Moved, tag)
		if p.flags.dryRun {
			continue
		}
		d, err := p.target.Resolve(ctx, tag)
		if err == nil && d.Digest.String() == p.report.Digest {
			continue
		}
		if _, err := artifact.Tag(ctx, p.target.Store, p.report.Digest, tag); err != nil {
			return err
		}
	}
	return nil
}

func (p published) text() string {
	// Write the version, and the version that it was compared with.
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-9s"+format+"\n", append([]any{name}, args...)...)
	}
	b.WriteString(p.Reference + "\n")
	line("digest", "%s", p.Digest)
	if p.Module != "" {
		line("module", "%s", p.Module)
	}
	if p.Since != "" {
		line("since", "%s: %s", p.Since, cmp.Or(p.Verdict, "not compared"))
	}

	// Write the changes of the registry.
	switch {
	case p.DryRun && !p.Changed:
		line("changed", "no: this was a dry run")
	case p.Changed:
		line("changed", "yes")
	default:
		line("changed", "no: the version is there already")
	}
	if len(p.Moved) > 0 {
		line("tags", "%s", strings.Join(p.Moved, ", "))
	}
	if len(p.Kept) > 0 {
		line("kept", "%s: a higher version is there", strings.Join(p.Kept, ", "))
	}
	if p.Signed {
		line("signed", "yes, with provenance and images; README and picture are attached as they are")
	}
	return b.String()
}
