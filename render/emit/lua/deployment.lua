-- Copyright 2026 The Ropewalk Authors
-- SPDX-License-Identifier: Apache-2.0

-- builtin is the health of a Deployment as Argo CD sees it on its own.
local function builtin(object)
  local spec, status = object.spec or {}, object.status or {}
  if spec.paused then return health("Suspended", "the rollout is paused") end
  if (field(object, "metadata", "generation") or 0) > (status.observedGeneration or 0) then
    return health("Progressing", "the last change is not seen yet")
  end
  local progress = condition(object, "Progressing")
  if progress ~= nil and progress.reason == "ProgressDeadlineExceeded" then
    return health("Degraded", "the rollout is past its deadline")
  end
  local updated = status.updatedReplicas or 0
  if spec.replicas ~= nil and updated < spec.replicas then
    return health("Progressing", updated .. " of " .. spec.replicas .. " replicas are new")
  end
  if (status.replicas or 0) > updated then
    return health("Progressing", "old replicas are ending")
  end
  if (status.availableReplicas or 0) < updated then
    return health("Progressing", (status.availableReplicas or 0) .. " of " .. updated .. " replicas are available")
  end
  return health("Healthy")
end
