{{/* What contradicts itself, beyond what values.schema.json can say: one line each, with what to do. */}}
{{- define "deadwatch.refusals" -}}
{{- $kafka := .Values.kafka -}}
{{- $store := .Values.store -}}
{{- $sasl := hasPrefix "SASL" $kafka.securityProtocol -}}
{{- $tls := hasSuffix "SSL" $kafka.securityProtocol -}}
{{- $said := list -}}
{{- if and $sasl (not (and $kafka.sasl.mechanism $kafka.sasl.existingSecret)) -}}
{{- $said = append $said (printf "kafka.securityProtocol %s needs kafka.sasl.mechanism and kafka.sasl.existingSecret" $kafka.securityProtocol) -}}
{{- end -}}
{{- if and (not $sasl) (or $kafka.sasl.mechanism $kafka.sasl.existingSecret) -}}
{{- $said = append $said (printf "kafka.sasl needs a SASL kafka.securityProtocol, not %s" $kafka.securityProtocol) -}}
{{- end -}}
{{- if and (not $tls) (or $kafka.tls.caSecret $kafka.tls.clientSecret) -}}
{{- $said = append $said (printf "kafka.tls needs kafka.securityProtocol SSL or SASL_SSL, not %s" $kafka.securityProtocol) -}}
{{- end -}}
{{- if eq $store.kind "postgresql" -}}
{{- if not $store.postgresql.existingSecret -}}
{{- $said = append $said "store.kind postgresql needs store.postgresql.existingSecret, a Secret with the password (passwordKey) or the whole address (urlKey)" -}}
{{- end -}}
{{- if not (or $store.postgresql.host $store.postgresql.urlKey) -}}
{{- $said = append $said "store.kind postgresql needs store.postgresql.host or store.postgresql.urlKey" -}}
{{- end -}}
{{- if and (hasPrefix "verify" $store.postgresql.sslMode) (not $store.postgresql.caSecret) -}}
{{- $said = append $said (printf "store.postgresql.sslMode %s needs store.postgresql.caSecret" $store.postgresql.sslMode) -}}
{{- end -}}
{{- else -}}
{{- range list "api" "redrive" -}}
{{- if gt (int (index $.Values .).replicas) 1 -}}
{{- $said = append $said (printf "store.kind sqlite is a file on one node: %s.replicas must be 1; more need store.kind postgresql" .) -}}
{{- end -}}
{{- end -}}
{{- if eq .Values.streaming.spark.mode "operator" -}}
{{- $said = append $said "streaming.spark.mode operator needs store.kind postgresql: its driver starts on any node" -}}
{{- end -}}
{{- end -}}
{{- if eq .Values.streaming.spark.mode "deployment" -}}
{{- $heap := include "deadwatch.mebibytes" .Values.streaming.spark.driverMemory | int -}}
{{- $limit := include "deadwatch.mebibytes" (.Values.streaming.resources.limits.memory | default "0") | int -}}
{{- if and $limit (lt (sub $limit $heap) 1024) -}}
{{- $said = append $said (printf "streaming.spark.driverMemory %s leaves less than 1 GiB of streaming.resources.limits.memory %v for Python and what is not heap" .Values.streaming.spark.driverMemory .Values.streaming.resources.limits.memory) -}}
{{- end -}}
{{- end -}}
{{- $accessMode := .Values.streaming.persistence.accessMode -}}
{{- if and (eq .Values.streaming.spark.mode "operator") $accessMode (ne $accessMode "ReadWriteMany") -}}
{{- $said = append $said (printf "streaming.spark.mode operator needs shared storage: streaming.persistence.accessMode ReadWriteMany, not %s" $accessMode) -}}
{{- end -}}
{{- range list "collector" "streaming" "redrive" "api" -}}
{{- $process := index $.Values . -}}
{{- $budget := $process.podDisruptionBudget -}}
{{- $replicas := int ($process.replicas | default 1) -}}
{{- if and $budget.enabled (eq . "streaming") (eq $.Values.streaming.spark.mode "operator") -}}
{{- $said = append $said "streaming.podDisruptionBudget with streaming.spark.mode operator would block every drain of a node: nothing tells Kubernetes how many pods Spark wants; leave it off, a driver that was drained is started again" -}}
{{- else if $budget.enabled -}}
{{- $least := $budget.minAvailable -}}
{{- $most := $budget.maxUnavailable -}}
{{- if eq (kindIs "invalid" $least) (kindIs "invalid" $most) -}}
{{- $said = append $said (printf "%s.podDisruptionBudget needs minAvailable or maxUnavailable, one of them" .) -}}
{{- else if kindIs "invalid" $least -}}
{{- if has (toString $most) (list "0" "0%") -}}
{{- $said = append $said (printf "%s.podDisruptionBudget.maxUnavailable %v would block every drain of a node: use 1" . $most) -}}
{{- end -}}
{{- else -}}
{{- $share := trimSuffix "%" (toString $least) | int -}}{{/* Kubernetes rounds it up */}}
{{- $needed := kindIs "string" $least | ternary (div (add (mul $share $replicas) 99) 100) (int $least) | int -}}
{{- if ge $needed $replicas -}}
{{- $said = append $said (printf "%s.podDisruptionBudget.minAvailable %v of %d replicas would block every drain of a node: use maxUnavailable: 1, or more replicas" . $least $replicas) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and .Values.api.enabled (not .Values.api.auth.existingSecret) (not (dig "oidc" "issuer" "" .Values.api.settings)) -}}
{{- $said = append $said (printf "api.auth.existingSecret is needed, the Secret that tokens are digested with: kubectl create secret generic deadwatch-api --from-literal=%s=$(openssl rand -hex 32)" .Values.api.auth.pepperKey) -}}
{{- end -}}
{{- $monitored := and .Values.api.enabled .Values.serviceMonitor.enabled (.Capabilities.APIVersions.Has "monitoring.coreos.com/v1") -}}
{{- if and $monitored (eq .Values.api.auth.anonymous "nothing") (not .Values.serviceMonitor.authorization) -}}
{{- $said = append $said "api.auth.anonymous nothing needs serviceMonitor.authorization, the Secret with a token of the api for Prometheus, whose every scrape is a 401 otherwise; or serviceMonitor.enabled false" -}}
{{- end -}}
{{- if ge (int .Values.api.drainSeconds) (int .Values.api.terminationGracePeriodSeconds) -}}
{{- $said = append $said (printf "api.drainSeconds %d must be less than api.terminationGracePeriodSeconds %d: Kubernetes counts it among them" (int .Values.api.drainSeconds) (int .Values.api.terminationGracePeriodSeconds)) -}}
{{- end -}}
{{- if and .Values.api.ingress.enabled (not .Values.api.ingress.host) -}}
{{- $said = append $said "api.ingress.enabled needs api.ingress.host" -}}
{{- end -}}
{{- if and .Values.api.httpRoute.enabled (not .Values.api.httpRoute.parentRefs) -}}
{{- $said = append $said "api.httpRoute.enabled needs api.httpRoute.parentRefs, the gateways it belongs to" -}}
{{- end -}}
{{- $alerts := list -}}
{{- range (.Files.Get "files/rules.yaml" | fromYaml).groups }}{{ range .rules }}{{ $alerts = append $alerts .alert }}{{ end }}{{ end -}}
{{- range $name, $_ := .Values.prometheusRule.alerts -}}
{{- if not (has $name $alerts) -}}
{{- $said = append $said (printf "prometheusRule.alerts knows no %s; there are %s" $name (join ", " $alerts)) -}}
{{- end -}}
{{- end -}}
{{- if $said -}}
{{- fail (printf "\n\ndeadwatch: these values cannot be installed:\n- %s\n" (join "\n- " $said)) -}}
{{- end -}}
{{- end }}

{{/* An amount of memory as the JVM or Kubernetes writes it, in MiB; 0 where it is neither in Mi nor Gi. */}}
{{- define "deadwatch.mebibytes" -}}
{{- $number := regexFind "^[0-9]+" (toString .) | int -}}
{{- $unit := regexFind "[A-Za-z]+$" (toString .) -}}
{{- if has $unit (list "g" "Gi") }}{{ mul $number 1024 }}
{{- else if has $unit (list "m" "Mi") }}{{ $number }}
{{- else if has $unit (list "t" "Ti") }}{{ mul $number 1048576 }}
{{- else if eq $unit "k" }}{{ div $number 1024 }}
{{- else }}0{{ end -}}
{{- end }}
