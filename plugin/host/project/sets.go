// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"errors"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// ReadHelm reads [SPEC:]NAME=VALUE for values of charts, in the syntax of Helm, and returns
// the arguments of --set that are for other specs, or for other fields of a chart.
func (o *Overlays) ReadHelm(sets []spec.HelmSet) (others []string) {
	for _, s := range sets {
		name, text := o.splitSpec(s.Text)
		before, isChart := o.Charts[name]
		text, isValue := strings.CutPrefix(text, before)
		s.Pos.File = s.Flag
		if !strings.HasPrefix(strings.TrimSpace(s.Text), "{") { // JSON may be a secret wherever it has an equals sign.
			s.Pos.File += strings.TrimPrefix(spec.SetPlace(s.Text), "--set")
		}
		switch {
		case isChart && isValue:
			s.Text = text
			if s.Flag == "--set-file" && !o.readContent(&s) {
				continue
			}
			o.helm[name] = append(o.helm[name], s)
		case s.Flag == "--set":
			others = append(others, s.Text)
		case isChart:
			o.report.Fail(s.Pos, "write "+name+":"+before+"NAME=VALUE", errors.New("it is no value of the chart"))
		default:
			o.report.Fail(s.Pos, "write --set, and for one of several specs SPEC:PATH=VALUE", errors.New("the flag is for charts"))
		}
	}
	return others
}

// Helm returns the values of a chart that were read.
func (o *Overlays) Helm(name string) []spec.HelmSet { return o.helm[name] }

// HelmFiles returns the contents of files of --set-file, below the names that they are set to.
func (o *Overlays) HelmFiles() (out []object.Value) {
	for _, name := range object.SortedKeys(o.helm) {
		for _, s := range o.helm[name] {
			if s.Flag == "--set-file" {
				content := object.Member{Name: s.Text, Value: object.TextAt(s.Content, s.Pos)}
				out = append(out, object.Value{Kind: object.KindMap, Members: []object.Member{content}})
			}
		}
	}
	return out
}

// splitSpec splits the name of a chart off an argument. It is the name of the only spec if the
// argument names no chart.
func (o *Overlays) splitSpec(text string) (name, remainder string) {
	before, remainder, named := strings.Cut(text, ":")
	if _, isChart := o.Charts[before]; named && isChart {
		return before, remainder
	}
	if len(o.Names) == 1 {
		return o.Names[0], text
	}
	return "", text
}

// readContent reads the file of an argument NAME=FILE. It returns false if the file cannot be
// read.
func (o *Overlays) readContent(s *spec.HelmSet) bool {
	name, file, ok := strings.Cut(s.Text, "=")
	if !ok || strings.Contains(file, ",") {
		o.report.Fail(s.Pos, "write --set-file NAME=FILE, once for each file", errors.New("it names no single file"))
		return false
	}
	data, err := o.places.readNamed(file)
	if err != nil {
		o.report.Fail(object.Pos{File: file}, "", err)
		return false
	}
	s.Text = name + "=x"
	s.Content = string(data)
	return true
}
