// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/scanner"
	"cuelang.org/go/cue/token"
	"cuelang.org/go/mod/module"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/object"
)

// position returns p as the user knows it. It is not valid if p is in no file of the module.
func (t *tree) position(m evaluate.Module, p token.Pos) object.Pos {
	if !p.HasAbsPos() || p.Filename() == "" || p.Filename() == diagnose.UserFile {
		return object.Pos{}
	}
	at := p.Position()
	return t.pos(m, at.Filename, at.Line, at.Column)
}

// owns reports whether p is in a file that the author of the module wrote, and
// neither in a dependency nor in a schema.
func (t *tree) owns(p token.Pos) bool {
	name, ok := strings.CutPrefix(p.Filename(), virtualRoot+"/")
	return ok && !strings.HasPrefix(name, path.Join(t.root, modFolder)+"/")
}

// moduleErrors returns the mistakes of the module itself that an error of CUE is about.
func (t *tree) moduleErrors(m evaluate.Module, err error) error {
	if broken := t.syntaxErrors(m, err); len(broken) > 0 {
		return broken.Sorted()
	}
	var errs object.Errors

	// Each error of CUE has a message and perhaps a hint.
	for _, e := range cueerrors.Errors(err) {
		mistake := &object.Error{
			Stage: object.StageEvaluate,
			Err:   fmt.Errorf("%s", t.clean(m, loadMessage(e))),
		}
		mistake.Hint = t.near(mistake.Err.Error())
		if bad := t.badModuleFile(m, mistake.Err.Error()); bad != nil {
			errs = append(errs, bad)
			continue
		}

		// The folder may have a name that no import can have.
		unnamed := t.unnameable(e)
		if unnamed {
			mistake.Err = fmt.Errorf("the package in the folder %q cannot import anything: CUE has no name for it", t.dir)
			mistake.Hint = "rename the folder: CUE takes letters from a to z and A to Z, digits, and any of -._+~ there"
		}

		// Places in the author's own files come first.
		places := cueerrors.Positions(e)
		foreign := slices.DeleteFunc(slices.Clone(places), t.owns)
		for _, p := range append(slices.DeleteFunc(places, func(p token.Pos) bool { return !t.owns(p) }), foreign...) {
			pos := t.position(m, p)
			switch {
			case !pos.IsValid():
			case !mistake.Pos.IsValid():
				mistake.Pos = pos
			default:
				mistake.Notes = append(mistake.Notes, object.Note{Pos: pos, Text: "required here"})
			}
		}

		// Without a place, the error is about the folder or the module.
		switch {
		case mistake.Pos.IsValid():
		case unnamed:
			mistake.Pos = object.Pos{File: path.Join(m.Label, t.dir)}
		default:
			mistake.Pos = object.Pos{File: diagnose.ModuleName(m)}
		}
		errs = append(errs, mistake)
	}
	return diagnose.OncePerName(errs)
}

// near returns the hint for a message about a name that CUE does not know.
func (t *tree) near(text string) string {
	var files []*ast.File
	for _, name := range object.SortedKeys(t.files) {
		if path.Ext(name) != ".cue" || strings.HasPrefix(name, path.Join(t.root, modFolder)+"/") {
			continue
		}
		if file, _ := parser.ParseFile(name, t.files[name]); file != nil { // What there is of one that is no CUE.
			files = append(files, file)
		}
	}
	return diagnose.Near(text, files)
}

// loadMessage returns an error of the loader in plain words.
func loadMessage(e cueerrors.Error) string {
	text := diagnose.Message(e)
	_, after, missing := strings.Cut(text, `cannot find package "`)
	if name, _, ok := strings.Cut(after, `"`); missing && ok {
		const format = "import %q is not in the module: list its module in cue.mod/module.cue (cue mod tidy), or vendor it under %q"
		return fmt.Sprintf(format, name, "cue.mod/pkg/"+name)
	}
	return text
}

