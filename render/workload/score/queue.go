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
	// Broker is the kind of server that has the queue. Its Type is "" if the author's type is unknown.
	Broker Broker
	// Resource names the resource of the workload that is the server, or has the credentials;
	// Address is host:port. A queue of a server has one of them.
	Resource, Address Text
	// Settings are the other fields.
	Settings object.Value
}

// Broker is a kind of server that has queues, with the values that KEDA needs for it.
type Broker struct {
	// Type is the value of the field type.
	Type string
	// Title is its name in messages.
	Title string
	// Has lists the fields that its queues have beside the common fields, and Needs the
	// fields of Has that are required.
	Has, Needs []string
	// Resources lists the types of resources that are such servers. URL lists the schemes
	// of the output url by which a resource of another type is recognized.
	Resources []string
	URL       []string
	// Credentials are outputs of the resource. Together means that KEDA wants all or none of them.
	Credentials []Credential
	Together    bool
	// Account is the provider of the account of KEDA that reads the queue if no resource is
	// given: "" for a server with an address.
	Account string
}

// Credential is an output of a resource that KEDA gets as a parameter from a Secret, or as plain
// text if Shown is set.
type Credential struct {
	Output, Parameter string
	Shown             bool
}

// Brokers returns all brokers, in the order of the schema.
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
			Credentials: []Credential{
				{Output: "access_key_id", Parameter: "awsAccessKeyID"},
				{Output: "secret_key", Parameter: "awsSecretAccessKey"},
			},
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

// defaultBroker is the type of a queue without a type.
const defaultBroker = "redis"

// The fields that name the server of a queue.
const fieldAddress, fieldResource = "address", "resource"

// Server reports whether KEDA connects to the server at an address.
func (b Broker) Server() bool { return slices.Contains(b.Has, fieldAddress) }

// queue decodes a queue, and makes the checks that KEDA makes when it reads the trigger.
func (p part) queue() *Queue {
	kind, resource, address := p.field("type"), p.field(fieldResource), p.field(fieldAddress)
	for _, name := range []string{"name", "vhost", "group", "region", "topic"} {
		p.field(name).warnLiterals(useValue)
	}
	out := &Queue{Resource: resource.asText(), Address: address.address()}
	out.Settings = p.Without(object.Fields(fieldResource)).Without(object.Fields(fieldAddress))
	slices.SortFunc(out.Settings.Members, func(a, b object.Member) int { return strings.Compare(a.Name, b.Name) })

	// The rules of the broker apply to the fields.
	if p.Known(p.loc.To("type").Path()) {
		return out
	}
	for _, b := range Brokers() {
		if b.Type == cmp.Or(kind.Text, defaultBroker) {
			out.Broker = b
		}
	}
	if out.Broker.Type == defaultBroker { // Older modules know no type.
		out.Settings = out.Settings.Without(object.Fields("type"))
	}
	p.checkFields(out.Broker)
	if p.doc.Defaults { // The rest is in the workloads.
		return out
	}

	// A server has one address. At a cloud the account of KEDA needs no address.
	switch {
	case out.Broker.Server() && resource.given() == address.given():
		p.reject("write resource: NAME, or address: host:port", "expected one of resource and address, got %d", count(resource, address))
	case out.Broker.Type == "kafka" && address.given() && p.field("sasl").given():
		p.field("sasl").reject("write resource: NAME in place of address", "needs username and password, which only a resource has")
	case out.Broker.Type == "sqs":
		p.field("name").checkQueueURL()
	case out.Broker.Type == "servicebus" && resource.given() == p.field("namespace").given():
		hint := "write namespace: NAME, or resource: NAME of one with an output connection_string"
		p.reject(hint, "expected one of resource and namespace, got %d", count(resource, p.field("namespace")))
	}
	return out
}

// checkFields reports fields that queues of a broker do not have, and missing fields.
func (p part) checkFields(b Broker) {
	for _, m := range p.Members {
		loc := p.loc.To(m.Name)
		common := slices.Contains([]string{"type", "name", "length", "activation", fieldResource}, m.Name)
		if common || slices.Contains(b.Has, m.Name) || m.Value.Kind == object.KindNull {
			continue
		}
		var others []string
		for _, broker := range Brokers() {
			if slices.Contains(broker.Has, m.Name) {
				others = append(others, broker.Type)
			}
		}
		hint := "remove it; it is a field of type: " + strings.Join(others, ", ")
		p.failAt(m.Pos, loc, hint, "a queue of type %s has no %s", b.Type, m.Name)
	}
	for _, name := range b.Needs {
		if p.doc.Defaults {
			break
		}
		if loc := p.loc.To(name); !p.field(name).given() && !p.Known(loc.Path()) {
			p.failAt(p.Pos, loc, "write "+name+" beside type: "+b.Type, "is missing")
		}
	}
}

// checkQueueURL reports a URL that is not the URL of a queue of SQS, as KEDA reads it: the path is
// the account and the name. Any other text is a name.
func (p part) checkQueueURL() {
	u, err := url.ParseRequestURI(p.Text)
	if err != nil {
		return
	}
	if _, name, ok := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/"); !ok || name == "" || strings.Contains(name, "/") {
		p.reject("write https://sqs.REGION.amazonaws.com/ACCOUNT/NAME, or the name alone", "is not the URL of a queue of SQS")
	}
}

// address decodes host:port. The message does not repeat the text, which may hold credentials.
func (p part) address() Text {
	const hint = "write host:port, such as redis.shop.svc.cluster.local:6379; a server that wants a password is a resource"
	t := p.asText()
	p.warnLiterals("write resource: NAME instead")
	host, port, err := net.SplitHostPort(t.Value)
	number, portErr := strconv.Atoi(port)
	badPort := err != nil || portErr != nil || number < 1 || number > maxPort
	badHost := host == "" || strings.ContainsAny(host, "/@, \t\n")
	if t.Value != "" && (badPort || badHost) {
		p.reject(hint, "is not host:port")
		t.Value = ""
	}
	return t
}
