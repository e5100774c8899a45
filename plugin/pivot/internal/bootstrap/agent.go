// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"strings"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/enrol"
)

// Keys of the Secret of an agent, beside those of its credentials.
const (
	// TokenKey is gone once the agent is enrolled.
	TokenKey = "token"
	// EndpointKey is the registration endpoint, https://HOST:PORT.
	EndpointKey = "endpoint"
	// LinkKey is the address of the link, HOST:PORT.
	LinkKey = "link"
)

// AgentData is the Secret that an agent begins with. Trust is as in enrol.Credentials, which
// the agent adds a key to.
func AgentData(token, endpoint, link string, trust enrol.Trust) map[string][]byte {
	return map[string][]byte{
		TokenKey: []byte(token), EndpointKey: []byte(endpoint), LinkKey: []byte(link),
		"ca.crt": trust.PEM(), "pins": []byte(strings.Join(trust.Pins, "\n")),
	}
}

// Pins are those of the Secret of an agent.
func Pins(data map[string][]byte) []string { return strings.Fields(string(data["pins"])) }
