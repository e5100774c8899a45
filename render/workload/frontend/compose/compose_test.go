// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package compose_test

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/host/envfile"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/frontend/compose"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// project is files in memory, with one variable of the caller.
type project struct{ fs.FS }

func (p project) Read(name string) (spec.File, error) {
	if !fs.ValidPath(path.Clean(name)) {
		return spec.File{}, errors.New("leaves the root of the project")
	}
	data, err := fs.ReadFile(p, path.Clean(name))
	return spec.File{Name: name, Data: data}, err
}

func (p project) Below(folder string, _ int) (out []string, err error) {
	err = fs.WalkDir(p, path.Clean(folder), func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			out = append(out, strings.TrimPrefix(name, path.Clean(folder)+"/"))
		}
		return err
	})
	return out, err
}

func (project) Variables(file spec.File) (map[string]string, object.Errors) {
	return envfile.Parse(file)
}

func (p project) NetworkPolicies() bool {
	_, err := fs.Stat(p, "policies")
	return err == nil
}

func (project) Variable(name string) (string, bool) { return "declared", name == "DECLARED" }

// compiled compiles files, of which the first is the one that the user names. What comes
// out is decoded as the workloads that it is.
func compiled(t testing.TB, files map[string]string, main string) ([]score.Workload, object.Errors) {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	docs, _ := spec.Parse([]spec.File{{Name: main, Data: []byte(files[main])}})
	doc := spec.Document{Kind: spec.KindCompose, Pos: object.Pos{File: main}}
	if len(docs.Sources) > 0 {
		doc = docs.Sources[0]
	}
	made, errs := compose.Compile(doc, project{fsys})
	var out []score.Workload
	for _, d := range made {
		w, more := score.Decode(score.Document{Value: d.Value, Blocks: d.Blocks})
		out, errs = append(out, w), append(errs, more...)
	}
	return out, errs.Sorted()
}

// service is a compose file of one service.
func service(fields string) map[string]string {
	return map[string]string{"compose.yaml": "services:\n  web:\n    image: nginx\n" + fields}
}

// requireMistake requires one mistake of a service with these fields.
func requireMistake(t *testing.T, name, fields, want string) {
	t.Helper()
	_, errs := compiled(t, service(fields), "compose.yaml")
	require.Error(t, errs.Failures().Err())
	require.Len(t, errs.Failures(), 1, "%v", errs)
	if strings.HasPrefix(name, "condition") {
		require.Len(t, errs, 1, "what follows from it is not reported")
	}
	require.Contains(t, strings.ReplaceAll(errs.Failures()[0].Error(), "spec: ", ""), want)
}

