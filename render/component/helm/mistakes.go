// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/component"
	"github.com/ropewalk/ropewalk/render/object"
)

// step is a place in a template that an error comes through.
type step struct {
	template     string
	line, column int
}

var (
	// Errors of text/template, and of Helm where it has rewritten one.
	chained   = regexp.MustCompile(`template: ([^\s:]+):(\d+):(\d+): executing "[^"]*" at <(?s:.*?)>: `)
	rewritten = regexp.MustCompile(`(?m)^\s*([^\s:]+):(\d+)(?::(\d+))?$`)
	ofParser  = regexp.MustCompile(`^parse error at \(([^\s:]+):(\d+)(?::(\d+))?\): `)
	calling   = regexp.MustCompile(`^error calling \w+: `)
	executing = regexp.MustCompile(`^executing ".*" at <.*>:$`)
)

// trace reads an error of the engine: the places that it comes through, the innermost one
// last, and what is wrong.
func (r *run) trace(err error) (steps []step, text string) {
	text = err.Error()
	for _, form := range []*regexp.Regexp{chained, ofParser, rewritten} {
		all := form.FindAllStringSubmatch(text, -1)
		for _, m := range all {
			s := step{template: m[1]}
			s.line, _ = strconv.Atoi(m[2])
			if column, err := strconv.Atoi(m[3]); err == nil {
				s.column = column + 1 // It counts from 0.
			}
			if _, ok := r.sources[s.template]; ok { // Texts for tpl are in no file.
				steps = append(steps, s)
			}
		}
		if len(all) > 0 {
			end := form.FindAllStringIndex(text, -1)
			text = text[end[len(end)-1][1]:]
			break
		}
	}
	if lines := strings.Split(strings.TrimSpace(text), "\n"); executing.MatchString(strings.TrimSpace(lines[0])) {
		text = strings.Join(lines[1:], " ")
	}
	text = strings.Join(strings.Fields(text), " ")
	for calling.MatchString(text) {
		// What a function says of its arguments has them in quotes.
		if text = calling.ReplaceAllString(text, ""); !noTemplate.MatchString(strings.TrimPrefix(text, "template: ")) {
			text = inQuotes.ReplaceAllString(text, "(hidden)")
		}
	}
	return steps, strings.TrimPrefix(text, "template: ")
}

var (
	noTemplate = regexp.MustCompile(`^no template ("[^"]*") associated with template .*$`)
	nothing    = regexp.MustCompile(`nil pointer evaluating interface \{\}\.(\w+)`)
	ofTpl      = regexp.MustCompile(`cannot parse template|error during tpl function execution for`)
)

// broken is an error of the engine at the line of the template.
func (r *run) broken(err error) error {
	steps, text := r.trace(err)
	hint := ""
	var needs *requiredError
	var fails *failError
	switch {
	case errors.As(err, &needs):
		text, hint = "a value is missing: "+strings.Join(strings.Fields(needs.text), " "), r.advice(steps, used)
	case errors.As(err, &fails):
		text, hint = "the chart refuses its values: "+strings.Join(strings.Fields(fails.text), " "), r.advice(steps, used)
	case nothing.MatchString(text):
		text, hint = nothing.ReplaceAllString(text, "there is no value that could have a field $1"), r.advice(steps, used)
	case noTemplate.MatchString(text):
		text, hint = noTemplate.ReplaceAllString(text, "no template $1 is defined"), "it may be of a chart that is not in the folder charts"
	case strings.Contains(text, "rendering template has a nested reference name"):
		text, hint = "a template includes itself more than a thousand times", "report it to the authors of the chart"
	}
	if ofTpl.MatchString(text) { // All that follows is of the value.
		text = "tpl of a value: it is not a template that can be executed"
	}
	const most = 500
	if text = r.hide(text); len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	e := component.Fail(r.opts.Pos, nil, hint, "%s", text)
	if len(steps) == 0 {
		e.Path = r.opts.Path.String()
		return object.Errors{e}
	}
	e.Pos = r.at(steps[len(steps)-1])
	if first := r.at(steps[0]); first != e.Pos {
		e.Notes = append(e.Notes, object.Note{Pos: first, Text: "it is included here"})
	}
	return object.Errors{e}
}

