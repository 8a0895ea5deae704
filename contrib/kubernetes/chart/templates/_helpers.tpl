{{- define "sayso.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "sayso.host" -}}
{{ (urlParse .Values.publicURL).host }}
{{- end }}

{{- define "sayso.labels" -}}
app.kubernetes.io/name: sayso
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "sayso.selector" -}}
app.kubernetes.io/name: sayso
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Of every pod: no root, and nothing to gain. */}}
{{- define "sayso.podSecurity" -}}
runAsNonRoot: true
runAsUser: 8787
runAsGroup: 8787
fsGroup: 8787
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "sayso.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- define "sayso.settings" -}}
{{- range $name, $value := . }}
- name: SAYSO_{{ $name | upper | replace "-" "_" }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}