func TestEveryMistakeIsAtItsLine(t *testing.T) {
	for name, c := range map[string]struct{ fields, want string }{
		"unknown field":       {"    imgae: x\n", `4:5: services.web.imgae: unknown field "imgae"`},
		"unknown root":        {"servicess: {}\n", `4:1: servicess: unknown field "servicess"`},
		"no image":            {"  db: {}\n", "4:7: services.db.image: the service has no image"},
		"privileged":          {"    privileged: true\n", "4:17: services.web.privileged: a privileged container owns its node"},
		"host path":           {"    volumes: [/etc:/etc]\n", `4:15: services.web.volumes[0].source: a mount of the path "/etc" of a host`},
		"home":                {"    volumes: ['~/x:/x']\n", `4:15: services.web.volumes[0].source: a mount of the path "~/x"`},
		"project folder":      {"    volumes: ['./src:/src']\n", `4:15: services.web.volumes[0].source: "src" is not mounted from the project: `},
		"project file gone":   {"    volumes: ['./src:/src:ro']\n", `4:15: services.web.volumes[0].source: "src" is not mounted from the project: `},
		"socket":              {"    volumes: [{type: npipe, source: a, target: /b}]\n", "4:22: services.web.volumes[0].type: a mount of type"},
		"bad mount":           {"    volumes: ['a:/b:ro:z']\n", `4:15: services.web.volumes[0]: "a:/b:ro:z" is not a mount`},
		"no such volume":      {"    volumes: ['data:/b']\n", `4:15: services.web.volumes[0].source: there is no volume "data"`},
		"bad port":            {"    ports: ['80:http']\n", `4:13: services.web.ports[0]: "80:http" is not a port`},
		"many ports":          {"    ports: ['1-65535']\n", "4:13: services.web.ports[0]: a range of 65535 ports, more than 100"},
		"port twice":          {"    ports: ['80:81', '80:82']\n", "4:22: services.web.ports[1]: TCP port 80 leads to 81 already, not to 82"},
		"sctp":                {"    ports: ['80/sctp']\n", "4:13: spec.service.ports.sctp-80.protocol: \"SCTP\" is not known"},
		"variable":            {"    command: ['${GONE}']\n", `4:15: services.web.command[0]: the variable "GONE" has no source and no default`},
		"a dollar in a text":  {"    command: [x$word]\n", "4:15: services.web.command[0]: what follows a $ names no variable that has a source"},
		"passed on":           {"    environment: [GONE]\n", `4:19: services.web.environment.GONE: the variable "GONE" has no source`},
		"passed on in a map":  {"    environment: {GONE: }\n", `4:19: services.web.environment.GONE: the variable "GONE" has no source`},
		"required variable":   {"    command: ['${GONE:?say so}']\n", `4:15: services.web.command[0]: the variable "GONE" is missing: say so`},
		"open variable":       {"    command: ['${GONE']\n", "4:15: services.web.command[0]: expected a variable such as ${NAME}"},
		"nested variables":    {"    command: ['" + strings.Repeat("${A:-", 20) + strings.Repeat("}", 20) + "']\n", "variables are nested more than 10 deep"},
		"env file gone":       {"    env_file: gone.env\n", `4:15: services.web.env_file[0].path: env file "gone.env": `},
		"env file outside":    {"    env_file: ../up.env\n", `env file "../up.env": leaves the root of the project`},
		"depends on nothing":  {"    depends_on: [db]\n", `4:18: services.web.depends_on.db: there is no service "db"`},
		"depends on itself":   {"    depends_on: [web]\n", "4:18: services.web.depends_on.web: the service depends on itself"},
		"depends on inactive": {"    depends_on: [db]\n  db: {image: x, profiles: [a]}\n", `4:18: services.web.depends_on.db: the service "db" has a profile that is not active`},
		"condition":           {"    depends_on: {db: {condition: up}}\n  db: {image: x}\n", `4:34: services.web.depends_on.db.condition: "up" is not known`},
		"restarted job":       {"    restart: always\n  x: {image: x, depends_on: {web: {condition: service_completed_successfully}}}\n", "4:14: services.web.restart: the service is always restarted, and another one waits for its end"},
		"restart":             {"    restart: sometimes\n", `4:14: services.web.restart: "sometimes" is not known`},
		"named user":          {"    user: node\n", `4:11: services.web.user: the user or group "node" is a name of the image`},
		"group":               {"    user: '1:staff'\n", `4:11: services.web.user: the user or group "staff" is a name`},
		"security option":     {"    security_opt: ['label:x']\n", `4:20: services.web.security_opt[0]: the option "label" has no counterpart`},
		"secret name":         {"    secrets: [a_b]\nsecrets: {a_b: {external: true}}\n", `5:16: secrets.a_b: Kubernetes has no Secret "a_b": this is not the name of an object`},
		"no such secret":      {"    secrets: [a]\n", `4:15: services.web.secrets[0].source: there is no secret "a"`},
		"no such config":      {"    configs: [a]\n", `4:15: services.web.configs[0].source: there is no config "a"`},
		"config gone":         {"    configs: [{source: a, mode: 644}]\nconfigs: {a: {content: x}}\n", "4:33: services.web.configs[0].mode: expected a file mode"},
		"host network":        {"    network_mode: host\n", "4:5: services.web.network_mode: network_mode has no counterpart"},
		"no such network":     {"    networks: [back]\n", `4:16: services.web.networks.back: there is no network "back"`},
		"alias":               {"    networks: {back: {aliases: [other]}}\nnetworks: {back: {}}\n", `4:33: services.web.networks.back.aliases[0]: Kubernetes knows the service as "web" only`},
		"link alias":          {"    links: ['db:database']\n  db: {image: x}\n", `4:13: services.web.links[0]: Kubernetes knows the service as "db" only`},
		"duration":            {"    healthcheck: {test: a, interval: 5}\n", "4:38: services.web.healthcheck.interval: expected a duration"},
		"test":                {"    healthcheck: {test: [a]}\n", "4:25: services.web.healthcheck.test: the test begins with CMD"},
		"millicpus":           {"    cpus: 500m\n", "4:11: services.web.cpus: expected a number of CPUs, such as 0.5 or 2"},
		"cpus reserved":       {"    deploy: {resources: {reservations: {cpus: -1}}}\n", "4:47: services.web.deploy.resources.reservations.cpus: expected a number of CPUs"},
		"start of a check":    {"    healthcheck: {test: a, start_period: 5}\n", "4:42: services.web.healthcheck.start_period: expected a duration"},
		"condition of a job":  {"    depends_on: {db: {condition: service_complete}}\n  db: {image: x, restart: on-failure}\n", `4:34: services.web.depends_on.db.condition: "service_complete" is not known`},
		"memory":              {"    mem_limit: lots\n", "4:16: services.web.mem_limit: expected an amount of memory"},
		"request over limit":  {"    cpus: 1\n    deploy: {resources: {reservations: {cpus: '2'}}}\n", `is more than the limit`},
		"replicas":            {"    deploy: {replicas: -1}\n", "4:24: services.web.deploy.replicas: expected a whole number from 0 on"},
		"global":              {"    deploy: {mode: global}\n", "4:20: services.web.deploy.mode: a Workload cannot run one pod on each node"},
		"placement":           {"    deploy: {placement: {constraints: [a]}}\n", "4:25: services.web.deploy.placement: the labels of nodes differ"},
		"gpu":                 {"    deploy: {resources: {reservations: {devices: [{capabilities: [gpu]}]}}}\n", "4:50: services.web.deploy.resources.reservations.devices: a reservation of devices has no counterpart"},
		"extends itself":      {"    extends: web\n", `4:14: services.web.extends: extends is a cycle through the service "web"`},
		"extends nothing":     {"    extends: {service: db}\n", `4:24: services.web.extends.service: there is no service "db" to extend`},
		"include itself":      {"include: [compose.yaml]\n", "4:11: include[0]: include is a cycle: compose.yaml -> compose.yaml"},
		"include gone":        {"include: [gone.yaml]\n", `4:11: include[0]: "gone.yaml": `},
		"include outside":     {"include: [../up.yaml]\n", `"../up.yaml": leaves the root of the project`},
		"host gateway":        {"    extra_hosts: ['a:host-gateway']\n", `4:19: services.web.extra_hosts.a: "host-gateway" is not an address`},
		"wrong kind":          {"    ports: {a: b}\n", "4:12: services.web.ports: expected a list, got a map"},
		"number for a list":   {"    cap_add: 7\n", "4:14: services.web.cap_add: expected a list, got a number"},
		"empty flag":          {"    read_only: ''\n", "4:16: services.web.read_only: expected a bool, got a string (write true or false)"},
		"empty entrypoint":    {"    entrypoint: ['']\n", "4:17: services.web.entrypoint: Kubernetes cannot clear the entrypoint of an image"},
		"env file of a host":  {"    env_file: /etc/passwd\n", "4:15: services.web.env_file[0]"},
		"wrong list":          {"    healthcheck: []\n", "4:18: services.web.healthcheck: expected a map, got a list"},
		"NodePort":            {"    labels: {kompose.service.type: nodeport}\n", `4:36: services.web.labels["kompose.service.type"]: a Workload has no Service of type "nodeport"`},
		"kompose label":       {"    labels: {kompose.service.group: a}\n", `4:37: services.web.labels["kompose.service.group"]: the label kompose.service.group is not carried over`},
		"x-ropewalk":          {"    x-ropewalk: {replicsa: 2}\n", `4:18: spec.replicsa: unknown field "replicsa"`},
		"driver":              {"    volumes: ['a:/a']\nvolumes: {a: {driver: nfs}}\n", "5:23: volumes.a.driver: drivers of Docker have no counterpart"},
		"device":              {"    volumes: ['a:/a']\nvolumes: {a: {driver_opts: {device: /x}}}\n", "5:37: volumes.a.driver_opts.device: a volume of the device"},
		"a reset":             {"    ports: !reset []\n", "4:12: a tag is not supported here"},
		"an anchor bomb":      {"x-a: &a [1,2,3,4,5,6,7,8,9]\nx-b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nx-c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nx-d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\nx-e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nx-f: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\nx-g: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n", "more than 1000000 values"},
	} {
		t.Run(name, func(t *testing.T) { requireMistake(t, name, c.fields, c.want) })
	}
}

func TestWhatWouldVanishIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ fields, want string }{
		"misspelt extension":  {"    x-ropwalk: {replicas: 2}\n", `4:5: services.web.x-ropwalk: unknown field "x-ropwalk" (did you mean "x-ropewalk"?)`},
		"misspelt at the top": {"X-Ropewalk: {hostPaths: drop}\n", `unknown field "X-Ropewalk"`},
		"misspelt of volume":  {"volumes: {a: {x-rope-walk: {size: 1Gi}}}\n", `4:15: volumes.a.x-rope-walk: unknown field "x-rope-walk" (did you mean "x-ropewalk"?)`},
		"extension elsewhere": {"networks: {a: {x-ropewalk: {}}}\n", "4:16: networks.a.x-ropewalk: unknown field \"x-ropewalk\" (move it to where it is read)"},
		"unknown and null":    {"    imgae:\n", `4:5: services.web.imgae: unknown field "imgae"`},
		"null config":         {"    configs: [f]\nconfigs: {f: null}\n", `5:11: configs.f: the config "f" has no source`},
		"empty config":        {"    configs: [f]\nconfigs: {f: {}}\n", `5:11: configs.f: the config "f" has no source`},
		"config of no use":    {"configs: {f: {}}\n", `4:11: configs.f: the config "f" has no source`},
		"two sources":         {"configs: {f: {file: a, content: b}}\n", "4:33: configs.f.content: a config has one source, and file is one already"},
		"external text":       {"    configs: [f]\nconfigs: {f: {external: text}}\n", "5:25: configs.f.external: expected a bool or a map, got a string (write true or false)"},
		"external and file":   {"configs: {f: {external: true, file: a}}\n", "4:37: configs.f.file: file has no meaning beside external"},
		"null secret":         {"    secrets: [s]\nsecrets: {s: null}\n", `5:11: secrets.s: the secret "s" has no source`},
		"empty secret":        {"secrets: {s: {}}\n", `4:11: secrets.s: the secret "s" has no source`},
		"external secret":     {"    secrets: [s]\nsecrets: {s: {external: text, name: q}}\n", "5:25: secrets.s.external: expected a bool or a map, got a string (write true or false)"},
		"external volume":     {"volumes: {a: {external: text}}\n", "4:25: volumes.a.external: expected a bool or a map, got a string (write true or false)"},
		"volume and size":     {"volumes: {a: {external: true, x-ropewalk: {size: 1Gi}}}\n", "4:43: volumes.a.x-ropewalk: x-ropewalk has no meaning beside external"},
		"size of a volume":    {"    volumes: ['a:/a']\nvolumes: {a: {x-ropewalk: 1Gi}}\n", "5:27: volumes.a.x-ropewalk: expected a map, got a string"},
		"volume as a text":    {"volumes: {a: 1Gi}\n", "4:14: volumes.a: expected a map, got a string"},
		"external network":    {"networks: {a: {external: text}}\n", "4:26: networks.a.external: expected a bool or a map, got a string (write true or false)"},
		"option of a mount":   {"    volumes: [{type: volume, source: a, target: /a, volume: {subpaht: x}}]\nvolumes: {a: {x-ropewalk: {size: 1Gi}}}\n", `4:62: services.web.volumes[0].volume.subpaht: unknown field "subpaht"`},
		"no host name":        {"    hostname: ___\n", `4:15: services.web.hostname: Kubernetes has no host names such as "___"`},
		"port of containers":  {"    ports: ['80:0']\n", "4:13: services.web.ports[0].target: expected a whole number from 1 on"},
		"choice for paths":    {"    x-ropewalk: {hostPaths: clam}\n", `4:29: services.web.x-ropewalk.hostPaths: "clam" is not known: expected claim, config, drop (did you mean "claim"?)`},
		"socket of the host":  {"    volumes: ['/var/run/docker.sock:/s']\n    x-ropewalk: {hostPaths: drop}\n", `4:15: services.web.volumes[0].source: a mount of the path "/var/run/docker.sock" of a host has no counterpart`},
		"device of the host":  {"    volumes: ['/dev/dri:/dev/dri']\nx-ropewalk: {hostPaths: claim}\n", `4:15: services.web.volumes[0].source: a mount of the path "/dev/dri"`},
		"system of the host":  {"    volumes: ['/etc/ssl:/etc/ssl']\nx-ropewalk: {hostPaths: claim}\n", `4:15: services.web.volumes[0].source: the path "/etc/ssl" is one of the system of a host`},
		"an anchor":           {"    <<: &base {restart: sometimes}\n  a: {image: x, <<: *base}\n  b: {<<: *base, image: x}\n", `4:25: services.a.restart: "sometimes" is not known`},
		"an extended service": {"    mem_limit: lots\n  a: {extends: web}\n", "4:16: services.a.mem_limit: expected an amount of memory"},
	} {
		t.Run(name, func(t *testing.T) { requireMistake(t, name, c.fields, c.want) })
	}
}

