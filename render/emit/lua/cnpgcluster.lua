-- Copyright 2026 The Ropewalk Authors
-- SPDX-License-Identifier: Apache-2.0

local PHASES = {
  Healthy = { "Cluster in healthy state" },
  Progressing = { "Setting up primary", "Creating a new replica", "Upgrading cluster",
    "Waiting for the instances to become active", "Promoting to primary cluster" },
  Degraded = { "Switchover in progress", "Failing over", "Upgrading Postgres major version",
    "Cluster upgrade delayed", "Waiting for user action", "Primary instance is being restarted in-place",
    "Primary instance is being restarted without a switchover",
    "Cluster cannot execute instance online upgrade due to missing architecture binary",
    "Online upgrade in progress", "Applying configuration" },
  Suspended = { "Unable to create required cluster objects",
    "Cluster cannot proceed to reconciliation due to an unknown plugin being required",
    "Cluster has incomplete or invalid image catalog",
    "Cluster is unrecoverable and needs manual intervention" },
}

-- builtin is the health of a Cluster of CloudNativePG as Argo CD sees it on its own.
local function builtin(object)
  if field(object, "metadata", "annotations", "cnpg.io/reconciliationLoop") == "disabled" then
    return health("Suspended", "Cluster reconciliation is suspended")
  end
  local reason = field(object, "status", "phaseReason")
  if field(object, "status", "conditions") == nil then return health("Progressing", reason) end
  local hibernation = condition(object, "cnpg.io/hibernation")
  if hibernation ~= nil then
    return health(hibernation.status == "True" and "Suspended" or "Degraded", hibernation.message)
  end
  for status, phases in pairs(PHASES) do
    for _, phase in ipairs(phases) do
      if phase == object.status.phase then return health(status, reason) end
    end
  end
  return health("Unknown", reason)
end
