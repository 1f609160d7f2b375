{{/* deadwatch.yaml of one process. Takes: root, component. Secrets are not in it: they are variables. */}}
{{- define "deadwatch.config" -}}
{{- $root := .root -}}
{{- $values := $root.Values -}}
{{- $kafka := dict "bootstrap_servers" $values.kafka.bootstrapServers "security_protocol" $values.kafka.securityProtocol -}}
{{- if hasPrefix "SASL" $values.kafka.securityProtocol -}}
{{- $_ := set $kafka "sasl_mechanism" $values.kafka.sasl.mechanism -}}
{{- end -}}
{{- if $values.kafka.tls.caSecret -}}
{{- $_ := set $kafka "ssl_ca_location" "/etc/deadwatch/kafka-ca/ca.crt" -}}
{{- end -}}
{{- if $values.kafka.tls.clientSecret -}}
{{- $_ := set $kafka "ssl_certificate_location" "/etc/deadwatch/kafka-client/tls.crt" -}}
{{- $_ := set $kafka "ssl_key_location" "/etc/deadwatch/kafka-client/tls.key" -}}
{{- end -}}
{{- $shared := merge (dict "kafka" $kafka "kafka_cluster" $values.kafka.cluster) (deepCopy $values.settings) -}}
{{- if and (ne .component "collector") (not (include "deadwatch.storeUrlInSecret" $root)) -}}
{{- $_ := set $shared "store_url" (include "deadwatch.storeUrl" $root) -}}
{{- end -}}
{{- $process := index $values .component -}}
{{- $own := deepCopy $process.settings -}}
{{- if eq .component "collector" -}}
{{- $own = merge (dict "data" "/var/lib/deadwatch/collector") $own (dict "name" (include "deadwatch.fullname" $root)) -}}
{{- else if eq .component "streaming" -}}
{{- $spark := $values.streaming.spark -}}
{{- $master := ternary "" (printf "local[%d]" (int (add $spark.cores 1))) (eq $spark.mode "operator") -}}
{{- $own = merge (dict "checkpoint" "/var/lib/deadwatch/streaming/checkpoint" "master" $master "driver_memory" $spark.driverMemory) $own -}}
{{- if $values.podMonitor.enabled -}}
{{- $_ := set $own "ui_port" 4040 -}}
{{- end -}}
{{- else if eq .component "api" -}}
{{- $own = merge (dict "host" $values.api.host "port" 8000 "anonymous" $values.api.auth.anonymous) $own -}}
{{- end -}}
{{- if ne .component "api" -}}
{{- $health := merge (dict "port" 8080) (deepCopy (get $own "health" | default dict)) -}}
{{- $_ := set $own "health" $health -}}
{{- end -}}
{{- toYaml (merge (dict .component $own) $shared) -}}
{{- end }}

{{- define "deadwatch.storeUrlInSecret" -}}
{{- if and (eq .Values.store.kind "postgresql") .Values.store.postgresql.urlKey }}true{{ end -}}
{{- end }}

{{- define "deadwatch.storeUrl" -}}
{{- if eq .Values.store.kind "sqlite" -}}
sqlite:////var/lib/deadwatch/store/deadwatch.db
{{- else -}}
{{- $pg := .Values.store.postgresql -}}
{{- $options := list -}}
{{- with $pg.sslMode }}{{ $options = append $options (printf "sslmode=%s" .) }}{{ end -}}
{{- if $pg.caSecret }}{{ $options = append $options "sslrootcert=/etc/deadwatch/store-ca/ca.crt" }}{{ end -}}
postgresql://{{ $pg.username | urlquery | replace "+" "%20" }}@{{ $pg.host }}:{{ $pg.port }}/{{ $pg.database }}{{ with $options }}?{{ join "&" . }}{{ end }}
{{- end -}}
{{- end }}

{{/* The store's variables of one process. Takes: root, component. */}}
{{- define "deadwatch.storeEnv" -}}
{{- $pg := .root.Values.store.postgresql -}}
{{- if eq .root.Values.store.kind "postgresql" }}
{{- if $pg.urlKey }}
- name: {{ upper .component }}_STORE_URL
  valueFrom:
    secretKeyRef: {name: {{ $pg.existingSecret | quote }}, key: {{ $pg.urlKey | quote }}}
{{- else }}
- name: PGPASSWORD
  valueFrom:
    secretKeyRef: {name: {{ $pg.existingSecret | quote }}, key: {{ $pg.passwordKey | quote }}}
{{- end }}
{{- end }}
{{- end }}

{{/* Every variable of one process. Takes: root, component. */}}
{{- define "deadwatch.env" -}}
{{- $prefix := upper .component -}}
{{- $kafka := .root.Values.kafka -}}
{{- $process := index .root.Values .component -}}
{{- if ne .component "api" }}
- name: {{ $prefix }}_HEALTH__HOST
  valueFrom:
    fieldRef: {fieldPath: status.podIP}
{{- end }}
{{- if and (eq .component "streaming") .root.Values.podMonitor.enabled }}
- name: SPARK_LOCAL_IP
  valueFrom:
    fieldRef: {fieldPath: status.podIP}
{{- end }}
{{- if hasPrefix "SASL" $kafka.securityProtocol }}
- name: {{ $prefix }}_KAFKA__SASL_USERNAME
  valueFrom:
    secretKeyRef: {name: {{ $kafka.sasl.existingSecret | quote }}, key: {{ $kafka.sasl.usernameKey | quote }}}
- name: {{ $prefix }}_KAFKA__SASL_PASSWORD
  valueFrom:
    secretKeyRef: {name: {{ $kafka.sasl.existingSecret | quote }}, key: {{ $kafka.sasl.passwordKey | quote }}}
{{- end }}
{{- if and $kafka.tls.clientSecret $kafka.tls.keyPasswordKey }}
- name: {{ $prefix }}_KAFKA__SSL_KEY_PASSWORD
  valueFrom:
    secretKeyRef: {name: {{ $kafka.tls.clientSecret | quote }}, key: {{ $kafka.tls.keyPasswordKey | quote }}}
{{- end }}
{{- if ne .component "collector" }}
{{- include "deadwatch.storeEnv" . }}
{{- end }}
{{- if and (eq .component "api") .root.Values.api.auth.existingSecret }}
- name: API_TOKEN_PEPPER
  valueFrom:
    secretKeyRef: {name: {{ $process.auth.existingSecret | quote }}, key: {{ $process.auth.pepperKey | quote }}}
{{- end }}
{{- range $setting, $at := $process.secretSettings }}
- name: {{ $prefix }}_{{ upper $setting }}
  valueFrom:
    secretKeyRef: {name: {{ $at.name | quote }}, key: {{ $at.key | quote }}}
{{- end }}
{{- with $process.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}
