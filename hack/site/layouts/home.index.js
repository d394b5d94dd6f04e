{{- $pages := slice }}
{{- range site.RegularPages }}
{{- $pages = $pages | append (dict "title" (partial "title.html" .) "url" (strings.TrimPrefix "/" .RelPermalink) "text" (.Plain | replaceRE `\s+` " ")) }}
{{- end -}}
window.pages = {{ $pages | jsonify }};
