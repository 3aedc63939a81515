# env_parallel, parset and env_parset for dash and other shells of POSIX.  In ~/.profile:
#
#   eval "$(whit run --env-parallel sh)"
#
# env_parallel is whit run whose jobs know what this shell knows: its aliases and variables, on other
# hosts too; functions cannot be listed in these shells.  parset puts the outputs of jobs into
# variables; there are no arrays.

_whit_newline='
'

# Names of variables and aliases, one a line; a line of a value that looks like one does no harm.
_whit_names() {
    { set; alias; } | sed -n "s/^alias //; s/^\([A-Za-z_][A-Za-z_0-9]*\)=.*/\1/p"
}

# Names of aliases alone, which may have other characters.
_whit_aliases() {
    alias | sed -n "s/^alias //; s/^\([^= ']*\)=.*/\1/p"
}

# Prints an assignment of a value, quoted.
_whit_assign() {
    printf "%s='" "$1"
    _whit_value=$2
    while :; do
        case $_whit_value in
        *\'*)
            printf "%s'\\\\''" "${_whit_value%%\'*}"
            _whit_value=${_whit_value#*\'}
            ;;
        *) break ;;
        esac
    done
    printf "%s'\n" "$_whit_value"
}

# Whether a name is chosen: $_whit_chosen has the names, or is - for all but $PARALLEL_IGNORED_NAMES.
_whit_is_chosen() {
    case $_whit_chosen in
    -) _whit_list=" $(printf '%s' "$PARALLEL_IGNORED_NAMES" | tr '\n' ' ') " ;;
    *) _whit_list=" $_whit_chosen " ;;
    esac
    case $_whit_list in
    *" $1 "*) [ "$_whit_chosen" != - ] ;;
    *) [ "$_whit_chosen" = - ] ;;
    esac
}

# Code that makes what is chosen.
_whit_code() {
    for _whit_name in $(_whit_names); do
        case $_whit_name in
        _ | _whit_* | LINENO | OLDPWD | OPTARG | OPTIND | PARALLEL_* | PPID | PWD | SHLVL) continue ;;
        esac
        eval "[ \"\${$_whit_name+set}\" ]" || continue
        _whit_is_chosen "$_whit_name" || continue
        eval "_whit_assign \"\$_whit_name\" \"\$$_whit_name\""
    done
    for _whit_name in $(_whit_aliases); do
        _whit_is_chosen "$_whit_name" || continue
        _whit_text=$(alias "$_whit_name" 2>/dev/null) || continue
        printf 'alias %s\n' "${_whit_text#alias }"
    done
}

env_parallel() {
    case $1 in
    --session)
        _whit_depth=$((${_whit_depth:-0} + 1))
        eval "_whit_session_$_whit_depth=\$PARALLEL_IGNORED_NAMES"
        PARALLEL_IGNORED_NAMES=$(_whit_names; _whit_aliases)
        return
        ;;
    --end-session)
        if [ "${_whit_depth:-0}" = 0 ]; then
            printf 'env_parallel: --end-session: there was no --session\n' >&2
            return 255
        fi
        eval "PARALLEL_IGNORED_NAMES=\$_whit_session_$_whit_depth"
        _whit_depth=$((_whit_depth - 1))
        return
        ;;
    --record-env)
        printf 'env_parallel: --record-env is there in bash; here use --session\n' >&2
        return 255
        ;;
    esac
    _whit_chosen=- _whit_takes= _whit_is_command=
    _whit_left=$#
    while [ "$_whit_left" -gt 0 ]; do
        _whit_word=$1
        shift
        _whit_left=$((_whit_left - 1))
        # A word that is neither an option nor the value of the one before begins the command.
        case $_whit_takes/$_whit_word in
        1/* | /-*) ;;
        *) _whit_is_command=1 ;;
        esac
        _whit_takes=
        case $_whit_word in
        --*=*) ;;
        --* | -*[aCDdEeIiJjLlNnPSsW]) _whit_takes=1 ;;
        esac
        case $_whit_is_command$_whit_word in
        --env)
            _whit_word=$1
            shift
            _whit_left=$((_whit_left - 1))
            _whit_takes=
            ;;
        --env=*) _whit_word=${_whit_word#--env=} ;;
        *)
            set -- "$@" "$_whit_word"
            continue
            ;;
        esac
        [ "$_whit_chosen" = - ] && _whit_chosen=
        _whit_chosen="$_whit_chosen $(printf '%s' "$_whit_word" | tr , ' ')"
    done
    _whit_env=$(_whit_code)
    if [ "${#_whit_env}" -gt 131000 ]; then
        printf 'env_parallel: what this shell knows takes %d characters, more than a command line ' \
            "${#_whit_env}" >&2
        printf 'holds: name what jobs need by --env, or begin with env_parallel --session\n' >&2
        return 255
    fi
    PARALLEL_ENV=$_whit_env command whit run "$@"
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
    _whit_self=$1 _whit_runner=$2
    _whit_variables=$(printf '%s' "$3" | tr , ' ')
    shift 3
    for _whit_name in $_whit_variables; do
        case $_whit_name in
        [!A-Za-z_]* | *[!A-Za-z_0-9]*)
            printf '%s: %s is no name of a variable\n' "$_whit_self" "$_whit_name" >&2
            return 255
            ;;
        esac
    done
    if [ -z "$_whit_variables" ]; then
        printf '%s: name a variable for each job, then the options and the command\n' \
            "$_whit_self" >&2
        return 255
    fi
    _whit_file=$(mktemp) || return 255
    _whit_exit=0
    "$_whit_runner" -k --files "$@" >"$_whit_file" || _whit_exit=$?
    while IFS= read -r _whit_output; do
        _whit_variables=${_whit_variables#"${_whit_variables%%[! ]*}"}
        _whit_name=${_whit_variables%% *}
        _whit_variables=${_whit_variables#"$_whit_name"}
        if [ -z "$_whit_name" ]; then
            printf '%s: more jobs than variables\n' "$_whit_self" >&2
            _whit_exit=255
        else
            # As in parallel only the last newline goes.
            _whit_value=$(cat "$_whit_output" && printf .)
            _whit_value=${_whit_value%.}
            _whit_value=${_whit_value%"$_whit_newline"}
            eval "$_whit_name=\$_whit_value"
        fi
        rm -f "$_whit_output"
    done <"$_whit_file"
    rm -f "$_whit_file"
    return "$_whit_exit"
}
