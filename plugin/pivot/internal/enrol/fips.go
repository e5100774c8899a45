// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package enrol

import (
	"crypto/fips140"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
)

// fipsModule is the Go Cryptographic Module that has a certificate: CMVP 5247.
const fipsModule = "v1.0.0-c2097c7c"

// RequireFIPS returns an error if this process does not use the validated module. The program must
// be built with GOFIPS140=certified, and not started with GODEBUG=fips140=off.
func RequireFIPS() error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return errors.New("fips: the program has no build information")
	}
	return requireFIPS(fips140.Enabled(), info.Settings)
}

// requireFIPS does the work of RequireFIPS for given build settings.
func requireFIPS(enabled bool, settings []debug.BuildSetting) error {
	i := slices.IndexFunc(settings, func(s debug.BuildSetting) bool { return s.Key == "GOFIPS140" })
	switch {
	case i < 0:
		return errors.New("fips: the program is built without a FIPS module: build it with GOFIPS140=certified")
	case settings[i].Value != fipsModule:
		const format = "fips: the program is built with module %q, expected %q: build it with GOFIPS140=certified"
		return fmt.Errorf(format, settings[i].Value, fipsModule)
	case !enabled:
		return errors.New("fips: FIPS mode is off: start the program without GODEBUG=fips140=off")
	}
	return nil
}
