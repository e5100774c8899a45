// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"errors"
	"strings"
)

// errSchemaText reports a component that is not written as schemas/SOURCES.md
// describes.
var errSchemaText = errors.New("not a schema as schemas/SOURCES.md describes it")

// parseSchema reads a schema of the data. It knows as much JSON as the data
// needs: no spaces, no escapes, no numbers. The strings of the result are parts
// of text. encoding/json would read the same five times slower, and before the
// first object of a short run that is most of the time of the check.
func parseSchema(text string) (*schema, error) {
	r := &schemaText{rest: text}
	s := r.schema()
	if r.bad || r.rest != "" {
		return nil, errSchemaText
	}
	return s, nil
}

// schemaText is what is left of a schema to read.
type schemaText struct {
	rest string
	bad  bool
}

func (r *schemaText) take(c byte) bool {
	if r.rest == "" || r.rest[0] != c {
		return false
	}
	r.rest = r.rest[1:]
	return true
}

func (r *schemaText) want(c byte) {
	if !r.take(c) {
		r.bad, r.rest = true, ""
	}
}

func (r *schemaText) text() string {
	r.want('"')
	s, rest, ok := strings.Cut(r.rest, "\"")
	if !ok || strings.Contains(s, "\\") {
		r.bad, r.rest = true, ""
		return ""
	}
	r.rest = rest
	return s
}

func (r *schemaText) texts() (out []string) {
	r.want('[')
	for !r.bad && !r.take(']') {
		out = append(out, r.text())
		if !r.take(',') {
			r.want(']')
			break
		}
	}
	return out
}

// members calls read with the name of each member of an object.
func (r *schemaText) members(read func(name string)) {
	r.want('{')
	for !r.bad && !r.take('}') {
		name := r.text()
		r.want(':')
		read(name)
		if !r.take(',') {
			r.want('}')
			break
		}
	}
}

func (r *schemaText) schema() *schema {
	s := &schema{}
	r.members(func(name string) {
		switch name {
		case "ref":
			s.Ref = r.text()
		case "type":
			s.Type = r.text()
		case "format":
			s.Format = r.text()
		case "list":
			s.List = r.text()
		case "required":
			s.Required = r.texts()
		case "enum":
			s.Enum = r.texts()
		case "keys":
			s.Keys = r.texts()
		case "items":
			s.Items = r.schema()
		case "values":
			s.Values = r.schema()
		case "struct":
			s.Struct = strings.HasPrefix(r.rest, "true")
			r.rest = strings.TrimPrefix(r.rest, "true")
		case "props":
			s.Properties = map[string]*schema{}
			r.members(func(property string) { s.Properties[property] = r.schema() })
		default:
			r.bad, r.rest = true, ""
		}
	})
	return s
}
