{{- define "spillway.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- /* Where the pods of the manager may be. */}}
{{- define "spillway.placement" -}}
{{- with .Values.imagePullSecrets -}}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{ end -}}
{{- with .Values.affinity -}}
affinity:
  {{- toYaml . | nindent 2 }}
{{ end -}}
{{- with .Values.tolerations -}}
tolerations:
  {{- toYaml . | nindent 2 }}
{{ end -}}
nodeSelector:
  {{- toYaml .Values.nodeSelector | nindent 2 }}
{{- end }}

{{- /* The pod of a check: "manager check installation" or "manager check removal". */}}
{{- define "spillway.check" -}}
serviceAccountName: spillway-manager
restartPolicy: Never
{{ include "spillway.placement" .root }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
containers:
- name: check
  image: {{ include "spillway.image" .root }}
  args:
  - --namespace={{ .root.Release.Namespace }}
  - check
  - {{ .what }}
  securityContext:
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    capabilities:
      drop:
      - ALL
{{- end }}