// at is the place of s.
func (r *run) at(s step) object.Pos {
	src, ok := r.sources[s.template]
	if !ok {
		return r.opts.Pos
	}
	return r.loaded.pos(src.place, max(s.line, 1), s.column)
}

var (
	ofValues = regexp.MustCompile(`\.Values((?:\.[A-Za-z0-9_]+)+)`)
	provided = regexp.MustCompile(`"providedValues" *\(list((?: +"[^"]*")+)\)`)
)

// use is what a template is asked for the values that it names.
type use int

const (
	// used are those of an action.
	used use = iota
	// instead are those that are taken in place of a call.
	instead
	// insteadOfSecret are those too that are in lines above, by the names of secrets.
	insteadOfSecret
)

// named are the values that the actions of steps use, of the innermost action with some.
func (r *run) named(steps []step, of use) (out []string) {
	if len(steps) == 0 {
		return nil
	}
	prefix := r.sources[steps[0].template].chart
	for _, s := range slices.Backward(steps) {
		action, at := r.action(s)
		for _, m := range provided.FindAllStringSubmatch(action, -1) {
			for _, name := range strings.Fields(m[1]) {
				if name = strings.Trim(name, `"`); name != "" {
					out = append(out, name)
				}
			}
		}
		if of != used {
			action = around(action, at)
		}
		for _, m := range ofValues.FindAllStringSubmatch(action, -1) {
			out = append(out, m[1][1:])
		}
		if len(out) > 0 {
			break
		}
	}
	if len(out) == 0 && of == insteadOfSecret {
		out = r.above(steps[len(steps)-1])
	}
	for i, name := range out {
		if !strings.HasPrefix(name, "global.") {
			out[i] = prefix + name
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// choice is a function that takes one value in place of another.
var choice = regexp.MustCompile(`(?:^|[\s|])(?:default|coalesce|ternary|or)\s`)

// around is what a choice has beside the call at an offset of an action, "" where there is
// none. Arguments of the call, and of others that take its result, change nothing.
func around(action string, at int) string {
	left, right := action[:at], action[at:]
	for {
		from, to := bracket(left, right)
		if from < 0 || to == len(right) {
			return ""
		}
		left, right = left[:from], right[to+1:]
		from, to = bracket(left, right)
		if own := left[from+1:] + right[:to]; choice.MatchString(own) {
			return own
		}
	}
}

// bracket is where the brackets around the place between left and right are: -1 and the
// length of right where there are none.
func bracket(left, right string) (from, to int) {
	leaves := func(open, shut rune) func(rune) bool {
		depth := 0
		return func(c rune) bool {
			switch c {
			case open:
				depth++
			case shut:
				depth--
			}
			return depth < 0
		}
	}
	from = strings.LastIndexFunc(left, leaves(')', '('))
	if to = strings.IndexFunc(right, leaves('(', ')')); to < 0 {
		to = len(right)
	}
	return from, to
}

// above are values with the name of a secret in the nearest line above s that has some: the
// condition of what is done without them.
func (r *run) above(s step) (out []string) {
	const far = 12
	lines := strings.Split(r.sources[s.template].text, "\n")
	if own := min(s.line, len(lines)) - 1; own >= 0 { // The call's own action has its arguments.
		before := lines[own][:min(max(s.column-1, 0), len(lines[own]))]
		lines[own] = before[:max(strings.LastIndex(before, "{{"), 0)]
	}
	for n := min(s.line, len(lines)) - 1; n >= max(s.line-far, 0) && len(out) == 0; n-- {
		for _, m := range ofValues.FindAllStringSubmatch(lines[n], -1) {
			if object.SensitiveName(m[1]) {
				out = append(out, m[1][1:])
			}
		}
	}
	return out
}

// advice names the values to set.
func (r *run) advice(steps []step, of use) string {
	if names := r.named(steps, of); len(names) > 0 {
		return "set " + strings.Join(names, " or ") + " in values"
	}
	return ""
}

// action is the text of the action at s, and where s is in it.
func (r *run) action(s step) (string, int) {
	text := r.sources[s.template].text
	at := 0
	for n := 1; n < s.line; n++ {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return "", 0
		}
		at += i + 1
	}
	at = min(at+max(s.column-1, 0), len(text))
	begin := max(strings.LastIndex(text[:at], "{{"), 0)
	end := strings.Index(text[at:], "}}")
	if end < 0 {
		return text[begin:], at - begin
	}
	return text[begin : at+end], at - begin
}

// lookedUp warns of the first lookup.
func (r *run) lookedUp() {
	_, err := r.execute(&calls{stopLookup: true})
	if err == nil {
		return
	}
	steps, _ := r.trace(err)
	pos := r.opts.Pos
	if len(steps) > 0 {
		pos = r.at(steps[len(steps)-1])
	}
	r.warn(pos, errors.New("lookup finds nothing, because a render has no cluster"), "set the values that the chart would look up")
}

// maxCalls bounds how many calls are tried one by one.
const maxCalls = 64

// same reports what differs when random functions give something else.
func (r *run) same(ctx context.Context, c *calls, first component.Output) error {
	const otherSeed = 1000
	second, err := r.render(&calls{seed: otherSeed})
	if err == nil && reflect.DeepEqual(first.Objects, second.Objects) {
		return nil
	}
	var errs object.Errors
	for n, name := range c.made {
		if ctx.Err() != nil || n >= maxCalls {
			break
		}
		other, err := r.render(&calls{other: n + 1})
		if err == nil && reflect.DeepEqual(first.Objects, other.Objects) {
			continue
		}
		_, stopped := r.execute(&calls{stop: n + 1})
		if stopped == nil {
			continue
		}
		steps, _ := r.trace(stopped)
		of := instead
		if strings.HasPrefix(name, "rand") {
			of = insteadOfSecret
		}
		e := component.Fail(r.opts.Pos, nil, r.advice(steps, of), "%s gives something else at each render%s", name, changed(first, other))
		if len(steps) > 0 {
			e.Pos = r.at(steps[len(steps)-1])
			if outer := r.at(steps[0]); outer != e.Pos {
				e.Notes = append(e.Notes, object.Note{Pos: outer, Text: "it is included here"})
			}
		}
		if e.Hint == "" {
			e.Hint = "set the value that the chart takes in its place, or switch off what needs it"
		}
		// What is computed of a random text changes with it.
		i := slices.IndexFunc(errs, func(o *object.Error) bool { return o.Pos == e.Pos && o.Hint == e.Hint })
		switch {
		case i < 0:
			errs = append(errs, e)
		case strings.Contains(e.Err.Error(), " of Secret "):
			errs[i] = e
		}
	}
	if len(errs) == 0 {
		return r.fail(r.opts.Pos, "set the values that it makes at random", "the chart gives other objects at each render, by %s", strings.Join(slices.Compact(slices.Sorted(slices.Values(c.made))), ", "))
	}
	return errs
}

// changed names the first field that differs, of a Secret if there is one.
func changed(a, b component.Output) (text string) {
	for i, o := range a.Objects {
		if i >= len(b.Objects) {
			break
		}
		secret := o.Object.Kind() == "Secret"
		if p, found := differs(map[string]any(o.Object), map[string]any(b.Objects[i].Object), nil); found && (secret || text == "") {
			if text = fmt.Sprintf(", and is %s of %s %q", p, o.Object.Kind(), o.Object.Name()); secret {
				break
			}
		}
	}
	return text
}

// differs is the path of the first difference.
func differs(a, b any, at object.Path) (object.Path, bool) {
	if reflect.DeepEqual(a, b) {
		return nil, false
	}
	if x, ok := a.(map[string]any); ok {
		if y, ok := b.(map[string]any); ok {
			for _, k := range object.SortedKeys(x) {
				if p, found := differs(x[k], y[k], at.Append(object.Field(k))); found {
					return p, true
				}
			}
		}
	}
	if x, ok := a.([]any); ok {
		if y, ok := b.([]any); ok && len(x) == len(y) {
			for i := range x {
				if p, found := differs(x[i], y[i], at.Append(object.Index(i))); found {
					return p, true
				}
			}
		}
	}
	return at, true
}
