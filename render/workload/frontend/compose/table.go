// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"slices"
	"strings"
	"sync"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/document/kinds"
	"github.com/ropewalk/ropewalk/render/object"
)

//nolint:gochecknoglobals // constants
var (
	// table is the table of a document of kind Compose.
	table = sync.OnceValue(func() document.Field { return kinds.Compose().Root.Judged("apiVersion", "kind") })
	// fileTable is the table of a compose file.
	fileTable = sync.OnceValue(file)
)

// file returns the table of a compose file, with all forms that the Compose Specification has for
// its fields, after the variables are filled in. A field that is not read may hold anything.
func file() document.Field {
	return keys(
		field("name", word()), anything("version"), anything("jobs"), anything("models"),
		field("include", listOf(either(word(), keys(wordList("path"), field("project_directory", word()), wordList("env_file"))))),
		field("services", mapOf(serviceFields())),
		field("networks", mapOf(orNull(network()))),
		field("volumes", mapOf(orNull(keys(
			field("name", word()), external(), field("driver", word()), field("driver_opts", mapOf(orNull(word()))), anything("labels"),
			document.Field{Name: extension, Kind: object.KindMap, Free: true},
		)))),
		field("configs", mapOf(orNull(source("content")))),
		field("secrets", mapOf(secret(orNull(source("driver", "driver_opts"))))),
		field(extension, keys(choice())),
	)
}

// serviceFields returns the table of a service.
func serviceFields() document.Field {
	fields := []document.Field{
		keyedBy("annotations"), keyedBy("labels"), keyedBy("sysctls"), keyedBy("extra_hosts"), keyedBy("environment"),
		field("build", either(word(), document.Field{Kind: object.KindMap, Open: true, Fields: []document.Field{field("context", word())}})),
		field("image", document.Field{Kind: object.KindString}), field("working_dir", document.Field{Kind: object.KindString}),
		command("command"), command("entrypoint"),
		field("depends_on", either(mapOf(orNull(keys(field("condition", word()), flag("required"), flag("restart")))), listOf(word()))),
		field("networks", either(mapOf(orNull(keys(
			field("aliases", listOf(word())), anything("ipv4_address"), anything("ipv6_address"),
			anything("link_local_ips"), anything("mac_address"),
			anything("priority"), anything("driver_opts"), anything("gw_priority"), anything("interface_name"), anything("use_service_name_alias"),
		))), listOf(word()))),
		field("env_file", orList(either(word(), keys(field("path", word()), flag("required"), anything("format"))))),
		field("extends", either(word(), keys(field("service", word()), field("file", word())))),
		field("ports", listOf(either(word(), keys(
			number("target", 1), field("published", word()), field("protocol", word()), field("host_ip", word()),
			anything("mode"), field("name", word()), anything("app_protocol"),
		)))),
		field("volumes", listOf(either(document.Field{Kind: object.KindString}, mountFields()))),
		grants("configs"), grants("secrets"), field("deploy", deploy()),
		field("healthcheck", keys(
			command("test"), field("interval", word()), field("timeout", word()), number("retries", 0),
			field("start_period", word()), anything("start_interval"), flag("disable"),
		)),
		wordList("tmpfs"), wordList("dns"), wordList("dns_search"), wordList("label_file"), number("scale", 0),
		flag("privileged"), flag("read_only"), flag("stdin_open"), flag("tty"),
		{Name: extension, Kind: object.KindMap, Open: true, Fields: []document.Field{choice()}},
	}
	for _, name := range []string{"cap_add", "cap_drop", "dns_opt", "expose", "group_add", "links", "profiles", "security_opt"} {
		fields = append(fields, field(name, listOf(word())))
	}
	for _, name := range []string{
		"cpus", "hostname", "mem_limit", "mem_reservation", "pull_policy", "restart", "shm_size", "stop_grace_period", "user",
	} {
		fields = append(fields, field(name, word()))
	}
	for _, name := range append(meaningless(), object.SortedKeys(unsupported())...) {
		if !slices.ContainsFunc(fields, func(f document.Field) bool { return f.Name == name }) {
			fields = append(fields, anything(name))
		}
	}
	return keys(fields...)
}

// mountFields returns the table of a mount in its long form.
func mountFields() document.Field {
	return keys(
		field("type", word()), field("source", word()), field("target", word()), flag("read_only"), anything("consistency"), anything("image"),
		field("bind", keys(anything("propagation"), anything("create_host_path"), anything("selinux"), anything("recursive"))),
		field("volume", keys(anything("nocopy"), field("subpath", word()), anything("labels"))),
		field("tmpfs", keys(field("size", word()), anything("mode"))),
	)
}

