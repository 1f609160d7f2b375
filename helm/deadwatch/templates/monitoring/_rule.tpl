{{/* An alert of files/rules.yaml with what the values say of it. Takes: rule, said, values, job, namespace. */}}
{{- define "deadwatch.rule" -}}
{{- $rule := deepCopy .rule -}}
{{- $threshold := $rule.threshold -}}
{{- if hasKey .said "threshold" }}{{ $threshold = .said.threshold }}{{ end -}}
{{- $window := .said.window | default $rule.window | default "" -}}
{{- $text := toYaml (pick $rule "alert" "expr" "for" "keep_firing_for" "labels" "annotations") -}}
{{- $text = $text | replace "<<threshold>>s" (printf "%.0fs" (maxf $threshold 1)) -}}
{{- $text = $text | replace "<<threshold>>" (printf "%.12g" (float64 $threshold)) | replace "<<window>>" $window | replace "<<job>>" .job | replace "<<namespace>>" .namespace -}}
{{- $text = $text | replace "<<runbook_url>>" .values.runbook_url | replace "<<dashboard_url>>" .values.dashboard_url -}}
{{- $made := $text | fromYaml -}}
{{- range $name := list "for" "keep_firing_for" -}}
{{- with index $.said $name }}{{ $_ := set $made $name . }}{{ end -}}
{{- end -}}
{{- with .said.severity }}{{ $_ := set $made.labels "severity" . }}{{ end -}}
{{- $_ := set $made "labels" (merge $made.labels .values.alertLabels) -}}
{{- toYaml $made -}}
{{- end }}
