//! Sizes that may only shrink: lines of a file, and lines of `cli`.

use super::Complaints;
use super::tree::Tree;

/// Most lines in a source file.  A longer one has grown two jobs.
const FILE_LINES_MAX: usize = 800;

/// Most lines in `crates/cli/src`: verbs, help, the daemon, the names of other programs.  It had
/// 29,000 when it held what they do, too.  13,200 since `poll` with `make`, `index` and `pages`, and
/// `log` with its nine verbs: their options alone are 1,900 lines.
/// 13,500 since those ask a server on another machine, over TLS, and `bench log`.  13,900 since
/// `poll` has the options of recordings and formats, and `play` selects sources that only a
/// recording names.  13,300 since the options of `run` are in its library.  13,500 since `play` has
/// steps and the heaviest, and `serve` and `record` open sockets that other machines reach.
/// 13,900 since `play` makes pages and pictures, and verbs find the data of the service.  14,000 since
/// `log proxy` takes records of others, man pages have examples, and `watch --status` has JSON.  14,050
/// since `play` reads from engines, `send` sums processes, and `serve` flushes a daemon.  14,225 since
/// `log query` reads from engines, and both do so with tokens; `trace` takes strace's options that
/// change what a program does; and `log view` is a verb.  14,450 since inputs of `log proxy` have
/// certificates of their own, `record` reads sources at its third interval and other hosts, and
/// recordings go to another whit.  14,500 since pollers share devices and `top` shows many hosts.
/// 14,560 since `trace` is asked for on other hosts.  14,675 since logs have `--json` and `--csv`, a
/// recorder whose stream nobody reads ends itself, `log central` has a keep of its own for recordings
/// of others, and there are a pager, completions of values and a configuration of collectl.  14,720
/// since help fits the terminal, `trace` follows more of strace and `sysstat` writes daily files.
const CLI_LINES_MAX: usize = 14_720;

pub(super) fn check(tree: &Tree, complaints: &mut Complaints) {
    let mut cli_lines = 0;
    for (file, text) in tree.ending(".rs") {
        let lines = text.lines().count();
        if lines > FILE_LINES_MAX {
            complaints.push(format!("{file}: {lines} lines, at most {FILE_LINES_MAX}: split it"));
        }
        cli_lines += if file.starts_with("crates/cli/src/") { lines } else { 0 };
    }
    check_cli(cli_lines, complaints);
}

fn check_cli(lines: usize, complaints: &mut Complaints) {
    if lines > CLI_LINES_MAX {
        complaints.push(format!(
            "crates/cli/src: {lines} lines, at most {CLI_LINES_MAX}: what is no verb belongs into a library"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_is_found() {
        let mut complaints = Vec::new();
        let text = "\n".repeat(FILE_LINES_MAX + 1);
        check(&Tree::of(&[("crates/x/src/a.rs", &text)]), &mut complaints);
        check_cli(CLI_LINES_MAX + 1, &mut complaints);
        assert_eq!(complaints.len(), 2, "{complaints:?}");
    }
}
