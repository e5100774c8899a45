// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"strings"
)

// badLabel reports what is wrong with a DNS label as Kubernetes uses it for
// names (RFC 1123), "" where nothing is.
func badLabel(s string) string {
	switch {
	case s == "":
		return "must not be empty"
	case len(s) > 63:
		return fmt.Sprintf("has %d characters, more than 63", len(s))
	case strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") != "":
		return "may hold only a-z, 0-9 and -"
	case s[0] == '-' || s[len(s)-1] == '-':
		return "must begin and end with a letter or a digit"
	}
	return ""
}

// CheckName reports what is wrong with a name that must be a DNS label.
func CheckName(name string) error {
	if bad := badLabel(name); bad != "" {
		return fmt.Errorf("%q %s", name, bad)
	}
	return nil
}

// CheckDomain reports what is wrong with the DNS domain of a cluster.
func CheckDomain(domain string) error {
	for label := range strings.SplitSeq(domain, ".") {
		if bad := badLabel(label); bad != "" {
			return fmt.Errorf("%q is not a domain: %q %s", domain, label, bad)
		}
	}
	return nil
}
