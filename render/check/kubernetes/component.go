// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"encoding/json"
	"strings"
	"sync"

	"github.com/ropewalk/ropewalk/render/check/finding"
	"github.com/ropewalk/ropewalk/render/check/schemas"
	"github.com/ropewalk/ropewalk/render/object"
)

// schema describes a value of a built-in kind; its form as JSON is described in
// render/check/schemas/SOURCES.md.
type schema struct {
	Ref        string             `json:"ref"`
	Type       string             `json:"type"`
	Format     string             `json:"format"`
	Properties map[string]*schema `json:"props"`
	Items      *schema            `json:"items"`
	Values     *schema            `json:"values"`
	Required   []string           `json:"required"`
	Enum       []string           `json:"enum"`
	List       string             `json:"list"`
	Keys       []string           `json:"keys"`
	// Struct marks what the decoder of the server adds empty where it is absent.
	Struct bool `json:"struct"`
	// Min and Max are bounds of an integer, and Checks are names for [checkFor].
	Min    *int64   `json:"min"`
	Max    *int64   `json:"max"`
	Checks []string `json:"checks"`

	// name is the name of the component, rule checks what its schema cannot say, and structs
	// are the members that the server makes up where they are absent, but for the
	// status, which it fills in itself; all are empty for a schema inside a component.
	name    string
	rule    func(*finding.Value)
	structs []string
}

// Components parses components when they are first needed. It is safe for
// concurrent use; the zero value is ready.
type Components struct {
	once   sync.Once
	texts  map[string]string // the schemas as JSON, by name
	parsed sync.Map          // name -> *schema
	empty  sync.Map          // name -> whether an empty object of it is valid
	cel    expressions
}

// get returns the component called name, and parses it first if it is needed for the first time.
// A name that the data does not hold gives a schema that accepts everything; a test excludes such
// names.
func (c *Components) get(name string) *schema {
	if s, ok := c.parsed.Load(name); ok {
		return s.(*schema)
	}

	// The texts are split once, and each is parsed alone.
	c.once.Do(func() {
		c.texts = map[string]string{}
		for line := range strings.Lines(schemas.Components()) {
			name, text, _ := strings.Cut(line, " ")
			c.texts[name] = text
		}
	})
	s := &schema{}
	if err := json.Unmarshal([]byte(c.texts[name]), s); err != nil {
		s = &schema{} // A test reads all of the data.
	}
	s.name, s.rule = name, ruleFor(name)

	// Rules of expressions come after the rule of the component.
	if own, expressions := s.rule, c.cel.rule(name); expressions != nil {
		s.rule = func(a *finding.Value) {
			if own != nil {
				own(a)
			}
			expressions(a)
		}
	}

	// A member that is a struct on the server is there even where the object leaves it out.
	for _, member := range object.SortedKeys(s.Properties) {
		if s.Properties[member].Struct && member != "status" {
			s.structs = append(s.structs, member)
		}
	}
	first, _ := c.parsed.LoadOrStore(name, s)
	return first.(*schema)
}

// constrain runs the checks that the schema of a member names on its value, and checks its bounds.
func (s *schema) constrain(a *finding.Value) {
	for _, name := range s.Checks {
		checkFor(name)(a)
	}
	switch {
	case s.Min != nil && s.Max != nil:
		checkBetween(a, *s.Min, *s.Max)
	case s.Min != nil:
		checkAtLeast(a, *s.Min)
	}
}

// Kind is a kind that the API server serves.
type Kind struct {
	Namespaced bool
	// Since is the minor version of Kubernetes that brought it, 0 where that is not known.
	Since     int
	component string
}

// LookupKind finds a kind by its apiVersion.
func LookupKind(apiVersion, kind string) (Kind, bool) {
	versions := schemas.Kinds()
	key := apiVersion + " " + kind + " "
	i := 0
	if !strings.HasPrefix(versions, key) {
		i = strings.Index(versions, "\n"+key)
		if i < 0 {
			return Kind{}, false
		}
		i++
	}
	line, _, _ := strings.Cut(versions[i+len(key):], "\n")
	fields := strings.Fields(line)
	k := Kind{Namespaced: fields[0] == "Namespaced", component: fields[1]}
	if len(fields) > 2 {
		k.Since = schemas.Minor(fields[2])
	}
	return k, true
}

// HasStatus reports whether objects of a kind have a status, which the API server takes
// from its subresource alone.
func (c *Components) HasStatus(k Kind) bool { return c.get(k.component).Properties["status"] != nil }

// eachBuiltIn calls yield for each kind that the API server serves.
func eachBuiltIn(yield func(apiVersion, kind string) bool) {
	for line := range strings.Lines(schemas.Kinds()) {
		fields := strings.Fields(line)
		if len(fields) >= 4 && !yield(fields[0], fields[1]) {
			return
		}
	}
}

// ruleFor returns the rule for what the schema of a component cannot say, or nil if it has no
// rule. Rules run wherever the component is used: the rule of a container holds in a Pod and in
// the template of a Job.
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
