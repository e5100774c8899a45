-- Copyright 2026 The Ropewalk Authors
-- SPDX-License-Identifier: Apache-2.0

-- builtin is the health of a StatefulSet as Argo CD sees it on its own.
local function builtin(object)
  local spec, status = object.spec or {}, object.status or {}
  local seen = status.observedGeneration or 0
  if seen == 0 or (field(object, "metadata", "generation") or 0) > seen then
    return health("Progressing", "the last change is not seen yet")
  end
  if spec.replicas ~= nil and (status.readyReplicas or 0) < spec.replicas then
    return health("Progressing", (status.readyReplicas or 0) .. " of " .. spec.replicas .. " pods are ready")
  end
  local strategy = field(object, "spec", "updateStrategy", "type")
  local rolling = field(object, "spec", "updateStrategy", "rollingUpdate")
  if strategy == "RollingUpdate" and rolling ~= nil then
    local partition = rolling.partition
    if spec.replicas ~= nil and partition ~= nil and (status.updatedReplicas or 0) < spec.replicas - partition then
      return health("Progressing", (status.updatedReplicas or 0) .. " of " .. (spec.replicas - partition) .. " pods are new")
    end
    return health("Healthy")
  end
  if strategy == "OnDelete" then return health("Healthy") end
  if status.updateRevision ~= status.currentRevision then
    return health("Progressing", "the rolling update goes on")
  end
  return health("Healthy")
end
