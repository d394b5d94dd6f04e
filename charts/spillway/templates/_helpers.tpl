{{- define "spillway.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- /* Whether the API server has the policies of Kubernetes 1.36. Without a cluster, as in helm
template, Helm knows no kinds at all, also not Pod: then they are taken for granted. */}}
{{- define "spillway.servesPolicies" -}}
{{- if or (.Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy") (not (.Capabilities.APIVersions.Has "v1/Pod")) -}}
true
{{- end }}
{{- end }}

{{- /* What prepares pods of offloaded namespaces: Policy or Webhook. */}}
{{- define "spillway.admission" -}}
{{- range .Values.extraArgs }}
{{- if regexMatch "^--?webhook-port" . }}
{{- fail "extraArgs: --webhook-port would differ from the port of the container, 9443, which the Service targets" }}
{{- end }}
{{- end }}
{{- $served := include "spillway.servesPolicies" . }}
{{- if and (eq .Values.admission.mode "Policy") (not $served) }}
{{- fail "admission.mode: Policy needs MutatingAdmissionPolicy as admissionregistration.k8s.io/v1 (Kubernetes 1.36), which this cluster does not serve: set Webhook or Auto" }}
{{- end }}
{{- if ne .Values.admission.mode "Auto" -}}
{{ .Values.admission.mode }}
{{- else if $served -}}
Policy
{{- else -}}
Webhook
{{- end }}
{{- end }}

{{- define "spillway.daemonSets" -}}
{{- if and (eq .Values.daemonSets "Exclude") (not (include "spillway.servesPolicies" .)) }}
{{- fail "daemonSets: Exclude needs MutatingAdmissionPolicy as admissionregistration.k8s.io/v1 (Kubernetes 1.36), which this cluster does not serve: set Keep" }}
{{- end }}
{{- .Values.daemonSets }}
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
priorityClassName: {{ .root.Values.priorityClassName }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
containers:
- name: check
  image: {{ include "spillway.image" .root }}
  {{- with .root.Values.image.pullPolicy }}
  imagePullPolicy: {{ . }}
  {{- end }}
  args:
  - --namespace={{ .root.Release.Namespace }}
  - check
  - {{ .what }}
  resources:
    {{- toYaml .root.Values.resources | nindent 4 }}
  securityContext:
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    capabilities:
      drop:
      - ALL
{{- end }}
