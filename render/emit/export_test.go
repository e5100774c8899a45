// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package emit

import "github.com/ropewalk/ropewalk/render/object"

// CELForArgoCD is the annotation for one expression, or why there is none.
func CELForArgoCD(text string) (string, error) {
	n := &object.Node{ReadyWhen: []object.Ready{{Type: object.ReadyCEL, Expr: text}}}
	rule, problems := newRules().annotation(n)
	if len(problems) > 0 {
		return "", problems[0].err
	}
	return rule, nil
}

// CELForFlux is one expression as Flux evaluates it, and what is lost.
func CELForFlux(text string) (string, []string, error) {
	c, err := parseCEL(text)
	if err != nil {
		return "", nil, err
	}
	flux, err := fluxExpr(c)
	return flux.text, flux.lost, err
}

// Native names the file with the health of a kind.
var Native = nativeHealth
