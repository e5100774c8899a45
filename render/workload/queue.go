// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/generate"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// The outputs of a resource that is the server of a queue, beside its credentials.
const outputHost, outputName, outputVHost = "host", "name", "vhost"

// rootVHost is the virtual host of a URL of AMQP that names no virtual host.
const rootVHost = "/"

// resolveQueue returns the values with which KEDA reaches the queue that the workload is scaled by:
// what the author wrote, or the outputs of the resource. It returns nil if there is no queue, or if
// it cannot be resolved, which is reported.
func (c *Compilation) resolveQueue() *generate.Queue {
	replicas := c.member.source.Spec.Replicas
	if replicas == nil || replicas.Queue == nil || replicas.Queue.Broker.Type == "" {
		return nil
	}
	q := replicas.Queue

	// Read the address and the account.
	r := queueing{Compilation: c, Queue: q, path: c.member.extra("replicas", "queue", "resource"), ok: true}
	out := &generate.Queue{}
	if q.Resource.Value == "" {
		out.Address = literal(q.Address.Value, q.Address.Pos)
		out.Account = q.Broker.Account
	} else {
		r.checkServer()
		if q.Broker.Server() {
			address := slices.Concat(r.output(outputHost), []generate.Piece{{Literal: ":"}}, r.output(outputPort))
			out.Address = generate.Text{Pieces: generate.Join(address), Pos: q.Resource.Pos}
		}
		r.readCredentials(out)
	}

	// Some brokers want the values in another form.
	switch q.Broker.Type {
	case "redis":
		out.AddressParameter = "address"
	case "rabbitmq":
		r.addScheme(out)
	case "kafka":
		r.checkTopic()
	}
	if !r.ok {
		return nil
	}
	return out
}

// queueing resolves one queue. It does no more after its first mistake.
type queueing struct {
	*Compilation
	*score.Queue
	path object.Path
	// ok is false after a mistake: the first is reported, and the rest is left out.
	ok bool
}

// fail reports a mistake of the resource, unless a mistake was reported already.
func (r *queueing) fail(hint, format string, args ...any) {
	if r.ok {
		err := fmt.Errorf(format, args...)
		r.errs = append(r.errs, &object.Error{
			Stage: object.StageSpec, Pos: r.Resource.Pos, Path: r.path.String(), Err: err, Hint: hint,
		})
	}
	r.ok = false
}

// output returns an output of the resource, which must be there.
func (r *queueing) output(name string) []generate.Piece {
	pieces, err := r.scope(r.member).resource([]string{r.Resource.Value, name})
	switch {
	case err == nil:
		return pieces
	case err.Err == nil: // It is reported elsewhere.
		r.ok = false
	default:
		r.fail(err.Hint, "%w", err.Err)
	}
	return nil
}

// optional returns an output of the resource, or nothing if there is no such output or if it is
// empty, as the password of a server for a laptop is.
func (r *queueing) optional(name string) generate.Text {
	n, found := r.member.resource(r.Resource.Value)
	if !found {
		return generate.Text{}
	}
	result := r.result(r.member.instances[n])
	if result == nil || !slices.Contains(result.Names(), name) {
		return generate.Text{}
	}
	if password, plain := result.Outputs["password"]; plain && password == "" && name == "username" {
		return generate.Text{} // The server asks for no password, and the user is the one of all.
	}
	text := generate.Text{Pieces: r.output(name), Pos: r.Resource.Pos}
	if !text.Tainted() && text.Plain() == "" {
		return generate.Text{}
	}
	return text
}

