//! The scripts of the shells: those that clap makes, which know verbs and options, with what asks whit for
//! values first.
//!
//! Each calls `whit complete -- LINE`, LINE being the command line up to the cursor, and takes a candidate
//! from each line of the answer; without an answer it goes on as clap's script does.

use clap::Command;
use clap_complete::Shell;

/// bash: brackets and stars of names are quoted, unless the word has begun with a quote.  A space at the
/// end of a candidate says that the word is whole.
const BASH: &str = r#"
_whit_values() {
    local found candidate
    mapfile -t found < <(command "$1" complete --breaks "$COMP_WORDBREAKS" -- "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
    if ((${#found[@]} == 0)); then
        _whit "$@"
        return
    fi
    compopt -o nospace
    COMPREPLY=()
    for candidate in "${found[@]}"; do
        local end=""
        [[ $candidate == *" " ]] && end=" "
        candidate=${candidate% }
        case ${COMP_WORDS[COMP_CWORD]} in
            [\"\']*) end="" ;;
            *) printf -v candidate %q "$candidate" ;;
        esac
        COMPREPLY+=("$candidate$end")
    done
}

"#;

/// zsh: it quotes by itself.
const ZSH: &str = r#"
_whit() {
    local -a found whole
    local words_before="${(j: :)words[1,CURRENT-1]}"
    found=("${(@f)$(command ${(Q)words[1]} complete -- "$words_before $PREFIX" 2>/dev/null)}")
    whole=("${(@)${(M)found:#* }% }")
    found=("${(@)found:#* }")
    whole=(${whole:#})
    found=(${found:#})
    if (( $#found + $#whole == 0 )); then
        _whit_words "$@"
        return
    fi
    (( $#whole )) && compadd -- "${whole[@]}"
    (( $#found )) && compadd -S '' -- "${found[@]}"
    return 0
}

"#;

/// fish: it quotes by itself, too.
const FISH: &str = r#"
function __whit_values
    set -l words (commandline -opc)
    command $words[1] complete -- (commandline -cp | string collect) 2>/dev/null | string trim --right
end
"#;

/// The command line with what a shell can complete: values that are checked later, since one of them
/// may stand in a list, and RRDtool's commands, which read their own options.
#[must_use]
pub fn with_known_values(command: Command) -> Command {
    let sources: Vec<&str> = source::ALL.iter().map(|entry| entry.name).collect();
    let exports: Vec<&str> = view::export::ALL.iter().map(|entry| entry.name).collect();
    let values = |verb: Command| {
        verb.mut_arg("subsystems", |option| option.value_parser(sources.clone()))
            .mut_arg("export", |option| option.value_parser(exports.clone()))
            .mut_arg("by", |option| option.value_parser(["command", "user", "cgroup"]))
    };
    let commands = rrd::command::COMMANDS.iter().chain(&["graph", "graphv", "xport"]);
    command
        .mut_subcommand("record", values)
        .mut_subcommand("play", values)
        .mut_subcommand("rrd", |rrd| {
            commands.fold(rrd, |rrd, name| rrd.subcommand(Command::new(*name)))
        })
}

/// The script of a shell, made from the one that clap makes.
#[must_use]
pub fn with_values(shell: Shell, script: &str) -> String {
    match shell {
        Shell::Bash => {
            let end = script.rfind("\nif [[ \"${BASH_VERSINFO").unwrap_or(script.len());
            let (functions, registered) = script.split_at(end);
            let registered = registered.replace("complete -F _whit ", "complete -F _whit_values ");
            format!("{functions}{BASH}{}", registered.trim_start())
        }
        Shell::Zsh => {
            let script = script.replacen("\n_whit() {", "\n_whit_words() {", 1);
            let end = script.rfind("\nif [ \"$funcstack").unwrap_or(script.len());
            let (functions, registered) = script.split_at(end);
            format!("{functions}{ZSH}{}", registered.trim_start())
        }
        Shell::Fish => {
            let takes_value =
                |line: &str| line.starts_with("complete -c whit ") && line.ends_with(" -r");
            let line = |line: &str| match takes_value(line) {
                true => format!("{line} -a '(__whit_values)'\n"),
                false => format!("{line}\n"),
            };
            FISH.trim_start().to_owned() + &script.lines().map(line).collect::<String>()
        }
        _ => script.to_owned(),
    }
}
