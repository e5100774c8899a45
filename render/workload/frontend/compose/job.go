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

// restart is when the containers of a service are started again.
type restart struct {
	// at is where that is written. A valid condition is one of no, on-failure, always and
	// unless-stopped, and retries is how often.
	at                 document.Part
	condition, retries string
}

// restart reads restart, which deploy.restart_policy overrides.
func (s *service) restart() restart {
	at, policy := s.At("restart"), s.At("deploy", "restart_policy")
	condition, retries, _ := strings.Cut(at.Written(), ":")
	if c := policy.At("condition"); c.Given() {
		condition = cmp.Or(map[string]string{"none": "no", "any": "always"}[c.Written()], c.Written())
		at = c
		retries = policy.At("max_attempts").Written()
	}
	return restart{at: at, condition: condition, retries: retries}
}

// setKind decides what runs the pods. A service that ends is a Job: one whose end another service
// waits for, and one with restart: no or on-failure that no other service calls.
func (s *service) setKind() {
	again := s.restart()
	s.job = s.isJob(again)
	switch mode := s.At("deploy", "mode"); mode.Written() {
	case "", "replicated":
	case "replicated-job", "global-job":
		s.job = true
	default:
		mode.Fail("write replicas, and x-ropewalk: {pod: {topologySpreadConstraints: …}} to spread them", "a Workload cannot run one pod on each node")
	}
	if s.job {
		s.putJob(again)
	}
}

// isJob reports whether the service becomes a Job, apart from its mode. It adds errors and warnings
// on what the author may not expect of that.
func (s *service) isJob(again restart) bool {
	at, condition := again.at, again.condition
	ends := condition == "no" || condition == "on-failure" || condition == "false"
	serves := s.At("ports").Given() || s.At("expose").Given() || s.At("healthcheck").Given() || s.reached
	own := s.At(extension, "kind")
	awaited := s.completed.Given()
	switch {
	case own.Given():
		return own.Text == score.KindJob || own.Text == score.KindCronJob
	case condition != "" && !ends && condition != "always" && condition != "unless-stopped":
		at.Fail(`expected "no", on-failure, always or unless-stopped`, "%q is not known", at.Text)
	case s.unclear:
	case awaited && condition != "" && !ends:
		at.Fail(`write restart: "no"`, "the service is always restarted, and another one waits for its end at %s", s.completed.Pos)
	case ends && serves && !awaited:
		at.Warn("write x-ropewalk: {kind: Job} if it ends", "others use the service, so it becomes a Deployment, which is restarted whenever it ends")
	case ends && !awaited && condition == "on-failure":
		at.Warn("write x-ropewalk: {kind: Deployment} if it does not end", "the service becomes a Job, which is ready when it has ended")
		return true
	case ends:
		return true
	}
	return awaited
}

// putJob sets the fields of a Job that say how often it is tried again.
func (s *service) putJob(again restart) {
	at := again.at
	onFailure := again.condition == "on-failure"
	s.spec.Put("kind", object.TextAt(score.KindJob, cmp.Or(at.Pos, s.Pos)))
	if onFailure {
		s.pod.Put("restartPolicy", object.TextAt("OnFailure", at.Pos))
	}
	switch n, err := strconv.Atoi(again.retries); {
	case err == nil && n >= 0 && onFailure:
		s.jobFields.Put("backoffLimit", object.NumberAt(n, at.Pos))
	case !onFailure:
		s.jobFields.Put("backoffLimit", object.NumberAt(0, cmp.Or(at.Pos, s.Pos)))
	}
}

// hasTemplate reports whether the author chose a kind whose pods come from one template, and have
// no claims of their own.
func (s *service) hasTemplate() bool {
	own := s.At(extension, "kind").Written()
	return own != "" && own != score.KindStatefulSet || s.kompose["cronjob.schedule"].Given() || strings.EqualFold(s.kompose["controller.type"].Text, "deployment")
}
