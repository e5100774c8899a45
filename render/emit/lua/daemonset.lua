-- Copyright 2026 The Ropewalk Authors
-- SPDX-License-Identifier: Apache-2.0

-- builtin is the health of a DaemonSet as Argo CD sees it on its own.
local function builtin(object)
  local status = object.status or {}
  if (field(object, "metadata", "generation") or 0) > (status.observedGeneration or 0) then
    return health("Progressing", "Waiting for rollout to finish: observed daemon set generation less than desired generation")
  end
  local wanted, updated = status.desiredNumberScheduled or 0, status.updatedNumberScheduled or 0
  if field(object, "spec", "updateStrategy", "type") == "OnDelete" then
    return health("Healthy", "daemon set " .. updated .. " out of " .. wanted .. " new pods have been updated")
  end
  local function waiting(text)
    return health("Progressing", "Waiting for daemon set \"" .. (field(object, "metadata", "name") or "") .. "\" rollout to finish: " .. text)
  end
  if updated < wanted then
    return waiting(updated .. " out of " .. wanted .. " new pods have been updated...")
  end
  local available = status.numberAvailable or 0
  if available < wanted then
    return waiting(available .. " of " .. wanted .. " updated pods are available...")
  end
  return health("Healthy")
end
