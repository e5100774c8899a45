// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// needles are pieces of secrets with what each is a piece of. A report has the names alone.
type needles map[string]string

// bootstrapToken is how kubeadm writes the tokens that nodes join with.
func bootstrapToken() *regexp.Regexp { return regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b`) }

// keys are the private keys in a text, which may be indented as in cloud-init.
func keys() *regexp.Regexp {
	return regexp.MustCompile(`(?s)[ \t]*-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----`)
}

// add takes a text that is secret as it is, and as it is in the data of a Secret.
func (n needles) add(name, text string) {
	if text = strings.TrimSpace(text); text != "" {
		n[text] = name
		n[base64.StdEncoding.EncodeToString([]byte(text))] = name
	}
}

// secret takes what is secret in a Secret of a Cluster.
func (n needles) secret(o *unstructured.Unstructured) {
	data, _, _ := unstructured.NestedStringMap(o.Object, "data")
	for _, key := range slices.Sorted(maps.Keys(data)) {
		text, err := base64.StdEncoding.DecodeString(data[key])
		if err != nil {
			continue
		}
		name := fmt.Sprintf("%s of Secret %s/%s", key, o.GetNamespace(), o.GetName())
		n.keys(name, string(text))
		// Bootstrap data and kubeconfigs are secret as they are, the rest where it is a key.
		const from, length = 200, 64
		if len(data[key]) > from+length && (key == "value" || keys().Match(text)) {
			n[data[key][from:from+length]] = name
		}
		for _, token := range bootstrapToken().FindAllString(string(text), -1) {
			n.add(name, token)
		}
		if config, err := clientcmd.RESTConfigFromKubeConfig(text); err == nil {
			n.kubeconfig(name, config)
		}
	}
}

// kubeconfig takes what a client proves itself by.
func (n needles) kubeconfig(name string, config *rest.Config) {
	n.keys(name, string(config.KeyData))
	n.add(name, config.BearerToken)
	n.add(name, config.Password)
}

// keys takes the private keys of a text: each line of the base64 in a block, and the middle
// of the whole block in base64 once more, as it is in the data of a Secret.
func (n needles) keys(name, text string) {
	for _, found := range keys().FindAllString(text, -1) {
		block := strings.ReplaceAll(strings.ReplaceAll(found, " ", ""), "\t", "")
		for line := range strings.Lines(block) {
			if line = strings.TrimSpace(line); len(line) >= 32 && !strings.HasPrefix(line, "-----") {
				n[line] = name
			}
		}
		if parsed, _ := pem.Decode([]byte(found + "\n")); parsed != nil {
			again := base64.StdEncoding.EncodeToString([]byte(found + "\n"))
			const from, length = 120, 64
			if len(again) > from+length {
				n[again[from:from+length]] = name
			}
		}
	}
}

// in are the secrets that a text has a piece of, each once.
func (n needles) in(where, text string) []string {
	found := map[string]bool{}
	for needle, name := range n {
		if strings.Contains(text, needle) {
			found[where+" has a piece of "+name] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}
