// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/module"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/snapshot"
	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/lock"
)

// upgradeFlags are those of upgrade.
type upgradeFlags struct {
	command.ProjectFlags
	format, to command.Choice
	only       []string
	write      bool
}

// Commands has the command of this package.
type Commands struct{ *command.App }

// Command returns the command upgrade.
func (a Commands) Command() *cobra.Command {
	flags := upgradeFlags{format: command.NewChoice("text", "json", "markdown"), to: command.NewChoice(toMinor, toPatch, toMajor)}
	cmd := &cobra.Command{
		Use:   "upgrade [PATH]",
		Short: "Find newer versions of modules, and say what they change",
		Long: `Find newer versions of the modules, charts and artifacts that a project refers to, compare
the versions of each module as "ropewalk module compat" does, and say what all of them together change in
the manifests of each environment, as "ropewalk diff" does.

A tag that is a version (v1.2.3) becomes the highest one that --to allows; below 1.0.0 a
minor version counts as a major one. A range of versions, a branch and a tag such as latest
stay, and ` + lock.Name + ` gets what they lead to now. References to a digest or a commit alone
name no version, and are listed as such. Dependencies of modules, of charts and of
kustomizations are left alone.

--write edits each reference in its place, and leaves the rest of the file as it is; then it
brings ` + lock.Name + ` up to date, where the project has one. Nothing is written where a
reference cannot be edited, or where a project does not render with the new versions, which is
exit code 1.
` + command.ProjectHelp + `

` + command.ExitCodes,
		Example: `  ropewalk upgrade shop                       newer versions, and what they would change
  ropewalk upgrade shop --to major --only oci://ghcr.io/acme/modules/web
  ropewalk upgrade shop --write --format markdown > change-request.md`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.Run(func(ctx context.Context, args []string) error {
			a.JSON = flags.format.Value == "json"
			return a.runUpgrade(ctx, &flags, args)
		}),
	}
	flags.format.Add(cmd, "format", "how to print it; markdown is for a change request")
	flags.to.Add(cmd, "to", "how far an upgrade goes")
	f := cmd.Flags()
	f.StringArrayVar(&flags.only, "only", nil, "`REFERENCE` to upgrade, without its version, such as oci://HOST/REPOSITORY; may be\nrepeated (default all)")
	f.BoolVar(&flags.write, "write", false, "edit the references, and write "+lock.Name)
	flags.Add(cmd)
	return cmd
}

// Upgrade is a reference that leads to a newer version, as data.
type Upgrade struct {
	Type string `json:"type"`
	Ref  string `json:"ref"`
	Path string `json:"path,omitempty"`
	// At are the places of the reference.
	At   []string `json:"at"`
	From string   `json:"from"`
	// To is the version that the upgrade goes to; "" where there is only a higher one Beyond
	// the flag --to, or beyond the range of the reference.
	To     string `json:"to,omitempty"`
	Beyond string `json:"beyond,omitempty"`
	// New is the reference with the new version, where it is to be edited.
	New string `json:"new,omitempty"`
	// Verdict is what changed for users of a module; NotCompared is why that is not known.
	Verdict     string             `json:"verdict,omitempty"`
	NotCompared string             `json:"notCompared,omitempty"`
	Comparison  *module.Comparison `json:"comparison,omitempty"`

	places []host.Reference
	next   source.Tree
	// versions are the texts of the version before and after.
	versions [2]string
}

// Upgrades is what upgrade found, as data.
type Upgrades struct {
	Upgrades []Upgrade `json:"upgrades"`
	// Current is how many references lead to the newest version, and Pinned are those that
	// name no version.
	Current      int           `json:"current"`
	Pinned       []string      `json:"pinned,omitempty"`
	Environments []environment `json:"environments,omitempty"`
	// Written are the files that were written.
	Written []string `json:"written,omitempty"`
}

// environment is what the upgrades change in one environment.
type environment struct {
	Name string `json:"name,omitempty"`
	// Errors are why it does not render with the new versions.
	Errors []string     `json:"errors,omitempty"`
	Diff   *diff.Report `json:"diff,omitempty"`
}

// upgrading is one run of upgrade.
type upgrading struct {
	Commands
	flags *upgradeFlags
	paths []string
	// newest fetches without a lock.
	newest host.Host
	locked lock.File
	// hasLock reports that the project has one.
	hasLock bool
	out     Upgrades
}

