// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/generate"
	"github.com/ropewalk/ropewalk/render/workload/resource"
)

// rootSecrets begins the placeholders of secrets that the project declares.
const rootSecrets = "secrets"

// secretBinding returns the piece for ${secrets.name.key}, or for ${secrets.name}, which means all
// of a secret.
func (s scope) secretBinding(steps []string) ([]generate.Piece, *object.Error) {
	bindings := s.member.config.Secrets.Bindings
	if len(steps) == 0 || steps[0] == "" {
		return nil, mistake(object.Suggest("", object.SortedKeys(bindings)), "names no secret")
	}
	b, ok := bindings[steps[0]]
	switch {
	case !ok && len(bindings) == 0:
		hint := fmt.Sprintf("declare %q under spec.workloads.secrets.bindings of %s", steps[0], spec.ProjectFile)
		return nil, mistake(hint, "the project declares no secrets")
	case !ok:
		return nil, mistake(object.Suggest(steps[0], object.SortedKeys(bindings)), "the project declares no secret %q", steps[0])
	case len(steps) > 2:
		return nil, mistake(`a dot inside of a key is written \.`, "a secret has keys, and they have no parts")
	}

	// The project may list the keys that there are.
	key := ""
	if len(steps) == 2 {
		key = steps[1]
	}
	if len(b.Keys) > 0 && !slices.Contains(b.Keys, key) {
		return nil, mistake(object.Suggest(key, b.Keys), "the secret %q has no key %q", steps[0], key)
	}

	// The provider decides the place that it is read from.
	source := spec.SecretSource{Provider: b.Provider, Secret: b.Secret, Version: b.Version, Key: key}
	ref, err := referenceTo(&s.member.config.Secrets, source, "")
	if err != nil && err.Severity != object.SeverityWarning {
		return nil, err
	}
	if s.secret == nil {
		return nil, &object.Error{} // It is refused where texts are resolved.
	}
	p := s.secret(rootSecrets+"."+steps[0], cmp.Or(key, "value"), ref)
	p.Written = strings.Join(append([]string{rootSecrets}, steps...), ".")
	return []generate.Piece{{Secret: p}}, err
}

// The names and versions that External Secrets can ask a provider for: Secret Manager of Google
// Cloud and of AWS, Key Vault, and version 2 of the key-value engine of Vault.
var (
	gcpWord      = regexp.MustCompile(`^[\w-]+$`)
	awsWord      = regexp.MustCompile(`^[\w/+=.@:-]+$`)
	azureName    = regexp.MustCompile(`^((secret|key|cert)/)?[0-9A-Za-z-]{1,127}$`)
	azureVersion = regexp.MustCompile(`^[0-9a-fA-F]{32}$`)
	vaultPath    = regexp.MustCompile(`^[^/\s]\S*$`)
	vaultVersion = regexp.MustCompile(`^[1-9][0-9]*$`)
)

// word is a pattern of a text of at most that many bytes. A pattern that counts hundreds of
// letters takes every command ten milliseconds to compile.
type word struct {
	pattern *regexp.Regexp
	most    int
}

func (w word) matches(text string) bool { return len(text) <= w.most && w.pattern.MatchString(text) }

// naming describes the names of secrets and of versions that a provider accepts.
type naming struct {
	name, version word
	// expected describes both, for messages.
	expected string
}

// namingOf returns the names and versions that a provider accepts.
func namingOf(provider string) naming {
	switch provider {
	case "gcp":
		return naming{word{gcpWord, 255}, word{gcpWord, 63}, "letters, digits, _ and -, and a version such as 3"}
	case "aws":
		return naming{word{awsWord, 512}, word{awsWord, 512}, "a name or ARN, and a stage or uuid/ID as version"}
	case "azure":
		return naming{word{azureName, 134}, word{azureVersion, 32}, "letters, digits and -, and 32 hexadecimal digits as version"}
	default:
		return naming{word{vaultPath, math.MaxInt}, word{vaultVersion, math.MaxInt}, "a path without / in front, and a number as version"}
	}
}

