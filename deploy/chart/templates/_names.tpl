{{- /*
Copyright 2026 The Ropewalk Authors
SPDX-License-Identifier: Apache-2.0
*/ -}}
{{- define "ropewalk.labels" -}}
app.kubernetes.io/name: ropewalk-controller
app.kubernetes.io/part-of: ropewalk
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "ropewalk.image" -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag | default (printf "v%s" .Chart.AppVersion) }}{{ end }}
{{- end }}

{{- /* The accounts that Transforms of tenants may act as. */ -}}
{{- define "ropewalk.accounts" -}}
{{- if .Values.tenants.serviceAccount }}
{{- toYaml (prepend .Values.tenants.impersonate .Values.tenants.serviceAccount) }}
{{- end }}
{{- end }}
