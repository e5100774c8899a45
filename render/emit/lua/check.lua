-- Copyright 2026 The Ropewalk Authors
-- SPDX-License-Identifier: Apache-2.0

-- What is being deleted is not ready, unless Argo CD itself holds it as a hook.
local function deleting(object)
  if field(object, "metadata", "deletionTimestamp") == nil then return false end
  for _, name in ipairs(field(object, "metadata", "finalizers") or {}) do
    if name == "argocd.argoproj.io/hook-finalizer" then return false end
  end
  return true
end

local function check(object)
  if deleting(object) then return health("Progressing", "the object is being deleted") end
  local text = field(object, "metadata", "annotations", ANNOTATION)
  if type(text) ~= "string" or text == "" then return builtin(object) end
  return ready(object, text, builtin)
end

return check(obj)
