// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package evaluate turns a CUE module and an input into nodes. It is the only
// package that imports cuelang.org/go/cue.
//
// # Invariants
//
// A module tree is compiled once into a cached value in a context of its own;
// that context never compiles anything again. A render is one FillPath at the
// root, a validation, and one export of each object. Inputs are built in
// throw-away contexts. That is ten times cheaper than cue export and flat in
// memory.
//
// Trees are regular files in memory below a virtual root that exists on no
// host. There is no network, no environment, no clock and no host name: tag
// variables are not set.
//
// A plain module, with one package and no attribute that means something to
// CUE's loader, is read without it; everything else, and every mistake, goes
// through the loader. Where such a module is native it is linked as well: what
// depends on no input is evaluated once, not with every fill. Only results come
// from the linked form; where it gives none, the module is compiled as it was
// written, and that form has the errors, their positions and all traces. Every
// form gives the same, and tests compare them.
//
// CUE can be neither cancelled nor limited from inside. [InProcess] is for a
// user's own modules in a process of the user's own; [Pool] runs self-executed
// worker processes that can be killed, for modules of others. Both are an
// [Evaluator], and give the same results.
//
// Results depend on values, not on how they were written down: maps of the
// input reach a module with their names in order.
//
// # Flavours
//
// A native module has the fields input, context and graph; they are validated
// in this order, and the first that fails is reported. A plain module gets its
// input at its root and may not be given names that it does not have. A Timoni
// module gets the input as its values, laid over those of its own values.cue
// leaf by leaf; its apply sets become ordered sets of nodes, its action
// annotations policies of the node, and they stay on the object. What Timoni
// decides that has no equivalent is in [Result].Warnings.
//
// A module of provisioners is native, with a list of its own kind instead of
// input and graph: what it makes of each resource is in [Result].Provisioned.
//
// What a module takes can be asked for ([Request].Describe): it is read off the
// schema, or in a plain module off the fields that are open, without any input.
//
// # Errors
//
// CUE's errors say what clashes inside of CUE. What users read here is made
// from them: CUE says where, the schema says what was expected, the table of
// places says on which line of the user's own file. CUE hides errors behind
// others, so a wrong part is taken out and the rest is validated again, until
// nothing is left to say. A value that fits none of several alternatives is
// held against the one that it is nearest to. Showing CUE's own texts would
// have been less code; they repeat one mistake up to five times and speak of
// empty disjunctions.
//
// # Decisions
//
// Building a module with its graph switched off until there is an input was
// tried, because CUE evaluates a package when it is built. It saved nothing:
// what the first evaluation finds is shared with all later ones.
//
// Schemas are laid over into cue.mod/pkg instead of being served by a registry:
// a module that declares the dependency and one that only imports it then work
// alike, and neither needs files outside of the overlay.
//
// Linking moves the definitions that depend on no input, and the packages that
// are vendored, out of the value that is filled. CUE evaluates both anew with
// every fill of a root, imports because sharing them across evaluations used to
// race; fields around the filled one are evaluated when the module is built, and
// only read after that. It takes 6 to 11 % off a warm render of a module with few
// definitions, and 15 to 35 % off one of webservice; a cold one gains 4 to 10 %,
// because the second form is compiled for errors only. The price is that the first
// mistake in an input compiles the module again. Moving text would have been
// less code than moving syntax trees, but nodes, rules and violations carry
// positions. A linked module also does without #Graph of the schema, where it is
// ours to the byte: it gives no value, and what it refuses the reading of nodes
// refuses too, so that a mistake is told by the module as it was written. That
// takes another tenth off a warm render. Fields that depend on no input were
// left where they are: there are few, and users may fill the same structs.
//
// CUE gives no list of fields that it has not sorted, and for 500 objects of one
// comprehension that takes as long as to evaluate them. So a module remembers which
// fields its structs had at each place. A closed struct of these names that subsumes
// a value proves that the value has them and no others, and they are looked up; what
// it does not subsume is listed. Nothing is taken for granted of siblings. That takes
// half off an export; objects that are made once are listed as before. Value.Core
// would have been twenty lines, but is for CUE's own use; names read off the syntax
// do not hold where anything is unified.
//
// The entry of the list that makes a resource is filled by itself, once for each
// resource. The other way was a field results in every module, made by a
// comprehension over one input: each author would have had to write it, and to
// lead config and context through it (context: context means itself). Three
// resources of sixteen provisioners take 0.41 ms to fill and validate, and 0.46 in
// a module that cannot be linked; the comprehension took 0.50 and 2.6, because a
// fill of the root evaluates the provisioners that nobody asks for too. In the
// schema params is _ and not {...}, which would let every name pass.
//
// A description reads five steps deep, and less deep where that gives more than 200
// inputs: a part that is left out is then in one that is whole, and none is missing
// without a word. Conditions on other inputs are not looked at: what a module takes
// must not change while somebody fills in its form. A schema that holds itself is
// left out where it does, because CUE gives no value there. An Evaluator with a
// method Describe was not chosen: a request goes through the pool, its limits and
// its quarantine, and through Remember, as any other.
//
// A worker that has used 200 ms of processor time while others want some runs behind
// them: with a module that hangs beside fifty good ones, and two cores, those take
// 0.5 to 1.1 times of their usual median, and up to 2.3 without. Linux does not let
// a priority be raised again, so that the worker is replaced after that evaluation;
// what its module needed is remembered, and the next time it may take twice of it, up
// to a second. A worker beyond the size of the pool would have cost its memory, and a
// core to others; stopping and continuing the worker by turns would have woken this
// process a hundred times a second.
//
// Callers: render (the pipeline) and plugin/host, which chooses between the
// two.
package evaluate
