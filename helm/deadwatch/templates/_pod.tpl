{{/* Where a process keeps what it writes. Takes: root, component, volume (of its persistent data; "": none). */}}
{{- define "deadwatch.volumes" -}}
{{- $kafka := .root.Values.kafka -}}
{{- $store := .root.Values.store -}}
{{- $process := index .root.Values .component -}}
- name: config
  configMap:
    name: {{ include "deadwatch.fullname" .root }}-{{ .component }}
- name: tmp
  emptyDir: {sizeLimit: {{ index $process.resources.limits "ephemeral-storage" | default "1Gi" }}}
{{- if $kafka.tls.caSecret }}
- name: kafka-ca
  secret:
    secretName: {{ $kafka.tls.caSecret | quote }}
    items: [{key: {{ $kafka.tls.caKey | quote }}, path: ca.crt}]
{{- end }}
{{- if $kafka.tls.clientSecret }}
- name: kafka-client
  secret:
    secretName: {{ $kafka.tls.clientSecret | quote }}
    defaultMode: 0440
    items:
      - {key: {{ $kafka.tls.certificateKey | quote }}, path: tls.crt}
      - {key: {{ $kafka.tls.keyKey | quote }}, path: tls.key}
{{- end }}
{{- if ne .component "collector" }}
{{- include "deadwatch.storeVolumes" .root }}
{{- end }}
{{- with .claim }}
- name: data
  persistentVolumeClaim:
    claimName: {{ . }}
{{- end }}
{{- with $process.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "deadwatch.storeVolumes" -}}
{{- $store := .Values.store -}}
{{- if eq $store.kind "sqlite" }}
- name: store
  persistentVolumeClaim:
    claimName: {{ $store.sqlite.existingClaim | default (printf "%s-store" (include "deadwatch.fullname" .)) }}
{{- else if $store.postgresql.caSecret }}
- name: store-ca
  secret:
    secretName: {{ $store.postgresql.caSecret | quote }}
    items: [{key: {{ $store.postgresql.caKey | quote }}, path: ca.crt}]
{{- end }}
{{- end }}

{{- define "deadwatch.volumeMounts" -}}
{{- $kafka := .root.Values.kafka -}}
{{- $process := index .root.Values .component -}}
- {name: config, mountPath: /etc/deadwatch/config, readOnly: true}
- {name: tmp, mountPath: /tmp}
{{- if $kafka.tls.caSecret }}
- {name: kafka-ca, mountPath: /etc/deadwatch/kafka-ca, readOnly: true}
{{- end }}
{{- if $kafka.tls.clientSecret }}
- {name: kafka-client, mountPath: /etc/deadwatch/kafka-client, readOnly: true}
{{- end }}
{{- if ne .component "collector" }}
{{- include "deadwatch.storeMounts" .root }}
{{- end }}
{{- if has .component (list "collector" "streaming") }}
- {name: data, mountPath: /var/lib/deadwatch/{{ .component }}}
{{- end }}
{{- with $process.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "deadwatch.storeMounts" -}}
{{- if eq .Values.store.kind "sqlite" }}
- {name: store, mountPath: /var/lib/deadwatch/store}
{{- else if .Values.store.postgresql.caSecret }}
- {name: store-ca, mountPath: /etc/deadwatch/store-ca, readOnly: true}
{{- end }}
{{- end }}

{{- define "deadwatch.probes" -}}
{{- range $kind, $path := dict "startup" "/livez" "liveness" "/livez" "readiness" "/readyz" }}
{{- with index $.root.Values.probes $kind }}
{{ $kind }}Probe:
  httpGet: {path: {{ $path }}, port: {{ $.port }}}
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}

