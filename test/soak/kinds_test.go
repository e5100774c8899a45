// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"archive/tar"
	"fmt"
	"slices"
	"strings"
)

// attacks are the ways in which the hostile tenant attacks, by stage of a request.
func attacks() []attack {
	return slices.Concat(archives(), parameters(), documents(), modules(), graphs())
}

// archives are those of this stage.
func archives() []attack {
	return []attack{
		{"long names", func(n int) project {
			return project{packed: raw(300, func(i int) tar.Header {
				return tar.Header{Name: fmt.Sprintf("app/%d/%d/%s", n, i, strings.Repeat("n", 300_000))}
			})}
		}},
		{"names of 4 KiB", func(n int) project {
			return project{packed: raw(8_000, func(i int) tar.Header {
				return tar.Header{Name: fmt.Sprintf("app/%d/%d/%s", n, i, strings.Repeat("n", 4000))}
			})}
		}},
		{"deep folders", func(n int) project {
			return project{packed: raw(60_000, func(i int) tar.Header {
				return tar.Header{Name: fmt.Sprintf("app/%d/%d/%sx.yaml", n, i, strings.Repeat("d/", 55))}
			})}
		}},
		{"long links", func(n int) project {
			return project{packed: raw(8_000, func(i int) tar.Header {
				return tar.Header{Name: fmt.Sprintf("app/%d-%d.yaml", n, i), Typeflag: tar.TypeSymlink, Linkname: strings.Repeat("../", 1300) + "x"}
			})}
		}},
	}
}

// parameters are those of this stage.
func parameters() []attack {
	return []attack{
		{"a path of 400,000 steps", func(n int) project {
			return one(n, "ARGOCD_APP_PARAMETERS", `[{"name": "a`+strings.Repeat(".a", 400_000)+`", "string": "x"}]`)
		}},
		{"many parameters", func(n int) project {
			return one(n, "ARGOCD_APP_PARAMETERS", "["+strings.TrimSuffix(repeat(200_000, func(i int) string {
				return fmt.Sprintf(`{"name": "k%d", "string": "%d"},`, i, n)
			}), ",")+"]")
		}},
		{"many sets", func(n int) project {
			return one(n, "ARGOCD_ENV_ROPEWALK_SET", repeat(300_000, func(i int) string { return fmt.Sprintf("k%d=%d\n", i, n) }))
		}},
		{"sets of unknown specs", func(n int) project {
			p := project{files: spread(2500, 1000, func(i int) string { return spec(fmt.Sprintf("%s-%d", strings.Repeat("s", 40), i), plain) })}
			p.files[module] = inert
			p.variables = map[string]string{"ARGOCD_ENV_ROPEWALK_SET": repeat(9_000, func(i int) string {
				return fmt.Sprintf("%s-%dx:k=%d\n", strings.Repeat("s", 40), i, n)
			})}
			return p
		}},
		{"sets over a large input", func(n int) project {
			p := one(n, "ARGOCD_ENV_ROPEWALK_SET", repeat(9000, func(i int) string { return fmt.Sprintf("k%d=%d\n", i, n) }))
			p.files["app/s.yaml"] = spec("web", plain, "input: {"+repeat(40_000, func(i int) string { return fmt.Sprintf("k%d: a, ", i) })+"}")
			return p
		}},
	}
}

