{{- define "deadwatch.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{/* At most 40 characters: what is appended has to fit into a label's 63. */}}
{{- define "deadwatch.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "deadwatch.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "deadwatch.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{- define "deadwatch.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "deadwatch.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end }}

{{- define "deadwatch.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $image.repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $image.repository ($image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end }}

{{/*
What the name of streaming's own claim ends with. Each mode has one: nobody may change how a claim is mounted, and
helm keeps it.
*/}}
{{- define "deadwatch.streamingClaimSuffix" -}}
{{- ternary "streaming-shared" "streaming" (eq .Values.streaming.spark.mode "operator") -}}
{{- end }}

{{- define "deadwatch.streamingClaim" -}}
{{- .Values.streaming.persistence.existingClaim | default (printf "%s-%s" (include "deadwatch.fullname" .) (include "deadwatch.streamingClaimSuffix" .)) -}}
{{- end }}

{{/* The image's own: an init, so that no process of ours is the first of its container. A command replaces it. */}}
{{- define "deadwatch.entrypoint" -}}
/opt/deadwatch/bin/entrypoint
{{- end }}

{{- define "deadwatch.selector" -}}
app.kubernetes.io/name: {{ include "deadwatch.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{/* Each label once; selectors and Helm need theirs. Takes: root, component, labels beside the common ones. */}}
{{- define "deadwatch.labels" -}}
{{- $version := .root.Values.image.tag | default .root.Chart.AppVersion | trunc 63 -}}
{{- $chart := printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" -}}
{{- $usual := dict "app.kubernetes.io/part-of" "deadwatch" "app.kubernetes.io/version" $version "helm.sh/chart" $chart -}}
{{- $needed := include "deadwatch.selector" . | fromYaml -}}
{{- $_ := set $needed "app.kubernetes.io/managed-by" .root.Release.Service -}}
{{- toYaml (merge $needed (.labels | default dict) (.root.Values.commonLabels | default dict) $usual) }}
{{- end }}

{{/* metadata of an object. Takes: root, component, suffix, labels and annotations beside the common ones. */}}
{{- define "deadwatch.metadata" -}}
name: {{ include "deadwatch.fullname" .root }}{{ with .suffix }}-{{ . }}{{ end }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "deadwatch.labels" . | nindent 2 }}
{{- with merge (dict) (.annotations | default dict) .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
