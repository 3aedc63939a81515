# env_parallel, parset and env_parset for bash.  In ~/.bashrc:
#
#   . <(whit run --env-parallel bash)
#
# env_parallel is whit run whose jobs know what this shell knows: its aliases, functions, variables,
# arrays and options, on other hosts too.  parset puts the outputs of jobs into variables.

# Variables that are the shell's own, or those of each job.
_whit_own='^(_|_whit_.*|BASH.*|COMP_.*|DIRSTACK|EPOCH.*|EUID|FUNCNAME|GROUPS|HISTCMD|HOSTNAME|LINENO'
_whit_own+='|OLDPWD|OPTARG|OPTIND|PARALLEL_.*|PIPESTATUS|PPID|PWD|RANDOM|SECONDS|SHELLOPTS|SHLVL'
_whit_own+='|SRANDOM|UID)$'

# The file of names that `--record-env` has written.
_whit_record() {
    printf '%s/ignored_vars' "${PARALLEL_HOME:-$HOME/.parallel}"
}

# All names of this shell that may be carried over, one a line.
_whit_names() {
    local _whit_name
    compgen -A function
    compgen -A alias
    for _whit_name in $(compgen -A variable); do
        [[ $_whit_name =~ $_whit_own ]] || printf '%s\n' "$_whit_name"
    done
}

# Code that makes what has the names in _whit_chosen.
_whit_code() {
    local _whit_name IFS=$' \t\n'
    shopt -p | grep -v -e login_shell -e restricted_shell
    printf 'shopt -s expand_aliases\n'
    for _whit_name in $(compgen -A variable); do
        [[ -n ${_whit_chosen[$_whit_name]} && ! $_whit_name =~ $_whit_own ]] || continue
        declare -p "$_whit_name" 2>/dev/null
    done
    for _whit_name in $(compgen -A function); do
        [[ -n ${_whit_chosen[$_whit_name]} ]] && declare -f "$_whit_name"
    done
    for _whit_name in "${!BASH_ALIASES[@]}"; do
        [[ -n ${_whit_chosen[$_whit_name]} ]] && alias "$_whit_name"
    done
    return 0
}

# Chooses all names but those on standard input.
_whit_choose_others() {
    local _whit_name IFS=$' \t\n'
    local -A _whit_left_out=()
    while IFS= read -r _whit_name; do
        [[ -n $_whit_name ]] && _whit_left_out[$_whit_name]=1
    done
    while IFS= read -r _whit_name; do
        [[ $_whit_name == _whit_* || -n ${_whit_left_out[$_whit_name]} ]] && continue
        _whit_chosen[$_whit_name]=1
    done < <(_whit_names)
}

