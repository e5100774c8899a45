// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package score

import (
	"cmp"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// Queue is a queue whose length decides how many pods run.
type Queue struct {
	// Broker is what kind of server has it. Its Type is "" where the author's is wrong.
	Broker Broker
	// Resource names the resource of the workload that is the server, or has the credentials;
	// Address is host:port. A queue of a server has one of them.
	Resource, Address Text
	// Settings are the other fields.
	Settings object.Value
}

// Broker is a kind of server that has queues, and what KEDA wants to know of it.
type Broker struct {
	// Type is what an author writes.
	Type string
	// Title is its name in messages.
	Title string
	// Has are the fields that its queues have beside those of all, and Needs those of them that
	// must be given.
	Has, Needs []string
	// Resources are the types of resources that are such servers. URL begins the output url of
	// others that are.
	Resources []string
	URL       []string
	// Credentials are outputs of the resource. Together says that KEDA wants all or none.
	Credentials []Credential
	Together    bool
	// Account is the provider of the account of KEDA that reads the queue where there is no
	// resource: "" for a server with an address.
	Account string
}

// Credential is an output of a resource that KEDA gets as a parameter from a Secret, or as plain
// text where Shown.
type Credential struct {
	Output, Parameter string
	Shown             bool
}

// Brokers returns all of them, in the order of the schema.
func Brokers() []Broker {
	login := []Credential{{Output: "username", Parameter: "username"}, {Output: "password", Parameter: "password"}}
	return []Broker{
		{
			Type: "redis", Title: "Redis or Valkey", Has: []string{fieldAddress, "tls", "database"},
			Resources: []string{"redis", "valkey"}, URL: []string{"redis", "rediss", "valkey", "valkeys"},
			Credentials: []Credential{{Output: "username", Parameter: "username", Shown: true}, login[1]},
		},
		{
			Type: "rabbitmq", Title: "RabbitMQ", Has: []string{fieldAddress, "tls", "vhost"},
			Resources: []string{"amqp", "rabbitmq"}, URL: []string{"amqp", "amqps"}, Credentials: login, Together: true,
		},
		{
			Type: "kafka", Title: "Kafka", Has: []string{fieldAddress, "tls", "group", "sasl"}, Needs: []string{"group"},
			Resources: []string{"kafka", "kafka-topic"}, URL: []string{"kafka"}, Credentials: login, Together: true,
		},
		{
			Type: "sqs", Title: "Amazon SQS", Has: []string{"region"}, Needs: []string{"region"}, Account: "aws",
			Credentials: []Credential{{Output: "access_key_id", Parameter: "awsAccessKeyID"}, {Output: "secret_key", Parameter: "awsSecretAccessKey"}},
		},
		{
			Type: "pubsub", Title: "Google Pub/Sub", Account: "gcp",
			Credentials: []Credential{{Output: "credentials", Parameter: "GoogleApplicationCredentials"}},
		},
		{
			Type: "servicebus", Title: "Azure Service Bus", Has: []string{"namespace", "topic"}, Account: "azure-workload",
			Credentials: []Credential{{Output: "connection_string", Parameter: "connection"}},
		},
	}
}

// defaultBroker is the type of a queue that names none.
const defaultBroker = "redis"

// The fields that say where a queue is.
const fieldAddress, fieldResource = "address", "resource"

// Server reports whether KEDA connects to the server at an address.
func (b Broker) Server() bool { return slices.Contains(b.Has, fieldAddress) }

// queue decodes a queue, and checks what KEDA checks when it reads the trigger.
func (p part) queue() *Queue {
	kind, resource, address := p.get("type"), p.get(fieldResource), p.get(fieldAddress)
	for _, name := range []string{"name", "vhost", "group", "region", "topic"} {
		p.get(name).warnLiterals(useValue)
	}
	out := &Queue{Resource: resource.text(), Address: address.address()}
	out.Settings = p.Without(object.Fields(fieldResource)).Without(object.Fields(fieldAddress))
	slices.SortFunc(out.Settings.Members, func(a, b object.Member) int { return strings.Compare(a.Name, b.Name) })
	if p.Known(p.at.To("type").Path()) {
		return out
	}
	for _, b := range Brokers() {
		if b.Type == cmp.Or(kind.Text, defaultBroker) {
			out.Broker = b
		}
	}
	if out.Broker.Type == defaultBroker { // Modules from before there were others know no type.
		out.Settings = out.Settings.Without(object.Fields("type"))
	}
	p.checkFields(out.Broker)
	if p.doc.Defaults { // The rest is in the workloads.
		return out
	}

	// A server has one address. The account of KEDA needs none at a cloud.
	switch {
	case out.Broker.Server() && resource.given() == address.given():
		p.fail("write resource: NAME, or address: host:port", "expected one of resource and address, got %d", count(resource, address))
	case out.Broker.Type == "kafka" && address.given() && p.get("sasl").given():
		p.get("sasl").fail("write resource: NAME in place of address", "needs username and password, which only a resource has")
	case out.Broker.Type == "sqs":
		p.get("name").checkQueueURL()
	case out.Broker.Type == "servicebus" && resource.given() == p.get("namespace").given():
		p.fail("write namespace: NAME, or resource: NAME of one with an output connection_string", "expected one of resource and namespace, got %d", count(resource, p.get("namespace")))
	}
	return out
}

// checkFields reports fields that queues of a kind of server do not have, and those that are
// missing.
func (p part) checkFields(b Broker) {
	for _, m := range p.Members {
		at := p.at.To(m.Name)
		common := slices.Contains([]string{"type", "name", "length", "activation", fieldResource}, m.Name)
		if common || slices.Contains(b.Has, m.Name) || m.Value.Kind == object.KindNull {
			continue
		}
		var others []string
		for _, other := range Brokers() {
			if slices.Contains(other.Has, m.Name) {
				others = append(others, other.Type)
			}
		}
		p.decoder.fail(m.Pos, at, "remove it; it is a field of type: "+strings.Join(others, ", "), "a queue of type %s has no %s", b.Type, m.Name)
	}
	for _, name := range b.Needs {
		if p.doc.Defaults {
			break
		}
		if at := p.at.To(name); !p.get(name).given() && !p.Known(at.Path()) {
			p.decoder.fail(p.Pos, at, "write "+name+" beside type: "+b.Type, "is missing")
		}
	}
}

// checkQueueURL reports a URL that is not one of a queue of SQS, as KEDA reads it: the path is the
// account and the name. Any other text is a name.
func (p part) checkQueueURL() {
	u, err := url.ParseRequestURI(p.Text)
	if err != nil {
		return
	}
	if _, name, ok := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/"); !ok || name == "" || strings.Contains(name, "/") {
		p.fail("write https://sqs.REGION.amazonaws.com/ACCOUNT/NAME, or the name alone", "is not the URL of a queue of SQS")
	}
}

// address decodes host:port. The message repeats nothing: an address with credentials would show
// them.
func (p part) address() Text {
	const hint = "write host:port, such as redis.shop.svc.cluster.local:6379; a server that wants a password is a resource"
	t := p.text()
	p.warnLiterals("write resource: NAME instead")
	host, port, err := net.SplitHostPort(t.Value)
	n, bad := strconv.Atoi(port)
	if t.Value != "" && (err != nil || bad != nil || n < 1 || n > maxPort || host == "" || strings.ContainsAny(host, "/@, \t\n")) {
		p.fail(hint, "is not host:port")
		t.Value = ""
	}
	return t
}
