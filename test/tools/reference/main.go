// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Command reference writes the reference of a kind, as Markdown, from its
// CustomResourceDefinition: each field with its type, its default, what the API server
// refuses, and what it means. The definition is taken and not the Go types, because it
// is what an API server holds a manifest to, and has the comments of the types too.
//
// The Makefile calls it; what it writes is in deploy/flux.
package main

import (
	"errors"
	"fmt"
	"os"

	"go.yaml.in/yaml/v3"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("expected the file of a CustomResourceDefinition")
	}
	data, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	var d definition
	if err := yaml.Unmarshal(data, &d); err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	if len(d.Spec.Versions) == 0 {
		return fmt.Errorf("%s: it has no versions", args[0])
	}
	_, err = os.Stdout.WriteString(d.reference())
	return err
}

// definition is what of a CustomResourceDefinition is written down.
type definition struct {
	Spec struct {
		Group string `yaml:"group"`
		Scope string `yaml:"scope"`
		Names struct {
			Kind       string   `yaml:"kind"`
			ShortNames []string `yaml:"shortNames"`
		} `yaml:"names"`
		Versions []struct {
			Name   string `yaml:"name"`
			Schema struct {
				OpenAPI schema `yaml:"openAPIV3Schema"`
			} `yaml:"schema"`
		} `yaml:"versions"`
	} `yaml:"spec"`
}

// schema is a part of the OpenAPI schema of a kind.
type schema struct {
	Description string            `yaml:"description"`
	Type        string            `yaml:"type"`
	Format      string            `yaml:"format"`
	Pattern     string            `yaml:"pattern"`
	Default     any               `yaml:"default"`
	Enum        []any             `yaml:"enum"`
	Minimum     *float64          `yaml:"minimum"`
	Maximum     *float64          `yaml:"maximum"`
	MinLength   *int              `yaml:"minLength"`
	MaxLength   *int              `yaml:"maxLength"`
	MaxItems    *int              `yaml:"maxItems"`
	MaxEntries  *int              `yaml:"maxProperties"`
	Required    []string          `yaml:"required"`
	Properties  map[string]schema `yaml:"properties"`
	Items       *schema           `yaml:"items"`
	Values      *schema           `yaml:"additionalProperties"`
	Open        bool              `yaml:"x-kubernetes-preserve-unknown-fields"`
	IntOrString bool              `yaml:"x-kubernetes-int-or-string"`
	Rules       []struct {
		Message string `yaml:"message"`
		Rule    string `yaml:"rule"`
	} `yaml:"x-kubernetes-validations"`
}
