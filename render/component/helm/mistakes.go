// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/component"
	"github.com/ropewalk/ropewalk/render/object"
)

// step is a place in a template that an error comes through.
type step struct {
	template     string
	line, column int
}

var (
	// Errors of text/template, and errors that Helm has rewritten.
	chained   = regexp.MustCompile(`template: ([^\s:]+):(\d+):(\d+): executing "[^"]*" at <(?s:.*?)>: `)
	rewritten = regexp.MustCompile(`(?m)^\s*([^\s:]+):(\d+)(?::(\d+))?$`)
	ofParser  = regexp.MustCompile(`^parse error at \(([^\s:]+):(\d+)(?::(\d+))?\): `)
	calling   = regexp.MustCompile(`^error calling \w+: `)
	executing = regexp.MustCompile(`^executing ".*" at <.*>:$`)
)

// trace reads an error of the engine. It returns the places that the error comes through, the
// innermost one last, and what is wrong.
func (r *run) trace(err error) (steps []step, text string) {
	// The engine writes the places in one of three forms.
	text = err.Error()
	for _, form := range []*regexp.Regexp{chained, ofParser, rewritten} {
		matches := form.FindAllStringSubmatch(text, -1)
		for _, m := range matches {
			s := step{template: m[1]}
			s.line, _ = strconv.Atoi(m[2])
			if column, err := strconv.Atoi(m[3]); err == nil {
				s.column = column + 1 // It counts from 0.
			}
			if _, ok := r.sources[s.template]; ok { // Texts for tpl are in no file.
				steps = append(steps, s)
			}
		}
		if len(matches) > 0 {
			end := form.FindAllStringIndex(text, -1)
			text = text[end[len(end)-1][1]:]
			break
		}
	}

	// The mistake follows the places.
	if lines := strings.Split(strings.TrimSpace(text), "\n"); executing.MatchString(strings.TrimSpace(lines[0])) {
		text = strings.Join(lines[1:], " ")
	}
	text = printable.OneLine(text)
	for calling.MatchString(text) {
		// What a function says of its arguments has them in quotes.
		text = calling.ReplaceAllString(text, "")
		if !noTemplate.MatchString(strings.TrimPrefix(text, "template: ")) {
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

// broken returns an error of the engine at the line of the template.
func (r *run) broken(err error) error {
	steps, text := r.trace(err)

	// Say what is wrong in words of the chart and its values.
	hint := ""
	var needs *requiredError
	var fails *failError
	switch {
	case errors.As(err, &needs):
		text, hint = "a value is missing: "+printable.OneLine(needs.text), advice(r.named(steps, ofValues))
	case errors.As(err, &fails):
		text, hint = "the chart refuses its values: "+printable.OneLine(fails.text), advice(r.named(steps, ofValues))
	case nothing.MatchString(text):
		text, hint = nothing.ReplaceAllString(text, "there is no value that could have a field $1"), advice(r.named(steps, ofValues))
	case noTemplate.MatchString(text):
		text, hint = noTemplate.ReplaceAllString(text, "no template $1 is defined"), "it may be of a chart that is not in the folder charts"
	case strings.Contains(text, "rendering template has a nested reference name"):
		text, hint = "a template includes itself more than a thousand times", "report it to the authors of the chart"
	}
	if ofTpl.MatchString(text) { // All that follows is of the value.
		text = "tpl of a value: it is not a template that can be executed"
	}
	const most = 500
	text = printable.Cut(r.hide(text), most, "…")

	// The mistake is in the innermost template; the outermost template is a note.
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

// at returns the position of s.
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

// inPlaceOf is a pattern of a value that is taken in place of a call of a function.
const inPlaceOf = `\.Values((?:\.\w+)+)\s*\|\s*default\s+\(?%[1]s\b|default\s+\(%[1]s\b[^()]*\)\s+\.Values((?:\.\w+)+)`

// named returns the values that the actions of steps use as a pattern says. It takes the
// innermost action that uses a value.
func (r *run) named(steps []step, use *regexp.Regexp) (names []string) {
	for _, s := range slices.Backward(steps) {
		action := r.action(s)
		for _, m := range provided.FindAllStringSubmatch(action, -1) {
			for _, name := range strings.Fields(m[1]) {
				name = strings.Trim(name, `"`)
				if name != "" {
					names = append(names, name)
				}
			}
		}
		for _, m := range use.FindAllStringSubmatch(action, -1) {
			names = append(names, strings.Join(m[1:], "")[1:])
		}
		if len(names) > 0 {
			break
		}
	}
	for i, name := range names {
		if !strings.HasPrefix(name, "global.") {
			names[i] = r.sources[steps[0].template].chart + name
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// advice returns the hint that names the values to set.
func advice(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "set " + strings.Join(names, " or ") + " in values"
}

// action returns the text of the action at s.
func (r *run) action(s step) string {
	text := r.sources[s.template].text
	start := 0
	for n := 1; n < s.line; n++ {
		i := strings.IndexByte(text[start:], '\n')
		if i < 0 {
			return ""
		}
		start += i + 1
	}
	start = min(start+max(s.column-1, 0), len(text))
	begin := max(strings.LastIndex(text[:start], "{{"), 0)
	if end := strings.Index(text[start:], "}}"); end >= 0 {
		return text[begin : start+end]
	}
	return text[begin:]
}

// calledAt returns the steps that lead to the call that c stops at.
func (r *run) calledAt(c *calls) []step {
	_, err := r.execute(c)
	if err == nil {
		return nil
	}
	steps, _ := r.trace(err)
	return steps
}

// warnOfLookup warns of the first lookup.
func (r *run) warnOfLookup() {
	pos := r.opts.Pos
	if steps := r.calledAt(&calls{stop: "lookup"}); len(steps) > 0 {
		pos = r.at(steps[len(steps)-1])
	}
	r.warn(pos, errors.New("lookup finds nothing, because a render has no cluster"), "set the values that the chart would look up")
}

// checkSame reports what differs when random functions give something else, once for each call that
// objects come of.
func (r *run) checkSame(c *calls, firstOutput component.Output) error {
	const otherSeed, most = 1000, 2 // Each costs some renders more.
	second, err := r.render(&calls{seed: otherSeed})
	if err == nil && reflect.DeepEqual(firstOutput.Objects, second.Objects) {
		return nil
	}
	functions := changed(firstOutput, second)
	if len(functions) == 0 {
		return object.Errors{r.random(c, 1, "")}
	}
	var errs object.Errors
	known := map[object.Pos]bool{}
	for _, text := range functions[:min(most, len(functions))] {
		// The calls up to this one change it, and those before do not.
		call := 1 + sort.Search(len(c.made)-1, func(i int) bool {
			out, err := r.render(&calls{seed: otherSeed, until: i + 1})
			return err != nil || slices.Contains(changed(firstOutput, out), text)
		})
		if e := r.random(c, call, ", and so does "+text); !known[e.Pos] {
			known[e.Pos] = true
			errs = append(errs, e)
		}
	}
	return errs
}

// random returns the mistake that something depends on a call of a random function. The call is
// the first of those that it depends on.
func (r *run) random(c *calls, call int, function string) *object.Error {
	name := c.made[call-1]
	called := slices.Compact(slices.Sorted(slices.Values(c.made)))
	e := component.Fail(r.opts.Pos, nil, "", "results of %s differ in each render%s", strings.Join(called, ", "), function)
	if steps := r.calledAt(&calls{stopAt: call}); len(steps) > 0 {
		names := r.named(steps, regexp.MustCompile(fmt.Sprintf(inPlaceOf, name)))
		e.Hint = advice(slices.DeleteFunc(names, r.isSet))
		e.Pos = r.at(steps[len(steps)-1])
		if outer := r.at(steps[0]); outer != e.Pos {
			e.Notes = append(e.Notes, object.Note{Pos: outer, Text: "it is included here"})
		}
	}
	e.Hint = cmp.Or(e.Hint, "set the value that the chart takes in its place, or switch off what needs it")
	return e
}

// isSet reports whether the user gives a value of that name.
func (r *run) isSet(name string) bool {
	p, _ := object.ReadPath(name)
	_, found := r.places.Lookup(p)
	return found == len(p)
}

// changed names the first field that differs of each object, Secrets first.
func changed(a, b component.Output) (paths []string) {
	secrets := 0
	for i, o := range a.Objects {
		if i >= len(b.Objects) {
			break
		}
		p, found := differs(map[string]any(o.Object), map[string]any(b.Objects[i].Object), nil)
		if !found {
			continue
		}
		text := fmt.Sprintf("%s of %s %q", p, o.Object.Kind(), o.Object.Name())
		if o.Object.Kind() != "Secret" {
			paths = append(paths, text)
			continue
		}
		paths = slices.Insert(paths, secrets, text)
		secrets++
	}
	return paths
}

// differs returns the path of the first difference, and reports whether a and b differ.
func differs(a, b any, path object.Path) (object.Path, bool) {
	if reflect.DeepEqual(a, b) {
		return nil, false
	}
	if x, ok := a.(map[string]any); ok {
		if y, ok := b.(map[string]any); ok {
			for _, k := range object.SortedKeys(x) {
				if p, found := differs(x[k], y[k], path.Append(object.Field(k))); found {
					return p, true
				}
			}
		}
	}
	if x, ok := a.([]any); ok {
		if y, ok := b.([]any); ok && len(x) == len(y) {
			for i := range x {
				if p, found := differs(x[i], y[i], path.Append(object.Index(i))); found {
					return p, true
				}
			}
		}
	}
	return path, true
}
