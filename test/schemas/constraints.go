// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

//go:embed constraints.txt
var constraints string

// constrain adds the constraints of the file to components.
func constrain(components map[string]*compactSchema) error {
	for line := range strings.Lines(constraints) {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		name, items := strings.CutSuffix(words[1], "[]")
		component := components[words[0]]
		if component == nil || component.Properties[name] == nil {
			return fmt.Errorf("constraints.txt: no member %s %s", words[0], name)
		}
		member := component.Properties[name]
		if items {
			member = member.Items
		}
		for _, word := range words[2:] {
			if err := member.constrain(word); err == nil {
				continue
			}
			i := slices.Index(component.Required, name)
			switch {
			case word == "required" && i < 0:
				component.Required = append(component.Required, name)
				slices.Sort(component.Required)
			case word == "optional" && i >= 0:
				component.Required = slices.Delete(component.Required, i, i+1)
			default:
				return fmt.Errorf("constraints.txt: %s %s: %s says nothing new", words[0], name, word)
			}
		}
	}
	return nil
}

// constrain adds what a word says of a value, and fails where it is none of those.
func (s *compactSchema) constrain(word string) error {
	if word == "required" || word == "optional" {
		return strconv.ErrSyntax
	}
	if values, ok := strings.CutPrefix(word, "="); ok {
		s.Enum = slices.Sorted(strings.SplitSeq(values, "|"))
		return nil
	}
	low, high, ok := strings.Cut(word, "..")
	if !ok {
		s.Checks = append(s.Checks, word)
		return nil
	}
	for i, text := range []string{low, high} {
		if text == "" {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return err
		}
		*[]**int64{&s.Min, &s.Max}[i] = &n
	}
	return nil
}
