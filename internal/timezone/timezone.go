// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package timezone knows the names of time zones. They are data of this program, the
// names of the IANA time zone database 2025c (public domain) as Go 1.26 distributes it,
// so that a render does not depend on the database of its machine. The list is written by
// test/schemas.
package timezone

import (
	_ "embed"
	"path"
	"strings"
)

//go:embed zones.txt
var zones string

// Names returns the names of all time zones, sorted.
func Names() []string { return strings.Fields(zones) }

// Known reports whether name is the name of a time zone, such as Europe/Berlin. "" and Local are
// not time zones.
func Known(name string) bool {
	return name != "" && !strings.Contains(name, "\n") && strings.Contains("\n"+zones, "\n"+name+"\n")
}

// InCity returns the time zone that is named after a city, such as Europe/Berlin for "berlin". It
// returns "" if there is no such zone.
func InCity(name string) string {
	city := strings.ReplaceAll(path.Base(name), " ", "_")
	for _, zone := range Names() {
		if strings.EqualFold(path.Base(zone), city) {
			return zone
		}
	}
	return ""
}
