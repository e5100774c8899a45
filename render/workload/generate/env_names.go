// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import "strings"

// isKey reports whether name can be a key of a ConfigMap or Secret
// (validation.IsConfigMapKey).
func isKey(name string) bool {
	const most = 253
	if name == "" || len(name) > most || name == "." || strings.HasPrefix(name, "..") {
		return false
	}
	for i := 0; i < len(name); i++ {
		if !isKeyByte(name[i]) {
			return false
		}
	}
	return true
}

func isKeyByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.'
}

// isVariableName reports whether Kubernetes accepts the name of a variable
// (validation.IsRelaxedEnvVarName, the rule since 1.32).
func isVariableName(name string) bool {
	for i := 0; i < len(name); i++ {
		if c := name[i]; c < ' ' || c > '~' || c == '=' {
			return false
		}
	}
	return name != ""
}
