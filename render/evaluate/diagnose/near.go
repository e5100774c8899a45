// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/ropewalk/ropewalk/render/object"
)

// unknownName finds the name in a message of CUE about a name that it does not know.
var unknownName = regexp.MustCompile(`^(?:invalid interpolation: )?(?:reference "([^"]+)" not found|undefined field:? "?([^" ]+)"?|` +
	`builtin package "([^"]+)" undefined|cannot call non-function (\w+)\.(\w+) )`)

// Near returns the hint for a message about a name that CUE does not know: the nearest name in
// files, or a name of CUE. It returns "" if no name is near.
func Near(text string, files []*ast.File) string {
	match := unknownName.FindStringSubmatch(text)
	if match == nil {
		return ""
	}
	references, fields, packages, packageName, function := match[1], match[2], match[3], match[4], match[5]
	switch {
	case references != "" && declarationHint(references, files) != "":
		return declarationHint(references, files)
	case packages != "":
		return object.DidYouMean(packages, strings.Fields(builtinPackages))
	case function != "":
		return object.DidYouMean(function, strings.Fields(builtinFunctions(packageName)))
	}
	name := references + fields
	return object.DidYouMean(name, slices.DeleteFunc(namesIn(files, references != ""), func(n string) bool { return n == name }))
}

// declarationHint returns what to write for a name of Ropewalk that a file uses and does not
// declare. A provisioner declares what it reads, and a file imports the schema. It returns "" for
// other names.
func declarationHint(name string, files []*ast.File) string {
	isOurs := func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		label, ok := s.Sel.(*ast.Ident)
		packageIdent, isName := s.X.(*ast.Ident)
		if !ok || !isName || packageIdent.Name != "schema" {
			return false
		}
		missingImport := name == "schema" && slices.Contains(strings.Fields(schemaNames), label.Name)
		return missingImport || label.Name == "#Provisioner"
	}
	usesSchema := false
	for _, file := range files {
		ast.Walk(file, func(n ast.Node) bool { usesSchema = usesSchema || isOurs(n); return true }, nil)
	}
	switch {
	case !usesSchema:
		return ""
	case name == "schema":
		return `add the line: import "ropewalk.dev/schema"`
	case slices.Contains([]string{FieldResource, FieldConfig, FieldContext, FieldParams}, name):
		return fmt.Sprintf("declare it in the provisioner: %s: _", name)
	}
	return ""
}

// schemaNames are the definitions of the schema that modules use.
const schemaNames = "#Apply #Context #Graph #ID #Node #Provisioner #Ready #Resource #Sensitive #Subject #Violation"

// OncePerName returns errs with one error for each file that uses a name of Ropewalk without a
// declaration. The next places are notes of that error.
func OncePerName(errs object.Errors) (kept object.Errors) {
	firstErrs := map[string]*object.Error{}
	for _, e := range errs.Sorted() {
		if !strings.HasPrefix(e.Hint, "declare it in ") && !strings.HasPrefix(e.Hint, "add the line: import ") {
			kept = append(kept, e)
			continue
		}
		key := e.Pos.File + " " + e.Err.Error()
		switch f := firstErrs[key]; {
		case f == nil:
			firstErrs[key] = e
			kept = append(kept, e)
		case len(f.Notes) < maxNotes:
			f.Notes = append(f.Notes, object.Note{Pos: e.Pos, Text: "it is used here too"})
		}
	}
	return kept
}

// unknownIn returns a message in the form that Module.Near reads.
func unknownIn(g *Group, text string) string {
	if format, _ := g.Errs[0].Msg(); format == FormatUnknown && len(g.Path) > 0 {
		return "undefined field: " + g.Path[len(g.Path)-1].Name
	}
	return text
}

// quoteSelected returns a message with the name of an absent field in quotes if the module itself
// selects the field. The name is then no value of a user. If a secret is the same word, it is
// hidden with its quotes, and the rest of the message is as for any other name.
func (s *Subject) quoteSelected(text string, places []token.Pos) string {
	const prefix = "undefined field: "
	_, name, ok := strings.Cut(text, prefix)
	name, _, _ = strings.Cut(name, " ")
	if !ok || !slices.ContainsFunc(places, func(p token.Pos) bool { return s.Module.Selects(p, name) }) {
		return text
	}
	return strings.Replace(text, prefix+name, fmt.Sprintf("%s%q", prefix, name), 1)
}

// namesIn returns the sorted names of the fields in files. With references, it returns all other
// names too that a reference may lead to.
func namesIn(files []*ast.File, references bool) []string {
	names := map[string]bool{}

	// A name is counted once.
	add := func(n ast.Node) {
		if label, ok := n.(ast.Label); ok {
			if name, _, err := ast.LabelName(label); err == nil {
				names[name] = true
			}
		}
	}

	// Variables, aliases and imports can only be referred to.
	for _, file := range files {
		ast.Walk(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Field:
				add(n.Label)
			case *ast.LetClause:
				if references {
					add(n.Ident)
				}
			case *ast.Alias:
				if references {
					add(n.Ident)
				}
			case *ast.ImportSpec:
				if references {
					names[path.Base(strings.Trim(n.Path.Value, `"`))] = true
				}
			}
			return true
		}, nil)
	}
	return object.SortedKeys(names)
}

// builtinPackages are the packages of CUE, see https://pkg.go.dev/cuelang.org/go/pkg.
const builtinPackages = `crypto/ed25519 crypto/hmac crypto/md5 crypto/sha1 crypto/sha256 crypto/sha512
	encoding/base64 encoding/csv encoding/hex encoding/json encoding/toml encoding/yaml html list math math/bits net path regexp strconv strings struct text/tabwriter text/template time uuid`

// builtinFunctions returns the functions of the packages of CUE that most modules use, or "" for
// any other package.
func builtinFunctions(packageName string) string {
	switch packageName {
	case "strings":
		return `ByteAt ByteSlice Contains ContainsAny Count Fields HasPrefix HasSuffix Index IndexAny Join LastIndex LastIndexAny MaxRunes MinRunes
			Repeat Replace Runes SliceRunes Split SplitAfter SplitAfterN SplitN Title ToCamel ToLower ToTitle ToUpper Trim TrimLeft TrimPrefix
			TrimRight TrimSpace TrimSuffix`
	case "list":
		return `Avg Comparer Concat Contains Drop FlattenN IsSorted IsSortedStrings MatchN Max MaxItems Min MinItems Product Range Repeat Reverse
			Slice Sort SortStable SortStrings Sum Take UniqueItems`
	case "json", "yaml":
		return "Marshal MarshalStream Unmarshal UnmarshalStream Validate ValidatePartial"
	case "regexp":
		return "Find FindAll FindAllNamedSubmatch FindAllSubmatch FindNamedSubmatch FindSubmatch Match QuoteMeta ReplaceAll ReplaceAllLiteral Valid"
	}
	return ""
}