{{/* The container of a process. Takes: root, component, module, ports (name: number), probed. */}}
{{- define "deadwatch.container" -}}
{{- $process := index .root.Values .component -}}
name: {{ .component }}
image: {{ include "deadwatch.image" .root | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
command: [{{ include "deadwatch.entrypoint" . }}, python, -m, {{ .module }}]
args: [--config, /etc/deadwatch/config/deadwatch.yaml]
env:
  {{- include "deadwatch.env" . | trim | nindent 2 }}
ports:
  {{- range $name, $port := .ports }}
  - {name: {{ $name }}, containerPort: {{ $port }}, protocol: TCP}
  {{- end }}
{{- include "deadwatch.probes" (dict "root" .root "port" .probed) }}
{{- with .lifecycle }}
lifecycle:
  {{- toYaml . | nindent 2 }}
{{- end }}
resources:
  {{- toYaml $process.resources | nindent 2 }}
securityContext:
  {{- toYaml .root.Values.securityContext | nindent 2 }}
volumeMounts:
  {{- include "deadwatch.volumeMounts" . | trim | nindent 2 }}
{{- end }}

{{/* metadata of a pod. Takes: root, component. */}}
{{- define "deadwatch.podMetadata" -}}
{{- $process := index .root.Values .component -}}
{{- $together := dict -}}
{{- if and (eq .root.Values.store.kind "sqlite") (ne .component "collector") -}}
{{- $together = dict "deadwatch/store" (include "deadwatch.fullname" .root) -}}
{{- end -}}
{{- $checksum := dict "checksum/config" (include "deadwatch.config" . | sha256sum) -}}
labels:
  {{- include "deadwatch.labels" (merge (dict "labels" (merge $together ($process.podLabels | default dict))) .) | nindent 2 }}
annotations:
  {{- toYaml (merge $checksum $process.podAnnotations .root.Values.commonAnnotations) | nindent 2 }}
{{- end }}

{{/* What all pods share beside their container and volumes. Takes: root, component. */}}
{{- define "deadwatch.podSettings" -}}
{{- $process := index .root.Values .component -}}
serviceAccountName: {{ include "deadwatch.serviceAccountName" .root }}
automountServiceAccountToken: false
enableServiceLinks: false
terminationGracePeriodSeconds: {{ $process.terminationGracePeriodSeconds }}
securityContext:
  {{- toYaml .root.Values.podSecurityContext | nindent 2 }}
{{- include "deadwatch.placement" . }}
{{- end }}

{{- define "deadwatch.placement" -}}
{{- $process := index .root.Values .component -}}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $process.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $process.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $process.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with include "deadwatch.affinity" . | fromYaml }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
{{- if $process.topologySpreadConstraints }}
  {{- toYaml $process.topologySpreadConstraints | nindent 2 }}
{{- else }}
  {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - topologyKey: {{ . }}
    maxSkew: 1
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "deadwatch.selector" $ | nindent 8 }}
  {{- end }}
{{- end }}
{{- end }}

{{/* A volume of one node holds SQLite's file: all that open it go where the first of them went. */}}
{{- define "deadwatch.affinity" -}}
{{- $process := index .root.Values .component -}}
{{- $together := dict -}}
{{- if and (eq .root.Values.store.kind "sqlite") (ne .component "collector") -}}
{{- $labels := dict "deadwatch/store" (include "deadwatch.fullname" .root) -}}
{{- $term := dict "labelSelector" (dict "matchLabels" $labels) "topologyKey" "kubernetes.io/hostname" -}}
{{- $together = dict "podAffinity" (dict "requiredDuringSchedulingIgnoredDuringExecution" (list $term)) -}}
{{- end -}}
{{- toYaml (merge (deepCopy $process.affinity) $together) -}}
{{- end }}

{{/* A claim of our own. Takes: root, component, suffix, persistence, mode. */}}
{{- define "deadwatch.claim" -}}
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  {{- include "deadwatch.metadata" (merge (dict "annotations" (merge (dict "helm.sh/resource-policy" "keep") .persistence.annotations)) .) | nindent 2 }}
spec:
  accessModes: [{{ .mode }}]
  {{- with .persistence.storageClass }}
  storageClassName: {{ . | quote }}
  {{- end }}
  resources:
    requests:
      storage: {{ .persistence.size }}
{{- end }}