func TestWhatMeansTheSameIsAWarning(t *testing.T) {
	for fields, want := range map[string]string{
		"    logging: {driver: x}\n":                                                              "4:5: spec: services.web.logging: logging has no meaning",
		"    healthcheck: {test: a, interval: 500ms}\n":                                           "4:38: spec: services.web.healthcheck.interval: Kubernetes counts seconds, and 500ms is rounded up (write full seconds)",
		"    cpus: 0.0001\n":                                                                      "4:11: spec: services.web.cpus: Kubernetes counts thousandths of a CPU, and 0.0001 is rounded up",
		"    ulimits: {nofile: 1}\n":                                                              "ulimits has no meaning in Kubernetes",
		"    container_name: shop\n":                                                              "the name of a container has no meaning",
		"    ports: ['127.0.0.1:80:80']\n":                                                        "the address of a host has no meaning",
		"    restart: 'no'\n    ports: [80]\n":                                                    "others use the service, so it becomes a Deployment",
		"    restart: on-failure\n":                                                               "the service becomes a Job, which is ready when it has ended",
		"    labels: {traefik.enable: 'true'}\n":                                                  "labels of Traefik have no effect",
		"    labels: {'a b': x}\n":                                                                `the label "a b" cannot be an annotation`,
		"    depends_on: [my_db]\n  my_db: {image: x, expose: [1]}\n":                             `the service is called "my-db" in Kubernetes`,
		"    secrets: [a_b]\nsecrets: {a_b: {file: ./a}}\n":                                       `secrets.a_b: the value is not read: it comes from the Secret "a-b" of the cluster, under the key "a_b"`,
		"    build: ./src\n    volumes: ['./src/web:/src']\n":                                     `the mount of "src/web" is left out: the image is built of that folder`,
		"    command: npm run migrate && npm start\n":                                             `services.web.command: what begins with "&" is not run`,
		"    tmpfs: ['/a:ro,size=1m,mode=1777']\n":                                                `services.web.tmpfs[0]: the option "ro" of a tmpfs has no counterpart`,
		"    volumes: ['./a.conf:/a.conf']\n":                                                     `the container can only read the file "a.conf"`,
		"    volumes: ['a:/a']\nvolumes: {a: }\n":                                                 "its claim asks for 1Gi",
		"    hostname: My_DB\n":                                                                   `4:15: spec: services.web.hostname: Kubernetes has no host names such as "My_DB"`,
		"    ports: ['0:80']\n":                                                                   "4:13: spec: services.web.ports[0].published: a free port of a host has no meaning in Kubernetes: the Service has the port 80 of the container",
		"    ports: ['8000-8010:80']\n":                                                           "the Service has the port 80 of the container",
		"    ports: [{target: 80, published: 0}]\n":                                               "4:37: spec: services.web.ports[0].published: a free port of a host",
		"    volumes: ['/srv/x:/x']\nx-ropewalk: {hostPaths: claim}\n":                            `4:15: spec: services.web.volumes[0].source: the folder "/srv/x" of the host becomes a claim, which begins empty and asks for 1Gi`,
		"    volumes: ['/srv/x:/x']\nx-ropewalk: {hostPaths: drop}\n":                             `4:15: spec: services.web.volumes[0].source: the mount of "/srv/x" of the host is left out`,
		"    volumes: ['/etc/localtime:/etc/localtime:ro']\n    x-ropewalk: {hostPaths: claim}\n": `the mount of "/etc/localtime" of the host is left out: a pod has no clock of its host (set the variable TZ)`,
		"    deploy: {update_config: {parallelism: 2}}\n":                                         "services.web.deploy.update_config: update_config has no meaning",
	} {
		t.Run(want, func(t *testing.T) {
			files := service(fields)
			files["a.conf"] = "a"
			_, errs := compiled(t, files, "compose.yaml")
			require.NoError(t, errs.Failures().Err())
			require.Len(t, errs, 1, "%v", errs)
			require.Contains(t, errs[0].Error(), want)
		})
	}
}

