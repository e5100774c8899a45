// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/module/cases"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/module/impact"
	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/internal/reftype"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// moduleHelp explains the argument MODULE.
const moduleHelp = `
MODULE is the folder of a module (with its package; the working directory where there is
none), oci://REGISTRY/REPOSITORY with a tag or a digest, git:URL?tag=TAG (or branch, semver,
commit) as in a cueRef, with //FOLDER at its end where the package is in one, or
embedded:NAME for one that Ropewalk brings along, or NAME alone where no folder has it.`

// Commands makes the subcommands of this package.
type Commands struct{ *command.App }

// Command returns the command module.
func (a Commands) Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "module",
		Short: "Write, test, compare and publish modules",
		Long:  "For those who write modules: look at what one takes and makes, test it, and publish it.",
	}
	cmd.AddCommand(
		a.init(), a.vet(), a.test(), a.Show(), a.compat(), impact.Commands{App: a.App}.Command(),
		a.publish(), a.list(), a.images(),
	)
	return cmd
}

// opened is a module that was fetched.
type opened struct {
	// Reference is the reference as the user wrote it.
	Reference string
	host.Loaded
	// Request renders the module without an input, in the context of a spec called like the module.
	Request   evaluate.Request
	Evaluator evaluate.Evaluator
	Close     func()
}

// open fetches the module that a reference names, and starts its evaluator. If there is no error,
// the caller closes it.
func (a Commands) open(ctx context.Context, flags *command.SourceFlags, limits command.LimitFlags, reference string) (opened, error) {
	evaluator, closer, err := limits.Evaluator()
	if err != nil {
		return opened{}, err
	}
	out, err := a.fetch(ctx, flags, evaluator, reference)
	if err != nil {
		closer()
		return out, err
	}
	out.Close = closer
	out.Request.Limits = limits.Limits()
	return out, nil
}

// fetch fetches the module that a reference names.
func (a Commands) fetch(ctx context.Context, flags *command.SourceFlags, evaluator evaluate.Evaluator, reference string) (opened, error) {
	// A remote module is loaded by a document that refers to it, and a folder by its path.
	module := opened{Reference: reference, Evaluator: evaluator}
	opts := host.Options{Args: []string{reference}, Evaluator: module.Evaluator}
	kind, ref, remote := split(reference)
	if remote {
		cueRef := map[string]any{"type": kind, "ref": ref}
		if repository, folder := reftype.SplitFolder(ref); kind == reftype.Git && folder != "" {
			cueRef["ref"], cueRef["path"] = repository, folder
		}
		text, err := json.Marshal(map[string]any{
			"apiVersion": "ropewalk.dev/v1alpha1", "kind": "Transform", "metadata": map[string]any{"name": "module"},
			"spec": map[string]any{"cueRef": cueRef},
		})
		if err != nil {
			return module, err
		}
		// A document has the name of a file in this folder.
		opts.Args = nil
		opts.Documents = []spec.File{{Name: path.Base(reference), Data: text}}
	} else if info, err := os.Stat(reference); errors.Is(err, fs.ErrNotExist) || (err == nil && !info.IsDir()) {
		hint := "name the folder of its package, or oci://…, git:…, embedded:…"
		hint = cmp.Or(object.DidYouMean(reference, cue.Names()), project.NearestFile(reference), hint)
		return module, command.Usagef(hint, "%s is no folder of a module", reference)
	}

	// Load it, and print its mistakes.
	h, err := a.Connect(flags, nil, opts.Args, nil)
	if err != nil {
		return module, err
	}
	module.Loaded, err = h.Load(ctx, opts)
	if err != nil {
		a.Texts = module.Texts
		return module, err
	}
	a.Texts = module.Texts
	if err := module.Loaded.Request.Mistakes.Err(); err != nil {
		return module, err
	}
	a.Warn(module.Loaded.Request.Mistakes)

	// A module is a single spec, and no Component.
	specs := module.Loaded.Request.Specs
	if len(specs) != 1 {
		hint := "name the folder with the package of the module"
		return module, command.Usagef(hint, "%s holds %d specs, and is no module", reference, len(specs))
	}
	module.Request = specs[0].Evaluate
	if module.Request.Component != nil {
		hint := "ropewalk graph draws what it makes"
		return module, command.Usagef(hint, "%s holds a chart, a kustomization or manifests, and is no module", reference)
	}
	return module, nil
}

// split splits a reference that is no folder into its type and the reference of this type. The result
// ok is false for a folder.
func split(reference string) (kind, ref string, ok bool) {
	if strings.HasPrefix(reference, "oci://") {
		return reftype.OCI, reference, true
	}
	kind, ref, ok = strings.Cut(reference, ":")
	if ok && (kind == reftype.Git || kind == reftype.Embedded) {
		return kind, ref, true
	}
	return "", "", false
}

// argument returns the folder that the arguments of a command name.
func argument(args []string) string {
	if len(args) == 0 {
		return "."
	}
	return args[0]
}

// named returns the module that the arguments of a command name. An embedded module may be named
// alone if no folder has its name.
func named(args []string) string {
	name := argument(args)
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) && slices.Contains(cue.Names(), name) {
		return reftype.Embedded + ":" + name
	}
	return name
}

// caseSubject returns the module as its cases render it.
func (m opened) caseSubject() cases.Subject {
	m.Loaded.Request.Specs[0].Evaluate.Limits = m.Request.Limits
	return cases.Subject{Request: m.Loaded.Request, Renderer: render.NewRenderer(m.Evaluator)}
}
