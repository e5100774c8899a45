// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
)

// flagPrefix begins the name of a variable that is a flag.
const flagPrefix = "ROPEWALK_"

// setFromEnvironment sets the flags that are missing on the command line from variables of
// environ: --argocd-health is ROPEWALK_ARGOCD_HEALTH. A list of arguments is replaced as a
// whole by a patch of a Deployment, and variables are merged by name. It reports variables
// that are no flag, which change nothing.
func setFromEnvironment(flags *pflag.FlagSet, environ []string, report func(error)) error {
	var mistakes []error
	for _, variable := range slices.Sorted(slices.Values(environ)) {
		name, value, _ := strings.Cut(variable, "=")
		short, ok := strings.CutPrefix(name, flagPrefix)
		if !ok || name == command.CacheVariable {
			continue
		}
		flag := flags.Lookup(strings.ToLower(strings.ReplaceAll(short, "_", "-")))
		switch {
		case flag == nil && !isServiceLink(short):
			report(fmt.Errorf("the variable %s is ignored: the command has no such flag", name))
		case flag == nil || flag.Changed:
		default:
			if err := flags.Set(flag.Name, value); err != nil {
				mistakes = append(mistakes, fmt.Errorf("the variable %s: %w", name, err))
			}
		}
	}
	if len(mistakes) > 0 {
		return command.Usagef("", "%w", errors.Join(mistakes...))
	}
	return nil
}

// isServiceLink reports whether Kubernetes sets such a variable for a Service.
func isServiceLink(short string) bool {
	return strings.Contains("_"+short, "_SERVICE_") || strings.Contains("_"+short, "_PORT")
}