func TestFilesAreMergedAndVariablesFilledIn(t *testing.T) {
	files := map[string]string{
		"app.yaml": `apiVersion: ropewalk.dev/v1alpha1
kind: Compose
metadata: {name: shop}
spec:
  files: [deploy/compose.yaml, deploy/prod.yaml]
  profiles: [jobs]
`,
		"deploy/compose.yaml": `include: [{path: ../lib/db.yaml}]
services:
  web:
    extends: {file: base/base.yaml, service: base}
    image: "nginx:${TAG}"
    command: sh -c "echo $$(date) $$HOME"
    environment: [A=1, "B=${B:-two}", 'C=${DECLARED}', 'D=${UNSET+x}${TAG+y}', "REF=$${resources.db.host}", DECLARED, TAG]
    env_file: [{path: web.env}, {path: none.env, required: false}]
    ports: ["8080:80"]
  batch: {image: b, profiles: [jobs], restart: on-failure:3}
  off: {image: x, profiles: [dev]}
`,
		"deploy/prod.yaml":      "services:\n  web:\n    ports: ['8080:80', '443:443']\n    environment: {A: 3}\n    command: [run]\n",
		"deploy/.env":           "TAG='1.2' # a comment\n",
		"deploy/web.env":        "FROM_FILE=\"a\\nb\"\nA=0\n",
		"deploy/base/base.yaml": "services:\n  base:\n    image: x\n    read_only: true\n    cap_drop: [ALL]\n    environment: {BASE: '1', A: base}\n",
		"lib/db.yaml":           "services:\n  db:\n    image: postgres:${PG}\n    expose: ['5432']\n    volumes: ['data:/data']\nvolumes: {data: {x-ropewalk: {size: 5Gi}}}\n",
		"lib/.env":              "PG=16\n",
	}
	out, errs := compiled(t, files, "app.yaml")
	require.NoError(t, errs.Failures().Err())
	require.Len(t, out, 3)
	batch, db, web := out[0], out[1], out[2]
	require.Equal(t, "Job", batch.Kind.Value)
	require.Equal(t, `{"backoffLimit":3}`, string(batch.Job.JSON()))
	require.Equal(t, "postgres:16", db.Containers[0].Image.Value)
	require.Equal(t, object.Pos{File: "lib/db.yaml", Line: 3, Column: 12}, db.Containers[0].Image.Pos)
	require.Equal(t, "/data", db.Containers[0].Volumes[0].Target)
	require.Equal(t, object.Pos{File: "deploy/compose.yaml", Line: 4, Column: 5}, web.Containers[0].Pos, "neither where it is laid over nor what it extends")
	require.Equal(t, "nginx:1.2", web.Containers[0].Image.Value)
	require.Equal(t, object.Pos{File: "deploy/compose.yaml", Line: 5, Column: 12}, web.Containers[0].Image.Pos)
	require.Equal(t, "run", web.Containers[0].Args[0].Value)
	require.Equal(t, "deploy/prod.yaml", web.Containers[0].Args[0].Pos.File)
	vars := map[string]string{}
	for _, v := range web.Containers[0].Variables {
		vars[v.Name] = v.Value.Value
	}
	require.Equal(t, map[string]string{"A": "3", "B": "two", "BASE": "1", "C": "declared", "D": "y", "DECLARED": "declared", "TAG": "1.2", "FROM_FILE": "a\nb", "REF": "$${resources.db.host}"}, vars)
	require.Equal(t, `{"capabilities":{"drop":["ALL"]},"readOnlyRootFilesystem":true}`, string(web.Containers[0].SecurityContext.JSON()))
	var ports []string
	for _, p := range web.Ports {
		ports = append(ports, fmt.Sprintf("%s %d:%d", p.Name, p.Port, p.Target))
	}
	require.Equal(t, []string{"tcp-443 443:443", "tcp-80 80:80", "tcp-8080 8080:80"}, ports)
}

