// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import "github.com/ropewalk/ropewalk/render/object"

// Apps returns the table of an apps.yaml.
func Apps() Document {
	return Document{Kind: "Apps", Doc: "An apps.yaml: applications and the gateway before them. apiVersion and kind are the header by which a search finds it.",
		Root: Field{Kind: fields, Together: []string{"apiVersion", "kind"}, Fields: []Field{
			{Name: "apiVersion", Kind: text, Values: choices(apiVersion)},
			{Name: "kind", Kind: text, Values: choices("Apps")},
			{Name: "metadata", Kind: fields, Doc: "Name of the document.", Fields: []Field{
				{Name: "name", Kind: text, Doc: "Begins the name of the Gateway."},
			}},
			{Name: "apps", Kind: list, Least: 1, Need: true, Hint: "write apps: [{name: NAME}]", Doc: "Applications.", Each: each(App())},
			{Name: "gateway", Kind: fields, Doc: "What receives requests and leads them to the applications.", Fields: []Field{
				{Name: "provider", Kind: text, Values: choices("haproxy", "haproxytech", "jcmoraisjr", "traefik", "gateway-api", "envoy-gateway"), Need: true, Hint: "what receives the requests", Doc: "What receives the requests; haproxy is the one that spec.workloads.config.apps.haproxy of the Project names."},
				appLimit().Named("rate_limit"),
				{Name: "cors", Kind: fields, Doc: "Cross-origin requests of browsers.", Fields: []Field{
					appFlag("enabled", "true where it is absent."),
					{Name: "allow_origins", Kind: list, Doc: "Origins that may call."},
					{Name: "allow_methods", Kind: list, Doc: "Methods that they may use."},
					{Name: "allow_headers", Kind: list, Doc: "Headers that they may send."},
					seconds("max_age", 1, "Seconds."),
				}},
				{Name: "routes", Kind: list, Least: 1, Need: true, Hint: "write routes: [{path: /, service: NAME.NAMESPACE:PORT}]", Doc: "Where requests lead.", Fields: []Field{
					{Name: "path", Kind: text, Need: true, Doc: "Prefix of the path of requests."},
					{Name: "service", Kind: text, Need: true, Rule: appService(), Hint: "write NAME.NAMESPACE:PORT, such as api.apps:80", Doc: "NAME.NAMESPACE:PORT"},
					appLimit().Named("rate_limit"),
					{Name: "auth", Kind: fields, Doc: "Who may call.", Fields: []Field{
						{Name: "type", Kind: text, Values: choices("basic", "api-key", "oauth2", "jwt"), Need: true},
						{Name: "secret", Kind: text, Doc: "Secret in the shape of the provider."},
						{Name: "realm", Kind: text, Doc: "Name of the protected area that a browser shows."},
						{Name: "header", Kind: text, Doc: "Header with the API key."},
						{Name: "proxy", Kind: text, Doc: "Address at which an oauth2-proxy of yours checks a request."},
						{Name: "signin", Kind: text, Doc: "Page at which a caller signs in."},
						{Name: "issuer", Kind: text, Doc: "Who issues the tokens; with jcmoraisjr and traefik an oauth2-proxy is made that logs callers in."},
						{Name: "clientID", Kind: text, Doc: "Client at the issuer."},
						{Name: "scopes", Kind: list, Doc: "Scopes that are asked for."},
						{Name: "redirectURL", Kind: text, Doc: "Where a caller comes back to."},
						{Name: "audiences", Kind: list, Doc: "Audiences that a token may be for."},
						{Name: "jwks", Kind: text, Doc: "Address of the keys of the issuer."},
					}},
				}},
			}},
		}}}
}

// App returns the table of an application.
func App() Field {
	own := appOverride()
	own.Fields = append(own.Fields,
		Field{Name: "name", Kind: text, Need: true, Hint: "write name: NAME", Doc: "Name of all objects."},
		Field{Name: "overrides", Kind: fields, Doc: "What environments have in place of it, by their names: local, dev and gcp, and any other that the project has.", Names: label(), Each: each(appOverride())})
	return own.Means("")
}

// AppsConfig returns the table of what a project says about applications, in
// spec.workloads.config.apps. The fields of the queue have the form that they have in a Workload.
func AppsConfig() Field {
	return Field{Kind: fields, Fields: []Field{
		{Name: "haproxy"},
		{Name: "queue", Kind: fields, Fields: []Field{
			{Name: "address"}, {Name: "database"}, {Name: "group"}, {Name: "namespace"}, {Name: "region"}, {Name: "resource"}, {Name: "sasl"},
			{Name: "tls"}, {Name: "topic"}, {Name: "type"}, {Name: "vhost"},
		}},
	}}
}

// appFlag returns a field that is a bool, which authors write in quotes too.
func appFlag(name, doc string) Field {
	return Field{Name: name, Kind: truth, Text: true, Doc: doc, Mistyped: func(object.Value) string { return "write true or false" }}
}

// appRules returns the field of the rules for one direction of the traffic. Null is refused: it
// could mean that all is open, and that all is closed.
func appRules(name string) Field {
	return Field{Name: name, Kind: list, Each: each(appRule()), NotNull: true, Doc: "Open where it is absent, closed where it is empty.", Mistyped: func(object.Value) string {
		return "write a list of {namespace, pod_labels, cidr}, which allows nothing where it is empty, or remove " + name
	}}
}

