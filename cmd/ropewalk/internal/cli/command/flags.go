// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ropewalk/ropewalk/cmd/internal/process"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
	"github.com/ropewalk/ropewalk/render/evaluate/worker"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// Choice is a flag that takes one of a few words.
type Choice struct {
	Value string
	Words []string
}

var _ pflag.Value = (*Choice)(nil)

// NewChoice returns a flag that takes one of some words. The first one is the default.
func NewChoice(words ...string) Choice { return Choice{Value: words[0], Words: words} }

// String returns the chosen word.
func (c *Choice) String() string { return c.Value }

// Type returns the words that help prints for the value.
func (c *Choice) Type() string { return strings.Join(c.Words, "|") }

// Set chooses text, which must be one of the words.
func (c *Choice) Set(text string) error {
	if !slices.Contains(c.Words, text) {
		last := len(c.Words) - 1
		return fmt.Errorf("expected %s or %s", strings.Join(c.Words[:last], ", "), c.Words[last])
	}
	c.Value = text
	return nil
}

// Add makes c a flag of cmd, with completion of its words.
func (c *Choice) Add(cmd *cobra.Command, name, usage string) {
	cmd.Flags().Var(c, name, usage)
	// This fails only for a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(c.Words, cobra.ShellCompDirectiveNoFileComp))
}

// checkOutput refuses a format as the value of -o, which takes formats in kubectl and other tools.
func checkOutput(f *pflag.FlagSet) error {
	out := f.Lookup("output")
	if out == nil || out.Shorthand != "o" {
		return nil
	}
	value := out.Value.String()
	words := []string{"yaml", "json"}
	chosen := ""
	hint := ""
	if format := f.Lookup("format"); format != nil {
		formats := strings.Split(format.Value.Type(), "|") // the type of a Choice lists its words
		words = append(words, formats...)
		if slices.Contains(formats, value) {
			hint = "--format " + value + ", or "
		}
		if format.Changed {
			chosen = format.Value.String()
		}
	}
	if !slices.Contains(words, value) || value == chosen {
		return nil
	}
	what := "folder"
	if name, _ := pflag.UnquoteUsage(out); name == "FILE" {
		what = "file"
	}
	return Usagef("write "+hint+"-o ./"+value+" for a "+what+" of that name", "-o names a %s, and %q is a format", what, value)
}

// FlagError names the flag that an unknown one may have meant.
func FlagError(cmd *cobra.Command, err error) error {
	if lacksUnit(err) {
		return fmt.Errorf("%w: write the unit, such as 10s or 5m", err)
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	err = errors.New(printable.Line(err.Error()))
	if slices.Contains([]string{"t", "tag", "tags", "inject"}, unknown.GetSpecifiedName()) {
		return fmt.Errorf("%w: CUE tags go under spec.tags of a Transform", err)
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})

	// A name that begins with a flag means this flag: --env for --environment.
	best, ok := object.Nearest(unknown.GetSpecifiedName(), known)
	for _, name := range known {
		begins := len(name) > 2 && strings.HasPrefix(unknown.GetSpecifiedName(), name)
		if !ok && begins {
			best, ok = name, true
		}
	}
	if !ok {
		return err
	}
	return fmt.Errorf("%w: did you mean --%s?", err, best)
}

// lacksUnit reports whether err refuses a duration that only lacks its last unit, such as 10 or 1h30.
func lacksUnit(err error) bool {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) || invalid.GetFlag().Value.Type() != "duration" {
		return false
	}
	_, err = time.ParseDuration(invalid.GetValue() + "s")
	return err == nil
}

// LimitFlags choose where evaluations run, and limit the resources of each.
type LimitFlags struct {
	timeout time.Duration
	memory  process.Size
	values  int
	workers int
	// memoryFlag says whether the user set the memory; nil for commands without the flags.
	memoryFlag *pflag.Flag
}

// LeastMemory is the least memory that a worker starts with, in bytes.
const LeastMemory = 32 << 20