func (a Commands) runUpgrade(ctx context.Context, flags *upgradeFlags, paths []string) error {
	// Refuse what cannot be upgraded.
	switch {
	case flags.Sources.Locked || flags.Sources.Offline:
		return command.Usagef("leave --locked and --offline out", "newer versions are those that the servers have now")
	case slices.Contains(paths, "-"):
		return command.Usagef("name a file or a directory", "standard input cannot be upgraded")
	}

	// Load the project with the versions that it has.
	evaluator, closer, err := flags.Evaluator()
	if err != nil {
		return err
	}
	defer closer()
	flags.Shared = evaluator
	u := &upgrading{Commands: a, flags: flags, paths: paths, out: Upgrades{Upgrades: []Upgrade{}}}
	loaded, err := u.load(ctx, &flags.ProjectFlags)
	if err != nil {
		return err
	}
	u.locked, u.hasLock, err = command.ReadLock(command.LockFile(paths))
	if err != nil {
		return err
	}
	u.newest, err = a.Connect(&flags.Sources, nil, paths, &lock.Recorder{})
	if err != nil {
		return err
	}

	// Find newer versions, and what they change.
	if err := u.find(ctx, loaded.References); err != nil {
		return err
	}
	if err := u.compare(ctx, object.SortedKeys(loaded.Project.Environments)); err != nil {
		return err
	}

	// Write them, unless a render fails.
	broken := slices.ContainsFunc(u.out.Environments, func(e environment) bool { return len(e.Errors) > 0 })
	if flags.write && !broken {
		if err := u.write(ctx); err != nil {
			return err
		}
	}
	if err := u.print(); err != nil || !broken {
		return err
	}
	return command.ErrFoundReported()
}

// load loads the project.
func (u *upgrading) load(ctx context.Context, flags *command.ProjectFlags) (host.Loaded, error) {
	opts, err := flags.Options(u.App, u.paths)
	if err != nil {
		return host.Loaded{}, err
	}
	h, err := u.Connect(&flags.Sources, nil, u.paths, nil)
	broken, ok := command.Broken(err)
	if !ok {
		return host.Loaded{}, err
	}
	opts.Evaluator = flags.Shared
	loaded, err := h.Load(ctx, opts)
	u.Texts = loaded.Texts
	if err == nil {
		err = loaded.Request.Mistakes.Err()
	}
	return loaded, command.WithOptions(command.Together(err, broken))
}

// find looks for a newer version of each reference, each once.
func (u *upgrading) find(ctx context.Context, all []host.Reference) error {
	// Group the places of each reference.
	places := map[source.Ref][]host.Reference{}
	unused := slices.Clone(u.flags.only)
	for _, r := range all {
		v, ok := versionedOf(r.Type, r.Ref.Ref)
		name := strings.TrimRight(v.before, "?&")
		switch {
		case len(u.flags.only) > 0 && (!ok || !slices.Contains(u.flags.only, name)):
		case ok:
			unused = slices.DeleteFunc(unused, func(text string) bool { return text == name })
			places[r.Ref] = append(places[r.Ref], r)
		case !slices.Contains(u.out.Pinned, r.Ref.Ref):
			u.out.Pinned = append(u.out.Pinned, r.Ref.Ref)
		}
	}
	if len(unused) > 0 {
		return command.Usagef("write it as the project does, without the version", "--only %s: the project has no such reference with a version", unused[0])
	}

	// Look for a newer version of each, in the order of the project.
	var mistakes object.Errors
	for _, r := range all {
		at, ok := places[r.Ref]
		if !ok {
			continue
		}
		delete(places, r.Ref)
		found, err := u.newer(ctx, at)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			mistakes = append(mistakes, &object.Error{Stage: object.StageResolve, Pos: r.Pos, Err: err})
		case found == nil:
			u.out.Current++
		default:
			u.out.Upgrades = append(u.out.Upgrades, *found)
		}
	}
	return command.WithOptions(mistakes.Err())
}

