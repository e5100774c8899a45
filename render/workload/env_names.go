// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"slices"
	"strconv"
	"strings"
)

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

// isVariableName reports whether Kubernetes takes the name of a variable
// (validation.IsRelaxedEnvVarName, the rule since 1.32).
func isVariableName(name string) bool {
	for i := 0; i < len(name); i++ {
		if c := name[i]; c < ' ' || c > '~' || c == '=' {
			return false
		}
	}
	return name != ""
}

// warnSecret warns of a literal in a variable whose name says that it is a
// secret. Names prove nothing, so it stays what it is.
func (e *environment) warnSecret(v *variable, text string) {
	if soundsSecret(v.name) && couldBeSecret(text) {
		e.l.warn(v.value.pos, e.path(v.name), "take it from a sensitive output of a resource",
			"the name sounds like a secret, and the text is in the manifests for all to read")
	}
}

// soundsSecret reports whether a name holds a word, or two that follow each
// other, by which secrets are called.
func soundsSecret(name string) bool {
	if len(name) < len("TOKEN") {
		return false
	}
	words := strings.FieldsFunc(strings.ToUpper(name), func(r rune) bool { return r == '_' || r == '-' || r == '.' })
	for i, w := range words {
		switch w {
		case "PASSWORD", "PASSWORDS", "PASSWD", "PASSPHRASE", "SECRET", "SECRETS", "TOKEN", "CREDENTIAL", "CREDENTIALS", "APIKEY":
			return true
		case "KEY":
			if i > 0 && slices.Contains([]string{"API", "PRIVATE", "ACCESS", "ENCRYPTION", "SIGNING", "MASTER"}, words[i-1]) {
				return true
			}
		}
	}
	return false
}

// couldBeSecret reports whether a text could be the secret itself: not the path
// of a file, the address of a service, a switch or another variable.
func couldBeSecret(text string) bool {
	if text == "" || strings.HasPrefix(text, "/") || strings.HasPrefix(text, "./") {
		return false
	}
	if strings.Contains(text, "://") && !strings.Contains(text, "@") {
		return false
	}
	if strings.HasPrefix(text, "$(") && strings.HasSuffix(text, ")") {
		return false
	}
	_, err := strconv.ParseBool(text)
	return err != nil
}