// referenceTo returns the place that a secret is read from: a store, or a Secret of the namespace
// if its provider is local or the backend of the environment is kubernetes. The key of a Secret is
// fallback by default, and a version is left out with a warning.
func referenceTo(config *spec.Secrets, s spec.SecretSource, fallback string) (resource.Reference, *object.Error) {
	provider := cmp.Or(s.Provider, config.DefaultProvider)
	google, name, version := "", "", ""
	if provider == "gcp" {
		google, name, version = spec.SplitGoogleSecret(s.Secret)
	}
	if google != "" {
		if version != "" && s.Version != "" && version != s.Version {
			return resource.Reference{}, mistake("write one of them",
				"the secret is version %q by its name, and version %q beside it", version, s.Version)
		}
		s.Secret, s.Version = name, cmp.Or(version, s.Version)
	}
	if provider == spec.ProviderLocal || config.Backend == spec.BackendKubernetes {
		return secretOfNamespace(s, fallback)
	}

	// A store has the secret. The provider chooses the store.
	out := resource.Reference{Provider: provider, Key: s.Secret, Property: s.Key, Version: s.Version}
	if out.Version == "latest" {
		out.Version = "" // Not all providers know the word; without a version, all give the newest.
	}
	if provider == "" {
		if len(config.Providers) > 0 {
			providers := strings.Join(object.SortedKeys(config.Providers), ", ")
			return out, mistake("write provider, or set spec.workloads.secrets.defaultProvider",
				"the secret names no provider, and the project has several (%s)", providers)
		}
		return out, nil
	}
	if _, ok := config.Providers[provider]; !ok {
		hint := fmt.Sprintf("set spec.workloads.secrets.providers.%s of %s, such as {store: NAME}", provider, spec.ProjectFile)
		return out, mistake(hint, "the project has no store for the provider %q", provider)
	}

	// Each provider has its own rules for names.
	accepted := namingOf(provider)
	switch {
	case !accepted.name.matches(out.Key):
		return out, mistake("", "%q is no name of a secret of %s: expected %s", out.Key, provider, accepted.expected)
	case out.Version != "" && !accepted.version.matches(out.Version):
		return out, mistake("", "%q is no version of a secret of %s: expected %s", out.Version, provider, accepted.expected)
	case provider == "vault" && out.Property == "":
		return out, mistake("name the key", "a secret of vault is a map, of which one key is read")
	}
	return out, checkGoogle(config, google)
}

// secretOfNamespace returns the reference to a key of a Secret in the namespace of the workload.
func secretOfNamespace(s spec.SecretSource, fallback string) (resource.Reference, *object.Error) {
	key := cmp.Or(s.Key, fallback)
	switch {
	case len(validation.IsDNS1123Subdomain(s.Secret)) > 0:
		return resource.Reference{}, mistake("lay the name of a Secret over it for the environment: secret: NAME",
			"the secret is read from a Secret of the namespace, and %q is no name of one", s.Secret)
	case key == "" || len(validation.IsConfigMapKey(key)) > 0:
		return resource.Reference{}, mistake("name the key that the Secret has",
			"the secret is read from the Secret %q of the namespace, and %q is no key of one", s.Secret, key)
	}
	var err *object.Error
	if s.Version != "" && s.Version != "latest" {
		err = mistake("lay version: null over it for the environment",
			"the version is left out: the backend kubernetes reads the Secret %q, which has no versions", s.Secret)
		err.Severity = object.SeverityWarning
	}
	return resource.Reference{Kubernetes: true, Key: s.Secret, Property: key}, err
}

// checkGoogle returns a mistake if the full name of a secret has another Google project than the
// store of the provider, which reads only secrets of its own project. It returns a warning if the
// project of the store is not known.
func checkGoogle(config *spec.Secrets, project string) *object.Error {
	store := config.Providers["gcp"].StoreName
	stored := ""
	if store == config.StoreName {
		v, _ := config.Provider.Lookup(object.Fields("gcp", "projectID"))
		stored = v.Text
	}
	if project == "" || project == stored {
		return nil
	}
	err := mistake("write the name of the secret alone, if that is the project of the store",
		"the secret is one of the Google project %q, and the store %q reads those of its own", project, store)
	if stored == "" {
		err.Severity = object.SeverityWarning
	}
	return err
}
