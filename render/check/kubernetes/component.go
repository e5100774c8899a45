// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"strings"
	"sync"

	"github.com/ropewalk/ropewalk/render/check/finding"
	"github.com/ropewalk/ropewalk/render/check/schemas"
	"github.com/ropewalk/ropewalk/render/object"
)

// schema describes a value of a built-in kind; [parseSchema] reads it. Its
// text form is described in render/check/schemas/SOURCES.md.
type schema struct {
	Ref        string
	Type       string
	Format     string
	Properties map[string]*schema
	Items      *schema
	Values     *schema
	Required   []string
	Enum       []string
	List       string
	Keys       []string
	// Struct marks what the decoder of the server adds empty where it is absent.
	Struct bool

	// name is that of the component, and rule is what its schema cannot say;
	// both are empty for a schema inside a component.
	name string
	rule func(*finding.Value)

	once        sync.Once
	structNames []string
}

// Components parses components when they are first needed. It is safe for
// concurrent use; the zero value is ready.
type Components struct {
	parsed sync.Map // name -> *schema
	empty  sync.Map // name -> whether an empty object of it is good
}

// get is the component called name, which is found by binary search and parsed
// alone. A name that the data does not hold gives
// a schema that accepts everything, which a test excludes.
func (c *Components) get(name string) *schema {
	if s, ok := c.parsed.Load(name); ok {
		return s.(*schema)
	}
	s := &schema{}
	if text, ok := findLine(schemas.Components(), name); ok {
		// The data is checked by a test; what cannot be read accepts all.
		if read, err := parseSchema(text); err == nil {
			s = read
		}
	}
	s.name, s.rule = name, ruleFor(name)
	first, _ := c.parsed.LoadOrStore(name, s)
	return first.(*schema)
}

// structs is the names of the members that the server makes up where they are
// absent, but for the status, which it fills in itself.
func (s *schema) structs() []string {
	s.once.Do(func() {
		for _, name := range object.SortedKeys(s.Properties) {
			if s.Properties[name].Struct && name != "status" {
				s.structNames = append(s.structNames, name)
			}
		}
	})
	return s.structNames
}

// findLine is what follows name and a space on the line of text that begins
// with them; the lines are sorted by name. The search goes forward only, which the
// library does many bytes at a time.
func findLine(text, name string) (string, bool) {
	lo, hi := 0, len(text) // both at the start of a line
	for lo < hi {
		mid := lo + (hi-lo)/2
		start := mid + strings.IndexByte(text[mid:hi], '\n') + 1
		if start == mid || start == hi {
			break // The half above has no whole line.
		}
		line, _, _ := strings.Cut(text[start:hi], "\n")
		switch key, rest, _ := strings.Cut(line, " "); strings.Compare(name, key) {
		case 0:
			return rest, true
		case -1:
			hi = start
		default:
			lo = min(start+len(line)+1, hi)
		}
	}
	for line := range strings.Lines(text[lo:hi]) {
		if key, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); key == name {
			return rest, true
		}
	}
	return "", false
}

// Kind is a kind that the API server serves.
type Kind struct {
	Namespaced bool
	component  string
}

// LookupKind finds a kind by its apiVersion.
func LookupKind(apiVersion, kind string) (Kind, bool) {
	all := schemas.Kinds()
	key := apiVersion + " " + kind + " "
	i := 0
	if !strings.HasPrefix(all, key) {
		if i = strings.Index(all, "\n"+key); i < 0 {
			return Kind{}, false
		}
		i++
	}
	line, _, _ := strings.Cut(all[i+len(key):], "\n")
	scope, component, _ := strings.Cut(line, " ")
	return Kind{Namespaced: scope == "Namespaced", component: component}, true
}

// eachBuiltIn calls yield for each kind that the API server serves.
func eachBuiltIn(yield func(apiVersion, kind string) bool) {
	for line := range strings.Lines(schemas.Kinds()) {
		fields := strings.Fields(line)
		if len(fields) == 4 && !yield(fields[0], fields[1]) {
			return
		}
	}
}

// ruleFor is the rule for what the schema of a component cannot say, nil where
// there is none. Rules run wherever the component is used: that of a container
// holds in a Pod and in the template of a Job.
func ruleFor(component string) func(*finding.Value) {
	for _, rules := range [...]func(string) func(*finding.Value){
		podRules, containerRules, volumeRules, workloadRules, serviceRules,
		networkRules, policyRules, accessRules, storageRules, configRules, admissionRules,
	} {
		if rule := rules(component); rule != nil {
			return rule
		}
	}
	return nil
}
