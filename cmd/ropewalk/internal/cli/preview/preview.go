// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/internal/process"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/preview"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/plugin/host/output"
	"github.com/ropewalk/ropewalk/render/emit"
)

// Commands has the subcommands of this package.
type Commands struct{ *command.App }

// options are the flags of the command.
type options struct {
	command.ProjectFlags
	projects []string
	output   string
	// plan is where a PreviewPlan is written to, "" for nowhere.
	plan string
	// exact compares with BASE itself, and untrusted fetches nothing for the head but what
	// the base locks.
	exact     bool
	untrusted bool
	failOn    []string
	live      live
	forge     command.Choice
	format    command.Choice
	links     preview.Links
}

// What fails a preview.
const (
	failDanger    = "danger"
	failViolation = "violation"
	failAny       = "any"
)

// Command returns the command preview.
func (a Commands) Command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "preview [BASE] [HEAD]",
		Short: "Show what a change does to every environment, as a page",
		Long: `Render both sides of a change for all projects and environments that it touches, and
write what is different into a directory:

  report.html   a page for reviewers: dangers, waves, every field; one file that needs
                no network
  comment.md    the same in short, for a comment on a change request
  report.json   all of it as data (kind Preview)
  report.sarif  dangers and results of policies, for code scanning

BASE is a Git revision of this repository, such as origin/main, or the artifact of the one
environment that is previewed. HEAD is a revision too; the files on disk where it is not
given. The comparison is with the merge base of both, which is where the head left BASE, as
change requests show it; --exact compares with BASE as it is. Nothing is fetched for a
revision: the history has to be there (fetch-depth: 0).

With --live the base is a cluster, and no BASE is given: each object of the head is compared
with that in the cluster, in what the head sets. --live=dry-run has the API server apply each
object in a dry run, and compares with what defaults and admission make of it.

Projects are the folders with ropewalk.yaml, or a bundle of Timoni, at and below the working
directory, on both sides; the working directory itself where there is none. An environment
whose files, modules and locks are the same on both sides is listed and not rendered.

Where there is no base, or it does not render, the head is shown alone.

With --plan the manifests of the head are written down by their digests, so that "build" and
"deploy" refuse others with --reviewed. All projects and environments are rendered for it.

Exit code 1 says that the head does not render, or that --fail-on found what it names: a
danger, a violation of a policy that the base does not have, or any difference. The files
are written all the same.

` + command.ExitCodes,
		Example: `  ropewalk preview origin/main
  ropewalk preview origin/main HEAD --env staging,prod -o out/preview
  ropewalk preview origin/main --fail-on danger --fail-on violation
  ropewalk preview origin/main --untrusted-head --pull-policy pull-policy.yaml
  ropewalk preview oci://ghcr.io/acme/shop:prod --project shop --env prod
  ropewalk preview --live --context production --env prod
  ropewalk preview origin/main --dialect flux --plan reviewed.yaml
  ropewalk preview origin/main --format json | jq '.objects[].name'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.live.mode != "" {
				return cobra.MaximumNArgs(1)(cmd, args)
			}
			return cobra.RangeArgs(1, 2)(cmd, args)
		},
	}
	f := cmd.Flags()
	cmd.RunE = a.Run(func(ctx context.Context, args []string) error {
		if err := o.checkUntrusted(f.Changed); err != nil {
			return err
		}
		if err := o.checkLive(); err != nil {
			return err
		}
		if o.live.mode != "" {
			args = append([]string{""}, args...)
		}
		return a.run(ctx, &o, append(args, "")[:2])
	})
	f.StringArrayVar(&o.projects, "project", nil, "`DIR` of a project to preview; may be repeated (default all)")
	f.StringVarP(&o.output, "output", "o", "out/preview", "`DIR` to write to; it is replaced as a whole")
	f.StringVar(&o.plan, "plan", "", "`FILE` to write a PreviewPlan to: the manifests of each project and environment, for\n\"build --reviewed\" and \"deploy --reviewed\"")
	f.StringArrayVar(&o.failOn, "fail-on", nil, "`danger|violation|any` that makes the exit code 1; may be repeated")
	f.BoolVar(&o.exact, "exact", false, "compare with BASE itself, not with the merge base of BASE and the head")
	f.BoolVar(&o.untrusted, "untrusted-head", false, "fetch nothing for the head but what ropewalk.lock of the base has, for a change from a\nfork")
	f.StringVar(&o.links.Source, "source-url", "", "`URL` of the files at HEAD, to which a path and #L with a line are added, such as\nhttps://github.com/acme/shop/blob/COMMIT")
	f.StringVar(&o.links.Page, "page-url", "", "`URL` where report.html is published, for a link in the comment")
	o.live.add(cmd)
	o.forge = command.NewChoice(string(preview.GitHub), string(preview.GitLab))
	o.forge.Add(cmd, "forge", "whose limit of a comment comment.md keeps to")
	o.format = command.NewChoice("text", "markdown", "json")
	o.format.Add(cmd, "format", "what to print: a sentence and the dangers, comment.md, or report.json")
	o.Add(cmd)
	o.AddLocalSources(cmd)
	o.AddRepositoryURL(cmd)
	f.Lookup("env").Usage = "environments of the projects to preview, as `NAME[,NAME]` (default all)"
	return cmd
}

// check refuses flags that have no meaning.
func (o *options) check() error {
	for _, word := range o.failOn {
		if words := []string{failDanger, failViolation, failAny}; !slices.Contains(words, word) {
			return command.Usagef("expected "+strings.Join(words, ", "), "--fail-on %s", word)
		}
	}
	for flag, text := range map[string]string{"--source-url": o.links.Source, "--page-url": o.links.Page} {
		u, err := url.Parse(text)
		if text != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "") {
			return command.Usagef("expected one that begins with https://", "%s is not a URL", flag)
		}
		if text != "" && (u.User != nil || flag == "--source-url" && (u.RawQuery != "" || u.Fragment != "")) {
			return command.Usagef("the report shows it to its readers", "%s contains a user, a password, a query or a fragment", flag)
		}
	}
	return nil
}

func (a Commands) run(ctx context.Context, o *options, args []string) error {
	if err := o.check(); err != nil {
		return err
	}
	p, err := a.open(ctx, o, args[0], args[1])
	if err != nil {
		return err
	}
	defer p.close()
	results, err := p.renderCells(ctx)
	if err != nil {
		return err
	}
	if err := p.live.missing(); err != nil {
		return err
	}
	p.noteLive()
	p.addUnitDangers(results)
	report := preview.Gather(process.CurrentRelease().Version, p.base.Revision, p.head.Revision, results)
	report.Hide(p.secrets())
	files, err := o.files(report, p.selected)
	if err != nil {
		return err
	}
	if err := output.Write(ctx, o.output, files, output.Options{}); err != nil {
		return &command.EnvironmentError{Err: err}
	}
	if err := a.print(o, report, files); err != nil {
		return err
	}
	a.Note("%s and %s written to "+a.Paint.Bold("%s")+"\n", "report.html", printable.Count(len(files)-1, "file"), o.output)
	if err := p.writePlan(report); err != nil {
		return err
	}
	return p.verdict(report)
}

// files returns the files of a preview.
func (o *options) files(r preview.Report, selected preview.Selection) ([]emit.File, error) {
	page, err := r.Page(o.links)
	if err != nil {
		return nil, err
	}
	data, err := command.Encode(r)
	if err != nil {
		return nil, err
	}
	scan, err := r.SARIF()
	return []emit.File{
		{Path: "report.html", Data: page}, {Path: "comment.md", Data: []byte(r.Comment(preview.Forge(o.forge.Value), selected, o.links))},
		{Path: "report.json", Data: data}, {Path: "report.sarif", Data: scan},
	}, err
}

// print writes the format to standard output that the user asked for.
func (a Commands) print(o *options, r preview.Report, files []emit.File) error {
	switch o.format.Value {
	case "markdown":
		return a.Write(files[1].Data)
	case "json":
		return a.Write(files[2].Data)
	}
	var b strings.Builder
	b.WriteString(r.Summary + "\n")
	for _, n := range r.Notes {
		b.WriteString(command.Lines(n, "  ") + "\n")
	}
	for _, o := range r.Objects {
		for _, v := range o.Variants {
			for _, d := range v.Dangers {
				b.WriteString(command.Lines(fmt.Sprintf("danger: %s: %s", v.Title(), d.Message), "  ") + "\n")
			}
		}
	}
	return a.Print(b.String())
}

// found returns what --fail-on names and the report has.
func (o *options) found(r preview.Report) (found []string) {
	different := slices.ContainsFunc(r.Environments, func(e preview.Environment) bool {
		return e.State != preview.Unaffected && e.State != preview.Unchanged
	})
	for _, word := range o.failOn {
		switch {
		case word == failDanger && r.Counts.Dangers > 0:
			found = append(found, printable.Count(r.Counts.Dangers, "danger"))
		case word == failViolation && r.Counts.Violations > 0:
			found = append(found, printable.Count(r.Counts.Violations, "violation")+" of policies")
		case word == failAny && different:
			found = append(found, "a difference")
		}
	}
	return found
}

// verdict returns the error that makes the exit code, or nil if there is none.
func (p *previewing) verdict(r preview.Report) error {
	found := p.found(r)
	if len(found) > 0 {
		p.Note("failed by --fail-on: %s\n", strings.Join(found, ", "))
	}
	switch err := p.failure(); {
	case err != nil:
		return err
	case p.base.missing != nil:
		return p.base.missing
	case len(found) > 0:
		return command.ErrFoundReported()
	}
	return nil
}