// deploy returns the table of the deployment of a service to Swarm.
func deploy() document.Field {
	return keys(
		field("mode", word()), number("replicas", 0), anything("labels"), anything("update_config"),
		anything("rollback_config"), anything("placement"), anything("endpoint_mode"),
		field("resources", keys(
			field("limits", keys(field("cpus", word()), field("memory", word()), anything("pids"))),
			field("reservations", keys(field("cpus", word()), field("memory", word()), anything("devices"), anything("generic_resources"))),
		)),
		field("restart_policy", keys(field("condition", word()), anything("delay"), field("max_attempts", word()), anything("window"))),
	)
}

// network returns the table of a network of the application.
func network() document.Field {
	return keys(
		anything("name"), anything("driver"), anything("driver_opts"), anything("ipam"), flag("internal"), external(), anything("attachable"),
		anything("enable_ipv4"), anything("enable_ipv6"), anything("labels"),
	)
}

// source returns the table of the source of a config or a secret.
func source(fields ...string) document.Field {
	f := keys(
		field("name", word()), external(), field("file", word()), field("environment", word()), anything("labels"), anything("template_driver"),
		field(extension, keys(field("name", word()), field("key", word()))),
	)
	for _, name := range fields {
		f.Fields = append(f.Fields, field(name, map[bool]document.Field{true: word(), false: {}}[name != "driver_opts"]))
	}
	return f
}

// grants returns the field with the configs or secrets of a service.
func grants(name string) document.Field {
	return field(name, listOf(either(word(), keys(
		field("source", word()), field("target", word()), anything("uid"), anything("gid"), anything("mode"),
	))))
}

// choice returns the field that decides about the paths of a host.
func choice() document.Field {
	return document.Field{Name: "hostPaths", Kind: object.KindString, Values: document.Choices(hostPaths[:]...)}
}

// external returns the field for objects that exist already. It once was a map.
func external() document.Field {
	f := flag("external")
	f.Or = []document.Field{keys(field("name", word()))}
	return f
}

// keys returns a map of fields. Names that begin with x- are free, unless they resemble the
// extension.
func keys(fields ...document.Field) document.Field {
	return document.Field{
		Kind: object.KindMap, Fields: fields, Elsewhere: hintForExtension,
		Apart: func(name string) bool { return strings.HasPrefix(name, "x-") && hintForExtension(name) == "" },
	}
}

// hintForExtension returns a hint for a name that equals or resembles the extension, or "" for other
// names: under a free name its value would vanish.
func hintForExtension(name string) string {
	const letters = 2
	switch {
	case name == extension:
		return "move it to where it is read"
	case len(name) <= len(extension)+letters && object.Distance(strings.ToLower(name), extension) <= letters:
		return `did you mean "` + extension + `"?`
	}
	return ""
}

// secret returns f as a field that may hold a secret, which no message shows.
func secret(f document.Field) document.Field {
	f.Sensitive = true
	f.Hidden = func(object.Value) bool { return true }
	return f
}

func field(name string, f document.Field) document.Field { return f.Named(name) }

func anything(name string) document.Field { return document.Field{Name: name} }

// word returns the table of a text, or of a number or a bool that is read as text.
func word() document.Field {
	return document.Field{Kind: object.KindString, Loose: true}
}

func flag(name string) document.Field {
	return document.Field{Name: name, Kind: object.KindBool, Text: true, Mistyped: func(object.Value) string { return "write true or false" }}
}

func number(name string, least int) document.Field {
	return document.Field{Name: name, Kind: object.KindNumber, Text: true, Range: document.From(least)}
}

func mapOf(value document.Field) document.Field {
	return document.Field{Kind: object.KindMap, Each: &value}
}

func listOf(item document.Field) document.Field {
	item.Null = true
	return document.Field{Kind: object.KindList, Each: &item}
}

// either returns a field that may have another shape too.
func either(f, alternative document.Field) document.Field {
	f.Or = append(f.Or, alternative)
	return f
}

// orNull returns a field that may be null, which a map with free names keeps.
func orNull(f document.Field) document.Field { return either(f, document.Field{Kind: object.KindNull}) }

// orList returns a field for one item, or a list of items.
func orList(f document.Field) document.Field { return either(f, listOf(f)) }

// wordList returns a field for a word, or a list of words.
func wordList(name string) document.Field { return field(name, orList(word())) }

// command returns a field for a list of words, or a text that is split as a shell splits it.
func command(name string) document.Field {
	return field(name, either(document.Field{Kind: object.KindString}, listOf(word())))
}

// keyedBy returns a field for a map of words, or a list of KEY=VALUE.
func keyedBy(name string) document.Field {
	return field(name, either(mapOf(orNull(word())), listOf(word())))
}