// DefaultMemory is the limit of an evaluation in the process of the command, in bytes: a
// Timoni module of 500 objects takes 300 MiB. Many workers run at once, so that each has
// [evaluate.DefaultMemory].
const DefaultMemory = 512 << 20

// DefaultLimits returns the limits of commands without the flags.
func DefaultLimits() LimitFlags {
	return LimitFlags{timeout: evaluate.DefaultTimeout, memory: DefaultMemory, values: evaluate.DefaultValues}
}

// Add adds the flags to a command.
func (l *LimitFlags) Add(f *pflag.FlagSet, workers string) {
	*l = DefaultLimits()
	f.DurationVar(&l.timeout, "timeout", l.timeout, "limit of the evaluation of one spec")
	f.Var(&l.memory, "memory", "limit of the memory of one evaluation; a process of --workers has 256MiB\nwhere this is not given")
	f.IntVar(&l.values, "max-values", l.values, "limit of the `N` values in all that a render reads, and in all that it\nmakes")
	f.IntVar(&l.workers, "workers", 0, workers)
	group(f, groupLimits, "timeout", "memory", "max-values", "workers")
	l.memoryFlag = f.Lookup("memory")
}

// Check refuses values that mean nothing.
func (l *LimitFlags) Check() error {
	switch {
	case l.workers < 0:
		return Usagef("", "--workers %d: expected 0 or more", l.workers)
	case l.timeout <= 0:
		return Usagef("", "--timeout %s: expected more than 0", l.timeout)
	case l.values <= 0:
		return Usagef("", "--max-values %d: expected 1 or more", l.values)
	case l.memory < LeastMemory:
		return Usagef("", "--memory %s: expected at least 32MiB", &l.memory)
	}
	return nil
}

// Limits returns the limits of each evaluation.
func (l *LimitFlags) Limits() evaluate.Limits {
	memory := int64(l.memory)
	memorySet := l.memoryFlag != nil && l.memoryFlag.Changed
	if l.workers > 0 && !memorySet {
		memory = evaluate.DefaultMemory
	}
	return evaluate.Limits{Timeout: l.timeout, Memory: memory, Values: l.values}
}

// Parallel returns how many specs are evaluated at once.
func (l *LimitFlags) Parallel() int {
	if l.workers > 0 {
		return l.workers
	}
	return runtime.GOMAXPROCS(0)
}

// Evaluator returns an evaluator that evaluates foreign modules in workers. It evaluates the user's
// own modules in this process, or in workers too if --workers asks for them. The second result
// closes it.
func (l *LimitFlags) Evaluator() (evaluate.Evaluator, func(), error) {
	if err := l.Check(); err != nil {
		return nil, nil, err
	}
	limits := l.Limits()
	options := worker.Options{
		Size:    l.workers,
		Schemas: process.EvaluateOptions().Schemas,
		Memory:  limits.Memory,
		Timeout: limits.Timeout,
	}
	pool, err := worker.NewPool(options) // It starts no process yet.
	if err != nil {
		return nil, nil, &EnvironmentError{Err: err}
	}
	evaluator := process.Components(pool, options)
	if l.workers == 0 {
		evaluator.Next = inprocess.New(process.EvaluateOptions())
		evaluator.Foreign = pool
	}
	closer := func() { // Errors of a worker that ends are of no use any more.
		_ = evaluator.Close()
		_ = pool.Close()
	}
	return evaluator, closer, nil
}

// completeEnvironments returns the environments of the project among the arguments, or in this
// folder, for the completion of a shell.
func completeEnvironments(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var names []cobra.Completion
	for _, at := range append(slices.Clone(args), ".") {
		name := filepath.Join(at, spec.ProjectFile)
		data, err := os.ReadFile(name) //nolint:gosec // The project is the user's own.
		if err != nil || len(data) > spec.MaxFile {
			continue
		}
		docs, err := spec.Parse([]spec.File{{Name: name, Data: data}})
		if project, errOne := docs.OneProject(); err == nil && errOne == nil {
			names = append(names, object.SortedKeys(project.Environments)...)
			break
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
