// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// restart describes when the containers of a service are started again.
type restart struct {
	// field is the field that says so. A valid condition is no, on-failure, always or
	// unless-stopped, and retries is the number of attempts.
	field              document.Part
	condition, retries string
}

// restart reads restart, which deploy.restart_policy overrides.
func (s *service) restart() restart {
	field, policy := s.At("restart"), s.At("deploy", "restart_policy")
	condition, retries, _ := strings.Cut(field.Written(), ":")
	if c := policy.At("condition"); c.Given() {
		condition = cmp.Or(map[string]string{"none": "no", "any": "always"}[c.Written()], c.Written())
		field = c
		retries = policy.At("max_attempts").Written()
	}
	return restart{field: field, condition: condition, retries: retries}
}

// setKind chooses the kind that runs the pods. A service that ends is a Job: a service whose end
// another service waits for, or with restart: no or on-failure that no other service calls.
func (s *service) setKind() {
	policy := s.restart()
	s.job = s.isJob(policy)
	switch mode := s.At("deploy", "mode"); mode.Written() {
	case "", "replicated":
	case "replicated-job", "global-job":
		s.job = true
	default:
		mode.Fail("write replicas, and x-ropewalk: {pod: {topologySpreadConstraints: …}} to spread them",
			"a Workload cannot run one pod on each node")
	}
	if s.job {
		s.putJob(policy)
	}
}

// isJob reports whether the service becomes a Job, apart from its mode. It adds errors and warnings
// on consequences that the author may not expect.
func (s *service) isJob(policy restart) bool {
	field, condition := policy.field, policy.condition
	ends := condition == "no" || condition == "on-failure" || condition == "false"
	serves := s.At("ports").Given() || s.At("expose").Given() || s.At("healthcheck").Given() || s.reached
	kind := s.At(extension, "kind")
	awaited := s.completed.Given()
	switch {
	case kind.Given():
		return kind.Text == score.KindJob || kind.Text == score.KindCronJob
	case condition != "" && !ends && condition != "always" && condition != "unless-stopped":
		field.Fail(`expected "no", on-failure, always or unless-stopped`, "%q is not known", field.Text)
	case s.unclear:
	case awaited && condition != "" && !ends:
		field.Fail(`write restart: "no"`, "the service is always restarted, and another one waits for its end at %s", s.completed.Pos)
	case ends && serves && !awaited:
		field.Warn("write x-ropewalk: {kind: Job} if it ends",
			"others use the service, so it becomes a Deployment, which is restarted whenever it ends")
	case ends && !awaited && condition == "on-failure":
		field.Warn("write x-ropewalk: {kind: Deployment} if it does not end", "the service becomes a Job, which is ready when it has ended")
		return true
	case ends:
		return true
	}
	return awaited
}

// putJob sets the kind, and the number of attempts of the Job.
func (s *service) putJob(policy restart) {
	field := policy.field
	onFailure := policy.condition == "on-failure"
	s.spec.Put("kind", object.TextAt(score.KindJob, cmp.Or(field.Pos, s.Pos)))
	if onFailure {
		s.pod.Put("restartPolicy", object.TextAt("OnFailure", field.Pos))
	}
	switch n, err := strconv.Atoi(policy.retries); {
	case err == nil && n >= 0 && onFailure:
		s.jobFields.Put("backoffLimit", object.NumberAt(n, field.Pos))
	case !onFailure:
		s.jobFields.Put("backoffLimit", object.NumberAt(0, cmp.Or(field.Pos, s.Pos)))
	}
}

// hasTemplate reports whether the author chose a kind whose pods share one template, and have no
// claims of their own.
func (s *service) hasTemplate() bool {
	kind := s.At(extension, "kind").Written()
	deployment := strings.EqualFold(s.kompose["controller.type"].Text, "deployment")
	return (kind != "" && kind != score.KindStatefulSet) || s.kompose["cronjob.schedule"].Given() || deployment
}
