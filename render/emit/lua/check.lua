-- Copyright 2026 The Ropewalk Authors
-- SPDX-License-Identifier: Apache-2.0

-- An object without the annotation gets the health that Argo CD gives it on its own.
-- Argo CD runs this script for no object that is being deleted.
local rule = field(obj, "metadata", "annotations", ANNOTATION)
if type(rule) ~= "string" or rule == "" then return builtin(obj) end
return ready(obj, rule, reported or builtin)
