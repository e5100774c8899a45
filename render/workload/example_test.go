// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload_test

import (
	"fmt"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload"
	"github.com/ropewalk/ropewalk/render/workload/resource"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// A Score file with a database becomes the input of the module workload. What
// the provisioner says of the password is where it is kept; that is all that
// anybody ever sees of it.
func ExampleJoin() {
	docs, err := spec.Parse([]spec.File{{Name: "api.yaml", Data: []byte(`apiVersion: score.dev/v1b1
metadata: {name: api}
containers:
  web:
    image: example.com/api:1
    variables:
      HOST: ${resources.db.host}
      PASSWORD: ${resources.db.password}
resources:
  db: {type: postgres}
`)}})
	if err != nil {
		fmt.Println(err)
		return
	}
	w := docs.Workloads[0]
	decoded, errs := score.Decode(score.Document{Value: w.Value, Blocks: w.Blocks, Score: w.Score})
	source := workload.Source{Spec: decoded, Context: object.Context{
		Name: "api", Namespace: "shop", Engine: "plain", KubeVersion: "1.36", ClusterDomain: "cluster.local",
	}}
	config, err := spec.Project{}.Workloads("")
	if err != nil {
		fmt.Println(err)
		return
	}
	project, more := workload.Join([]workload.Source{source}, config, []resource.Provisioner{{Type: "postgres"}})
	errs = append(errs, more...)

	c := project.Compile("api")
	for requests := c.Next(); len(requests) > 0; requests = c.Next() {
		for _, r := range requests {
			fmt.Println("asked for", r.Resources)
			errs = append(errs, c.Answer(r, map[string]resource.Answer{"db": {Result: []byte(`{
				"outputs": {"host": "api-db.shop.svc.cluster.local"},
				"sensitive": {"password": {"key": "api-db", "property": "password"}}
			}`)}})...)
		}
	}
	compiled, more := c.Finish()
	if errs = append(errs, more...); errs.Err() != nil {
		fmt.Println(errs)
		return
	}
	data, _ := compiled.Input.Lookup(object.Fields("configs", "env", "data"))
	secrets, _ := compiled.Input.Lookup(object.Fields("secrets", "secrets", "template"))
	fmt.Println(string(data.JSON()))
	fmt.Println(string(secrets.JSON()))
	// Output:
	// asked for [db]
	// {"HOST":"api-db.shop.svc.cluster.local"}
	// {"PASSWORD":"{{ .db__password }}"}
}
