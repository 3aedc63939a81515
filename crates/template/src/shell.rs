//! Decides whether a command line needs a shell.
//!
//! A shell costs 50 system calls and an execve for each job (dash), or 83 (bash).  It is needed
//! only if the template has something for it to do; values never have, because they are quoted.  So
//! this is decided once, when the template is known.
//!
//! A template runs without a shell if its text has no byte that is special to any of sh, dash,
//! bash, ksh and zsh, except in quotes around plain text; if its first word is fixed, and is
//! neither a keyword, nor a builtin that may differ from the program of its name, nor a function.
//! `true` and `false` are run from the disk: they differ from the builtins only with the single
//! argument `--help` or `--version`.

pub use crate::shell_reason::ShellReason;

use crate::quote::Shell;
use crate::{Template, direct, redirect};

/// What in the user's environment changes the meaning of plain words.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// The dialect of the shell that would run the command.
    pub shell: Shell,
    /// The shell reads a file before each command, which may define anything: `$BASH_ENV`,
    /// `.zshenv`, `.cshrc`, fish's configuration.
    pub reads_startup_file: bool,
    /// Functions exported to the shell (`BASH_FUNC_name%%`).
    pub functions: Vec<Vec<u8>>,
}

/// Why `template` needs a shell; `None` if [`Template::render_words`] makes the same arguments.
pub fn needed(template: &Template, surroundings: &Surroundings) -> Option<ShellReason> {
    if surroundings.shell != Shell::Bourne {
        return Some(ShellReason::OtherShell);
    }
    if surroundings.reads_startup_file {
        return Some(ShellReason::StartupFile);
    }
    let name = match direct::first_word(template) {
        Ok(name) => name,
        Err(reason) => return Some(reason),
    };
    let is_the_shells = WORDS_OF_SHELLS.split(' ').any(|word| word.as_bytes() == name)
        || surroundings.functions.contains(&name);
    is_the_shells.then(|| ShellReason::Builtin(String::from_utf8_lossy(&name).into_owned()))
}

/// Whether a shell that runs the command writes nothing to its own standard output, because the
/// command redirects it to a file.
pub fn redirects_output(template: &Template, surroundings: &Surroundings) -> bool {
    surroundings.shell == Shell::Bourne
        && !surroundings.reads_startup_file
        && surroundings.functions.is_empty()
        && redirect::redirects_output(template)
}

/// Keywords and builtins of sh, dash, bash, ksh and zsh that are not the program of that name.
const WORDS_OF_SHELLS: &str = ". : [ [[ ]] { } ! alias autoload bg bind bindkey break builtin \
    bye caller case cd chdir command compgen complete compopt continue coproc declare dirs \
    disable disown do done echo elif else emulate enable end esac eval exec exit export fc fg fi \
    float for foreach function functions getln getopts hash help history if in integer jobs kill \
    let limit local log logout mapfile nameref nocorrect noglob popd print printf private pushd \
    pushln pwd r read readarray readonly rehash repeat return sched select set setopt shift shopt \
    source stop suspend test then time times trap ttyctl type typeset ulimit umask unalias \
    unfunction unhash unlimit unset unsetopt until vared wait whence where which while zcompile \
    zformat zle zmodload zparseopts zstyle";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Syntax;

    fn reason(command: &str) -> Option<ShellReason> {
        let mut template =
            Template::parse(&[command.as_bytes().to_vec()], &Syntax::default()).unwrap();
        if !template.has_values() {
            template.append_value();
        }
        needed(&template, &Surroundings::default())
    }

    #[test]
    fn plain_commands_need_none() {
        for command in [
            "true",
            "gzip -9 {}",
            "cp {} out/{/.}.x",
            "awk '{print $1}' {}",
            "  sleep\t{}  ",
            r"grep -e a\ b \;\' {}",
            "sed \"s/a/b c/\" x=y a#b {#}",
            "'touch' \"\" {1}{2}",
            "/bin/echo {}",
        ] {
            assert_eq!(reason(command), None, "{command}");
        }
    }

    #[test]
    fn others_do_and_say_why() {
        let builtin = |name: &str| ShellReason::Builtin(name.to_owned());
        for (command, why) in [
            ("", ShellReason::StartsWithValue),
            ("{} x", ShellReason::StartsWithValue),
            ("x{} y", ShellReason::StartsWithValue),
            ("A=1 env", ShellReason::Assignment),
            ("A={} env", ShellReason::Assignment),
            ("echo {}", builtin("echo")),
            ("'cd' {}", builtin("cd")),
            ("if true", builtin("if")),
            ("cat \"{}\"", ShellReason::ValueInQuotes),
            ("cat 'a b'{}", ShellReason::ValueInQuotes),
            ("cat {} | wc", ShellReason::Special('|')),
            ("cat ~/{}", ShellReason::Special('~')),
            ("cat #{}", ShellReason::Special('#')),
            ("cat \"$x\"", ShellReason::Special('$')),
            ("cat 'x", ShellReason::ValueInQuotes),
            ("cat x\ny", ShellReason::Special('\n')),
            ("cat {a,b}", ShellReason::Special('{')),
            ("cat \\{}", ShellReason::Special('\\')),
        ] {
            assert_eq!(reason(command), Some(why), "{command}");
        }
    }

    #[test]
    fn surroundings_can_ask_for_one() {
        let template = Template::parse(&[b"ls {}".to_vec()], &Syntax::default()).unwrap();
        let mut surroundings = Surroundings::default();
        assert_eq!(needed(&template, &surroundings), None);
        surroundings.functions.push(b"ls".to_vec());
        assert_eq!(needed(&template, &surroundings), Some(ShellReason::Builtin("ls".to_owned())));
        surroundings.reads_startup_file = true;
        assert_eq!(needed(&template, &surroundings), Some(ShellReason::StartupFile));
        surroundings.shell = Shell::Fish;
        assert_eq!(needed(&template, &surroundings), Some(ShellReason::OtherShell));
    }
}
