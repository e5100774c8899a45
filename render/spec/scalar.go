// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/object"
)

// fillScalar fills v with the scalar n. Scalars of YAML 1.1 beyond JSON are text
// here (yes, no, timestamps; the words are bools in manifests), and scalars that JSON
// cannot express are rejected.
func (c *converter) fillScalar(n *yaml.Node, v *object.Value) {
	tag, text := n.ShortTag(), n.Value
	switch tag {
	case "!!null":
		v.Kind = object.KindNull
	case "!!bool":
		c.fillBool(n, v)
	case "!!int", "!!float":
		c.fillNumber(n, v)
	case "!!str", "!!timestamp", "!!merge":
		v.Kind, v.Text = object.KindString, text
		if value, ok := wordOf(n); ok {
			c.fillWord(v, value)
		}
		if plain(n) && outOfRange(text) {
			c.fail(v.Pos, "quote it if it is text", "number %s is out of range", text)
		}
		if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
			c.blocks[v.Pos] = c.block(n)
		}
	default:
		v.Kind, v.Text = object.KindString, text
		c.checkTag(n, "!!str")
	}
}

// wordOf returns the bool that the word n means in YAML 1.1, which kubectl, Helm and the API server
// read. It reports false for other text, and for text in quotes.
func wordOf(n *yaml.Node) (on, ok bool) {
	if !plain(n) || n.ShortTag() != "!!str" {
		return false, false
	}
	switch n.Value {
	case "y", "Y", "yes", "Yes", "YES", "on", "On", "ON":
		return true, true
	case "n", "N", "no", "No", "NO", "off", "Off", "OFF":
		return false, true
	}
	return false, false
}

// fillWord reads a word of YAML 1.1 as kubectl does in manifests. For other documents it keeps the
// mistake.
func (c *converter) fillWord(v *object.Value, value bool) {
	if c.text.manifests {
		v.Kind, v.Text, v.Raw = object.KindBool, strconv.FormatBool(value), v.Text
		return
	}
	if len(c.kubectlErrs) < maxErrors {
		c.kubectlErrs = append(c.kubectlErrs, mistake(v.Pos, nil, fmt.Sprintf("write %t, or quote it if it is text", value),
			"%s without quotes is text here, and %t for kubectl and Helm", v.Text, value))
	}
}

func (c *converter) fillBool(n *yaml.Node, v *object.Value) {
	v.Kind, v.Text = object.KindBool, strings.ToLower(n.Value)
	if v.Text != "true" && v.Text != "false" {
		c.fail(v.Pos, "", "%q is not a bool: expected true or false", n.Value)
		v.Text = "false"
	}
	v.Raw = rawOf(n, v.Text)
}

// rawOf returns a scalar as it was written, or "" if it equals text.
func rawOf(n *yaml.Node, text string) string {
	if n.Value == text {
		return ""
	}
	return n.Value
}

// fillNumber fills v with the canonical JSON text of a number: integers in decimal, others as
// encoding/json writes a float64, with ".0" if that would read as an integer.
func (c *converter) fillNumber(n *yaml.Node, v *object.Value) {
	digits := strings.ReplaceAll(n.Value, "_", "")
	isDecimal := plain(n) && strings.Trim(digits, "+-0123456789") == ""
	text, problem := numberText(digits, n.ShortTag() == "!!int" || isDecimal)
	if problem != "" && plain(n) {
		c.fail(v.Pos, "quote it if it is text", problem, n.Value)
	} else if problem != "" { // A tag makes a number of any text, which may be a secret.
		c.fail(v.Pos, "leave the tag out if it is text", problem, "what stands behind the tag "+n.ShortTag())
	}
	v.Kind, v.Text, v.Raw = object.KindNumber, text, rawOf(n, text)
}

// numberText returns the canonical text of a number, or the format of a message about the number in
// problem.
func numberText(digits string, integer bool) (text, problem string) {
	if integer {
		i, err := parseInt(digits)
		switch {
		case errors.Is(err, strconv.ErrRange):
			return "0", "integer %s does not fit into 64 bits"
		case err != nil:
			return "0", "%s is not an integer"
		}
		return strconv.FormatInt(i, 10), ""
	}
	f, err := strconv.ParseFloat(digits, 64)
	if f == 0 && vanishes(digits) {
		return "0", "number %s is too close to 0 for a 64-bit float"
	}
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return "0", "%s is not a number that JSON can hold"
	}
	return formatFloat(f), ""
}

// vanishes reports whether a number that was read as 0 is another number: 1e-400.
func vanishes(digits string) bool {
	mantissa, _, _ := strings.Cut(strings.ToLower(digits), "e")
	return strings.ContainsAny(mantissa, "123456789")
}

// parseInt reads the notations of the library: decimal, 0x, 0o, 0b, and a
// leading 0 for octal.
func parseInt(s string) (int64, error) {
	i, err := strconv.ParseInt(s, 0, 64)
	if err != nil && strings.HasPrefix(strings.TrimLeft(s, "+-"), "0b") {
		return strconv.ParseInt(strings.Replace(s, "0b", "", 1), 2, 64)
	}
	return i, err
}

func formatFloat(f float64) string {
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	s := strconv.FormatFloat(f, format, -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

// plain reports whether n is written without quotes and without a tag.
func plain(n *yaml.Node) bool {
	return n.Style&(yaml.TaggedStyle|yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|
		yaml.LiteralStyle|yaml.FoldedStyle) == 0
}

// outOfRange reports whether plain text is a number that the library reads as
// text because it is too large: 1e999.
func outOfRange(s string) bool {
	if s == "" || !strings.ContainsAny(s[:1], "+-.0123456789") {
		return false
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	return err != nil && math.IsInf(f, 0)
}

// block finds the text of a block scalar below its indicator. The indentation is the difference
// between the first line that is not blank in the file and in the text, which holds for explicit
// indentation indicators too.
func (c *converter) block(n *yaml.Node) Block {
	first := c.pos(n).Line + 1
	b := Block{Pos: object.Pos{File: c.text.name, Line: first, Column: 1}}
	for i, line := range strings.Split(n.Value, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		b.Indent = max(indent(c.text.line(first+i))-indent([]byte(line)), 0)
		break
	}
	b.Pos.Column = b.Indent + 1
	return b
}

// CheckName returns an error if a name is not a DNS label.
func CheckName(name string) error {
	if problem := document.BadLabel(name); problem != "" {
		return fmt.Errorf("%q %s", name, problem)
	}
	return nil
}

// CheckPreview returns an error if the name of a preview cannot be a part of namespaces and hosts: it
// must be a DNS label of at most 40 characters.
func CheckPreview(id string) error {
	const most = 40
	if err := CheckName(id); err != nil || len(id) <= most {
		return err
	}
	return fmt.Errorf("%q has %d characters, more than %d", id, len(id), most)
}

// CheckDomain returns an error if a text is not a DNS domain of a cluster.
func CheckDomain(domain string) error {
	for label := range strings.SplitSeq(domain, ".") {
		if problem := document.BadLabel(label); problem != "" {
			return fmt.Errorf("%q is not a domain: %q %s", domain, label, problem)
		}
	}
	return nil
}
