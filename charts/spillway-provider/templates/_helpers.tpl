{{- /* The keys of the profile, with those that differ. The policies know consumers by the
namespace of their accounts, so there is but one. */}}
{{- define "spillway-provider.limits" -}}
{{- if ne .Release.Namespace "spillway-provider" }}
{{- fail (printf "this chart is for namespace spillway-provider, and not for %s: add --namespace spillway-provider --create-namespace" .Release.Namespace) }}
{{- end }}
{{- $shipped := .Files.Get (printf "limits/%s.yaml" .Values.profile) | fromYaml }}
{{- toYaml (merge (deepCopy .Values.limits) $shipped) }}
{{- end }}
