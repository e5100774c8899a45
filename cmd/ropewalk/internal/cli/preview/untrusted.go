// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/checkout"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/source/lock"
)

// openBase opens the base of a revision: where the head left it, or the revision itself with
// --exact. The pull policy is that of the revision: a change chooses where it leaves the base, and
// with that an older policy.
func (p *previewing) openBase(ctx context.Context, repository, rev string) error {
	if err := p.checkout(ctx, &p.base, repository, rev); err != nil {
		return err
	}
	if err := p.readPolicy(repository); err != nil || p.exact {
		return err
	}
	bases, err := checkout.MergeBases(ctx, repository, p.base.Commit, cmp.Or(p.head.Commit, "HEAD"))
	var environment *command.EnvironmentError
	if errors.As(err, &environment) {
		environment.Hint = "--exact compares with " + rev + " as it is"
	}
	tip := p.base.Commit
	if err != nil || bases[0] == tip {
		return err
	}
	if err := p.checkout(ctx, &p.base, repository, bases[0]); err != nil {
		return err
	}
	p.base.Name = rev
	p.base.Tip = tip
	if len(bases) > 1 {
		p.base.Notes = append(p.base.Notes, fmt.Sprintf("There are %d merge bases, since the histories were merged crosswise: the newest one is compared with.", len(bases)))
	}
	return nil
}

// readPolicy reads the pull policy from the base if it is a file of the repository: the file on
// disk may be the head's.
func (p *previewing) readPolicy(repository string) error {
	flags := &p.Sources
	name, ok := checkout.Inside(repository, flags.PolicyFile())
	if flags.PolicyFile() == "" || !ok {
		return nil
	}
	data, err := fs.ReadFile(p.base.files, name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !p.untrusted:
		return nil // The change adds it.
	case err != nil:
		return &command.EnvironmentError{Err: fmt.Errorf("--pull-policy %s: it is read from %s: %w", flags.PolicyFile(), p.base.Name, err)}
	}
	flags.Policy = data
	for _, s := range []*side{&p.base, &p.head} {
		s.flags.Sources.Policy = data
	}
	if now, err := fs.ReadFile(p.head.files, name); err != nil || !bytes.Equal(now, data) {
		p.head.Notes = append(p.head.Notes, fmt.Sprintf("The pull policy %s is that of %s: the head has another one.", name, p.base.Name))
	}
	return nil
}

// confine lets the head fetch only what the lock of the base has. The lock of the head does not
// count.
func (p *previewing) confine(flags *command.ProjectFlags, dir string) error {
	flags.Sources.Confined = true
	flags.Sources.PlanName = "the " + lock.Name + " of " + p.base.Name
	flags.Sources.Plan = &lock.File{}
	if p.base.files == nil {
		return nil
	}
	file, _, err := project.Lock(project.Options{FS: p.base.files, Args: []string{dir}})
	if err != nil {
		return fmt.Errorf("%s: %w", flags.Sources.PlanName, err)
	}
	flags.Sources.Plan = &file
	return nil
}

// noteLocks tells of locks of the head that do not count.
func (p *previewing) noteLocks() {
	if !p.untrusted || p.head.files == nil {
		return
	}
	var other []string
	for _, c := range p.cells {
		if c.dir == "" {
			continue
		}
		name := path.Join(c.dir, lock.Name)
		now, err := fs.ReadFile(p.head.files, name)
		if err != nil || slices.Contains(other, name) {
			continue
		}
		var was []byte
		if p.base.files != nil {
			was, _ = fs.ReadFile(p.base.files, name) // Without one nothing is locked.
		}
		if !bytes.Equal(was, now) {
			other = append(other, name)
		}
	}
	if len(other) > 0 {
		p.head.Notes = append(p.head.Notes, fmt.Sprintf("The head is not trusted, and is rendered with what the base locks: its own %s does not count.", strings.Join(other, ", ")))
	}
}

// checkUntrusted refuses flags that would give the head access to this machine.
func (o *options) checkUntrusted(changed func(flag string) bool) error {
	for _, flag := range []string{"var-from-env", "runtime-from-env"} {
		if o.untrusted && changed(flag) {
			return command.Usagef("leave one of them out", "--untrusted-head and --%s exclude each other: the head could show what the environment has", flag)
		}
	}
	return nil
}
