-- Copyright 2026 The Ropewalk Authors
-- SPDX-License-Identifier: Apache-2.0

local FAILURES = {
  AbleToScale = { FailedGetScale = true, FailedUpdateScale = true },
  ScalingActive = { FailedGetResourceMetric = true, InvalidSelector = true, FailedGetObjectMetric = true,
    FailedGetPodsMetric = true, FailedGetExternalMetric = true, FailedComputeMetricsReplicas = true },
}

-- records reads a JSON list of flat objects, as version 1 of the API has its conditions in
-- an annotation: with other brackets an object is a list of names and values.
local function records(text)
  local bytes, inside, at = split(text), false, 1
  local brackets = { ["{"] = "[", ["}"] = "]", [":"] = "," }
  while bytes[at] ~= nil do
    if inside and bytes[at] == "\\" then
      at = at + 1
    elseif bytes[at] == "\"" then
      inside = not inside
    elseif not inside then
      bytes[at] = brackets[bytes[at]] or bytes[at]
    end
    at = at + 1
  end
  local out = {}
  for i, list in ipairs(parse(table.concat(bytes))) do
    out[i] = {}
    for j = 1, #list, 2 do out[i][list[j]] = list[j + 1] end
  end
  return out
end

-- builtin is the health of a HorizontalPodAutoscaler as Argo CD sees it on its own.
local function builtin(object)
  local conditions = field(object, "status", "conditions")
  if object.apiVersion == "autoscaling/v1" then
    local text = field(object, "metadata", "annotations", "autoscaling.alpha.kubernetes.io/conditions")
    conditions = text ~= nil and records(text)
  end
  for _, c in ipairs(conditions or {}) do
    if FAILURES[c.type] ~= nil and FAILURES[c.type][c.reason] then return health("Degraded", c.message) end
  end
  for _, c in ipairs(conditions or {}) do
    if (c.type == "AbleToScale" or c.type == "ScalingLimited") and c.status == "True" then
      return health("Healthy", c.message)
    end
  end
  return health("Progressing", "Waiting to Autoscale")
end
