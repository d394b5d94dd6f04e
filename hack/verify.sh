#!/usr/bin/env bash
# Checks what can be checked without running the code. Every check runs, even
# after one has failed; the list at the end says which did. Called by make verify.
# Arguments are the checks to run: format, lint, generated, tidy, vulnerabilities; all
# by default.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

GO=${GO:-go}
failed=()
warnings=()

check() {
  local what=$1 start=$SECONDS
  shift
  echo "=== verify: $what"
  if "$@"; then
    echo "--- ok: $what ($((SECONDS - start)) s)"
  else
    echo "--- FAILED: $what ($((SECONDS - start)) s)"
    failed+=("$what")
  fi
}

go_files() { git ls-files --cached --others --exclude-standard -- '*.go' | while read -r f; do [[ ! -f $f ]] || echo "$f"; done; }

format() {
  local unformatted
  unformatted=$(go_files | xargs -r "$("$GO" env GOROOT)/bin/gofmt" -l) || return 1
  [[ -z $unformatted ]] || {
    printf 'not formatted; run gofmt -w on:\n%s\n' "$unformatted"
    return 1
  }
}

# What go vet looks for is among it (govet), in all packages and with the tags of
# the tests that make test leaves out; go vet would look a second time.
lint() { make --no-print-directory lint; }

# One line a file: its hash and its name. Generated files are compared with
# themselves, before and after, so that other changes in the tree, committed
# or not, do not matter.
generated() {
  { find . -path ./bin -prune -o -path ./.git -prune -o -name 'zz_generated.*.go' -print
    find config/crd/bases config/hosted/crd/bases config/rbac/role.yaml docs/reference charts/*/templates charts/*/limits charts/*/dashboards -type f 2>/dev/null; } |
    sed 's|^\./||' | sort | while read -r f; do echo "$(git hash-object --no-filters "$f") $f"; done
}

generated_files() {
  local before after stale
  before=$(generated)
  make --no-print-directory generate || return 1
  after=$(generated)
  [[ $before == "$after" ]] || {
    stale=$(diff <(echo "$before") <(echo "$after") | sed -n 's/^[<>] [0-9a-f]* //p' | sort -u)
    printf 'these generated files were stale:\n%s\nmake generate has been run on them just now; commit the result\n' "$stale"
    return 1
  }
}

tidy() {
  local ok=0 module
  for module in . hack/kube hack/kube/metrics-server hack/csi/*/ hack/image; do tidy_in "${module%/}" || ok=1; done
  for module in go.tools go.lint go.helm; do tidy_tools "$module" || ok=1; done
  return $ok
}

# The modules that only make test-long, make docs and make release-snapshot use. Their
# dependencies are large.
tidy_long() {
  local ok=0 module
  for module in hack/kube/v*/ hack/karpenter hack/kueue test/ui/browser; do tidy_in "${module%/}" || ok=1; done
  return $ok
}

tidy_in() {
  (cd "$1" && "$GO" mod tidy -diff) || {
    echo "$1/go.mod or go.sum is not tidy: run go mod tidy in $1"
    return 1
  }
}

# go mod tidy -modfile would add what the product imports. In a directory
# without Go files there is nothing but the tools.
tidy_tools() {
  local dir
  dir=$(mktemp -d) || return 1
  cp "$1.mod" "$dir/go.mod" && cp "$1.sum" "$dir/go.sum" &&
    (cd "$dir" && "$GO" mod tidy -diff)
  local status=$?
  rm -rf "$dir"
  ((status == 0)) || echo "$1.mod or $1.sum is not tidy: run go mod tidy on a copy, as hack/verify.sh does"
  return $status
}

# Vulnerabilities are found any day, and not by what has changed here: a warning, unless
# STRICT=1 (make test-long). govulncheck exits with 3 when it has found something, and
# with 1 when it could not do its work; the want of its database is always forgiven.
vulnerabilities() {
  local out status
  out=$("$GO" tool -modfile=go.tools.mod govulncheck ./... 2>&1)
  status=$?
  echo "$out"
  ((status != 0)) || return 0
  if ((status != 3)) && grep -qiE 'vuln\.go\.dev|fetching vulnerabilities|vulnerability database' <<<"$out"; then
    warnings+=("known vulnerabilities were NOT checked: the Go vulnerability database cannot be reached from here")
    echo "WARNING: ${warnings[-1]}"
    return 0
  fi
  [[ ${STRICT:-} == 1 ]] && return 1
  warnings+=("govulncheck has found something, or failed: see above")
}

declare -A checks=([format]=format [lint]=lint [generated]=generated_files [tidy]=tidy [tidy-long]=tidy_long [vulnerabilities]=vulnerabilities)
(($# > 0)) || set -- format lint generated tidy vulnerabilities
for name in "$@"; do
  [[ -n ${checks[$name]:-} ]] || {
    echo "verify: there is no check $name; there are: ${!checks[*]}" >&2
    exit 2
  }
  check "$name" "${checks[$name]}"
done

echo
for w in "${warnings[@]}"; do echo "*** WARNING: $w ***"; done
if ((${#failed[@]} > 0)); then
  echo "verify FAILED: $(printf '%s; ' "${failed[@]}" | sed 's/; $//')"
  exit 1
fi
echo "verify passed: $*"
