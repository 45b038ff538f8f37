# Bash completion for penstockctl; tests/unit/ctl/completion_test.cc compares it with the parser.

_penstockctl_datasets() {
  timeout 2 penstockctl ${1:+--address "$1"} -o json datasets 2>/dev/null |
    sed -n 's/^ *"name": "\([A-Za-z0-9._\/-]*\)",\{0,1\}$/\1/p'
}

_penstockctl_of() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current"); }

_penstockctl_files() {
  mapfile -t COMPREPLY < <(compgen -f -- "$current")
  compopt -o filenames 2>/dev/null
  return 0
}

_penstockctl() {
  local current=${COMP_WORDS[COMP_CWORD]} wants='' address='' options word i
  local -a words=()
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    [[ $word != = ]] || continue # bash makes three words of NAME=VALUE
    if [[ -n $wants ]]; then
      [[ $wants != --address ]] || address=$word
      wants=''
      continue
    fi
    case $word in
      --address | --tls | --all | --to | --output | -o | --color | --config | --deadline | --set | --seconds | --for | --timeout) wants=$word ;;
      -*) ;;
      *) words+=("$word") ;;
    esac
  done
  [[ $current != = ]] || current=''

  case $wants in
    '') ;;
    --output | -o)
      if [[ ${words[*]} == trace ]]; then _penstockctl_files; else _penstockctl_of 'table json yaml'; fi
      return
      ;;
    --address | --config | --tls | --to) _penstockctl_files; return ;;
    --for) _penstockctl_of 'ready'; return ;;
    --color) _penstockctl_of 'auto always never'; return ;;
    *) return ;;
  esac
  if [[ $current == -* ]]; then
    options='--address --tls --output -o --color --help -h --version'
    case ${words[*]} in
      'status') options+=' --watch -w' ;;
      'sessions') options+=' --watch -w' ;;
      'datasets') options+=' --watch -w' ;;
      'quarantine list') options+=' --watch -w' ;;
      'wait') options+=' --for --timeout' ;;
      'check') options+=' --config' ;;
      'top') options+=' --all' ;;
      'index') options+=' --export --to' ;;
      'drain') options+=' --deadline --cancel' ;;
      'workers') options+=' --set --watch -w' ;;
      'trace') options+=' --seconds' ;;
    esac
    _penstockctl_of "$options"
    return
  fi
  case ${words[*]} in
    '') _penstockctl_of 'status sessions workers datasets top trace index digest fetch cache quarantine drain reload check wait version completion help' ;;
    quarantine) _penstockctl_of 'list clear' ;;
    cache) _penstockctl_of 'list verify clear warm' ;;
    'cache list' | 'cache verify' | 'cache clear') _penstockctl_files ;;
    'index' | 'digest' | 'fetch' | 'cache warm' | 'quarantine list' | 'quarantine clear') _penstockctl_of "$(_penstockctl_datasets "$address")" ;;
    help) _penstockctl_of 'status sessions workers datasets top trace index digest fetch cache quarantine drain reload check wait version completion help' ;;
    completion) _penstockctl_of 'bash zsh fish' ;;
  esac
}

complete -F _penstockctl penstockctl
