#!/usr/bin/env bash
# The steps of action.yml: run.sh install | check | triage. Inputs are the variables INPUT_*; outputs go to
# $GITHUB_OUTPUT. Bash 3.2 (macOS) is enough.
set -euo pipefail

home="${RUNNER_TEMP:-/tmp}/torchdoctor"
die() { echo "::error title=torchdoctor::$*"; exit 2; }
output() { printf '%s=%s\n' "$1" "$2" >>"${GITHUB_OUTPUT:-/dev/null}"; }

doctor() {  # in an environment of its own: what is examined stays as it is
  if [ -x "$home/env/Scripts/torchdoctor.exe" ]; then "$home/env/Scripts/torchdoctor.exe" "$@"
  else "$home/env/bin/torchdoctor" "$@"; fi
}

install() {
  local python what
  python="$(command -v python3 || command -v python)" || die "there is no Python on PATH: use actions/setup-python"
  what="${INPUT_INSTALL:-}"
  if [ -z "$what" ]; then what="$(cd "$ACTION_PATH/../../.." && pwd)"; fi
  if [ "$(cat "$home/installed" 2>/dev/null)" = "$what" ]; then return; fi  # by an earlier step of the job
  "$python" -m venv "$home/env"
  python="$home/env/bin/python"
  if [ -x "$home/env/Scripts/python.exe" ]; then python="$home/env/Scripts/python.exe"; fi
  "$python" -m pip install --quiet --disable-pip-version-check "$what"
  printf '%s\n' "$what" >"$home/installed"
}

lines_as() {  # option, lines: the option before each line that is not empty; an empty option: the lines alone
  local line
  while IFS= read -r line; do
    line="${line#"${line%%[![:space:]]*}"}"
    line="${line%"${line##*[![:space:]]}"}"
    if [ -n "$line" ]; then
      if [ -n "$1" ]; then options+=("$1"); fi
      options+=("$line")
    fi
  done <<<"$2"
}

check() {
  local report="$home/report.json" code=0 verdict
  options=()
  case "${INPUT_FAIL_ON:=fault}" in
    fault | unknown | never) ;;
    warning | any) options+=(--strict) ;;
    *) die "fail-on is fault, warning, unknown, any or never" ;;
  esac
  if [ -n "${INPUT_PYTHON:-}" ]; then options+=(--python "$INPUT_PYTHON")
  else options+=(--python "$(command -v python || command -v python3)"); fi
  lines_as --require "${INPUT_REQUIRE:-}"
  lines_as "" "${INPUT_ARGS:-}"
  mkdir -p "$home"
  rm -f "$report"  # of an earlier step of the job
  # The machine is examined once; the other formats are made of that report.
  doctor check "${options[@]}" --json -o "$report" || code=$?
  if [ ! -s "$report" ]; then exit "$code"; fi
  output report "$report"
  output exit-code "$code"
  doctor check --from "$report" --format github || true
  if [ -n "${INPUT_SARIF:-}" ]; then doctor check --from "$report" --format sarif -o "$INPUT_SARIF" -q || true; fi
  verdict="$(sed -n 's/^  "verdict": "\([a-z]*\)",$/\1/p' "$report" | head -n 1)"
  output verdict "$verdict"
  case "$INPUT_FAIL_ON:$code" in
    never:* | *:0 | fault:3 | warning:3) ;;
    *) exit "$code" ;;
  esac
}

triage() {  # the issue is read as evidence; what is posted are the doctor's own words
  local answer="$home/answer.json" comments="$home/comments.json" number login
  mkdir -p "$home"
  number="$(jq -r '.issue.number // empty' "$GITHUB_EVENT_PATH")"
  if [ -z "$number" ]; then die "the event that started this workflow is not of an issue"; fi
  gh api --paginate --slurp "repos/$GITHUB_REPOSITORY/issues/$number/comments" | jq 'add // []' >"$comments"
  options=(--event "$GITHUB_EVENT_PATH" --comments "$comments" -o "$answer")
  if [ -n "${INPUT_LABELS:-}" ]; then options+=(--labels "$INPUT_LABELS"); fi
  # Whose token it is decides which comment is ours. The job's own token may not ask: then ours is a bot's.
  if login="$(gh api user --jq .login 2>/dev/null)" && [ -n "$login" ]; then options+=(--login "$login"); fi
  doctor triage "${options[@]}"
  output report "$answer"
  output verdict "$(jq -r '.verdict // ""' "$answer")"
  case "$(jq -r .action "$answer")" in
    create)
      jq '{body}' "$answer" | gh api --silent "repos/$GITHUB_REPOSITORY/issues/$number/comments" --input - ;;
    update)
      jq '{body}' "$answer" |
        gh api --silent -X PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$(jq -r .comment_id "$answer")" --input - ;;
    *) jq -r .reason "$answer" ;;
  esac
  if [ "$(jq '.labels | length' "$answer")" -gt 0 ]; then
    jq '{labels}' "$answer" | gh api --silent "repos/$GITHUB_REPOSITORY/issues/$number/labels" --input -
  fi
}

case "${1:-}" in
  install | check | triage) "$1" ;;
  *) die "mode is check or triage" ;;
esac
