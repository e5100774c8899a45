-- Copyright 2026 The Ropewalk Authors
-- SPDX-License-Identifier: Apache-2.0

local FAILURES = {
  AbleToScale = { FailedGetScale = true, FailedUpdateScale = true },
  ScalingActive = { FailedGetResourceMetric = true, InvalidSelector = true },
}

-- builtin is the health of a HorizontalPodAutoscaler as Argo CD sees it on its
-- own. Version 1 of the API has its conditions in an annotation of a format
-- that is not read here: there a count of replicas is enough.
local function builtin(object)
  if object.apiVersion == "autoscaling/v1" then
    if (field(object, "status", "desiredReplicas") or 0) > 0 then return health("Healthy") end
    return health("Progressing", "nothing is scaled yet")
  end
  for _, c in ipairs(field(object, "status", "conditions") or {}) do
    if FAILURES[c.type] ~= nil and FAILURES[c.type][c.reason] then return health("Degraded", c.message) end
    if (c.type == "AbleToScale" or c.type == "ScalingLimited") and c.status == "True" then
      return health("Healthy", c.message)
    end
  end
  return health("Progressing", "nothing is scaled yet")
end
