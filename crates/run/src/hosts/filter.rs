//! `--filter-hosts`: leaves out hosts where the login fails, with a message.
//!
//! All hosts are tried at the same time, before anything else.  A host that does not answer within
//! ssh's own time limit counts as down.

use std::process::Stdio;
use std::time::{Duration, Instant};

use super::answers::{Answer, read_all};
use super::{HostsError, Warnings, words};
use crate::remote::command::ALIVE;
use crate::remote::{Connection, HostAddress, Login};

/// Longest time for a login.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(10);

/// Keeps the hosts that can be reached and have a shell; this machine is always one of them.
pub(super) fn reachable(
    logins: Vec<Login>,
    connection: &Connection,
    warnings: &Warnings,
) -> Result<Vec<Login>, HostsError> {
    let (mut asked, mut answers) = (Vec::new(), Vec::new());
    for (at, login) in logins.iter().enumerate() {
        let HostAddress::Remote(ssh) = &login.address else { continue };
        let mut command = words(&connection.ask_alive(ssh));
        // The message that leaves a host out contains what ssh wrote.
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child =
            command.spawn().map_err(HostsError::system("--filter-hosts: cannot start ssh"))?;
        answers.push(Answer::of(child.stdout.take(), false));
        answers.push(Answer::of(child.stderr.take(), false));
        asked.push((at, child));
    }
    read_all(&mut answers, Instant::now() + ANSWER_TIME_MAX);
    let mut down = vec![false; logins.len()];
    for ((at, mut child), answer) in asked.into_iter().zip(answers.chunks(2)) {
        let [out, error] = answer else { continue };
        let is_late = !(out.is_over() && error.is_over());
        if is_late {
            let _ = child.kill();
        }
        // While jobs run, the engine may have waited for it already: its output decides.
        let _ = child.wait();
        if out.text.windows(ALIVE.len()).any(|part| part == ALIVE) {
            continue;
        }
        let error = String::from_utf8_lossy(&error.text);
        let why = match error.trim().lines().last() {
            _ if is_late => format!("no answer within {} s", ANSWER_TIME_MAX.as_secs()),
            Some(line) => line.to_owned(),
            None => "no shell there".to_owned(),
        };
        down[at] = true;
        warnings.warn(&format!("{} is left out: {why}", logins[at].name));
    }
    Ok(logins.into_iter().zip(down).filter(|(_, down)| !down).map(|(login, _)| login).collect())
}