// unnameable reports whether CUE's loader refuses a package with e because the name of
// its folder cannot be part of the path of an import. Such a package has no path of its
// own. The loader then resolves no import of it, or takes an @ or a colon in the name for
// the end of the path, and its message does not mention the folder.
func (t *tree) unnameable(e cueerrors.Error) bool {
	inside := t.dir
	if t.root != "." {
		inside = strings.TrimPrefix(strings.TrimPrefix(t.dir, t.root), "/")
	}
	if inside == "" || inside == "." {
		return false
	}
	nameable := module.CheckImportPath("module.local/"+inside) == nil && !strings.ContainsAny(inside, "@:")
	if nameable {
		return false
	}
	return len(cueerrors.Positions(e)) == 0 || strings.Contains(diagnose.Message(e), "no dependency found for package")
}

// clean removes the virtual root from a message.
func (t *tree) clean(m evaluate.Module, text string) string {
	text = strings.ReplaceAll(text, virtualRoot+"/", path.Join(m.Label)+"/")
	return strings.TrimPrefix(strings.ReplaceAll(text, virtualRoot, diagnose.ModuleName(m)), "/")
}

// InModule adds to an error which module it is about, unless its position shows that.
func InModule(m evaluate.Module, err error) error {
	var placed *object.Error
	if errors.As(err, &placed) {
		return err
	}
	err = fmt.Errorf("module %q: %w", diagnose.ModuleName(m), err)
	if m.Pos.IsValid() {
		return &object.Error{Stage: object.StageEvaluate, Pos: m.Pos, Err: err}
	}
	return err
}

// syntaxErrors returns the mistakes of the files of err that are not CUE, one for each file: after
// the first slip the parser takes good lines for wrong ones.
func (t *tree) syntaxErrors(m evaluate.Module, err error) object.Errors {
	var errs object.Errors
	visited := map[string]bool{}
	for _, e := range cueerrors.Errors(err) {
		for _, p := range cueerrors.Positions(e) {
			name, inside := strings.CutPrefix(p.Filename(), virtualRoot+"/")
			if !inside || visited[name] {
				continue
			}
			visited[name] = true
			if broken := t.syntaxError(m, name, t.files[name]); broken != nil {
				errs = append(errs, broken)
			}
		}
	}
	return errs
}

// syntaxError returns what is wrong with the syntax of a file, or nil if nothing is.
func (t *tree) syntaxError(m evaluate.Module, name string, data []byte) *object.Error {
	_, err := parser.ParseFile(path.Join(virtualRoot, name), data)
	if err == nil {
		return nil
	}
	first := cueerrors.Errors(err)[0]
	e := &object.Error{
		Stage: object.StageEvaluate, Pos: t.position(m, first.Position()),
		Err: fmt.Errorf("%s", t.clean(m, diagnose.Message(first))),
	}
	if strings.Contains(e.Err.Error(), "string literal not terminated") {
		e.Hint = "close the quote on the same line"
	}
	unbalanced := regexp.MustCompile(`^(expected|missing ',') |not terminated$`).MatchString(e.Err.Error())
	if open, ok := unclosed(data); unbalanced && ok {
		e.Pos = t.pos(m, path.Join(virtualRoot, name), open.line, open.column)
		e.Err = fmt.Errorf("the %q of line %d is not closed", open.bracket, e.Pos.Line)
		e.Hint = ""
	}
	return e
}

// opened is a bracket in a text.
type opened struct {
	bracket      string
	line, column int
	// indent is the width of the white space that its line begins with.
	indent int
}