// documents are those of this stage.
func documents() []attack {
	return []attack{
		{"values in the values of a bundle", func(n int) project {
			return project{files: map[string]string{
				"app/bundle.cue": fmt.Sprintf("bundle: {apiVersion: \"v1alpha1\", name: \"x%d\", instances: {a: {module: url: \"file://m\", namespace: \"a\", values: ", n) +
					strings.Repeat("x: ", 900_000) + "1}}}\n",
				"app/m/a.cue": "package main\n",
			}}
		}},
		{"a map in a line that is not closed", func(n int) project {
			return project{files: map[string]string{
				"app/web.yaml": head + fmt.Sprintf("kind: Transform\nmetadata: {name: web%d, labels: {", n) + strings.Repeat("x: y, ", 500_000) + "\n",
			}}
		}},
		{"quotes that are not closed", func(n int) project {
			return project{files: map[string]string{
				"app/web.yaml": head + fmt.Sprintf("kind: Transform\nmetadata: {name: web%d}\nspec:\n", n) + strings.Repeat("  a: \"x\n", 300_000),
			}}
		}},
		{"dense documents", func(n int) project {
			files := map[string]string{module: inert}
			for i := range 20 {
				files[fmt.Sprintf("app/s%d.yaml", i)] = spec(fmt.Sprintf("s%d-%d", n, i), plain, "input: {a: ["+strings.Repeat(",x", 400_000)[1:]+"]}")
			}
			return project{files: files}
		}},
		{"large documents", func(n int) project {
			files := map[string]string{module: inert}
			for i := range 24 {
				files[fmt.Sprintf("app/s%d.yaml", i)] = spec(fmt.Sprintf("s%d-%d", n, i), plain, "input: {a: "+noise(3<<20)+"}")
			}
			return project{files: files}
		}},
		{"aliases", func(n int) project {
			return project{files: map[string]string{module: inert, "app/s.yaml": repeat(300, func(i int) string {
				return spec(fmt.Sprintf("s%d-%d", n, i), plain, bomb()...)
			})}}
		}},
		{"deep documents", func(n int) project {
			deep := strings.Repeat("[", 120) + strings.Repeat("]", 120)
			return project{files: map[string]string{module: inert, "app/s.yaml": repeat(100, func(i int) string {
				return spec(fmt.Sprintf("s%d-%d", n, i), plain, "input: {a: ["+strings.Repeat(deep+", ", 20)+"]}")
			})}}
		}},
		{"broken documents", func(n int) project {
			return project{files: spread(400_000, 150_000, func(int) string { return fmt.Sprintf("---\nropewalk.dev/: a: %d\n", n) })}
		}},
		{"large maps over each other", func(n int) project {
			keys := repeat(12_000, func(i int) string { return fmt.Sprintf("  k%d: a\n", i) })
			return project{
				files:     map[string]string{module: inert, "app/s.yaml": spec("web", plain, "input:", strings.ReplaceAll(keys, "\n", "\n  ")), "app/v/values.txt": fmt.Sprintf("n: %d\n", n) + strings.ReplaceAll(keys, "  k", "k")},
				variables: map[string]string{"ARGOCD_APP_PARAMETERS": `[{"name": "values", "array": [` + strings.TrimSuffix(strings.Repeat(`"v/values.txt",`, 8), ",") + "]}]"},
			}
		}},
		{"many specs", func(n int) project {
			return project{files: spread(4000, 2000, func(i int) string { return spec(fmt.Sprintf("s%d-%d", n, i), web, input("a")) })}
		}},
		{"specs of one name", func(n int) project {
			return project{files: spread(30_000, 10_000, func(int) string { return spec(fmt.Sprintf("s%d", n), web, input("a")) })}
		}},
		{"many environments", func(n int) project {
			return project{files: map[string]string{
				"app/ropewalk.yaml": projectFile("  environments:\n" + repeat(20_000, func(i int) string { return fmt.Sprintf("    e%d-%d: {inputs: {web: {a: 1}}}\n", n, i) })),
				"app/s.yaml":        spec("web", web, input("a")),
			}, variables: map[string]string{"ARGOCD_ENV_ROPEWALK_ENV": "nope"}}
		}},
		{"many policies", func(n int) project {
			return project{files: with(spread(200, 200, func(i int) string { return spec(fmt.Sprintf("s%d-%d", n, i), plain) }), module, inert,
				"app/ropewalk.yaml", projectFile("  policies:\n"+repeat(300, func(i int) string {
					return fmt.Sprintf("    - {name: p%d, cueRef: {type: embedded, ref: policies}}\n", i)
				})))}
		}},
		{"patterns with many folders", func(n int) project {
			deep := fmt.Sprintf("app/%d/%s", n, strings.Repeat("a/", 28))
			files := map[string]string{"app/ropewalk.yaml": projectFile("  specs: [\"" + strings.Repeat("**/a/", 14) + "b\"]\n")}
			for i := range 200 {
				files[fmt.Sprintf("%ss%d.yaml", deep, i)] = spec(fmt.Sprintf("s%d", i), web, input("a"))
			}
			return project{files: files}
		}},
		{"many patterns", func(n int) project {
			files := spread(2000, 1, func(i int) string { return spec(fmt.Sprintf("s%d-%d", n, i), web, input("a")) })
			return project{files: with(files, "app/ropewalk.yaml", projectFile("  specs:\n"+strings.Repeat("    - '**/nope*'\n", 1000)))}
		}},
	}
}