func appRule() Field {
	return Field{Kind: fields, Fields: []Field{
		{Name: "cidr", Kind: text, Doc: "Range of addresses, such as 10.0.0.0/8."},
		{Name: "namespace", Kind: text, Doc: "Namespace of the pods; that of the application where it is absent."},
		{Name: "pod_labels", Kind: fields, Each: loose(), Doc: "Labels of the pods; all pods of the namespace where they are absent."},
	}}
}

func appEnvironment() Field {
	return Field{Kind: fields, Doc: "Variables of the container: text with ${VAR} and ${VAR:-default}, or a secret.", Each: &Field{Kind: text, Loose: true, Or: []Field{{Kind: fields, Fields: []Field{
		{Name: "key", Kind: text, Doc: "Field of the secret; all of it where it is absent."},
		{Name: "local", Kind: text, Doc: "Secret of the namespace, in place of secret."},
		{Name: "provider", Kind: text, Values: choices("aws", "azure", "gcp", "local", "vault"), Doc: "The default one of the project where it is absent."},
		{Name: "secret", Kind: text, Doc: "Name of the secret at its provider."},
		{Name: "version", Kind: text, Text: true, Doc: "The latest where it is absent."},
	}}}}}
}

func appScaling() Field {
	return Field{Kind: fields, Fields: []Field{
		{Name: "type", Kind: text, Values: choices("hpa", "keda-cron", "keda-http", "keda-queue", "none"), Doc: "What scales the pods. In an override another type replaces all of scaling."},
		{Name: "min_instances", Kind: number, Range: from(0), Doc: "Pods at least; 0 where a trigger of KEDA can start one."},
		{Name: "max_instances", Kind: number, Range: from(1), Doc: "Pods at most."},
		seconds("cooldown_period", 0, "Seconds before KEDA stops the last pod."),
		{Name: "queue_name", Kind: text, Doc: "List of Redis or Valkey; its server is spec.workloads.config.apps.queue of the Project."},
		{Name: "queue_length", Kind: number, Range: from(1), Doc: "Entries for each pod; 5 where it is absent."},
		{Name: "cron_schedules", Kind: list, Doc: "Windows in which so many pods run.", Fields: []Field{
			{Name: "timezone", Kind: text, Doc: "Of the IANA database; UTC where it is absent."},
			{Name: "start", Kind: text, Need: true, Doc: "Five fields of cron."},
			{Name: "end", Kind: text, Need: true, Doc: "Five fields of cron."},
			{Name: "replicas", Kind: number, Range: from(1), Need: true, Doc: "Pods in the window."},
		}},
		{Name: "hosts", Kind: list, Doc: "Hosts of the requests that the HTTP add-on of KEDA counts."},
		{Name: "concurrency", Kind: number, Range: from(1), Doc: "Requests at a time for each pod."},
		{Name: "rate", Kind: number, Range: from(1), Doc: "Requests per second for each pod."},
	}}
}

func appResources() Field {
	return Field{Kind: fields, Fields: []Field{
		{Name: "cpu", Kind: text, Text: true, Doc: "Request."},
		{Name: "memory", Kind: text, Text: true, Doc: "Request."},
		{Name: "memory_limit", Kind: text, Text: true, Doc: "Limit of memory."},
		{Name: "ephemeral_storage", Kind: text, Text: true, Doc: "Request and limit."},
	}}
}

func appSecurity() Field {
	return Field{Kind: fields, Fields: []Field{
		{Name: "service_account", Kind: text, Doc: "Account of the pods."},
		appFlag("create_service_account", "Make the account; it is there already where this is absent."),
		{Name: "service_account_annotations", Kind: fields, Doc: "Annotations of an account that is made.", Each: loose()},
		{Name: "network_policy", Kind: fields, Doc: "Who may call, and be called.", Fields: []Field{
			appFlag("enabled", "true where it is absent. Without allow_from and allow_to, callers are restricted to the gateway and to those that the project knows of."),
			appRules("allow_from"),
			appRules("allow_to"),
		}},
	}}
}

func appLimit() Field {
	return Field{Kind: fields, Fields: []Field{
		appFlag("enabled", "true where it is absent."),
		{Name: "requests_per_second", Kind: number, Range: from(1), Doc: "Requests per second that a caller may make."},
		{Name: "burst", Kind: number, Range: from(1), Doc: "Requests at once, with Traefik and haproxytech; for Traefik twice the rate where it is absent."},
	}}
}

// appOverride returns the table of what an application has, and what an environment may lay over
// it.
func appOverride() Field {
	return Field{Kind: fields, Doc: "Laid over the application in the environment of this name.", Fields: []Field{
		appEnvironment().Named("environment"),
		{Name: "namespace", Kind: text, Doc: "Namespace of all objects."},
		{Name: "path", Kind: text, Doc: "Folder of the sources, which becomes an annotation; the image comes by --image NAME=IMAGE."},
		{Name: "port", Kind: number, Range: from(1), Doc: "Where the container listens; the port of the routes where it is absent."},
		appResources().Named("resources"),
		appScaling().Named("scaling"),
		appSecurity().Named("security"),
	}}
}
