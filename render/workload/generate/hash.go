// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// hash identifies the configuration that pods read when they start: the data of
// the ConfigMaps, and what the ExternalSecrets refer to and make of it, never a
// value. How often secrets are read again is no part of it. It is "" where there
// is no configuration.
func hash(input object.Value) string {
	configs, _ := input.Get("configs")
	secrets, _ := input.Get("secrets")
	if len(configs.Members) == 0 && len(secrets.Members) == 0 {
		return ""
	}
	references := make(members, 0, len(secrets.Members))
	for _, s := range secrets.Members {
		references.put(s.Name, s.Value.Without(object.Fields("refreshInterval")))
	}
	all := MapOf(object.Pos{}, with("configs", configs), with("secrets", references.value(object.Pos{})))
	sum := sha256.Sum256(all.JSON())
	return hex.EncodeToString(sum[:])
}

// ShortHash distinguishes two texts in a name: 8 hexadecimal digits.
func ShortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}

// Limit is a name of at most so many letters: a longer one is cut and ends in a
// hash of the complete text, so that two long names with one beginning stay two.
func Limit(name string, most int) string {
	if len(name) <= most {
		return name
	}
	const tail = 1 + 8
	return strings.TrimRight(name[:most-tail], "-._") + "-" + ShortHash(name)
}