// modules are those of this stage.
func modules() []attack {
	return []attack{
		{"a large module of many specs", func(n int) project {
			files := spread(3000, 3000, func(i int) string { return spec(fmt.Sprintf("s%d-%d", n, i), "{type: path, ref: ../big}") })
			for i := range 8000 {
				files[fmt.Sprintf("big/f%d.cue", i)] = fmt.Sprintf("package big\nf%d: %d\n", i, n)
			}
			return project{files: files}
		}},
		{"many large modules", func(n int) project {
			text := "a: \"" + noise(4<<20) + "\"\n"
			files := spread(10, 10, func(i int) string {
				return spec(fmt.Sprintf("s%d-%d", n, i), fmt.Sprintf("{type: path, ref: ../m%d}", i))
			})
			for i := range 10 {
				files[fmt.Sprintf("m%d/a.cue", i)] = text
			}
			return project{files: files}
		}},
		{"a ConfigMap of many specs", func(n int) project {
			entries := repeat(30_000, func(i int) string { return fmt.Sprintf("  f%d.cue: \"\"\n", i) })
			return project{files: with(spread(2000, 2000, func(i int) string { return spec(fmt.Sprintf("s%d-%d", n, i), "{type: configmap, ref: big}") }),
				"app/c.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: big}\ndata:\n"+entries)}
		}},
		{"files of workloads", func(n int) project {
			return project{files: with(spread(300, 300, func(i int) string {
				return fmt.Sprintf("---\napiVersion: score.dev/v1b1\nmetadata: {name: w%d-%d}\ncontainers: {main: {image: x, files: {/a: {source: big.txt}}}}\n", n, i)
			}), "app/big.txt", noise(1000<<10))}
		}},
		{"a module that hangs", func(n int) project {
			return project{files: map[string]string{"app/s.yaml": spec("web", plain), module: fmt.Sprintf("import \"list\"\nn: %d\nx: [for i in list.Range(0, 100000000, 1) {i}]\n", n)}}
		}},
	}
}

