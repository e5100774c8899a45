-- Copyright 2026 The Ropewalk Authors
-- SPDX-License-Identifier: Apache-2.0

-- builtin is the health of a ReplicaSet as Argo CD sees it on its own.
local function builtin(object)
  local spec, status = object.spec or {}, object.status or {}
  local function waiting(text) return health("Progressing", "Waiting for rollout to finish: " .. text) end
  if (field(object, "metadata", "generation") or 0) > (status.observedGeneration or 0) then
    return waiting("observed replica set generation less than desired generation")
  end
  local failure = condition(object, "ReplicaFailure")
  if failure ~= nil and failure.status == "True" then
    return health("Degraded", failure.message)
  end
  local available = status.availableReplicas or 0
  if spec.replicas ~= nil and available < spec.replicas then
    return waiting(available .. " out of " .. spec.replicas .. " new replicas are available...")
  end
  return health("Healthy")
end
