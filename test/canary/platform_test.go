// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package canary

// platform is the module of a platform team: sensitive outputs of all shapes,
// with names that are easily taken for each other.
func platform() map[string]string {
	return map[string]string{
		"modules/platform/cue.mod/module.cue": "module: \"example.test/platform@v0\"\nlanguage: version: \"v0.15.0\"\n",
		"modules/platform/platform.cue":       platformModule,
	}
}

const platformModule = `package platform

import "ropewalk.dev/schema"

ropewalk: {apiVersion: "v1alpha1", kind: "Provisioners"}

#Ledger: schema.#Provisioner & {
	type:     "ledger"
	class:    "default"
	resource: _
	params: {size?: int, note?: string, list?: [...string]}
	outputs: {
		host:     "ledger.example.test"
		port:     8443
		tls:      true
		template: "{{ .r0__password }} $(A_URL) ${resources.r0.password}"
	}
	_key: "ledger-\(resource.id)"
	sensitive: {
		username:    {key: _key, property: "username"}
		"pass-word": {key: _key, property: "a"}
		"pass_word": {key: _key, property: "b"}
		Token:       {key: _key, property: "c"}
		token:       {key: _key, property: "d", if resource.secrets != "kubernetes" {version: "3"}}
		same:        {key: _key, property: "d"}
		userinfo: parts: [{ref: "username"}, {text: ":$(A_URL)$${{ /?"}, {ref: "pass-word"}]
		nested: parts: [{text: "<"}, {ref: "userinfo"}, {text: "|"}, {ref: "userinfo"}, {text: ">"}]
		dsn: parts: [{text: "db://"}, {ref: "username", escape: "url"}, {text: ":"}, {ref: "token", escape: "url"}, {text: "@\(outputs.host)/{"}]
		escaped: parts: [{text: "https://example.test/?q="}, {ref: "userinfo", escape: "url"}]
		both: parts: [{ref: "token"}, {text: " "}, {ref: "token", escape: "url"}]
		if resource.secrets != "kubernetes" {
			all: {key: "\(_key)-all"}
		}
	}
}

#Vault: schema.#Provisioner & {
	type:     "vault"
	class:    "cluster"
	resource: _
	params:   {...}
	outputs: address: "http://vault"
	sensitive: {
		uri:  {store: "kubernetes", key: "vault-app", property: "uri"}
		cert: {store: "kubernetes", key: "vault.tls", property: "tls.crt"}
		seed: {store: "environment", key: "vault-seed", property: "seed"}
		link: parts: [{text: "vault:"}, {ref: "uri"}, {text: "#"}, {ref: "seed"}]
		query: parts: [{text: "?u="}, {ref: "uri", escape: "url"}]
	}
}

#Provisioners: [#Ledger, #Vault]
`