env_parallel() {
    local _whit_word _whit_name _whit_env _whit_is_named= _whit_takes= _whit_is_command=
    local -a _whit_words=()
    local -A _whit_chosen=()
    case $1 in
    --session)
        _whit_sessions+=("$PARALLEL_IGNORED_NAMES")
        PARALLEL_IGNORED_NAMES=$(_whit_names)
        return
        ;;
    --end-session)
        if ((${#_whit_sessions[@]} == 0)); then
            printf 'env_parallel: --end-session: there was no --session\n' >&2
            return 255
        fi
        PARALLEL_IGNORED_NAMES=${_whit_sessions[-1]}
        unset '_whit_sessions[-1]'
        return
        ;;
    --record-env)
        mkdir -p "$(dirname "$(_whit_record)")" && _whit_names >"$(_whit_record)"
        return
        ;;
    esac
    while (($#)); do
        _whit_word=$1
        shift
        # A word that is neither an option nor the value of the one before begins the command.
        [[ $_whit_word == -* || -n $_whit_takes ]] || _whit_is_command=1
        _whit_takes=
        case $_whit_word in
        --*=*) ;;
        --* | -*[aCDdEeIiJjLlNnPSsW]) _whit_takes=1 ;;
        esac
        if [[ -n $_whit_is_command || $_whit_word != --env && $_whit_word != --env=* ]]; then
            _whit_words+=("$_whit_word")
            continue
        fi
        if [[ $_whit_word == --env ]]; then
            _whit_word=--env=$1
            shift
            _whit_takes=
        fi
        _whit_is_named=1
        for _whit_name in ${_whit_word//[=,]/ }; do
            case $_whit_name in
            --env) ;;
            _)
                if [[ ! -r $(_whit_record) ]]; then
                    printf 'env_parallel: --env _ needs env_parallel --record-env before\n' >&2
                    return 255
                fi
                _whit_choose_others <"$(_whit_record)"
                ;;
            *) _whit_chosen[$_whit_name]=1 ;;
            esac
        done
    done
    [[ -n $_whit_is_named ]] || _whit_choose_others <<<"$PARALLEL_IGNORED_NAMES"
    _whit_env=$(_whit_code)
    if ((${#_whit_env} > 131000)); then
        printf 'env_parallel: what this shell knows takes %d characters, more than a command line ' \
            "${#_whit_env}" >&2
        printf 'holds: name what jobs need by --env, or begin with env_parallel --session\n' >&2
        return 255
    fi
    PARALLEL_ENV=$_whit_env PARALLEL_SHELL=$BASH command whit run "${_whit_words[@]}"
}

_whit_run() {
    command whit run "$@"
}

parset() {
    _whit_parset parset _whit_run "$@"
}

env_parset() {
    _whit_parset env_parset env_parallel "$@"
}

# _whit_parset NAME RUNNER VARIABLES WORD...
_whit_parset() {
    local _whit_self=$1 _whit_runner=$2 _whit_name _whit_entry _whit_value _whit_code=0 _whit_at=0
    local -a _whit_list=() _whit_entries=()
    IFS=$', \t\n' read -r -d '' -a _whit_list <<<"$3"
    shift 3
    for _whit_name in "${_whit_list[@]}"; do
        if [[ ! $_whit_name =~ ^[A-Za-z_][A-Za-z_0-9]*$ ]]; then
            printf '%s: %q is no name of a variable\n' "$_whit_self" "$_whit_name" >&2
            return 255
        fi
    done
    if ((${#_whit_list[@]} == 0)); then
        printf '%s: name a variable, then the options and the command\n' "$_whit_self" >&2
        return 255
    fi
    local _whit_file
    _whit_file=$(mktemp) || return 255
    "$_whit_runner" -k --files0 --tag "$@" >"$_whit_file" || _whit_code=$?
    mapfile -d '' -t _whit_entries <"$_whit_file"
    rm -f "$_whit_file"
    _whit_name=${_whit_list[0]}
    local _whit_kind=names
    if ((${#_whit_list[@]} == 1)); then
        _whit_kind=array
        [[ $(declare -p "$_whit_name" 2>/dev/null) == 'declare -'*A*' '* ]] && _whit_kind=keys
        [[ $_whit_kind == keys ]] || unset "$_whit_name"
        eval "$_whit_name=()"
    fi
    for _whit_entry in "${_whit_entries[@]}"; do
        _whit_file=${_whit_entry##*$'\t'}
        # As in parallel only the last newline goes.
        _whit_value=$(cat "$_whit_file" && printf .)
        _whit_value=${_whit_value%.}
        _whit_value=${_whit_value%$'\n'}
        rm -f "$_whit_file"
        _whit_entry=${_whit_entry%$'\t'*}
        case $_whit_kind in
        keys) eval "$_whit_name[\$_whit_entry]=\$_whit_value" ;;
        array) eval "$_whit_name[_whit_at]=\$_whit_value" ;;
        names)
            if ((_whit_at >= ${#_whit_list[@]})); then
                printf '%s: more jobs than the %d variables\n' "$_whit_self" \
                    "${#_whit_list[@]}" >&2
                _whit_code=255
            else
                printf -v "${_whit_list[_whit_at]}" %s "$_whit_value"
            fi
            ;;
        esac
        ((_whit_at += 1))
    done
    return "$_whit_code"
}
