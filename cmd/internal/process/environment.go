// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"os"
	"syscall"
)

// CloseEnvironment takes away the variables by which CUE can be told to think
// otherwise: the same request gives the same result for every user. CUE reads
// them before main begins, so a process that has them starts again without, and
// this does not return.
func CloseEnvironment() {
	open := false
	for _, name := range []string{"CUE_DEBUG", "CUE_EXPERIMENT"} {
		if _, set := os.LookupEnv(name); set {
			// It fails only for names that cannot be.
			open, _ = true, os.Unsetenv(name)
		}
	}
	if !open {
		return
	}
	if self, err := os.Executable(); err == nil {
		// It returns only where it cannot start; the variables speak of
		// debugging, which is no reason to fail.
		_ = syscall.Exec(self, os.Args, os.Environ()) //nolint:gosec // it is this very program, with what the user called it with
	}
}

// ProbeDir makes a directory if it does not exist, and writes to it: a mistake in its name would
// otherwise be noticed at the first large request.
func ProbeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".ropewalk-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