// unclosed returns the first bracket that is not closed, judged by the indentation of what closes
// the others. It reports false if a text has another slip.
func unclosed(data []byte) (opened, bool) {
	var s scanner.Scanner
	good := true
	file := token.NewFile("", -1, len(data))
	s.Init(file, data, func(token.Pos, string, []any) { good = false }, 0)
	lines := bytes.Split(data, []byte("\n"))
	indent := func(line int) int {
		return len(lines[line-1]) - len(bytes.TrimLeft(lines[line-1], " \t"))
	}

	// The stack holds the brackets that are open.
	closes := map[token.Token]string{token.RBRACE: "{", token.RBRACK: "[", token.RPAREN: "("}
	var stack []opened
	for good {
		pos, tok, _ := s.Scan()
		line := 0
		if pos.IsValid() {
			line = pos.Position().Line
		}
		switch tok {
		case token.EOF:
			if !good || len(stack) == 0 {
				return opened{}, false
			}
			return stack[len(stack)-1], true
		case token.INTERPOLATION:
			// Its parenthesis comes as a token of its own.
			stack = append(stack, opened{})
		case token.LBRACE, token.LBRACK, token.LPAREN:
			if n := len(stack); tok == token.LPAREN && n > 0 && stack[n-1] == (opened{}) {
				stack[n-1].indent = -1 // It is the parenthesis of the interpolation.
				continue
			}
			stack = append(stack, opened{bracket: tok.String(), line: line, column: pos.Position().Column, indent: indent(line)})
		case token.RBRACE, token.RBRACK, token.RPAREN:
			if len(stack) == 0 {
				return opened{}, false
			}

			// A bracket closes the innermost open bracket, and stands as deep as its line. A parenthesis
			// may close an interpolation.
			top := stack[len(stack)-1]
			begins := len(bytes.TrimLeft(lines[line-1], " \t")) == len(lines[line-1])-pos.Position().Column+1
			switch {
			case top.indent < 0 && tok == token.RPAREN:
				if text := s.ResumeInterpolation(); strings.HasSuffix(text, "(") {
					stack[len(stack)-1] = opened{}
					continue
				}
			case top.bracket != closes[tok] && !slices.ContainsFunc(stack, func(o opened) bool { return o.bracket == closes[tok] }):
				return opened{}, false // No bracket that it could close is open.
			case top.bracket != closes[tok], begins && top.line != line && top.indent > indent(line):
				return top, top.bracket != ""
			}
			stack = stack[:len(stack)-1]
		default:
		}
	}
	return opened{}, false
}

// badModuleFile returns the mistake of a module file whose path CUE refuses without a place, or nil
// for any other error.
func (t *tree) badModuleFile(m evaluate.Module, text string) *object.Error {
	_, rest, found := strings.Cut(text, `module path "`)
	name, why, ok := strings.Cut(rest, `" is not valid: `)
	if !found || !ok {
		return nil
	}
	file := path.Join(t.root, modFile)
	e := &object.Error{
		Stage: object.StageEvaluate, Pos: t.pos(m, path.Join(virtualRoot, file), 1, 1),
		Err:  fmt.Errorf("the module path %q is not valid: %s", name, why),
		Hint: fmt.Sprintf("it begins with a domain: example.com/%s", strings.TrimLeft(name, "/")),
	}
	if at := regexp.MustCompile(`(?m)^\s*module:\s*"`).FindIndex(t.files[file]); at != nil {
		before := t.files[file][:at[1]-1]
		line := bytes.Count(before, []byte("\n"))
		e.Pos = t.pos(m, path.Join(virtualRoot, file), line+1, len(before)-bytes.LastIndexByte(before, '\n'))
	}
	return e
}

// isIncomplete reports whether an error says of a field that it has no value.
func isIncomplete(e *object.Error) bool {
	phrases := []string{"has no value", "incomplete value", "non-concrete value"}
	return slices.ContainsFunc(phrases, func(s string) bool { return strings.Contains(e.Err.Error(), s) })
}

// below returns the value at a path of CUE below v, or the last value on the way if the path ends
// early.
func below(v cue.Value, path []string) cue.Value {
	for _, step := range path {
		child := Field(v, step)
		if i, err := strconv.Atoi(step); err == nil && !child.Exists() {
			list, _ := v.Default()
			child = list.LookupPath(cue.MakePath(cue.Index(i)))
		}
		if !child.Exists() {
			break
		}
		v = child
	}
	return v
}
