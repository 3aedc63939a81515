# env_parallel, parset and env_parset for zsh.  In ~/.zshrc:
#
#   . <(whit run --env-parallel zsh)
#
# env_parallel is whit run whose jobs know what this shell knows: its aliases, functions, variables and
# arrays.  parset puts the outputs of jobs into variables.  What follows the next functions is that of
# shells of POSIX, of which zsh is one while it runs it.

# Names of variables, functions and aliases, one a line.
_whit_names() {
    emulate -L zsh
    zmodload zsh/parameter
    print -rl -- ${(k)parameters} ${(k)functions} ${(k)aliases}
}

# Nothing has a name that is not told above.
_whit_aliases() {
    return 0
}

# Code that makes what is chosen.
_whit_code() {
    emulate -L zsh
    zmodload zsh/parameter
    local _whit_name
    for _whit_name in ${(ko)parameters}; do
        # What is the shell's own is so in jobs, too.
        [[ ${parameters[$_whit_name]} == *(special|readonly|local)* ]] && continue
        case $_whit_name in
        _ | _whit_* | LINENO | OLDPWD | OPTARG | OPTIND | PARALLEL_* | PPID | PWD | SHLVL) continue ;;
        esac
        _whit_is_chosen $_whit_name || continue
        typeset -p -- $_whit_name
    done
    for _whit_name in ${(ko)functions}; do
        [[ $_whit_name == (_whit_*|env_parallel|parset|env_parset) ]] && continue
        _whit_is_chosen $_whit_name || continue
        functions -- $_whit_name
    done
    # An alias that a command line defines is not one yet in the same command line: jobs have functions.
    local _whit_text _whit_kind
    for _whit_name in ${(ko)aliases}; do
        _whit_is_chosen $_whit_name && (( ! $+functions[$_whit_name] )) || continue
        _whit_text=${aliases[$_whit_name]} _whit_kind=
        if [[ ${${(z)_whit_text}[1]} == $_whit_name ]]; then
            _whit_kind='command '
            (( $+builtins[$_whit_name] )) && _whit_kind='builtin '
        fi
        print -r -- "function ${(q)_whit_name} {"
        print -r -- "$_whit_kind$_whit_text \"\$@\""
        print -r -- '}'
    done
    return 0
}
