-- Copyright 2026 The Ropewalk Authors
-- SPDX-License-Identifier: Apache-2.0

-- builtin is the health of a Deployment as Argo CD sees it on its own.
local function builtin(object)
  local spec, status = object.spec or {}, object.status or {}
  if spec.paused then return health("Suspended", "Deployment is paused") end
  local function waiting(text) return health("Progressing", "Waiting for rollout to finish: " .. text) end
  if (field(object, "metadata", "generation") or 0) > (status.observedGeneration or 0) then
    return waiting("observed deployment generation less than desired generation")
  end
  local progress = condition(object, "Progressing")
  if progress ~= nil and progress.reason == "ProgressDeadlineExceeded" then
    return health("Degraded", "Deployment \"" .. (field(object, "metadata", "name") or "") .. "\" exceeded its progress deadline")
  end
  local updated = status.updatedReplicas or 0
  if spec.replicas ~= nil and updated < spec.replicas then
    return waiting(updated .. " out of " .. spec.replicas .. " new replicas have been updated...")
  end
  if (status.replicas or 0) > updated then
    return waiting((status.replicas - updated) .. " old replicas are pending termination...")
  end
  if (status.availableReplicas or 0) < updated then
    return waiting((status.availableReplicas or 0) .. " of " .. updated .. " updated replicas are available...")
  end
  return health("Healthy")
end