func TestXRopewalkDecidesTheKind(t *testing.T) {
	for fields, want := range map[string]string{
		"    restart: on-failure\n    x-ropewalk: {kind: Deployment}\n":          "Deployment",
		"    restart: 'no'\n    ports: [80]\n    x-ropewalk: {kind: Job}\n":      "Job",
		"    x-ropewalk: {kind: CronJob, schedule: '0 3 * * *'}\n    scale: 2\n": "CronJob",
		"    restart: 'no'\n": "Job",
		"":                    "",
	} {
		out, errs := compiled(t, service(fields), "compose.yaml")
		require.NoError(t, errs.Failures().Err())
		require.Equal(t, want, out[0].Kind.Value)
	}
}

// Docker compose restarts no service for its health, whatever start_period is.
func TestAHealthCheckIsReadinessOnly(t *testing.T) {
	const check = "    healthcheck: {test: ok, interval: 0s, start_period: 90s, retries: 2}\n"
	const exec, timing = `"exec":{"command":["/bin/sh","-c","ok"]},`, `"failureThreshold":2,"periodSeconds":30,"timeoutSeconds":30}`
	for fields, want := range map[string][2]string{
		check: {"{" + exec + timing, ""},
		check + "    labels: {kompose.service.healthcheck.liveness.tcp_port: 80}\n": {
			"{" + exec + timing, `{"failureThreshold":2,"initialDelaySeconds":90,"periodSeconds":30,"tcpSocket":{"port":80},"timeoutSeconds":30}`,
		},
		check + "    labels: {kompose.service.healthcheck.readiness.tcp_port: 80}\n": {
			`{"failureThreshold":2,"periodSeconds":30,"tcpSocket":{"port":80},"timeoutSeconds":30}`, "",
		},
		"    healthcheck: {disable: true}\n    labels: {kompose.service.healthcheck.liveness.http_get_port: 80}\n": {
			"", `{"failureThreshold":3,"httpGet":{"path":"/","port":80},"periodSeconds":30,"timeoutSeconds":30}`,
		},
	} {
		out, errs := compiled(t, service(fields), "compose.yaml")
		require.NoError(t, errs.Err())
		c := out[0].Containers[0]
		for i, v := range []object.Value{c.ReadinessProbe, c.LivenessProbe, c.StartupProbe} {
			got := ""
			if v.Kind != object.KindNone {
				got = string(v.JSON())
			}
			require.Equal(t, append(want[:], "")[i], got, fields)
		}
	}
}

