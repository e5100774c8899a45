-- Copyright 2026 The Ropewalk Authors
-- SPDX-License-Identifier: Apache-2.0

-- builtin is the health of a DaemonSet as Argo CD sees it on its own.
local function builtin(object)
  local status = object.status or {}
  if (field(object, "metadata", "generation") or 0) > (status.observedGeneration or 0) then
    return health("Progressing", "the last change is not seen yet")
  end
  if field(object, "spec", "updateStrategy", "type") == "OnDelete" then return health("Healthy") end
  local wanted = status.desiredNumberScheduled or 0
  if (status.updatedNumberScheduled or 0) < wanted then
    return health("Progressing", (status.updatedNumberScheduled or 0) .. " of " .. wanted .. " pods are new")
  end
  if (status.numberAvailable or 0) < wanted then
    return health("Progressing", (status.numberAvailable or 0) .. " of " .. wanted .. " pods are available")
  end
  return health("Healthy")
end
