//! `--filter-hosts`: hosts that let nobody in are left out, with a message.
//!
//! All are asked at the same time, before anything else; one that says nothing for as long as ssh
//! itself would try in vain is taken to be down.

use std::process::Stdio;
use std::time::{Duration, Instant};

use run::engine::Observer as _;
use run::remote::command::ALIVE;
use run::remote::{Connection, Login, Place};

use super::answers::{Answer, hear};
use super::words;
use crate::run::notice::Notices;

/// How long a host may take to let us in.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(10);

/// Keeps the hosts that can be reached and have a shell; this machine is always one of them.
pub(super) fn reachable(logins: Vec<Login>, connection: &Connection) -> anyhow::Result<Vec<Login>> {
    let (mut asked, mut answers) = (Vec::new(), Vec::new());
    for (at, login) in logins.iter().enumerate() {
        let Place::There(ssh) = &login.place else { continue };
        let mut command = words(&connection.ask_alive(ssh));
        // What ssh says of a host is told by the message that leaves it out.
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        answers.push(Answer::of(child.stdout.take(), false));
        answers.push(Answer::of(child.stderr.take(), false));
        asked.push((at, child));
    }
    hear(&mut answers, Instant::now() + ANSWER_TIME_MAX);
    let mut down = vec![false; logins.len()];
    for ((at, mut child), answer) in asked.into_iter().zip(answers.chunks(2)) {
        let [out, error] = answer else { continue };
        let is_late = !(out.is_over() && error.is_over());
        if is_late {
            let _ = child.kill();
        }
        // While jobs run it may be the engine that hears of its end: what it wrote tells.
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
        Notices.tell(format!("{} is left out: {why}", logins[at].name).as_bytes());
    }
    Ok(logins.into_iter().zip(down).filter(|(_, down)| !down).map(|(login, _)| login).collect())
}