func TestVolumesOfOneLabelStayTwo(t *testing.T) {
	out, errs := compiled(t, map[string]string{"compose.yaml": `services:
  a: {image: x, volumes: ['my_data:/a', 'my-data:/b', '0x1F:/c', {type: volume, source: 0x1F, target: /d}], tmpfs: [/x/y, /x-y]}
  b: {image: x, volumes: ['my_data:/a', 'my-data:/b']}
volumes: {my_data: {x-ropewalk: {size: 1Gi}}, my-data: {x-ropewalk: {size: 1Gi}}, '0x1F': {external: true, name: there}}
`}, "compose.yaml")
	require.NoError(t, errs.Failures().Err())
	sources, ids := map[string]string{}, map[string]bool{}
	for _, v := range out[0].Containers[0].Volumes {
		sources[v.Source.Value] = v.Target
	}
	for _, r := range out[0].Resources {
		ids[r.ID.Value] = true
	}
	require.Len(t, sources, 5) // /c and /d are one
	require.Len(t, ids, 3)
}

// What an alias leads to is found again in each service, and none of them is good.
func TestAMistakeOfAnAnchorIsInEachService(t *testing.T) {
	docs, _ := spec.Parse([]spec.File{{Name: "compose.yaml"}})
	require.Empty(t, docs.Sources)
	fsys := fstest.MapFS{"compose.yaml": {Data: []byte("x-b: &b {image: x, mem_limit: lots, command: '${GONE}'}\nservices: {a: *b, b: *b}\n")}}
	made, errs := compose.Compile(spec.Document{Kind: spec.KindCompose, Pos: object.Pos{File: "compose.yaml"}}, project{fsys})
	require.Len(t, errs.Failures(), 2, "%v", errs)
	require.True(t, made[0].Unsure)
	require.True(t, made[1].Unsure)
}