// newer returns the upgrade of a reference. It returns nil if the reference leads to the newest
// version.
func (u *upgrading) newer(ctx context.Context, places []host.Reference) (*Upgrade, error) {
	// Keep where the reference stands, and what it leads to now.
	r := places[0]
	v, _ := versionedOf(r.Type, r.Ref.Ref)
	out := &Upgrade{Type: r.Type, Ref: r.Ref.Ref, Path: r.Path, From: cmp.Or(v.version, r.Tree.Revision, r.Tree.Digest), places: places}
	for _, p := range places {
		out.At = append(out.At, p.Pos.String())
	}

	// Fetch a reference with the credentials of this one.
	fetch := func(ref string) (source.Tree, string, error) {
		other := r.Ref
		other.Ref = ref
		tree, err := u.newest.Fetchers[r.Type].Fetch(ctx, other)
		tag, _, _ := strings.Cut(tree.Revision, "@")
		return tree, tag, err
	}

	// A range or a branch may lead to another revision now.
	current := v.version
	if current == "" {
		tag, _, _ := strings.Cut(r.Tree.Revision, "@")
		if isVersion(tag) {
			current = tag
		}
		if _, locked := u.locked.Find(r.Ref); locked {
			next, _, err := fetch(r.Ref.Ref)
			if err != nil {
				return nil, err
			}
			if next.Digest != r.Tree.Digest {
				out.To = next.Revision
				out.next = next
			}
		}
	}
	if current == "" {
		return out.orNone(), nil
	}
	// The version that is there now is in the range, so that a repository without it is an error.
	next, tag, err := fetch(v.within(">=" + bare(current)))
	if err != nil {
		return nil, err
	}

	// A version beyond the bound is only named.
	if v.version == "" || !inRange(upTo(current, u.flags.to.Value), tag) {
		now, _, _ := strings.Cut(out.To, "@")
		if later(tag, cmp.Or(now, current)) {
			out.Beyond = tag
		}
		if v.version == "" {
			return out.orNone(), nil
		}
		next, tag, err = fetch(v.within(upTo(current, u.flags.to.Value)))
		if err != nil {
			return nil, err
		}
	}

	// The highest version within the bound is the upgrade.
	if later(tag, current) {
		_, digest, _ := strings.Cut(next.Pinned, "@")
		out.To = tag
		out.New = v.at(tag, digest)
		out.next = next
		out.versions = [2]string{v.version, tag}
	}
	return out.orNone(), nil
}

// orNone returns u, or nil for an upgrade that leads nowhere.
func (u *Upgrade) orNone() *Upgrade {
	if u.To == "" && u.Beyond == "" {
		return nil
	}
	return u
}

// compare finds what the upgrades change: for the users of each module, and in each environment.
func (u *upgrading) compare(ctx context.Context, environments []string) error {
	// Compare the versions of each module.
	replace := map[source.Ref]source.Tree{}
	for i := range u.out.Upgrades {
		up := &u.out.Upgrades[i]
		if up.To == "" {
			continue
		}
		r := up.places[0]
		replace[r.Ref] = up.next
		if !r.Module {
			continue
		}
		pinned := func(tree source.Tree) module.Fetched {
			return module.Fetched{Ref: source.Ref{Type: r.Type, Ref: tree.Pinned}, Tree: tree}
		}
		c, err := module.Commands{App: u.App}.Compare(ctx, &u.flags.Sources, &u.flags.LimitFlags, pinned(r.Tree), pinned(up.next))
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			up.NotCompared = err.Error()
		default:
			up.Verdict = c.Verdict
			up.Comparison = &c
		}
	}
	if len(replace) == 0 {
		return nil
	}

	// Compare the renders of each environment, with all upgrades.
	if u.flags.Environment != "" || len(environments) == 0 {
		environments = []string{u.flags.Environment}
	}
	for _, name := range environments {
		e, err := u.compareEnvironment(ctx, name, replace)
		if err != nil {
			return err
		}
		u.out.Environments = append(u.out.Environments, e)
	}
	return nil
}

// compareEnvironment returns what changes in one environment.
func (u *upgrading) compareEnvironment(ctx context.Context, name string, replace map[source.Ref]source.Tree) (environment, error) {
	// Render the project as it is.
	out := environment{Name: name}
	flags := u.flags.ProjectFlags
	flags.Environment = name
	arg := "."
	if len(u.paths) > 0 {
		arg = u.paths[0]
	}
	before, err := u.renderSide(ctx, &flags, "now", arg)
	if err != nil {
		if name != "" {
			u.Note("ropewalk: environment %s does not render now:\n", name)
		}
		return out, err
	}
	defer before.close()

	// Render it with the upgrades, whose mistakes belong to the report.
	flags.Sources.Replace = replace
	after, err := u.renderSide(ctx, &flags, "upgraded", arg)
	mistakes, findings := command.IsFindings(err)
	switch {
	case ctx.Err() != nil:
		return out, ctx.Err()
	case findings:
		for _, e := range mistakes {
			out.Errors = append(out.Errors, e.Error())
		}
		return out, nil
	case err != nil:
		return out, err
	}
	defer after.close()

	// Compare both.
	report, err := diff.Compare(ctx, before.Snapshot, after.Snapshot)
	if err != nil {
		return out, err
	}
	out.Diff = &report
	return out, nil
}

// side is a render of the project, as what is compared.
type side struct {
	diff.Snapshot
	close func()
}

// renderSide renders the project as a side of a comparison.
func (u *upgrading) renderSide(ctx context.Context, flags *command.ProjectFlags, name, arg string) (side, error) {
	r, err := u.RenderFS(ctx, flags, nil, []string{arg})
	if err != nil {
		return side{}, err
	}
	rendered, err := snapshot.OfRender(ctx, name, r.Result, nil)
	if err != nil {
		r.Close()
		return side{}, err
	}
	return side{Snapshot: rendered, close: r.Close}, nil
}