// readCredentials reads the outputs with the credentials of KEDA. A server may want no
// credentials; the resource of a cloud exists only for its credentials.
func (r *queueing) readCredentials(out *generate.Queue) {
	count := 0
	for _, c := range r.Broker.Credentials {
		text := r.optional(c.Output)
		if !r.Broker.Server() {
			text = generate.Text{Pieces: r.output(c.Output), Pos: r.Resource.Pos}
		}
		if len(text.Pieces) > 0 {
			count++
		}
		out.Credentials = append(out.Credentials, text)
	}

	// KEDA refuses half of a login, and a login without a mechanism that it knows.
	_, sasl := r.Settings.Get("sasl")
	login := r.Broker.Credentials[0].Output + " and " + r.Broker.Credentials[len(r.Broker.Credentials)-1].Output
	switch {
	case r.Broker.Together && count == 1:
		r.fail("the provisioner must give both, or neither",
			"KEDA logs in to %s with %s, and the resource %q has one of them", r.Broker.Title, login, r.Resource.Value)
	case r.Broker.Type != "kafka" || !r.ok:
	case count > 0 && !sasl:
		r.fail("write sasl: scram_sha512 beside resource, or the mechanism that it is",
			"the resource %q has %s, and how KEDA logs in with them is not known", r.Resource.Value, login)
	case count == 0 && sasl:
		r.fail("remove sasl, or name a resource that has them",
			"the resource %q has no %s to log in with", r.Resource.Value, login)
	}
}

// addScheme turns the address of a broker of AMQP into a URL, as KEDA reads it, and reads its
// virtual host. The login of a server for a laptop is public, and KEDA reads a plain login only
// from the URL.
func (r *queueing) addScheme(out *generate.Queue) {
	scheme := "amqp://"
	if tls, _ := r.Settings.Get("tls"); tls.Text == "true" {
		scheme = "amqps://"
	}
	public := func(t generate.Text) bool { return len(t.Pieces) == 1 && t.Pieces[0].Public }
	if len(out.Credentials) == 2 && public(out.Credentials[0]) && public(out.Credentials[1]) {
		scheme += out.Credentials[0].Plain() + ":" + out.Credentials[1].Plain() + "@"
		out.Credentials = nil
	}
	out.Address.Pieces = generate.Join(append([]generate.Piece{{Literal: scheme}}, out.Address.Pieces...))
	out.AddressParameter = "host"
	if _, hasVHost := r.Settings.Get("vhost"); hasVHost || r.Resource.Value == "" {
		return
	}
	if vhost := r.optional(outputVHost).Plain(); vhost != rootVHost {
		out.VHost = vhost
	}
}

// checkTopic reports a topic that differs from the topic of the resource.
func (r *queueing) checkTopic() {
	if r.Resource.Value == "" {
		return
	}
	name, _ := r.Settings.Get("name")
	served := r.optional(outputName)
	if served.Tainted() || served.Plain() == "" || served.Plain() == name.Text {
		return
	}
	r.fail("write name: "+served.Plain(),
		"the topic of the resource %q is %q, and the queue is called %q", r.Resource.Value, served.Plain(), name.Text)
}

// checkServer reports a resource that is another server: neither its type nor the scheme of its
// output url belongs to the broker.
func (r *queueing) checkServer() {
	n, found := r.member.resource(r.Resource.Value)
	if !found || len(r.Broker.Resources) == 0 {
		return // What is not known is reported where outputs are read.
	}
	i := r.member.instances[n]
	result := r.result(i)
	kind := i.resource.Type.Value
	serves := func(b score.Broker) bool {
		scheme, _, _ := strings.Cut(result.Outputs["url"], "://")
		return slices.Contains(b.Resources, kind) || slices.Contains(b.URL, scheme)
	}
	if result == nil || serves(r.Broker) {
		return
	}
	hint := "name a resource of type " + strings.Join(r.Broker.Resources, " or ") +
		", or one with an output url that begins with " + r.Broker.URL[0] + "://"
	if other := slices.IndexFunc(score.Brokers(), serves); other >= 0 {
		hint = "write type: " + score.Brokers()[other].Type
	}
	r.fail(hint, "a queue of type %s is on a server of %s, and the resource %q is of type %q",
		r.Broker.Type, r.Broker.Title, r.Resource.Value, kind)
}
