# env_parallel, parset and env_parset for ksh93 and mksh.  In ~/.kshrc:
#
#   eval "$(whit run --env-parallel ksh)"
#
# They are those of shells of POSIX, above, whose jobs know functions and arrays, too.

# Names of functions.
_whit_functions() {
    typeset +f | sed -n 's/^\([A-Za-z_][A-Za-z_0-9]*\).*/\1/p' | grep -v -x -e '_whit_.*' \
        -e env_parallel -e parset -e env_parset
}

# Names of variables, arrays and aliases, one a line.
_whit_names() {
    { set; alias; } | sed -n 's/^alias //; s/^\([A-Za-z_][A-Za-z_0-9]*\)\(\[[0-9]*\]\)\{0,1\}=.*/\1/p' |
        sort -u
}

# Names of aliases and functions.
_whit_aliases() {
    alias | sed -n "s/^alias //; s/^\([^= ']*\)=.*/\1/p"
    _whit_functions
}

# Code that makes what is chosen.
_whit_code() {
    _whit_fixed=" $(typeset -r | sed 's/^typeset .* //; s/=.*//' | tr '\n' ' ') "
    for _whit_name in $(_whit_names); do
        case $_whit_name in
        _ | _whit_* | LINENO | OLDPWD | OPTARG | OPTIND | PARALLEL_* | PPID | PWD | SHLVL) continue ;;
        .* | RANDOM | SECONDS | EPOCHREALTIME | PIPESTATUS | HISTCMD | PGRP | USER_ID | BASHPID) continue ;;
        esac
        case $_whit_fixed in
        *" $_whit_name "*) continue ;;
        esac
        _whit_is_chosen "$_whit_name" || continue
        case $(typeset -p "$_whit_name" 2>/dev/null) in
        'typeset -A'*)
            typeset -p "$_whit_name"
            continue
            ;;
        esac
        eval "_whit_count=\${#$_whit_name[@]}"
        [ "$_whit_count" -gt 0 ] || continue
        if [ "$_whit_count" -eq 1 ]; then
            eval "_whit_assign \"\$_whit_name\" \"\${$_whit_name[@]}\""
            continue
        fi
        eval "_whit_keys=\"\${!$_whit_name[*]}\""
        for _whit_key in $_whit_keys; do
            eval "_whit_assign \"\$_whit_name[\$_whit_key]\" \"\${$_whit_name[\$_whit_key]}\""
        done
    done
    for _whit_name in $(_whit_functions); do
        _whit_is_chosen "$_whit_name" && typeset -f "$_whit_name"
    done
    for _whit_name in $(alias | sed -n "s/^alias //; s/^\([^= ']*\)=.*/\1/p"); do
        _whit_is_chosen "$_whit_name" || continue
        _whit_text=$(alias "$_whit_name" 2>/dev/null) || continue
        printf 'alias %s\n' "${_whit_text#alias }"
    done
    return 0
}