// graphs are those of this stage.
func graphs() []attack {
	return []attack{
		{"each after all before it", func(n int) project { return clique(n, 700, plain) }},
		{"each after 200 before it", func(n int) project { return clique(n, 200, plain) }},
		{"each after all before it, without objects", func(n int) project {
			p := clique(n, 350, plain)
			p.files[module] = "ropewalk: apiVersion: \"v1alpha1\"\ninput: {...}\ncontext: {...}\ngraph: nodes: {}\n"
			p.files["app/last.yaml"] = repeat(300, func(i int) string {
				return spec(fmt.Sprintf("web%d", i), "{type: inline, ref: 'a: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: \"w"+fmt.Sprint(i)+"\"}'}", fmt.Sprintf("dependsOn: [s%d-%d]", n, i))
			})
			return p
		}},
		{"dependencies on nothing", func(n int) project {
			long := strings.Repeat("x", 40)
			return project{files: with(spread(4000, 4000, func(i int) string {
				return spec(fmt.Sprintf("%s%d-%d", long, n, i), plain, "dependsOn: ["+repeat(10, func(k int) string { return fmt.Sprintf("%sy%d-%d, ", long, i, k) })+"]")
			}), module, inert)}
		}},
		{"many objects", func(n int) project {
			return project{files: with(spread(8, 8, func(i int) string { return spec(fmt.Sprintf("s%d-%d", n, i), plain, fmt.Sprintf("input: {p: p%d}", i)) }), module,
				"import \"list\"\nropewalk: apiVersion: \"v1alpha1\"\ninput: {p: string}\ncontext: {...}\n"+
					`graph: nodes: {for i in list.Range(0, 5000, 1) {"n\(i)": object: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "\(input.p)-\(i)"}}}`+"\n")}
		}},
		{"large objects", func(n int) project {
			return project{files: with(spread(30, 30, func(i int) string { return spec(fmt.Sprintf("s%d-%d", n, i), plain, fmt.Sprintf("input: {p: p%d}", i)) }), module,
				"import (\"list\", \"strings\")\nropewalk: apiVersion: \"v1alpha1\"\ninput: {p: string}\ncontext: {...}\n"+
					`graph: nodes: {for i in list.Range(0, 20, 1) {"n\(i)": object: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "\(input.p)-\(i)", data: x: strings.Repeat("x", 500000)}}}`+"\n")}
		}},
		{"objects of one name", func(n int) project {
			return project{files: with(spread(2, 2, func(i int) string {
				return spec(fmt.Sprintf("s%d-%d", n, i), plain, "input: {ns: "+map[int]string{0: "default", 1: "\"\""}[i]+"}")
			}), module, "import \"list\"\nropewalk: apiVersion: \"v1alpha1\"\ninput: {ns: string}\ncontext: {...}\n"+
				`graph: nodes: {for i in list.Range(0, 3000, 1) {"n\(i)": object: {apiVersion: "v1", kind: "ConfigMap", metadata: {name: "x", if input.ns != "" {namespace: input.ns}}}}}`+"\n")}
		}},
		{"bindings and pods", func(n int) project {
			return project{files: map[string]string{"app/s.yaml": spec(fmt.Sprintf("s%d", n), plain), module: "import \"list\"\nropewalk: apiVersion: \"v1alpha1\"\ninput: {...}\ncontext: {...}\ngraph: nodes: {for i in list.Range(0, 500, 1) {\n" +
				`"b\(i)": object: {apiVersion: "rbac.authorization.k8s.io/v1", kind: "RoleBinding", metadata: name: "b\(i)", roleRef: {apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "r"}, subjects: [{kind: "ServiceAccount", name: "x", namespace: "default"}]}` + "\n" +
				`"p\(i)": object: {apiVersion: "v1", kind: "Pod", metadata: name: "p\(i)", spec: {serviceAccountName: "x", containers: [{name: "a", image: "a"}]}}` + "\n}}\n"}}
		}},
		{"definitions with rules", func(n int) project {
			return project{files: map[string]string{"app/s.yaml": spec(fmt.Sprintf("s%d", n), plain), module: numbered(600,
				`{object: {apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: name: "k\(i)s.x.example.com", spec: {group: "x.example.com", scope: "Namespaced", names: {kind: "K\(i)", plural: "k\(i)s", singular: "k\(i)", listKind: "K\(i)List"}, versions: [{name: "v1", served: true, storage: true, schema: openAPIV3Schema: {type: "object", properties: spec: {type: "object", properties: {for p in list.Range(0, 20, 1) {"p\(p)": {type: "string", maxLength: 10, pattern: "^(a{100}){9}$", "x-kubernetes-validations": [{rule: "self.size() < 9"}]}}}}}}]}}}`)}}
		}},
	}
}

// one is a project of one spec with a variable of its request.
func one(n int, variable, value string) project {
	return project{
		files:     map[string]string{"app/s.yaml": spec("web", plain, fmt.Sprintf("input: {n: %d}", n)), module: inert},
		variables: map[string]string{variable: value},
	}
}

// clique is specs of which each depends on all before it.
func clique(n, size int, ref string) project {
	var before []string
	files := map[string]string{module: "N=name: string\nobj: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: N}"}
	for i := range size {
		name := fmt.Sprintf("s%d-%d", n, i)
		files["app/"+name+".yaml"] = spec(name, ref, "input: {name: "+name+"}", "dependsOn: ["+strings.Join(before, ", ")+"]")
		before = append(before, name)
	}
	return project{files: files}
}