func TestNetworksAreRulesWhereTheProjectHasPolicies(t *testing.T) {
	files := map[string]string{"compose.yaml": `services:
  web: {image: x, networks: [front, back], expose: [1], x-ropewalk: {network: {allowTo: [{cidr: 10.0.0.0/8}]}}}
  db: {image: x, networks: [back], expose: [1]}
  mail: {image: x}
networks: {front: , back: }
`}
	out, errs := compiled(t, files, "compose.yaml")
	require.NoError(t, errs.Failures().Err())
	require.Nil(t, out[0].Network)
	files["policies"] = ""
	out, errs = compiled(t, files, "compose.yaml")
	require.NoError(t, errs.Failures().Err())
	db, mail, web := out[0], out[1], out[2]
	require.Equal(t, "compose.ropewalk.dev/back", db.Labels[0].Name)
	require.Len(t, db.Labels, 1)
	require.Len(t, db.Network.From, 1)
	require.Equal(t, "compose.ropewalk.dev/default", mail.Labels[0].Name)
	require.Len(t, web.Network.From, 2)
	require.Len(t, web.Network.To, 3)
}

func TestLargeInputEndsSoon(t *testing.T) {
	many := func(n int, f func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(f(i))
		}
		return b.String()
	}
	for name, files := range map[string]map[string]string{
		"variables": service("    command: ['" + strings.Repeat("${A:-$", 100_000) + "']\n"),
		"ports":     service("    ports: [" + strings.Repeat("1-100,", 100_000) + "]\n"),
		"variables of many services": {"compose.yaml": "services:\n  s0:\n    image: x\n    environment:\n" +
			many(20_000, func(i int) string { return fmt.Sprintf("      V%d: x\n", i) }) +
			many(999, func(i int) string { return fmt.Sprintf("  s%d: {extends: s0, environment: {A: b}}\n", i+1) })},
		"a chain of extends": {"compose.yaml": "services:\n" +
			many(900, func(i int) string { return fmt.Sprintf("  s%d: {extends: s%d}\n", i, i+1) })},
		"includes of includes": func() map[string]string {
			out := map[string]string{"compose.yaml": "include: [i0.yaml, i0.yaml]\n"}
			for i := range 30 {
				out[fmt.Sprintf("i%d.yaml", i)] = fmt.Sprintf("include: [i%d.yaml, i%d.yaml]\n", i+1, i+1)
			}
			return out
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, errs := compiled(t, files, "compose.yaml")
			require.Less(t, time.Since(start), 20*time.Second)
			require.Error(t, errs.Failures().Err())
		})
	}
}

func TestAVariableOfAFileWithAMistakeIsNotReportedAgain(t *testing.T) {
	_, errs := compiled(t, map[string]string{"compose.yaml": "services: {web: {image: 'a:1', environment: {A: '${B}'}}}", ".env": "B=x$NONE\n"}, "compose.yaml")
	require.Len(t, errs.Failures(), 1)
	require.Equal(t, ".env", errs.Failures()[0].Pos.File)
}

func TestABuildMayHaveVariablesOfTheHost(t *testing.T) {
	_, errs := compiled(t, service("    build: {context: '${NONE}', args: {A: $PWD, B: '${HOME}'}, tags: ['a:${TAG}']}\n"), "compose.yaml")
	require.Len(t, errs.Failures(), 1, "of the context alone, which is read")
	require.ErrorContains(t, errs, `build.context: the variable "NONE" has no source`)
}

func FuzzCompile(f *testing.F) {
	f.Add("services: {web: {image: a, ports: ['1:2'], volumes: ['a:/b'], extends: b, depends_on: [a]}}", "A=1")
	f.Add("include: [{path: [compose.yaml]}]\nservices: {web: {environment: {A: $B}, healthcheck: {test: [CMD]}}}", "B='")
	f.Fuzz(func(t *testing.T, file, env string) {
		compiled(t, map[string]string{"compose.yaml": file, ".env": env}, "compose.yaml")
	})
}
