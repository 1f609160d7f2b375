{{/* What driver and executors share. Takes: root, pod (its metadata), role. */}}
{{- define "deadwatch.sparkPod" -}}
{{- $streaming := .root.Values.streaming -}}
labels:
  {{- toYaml (merge (dict "deadwatch/spark-role" .role) .pod.labels) | nindent 2 }}
annotations:
  {{- toYaml .pod.annotations | nindent 2 }}
podSecurityContext:
  {{- toYaml .root.Values.podSecurityContext | nindent 2 }}
securityContext:
  {{- toYaml .root.Values.securityContext | nindent 2 }}
{{- with $streaming.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $streaming.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $streaming.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $streaming.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}
