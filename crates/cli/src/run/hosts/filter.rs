//! `--filter-hosts`: hosts that let nobody in are left out, with a message.
//!
//! All are asked at the same time, before anything else; one that says nothing for as long as ssh
//! itself would try in vain is taken to be down.

use std::io;
use std::process::Stdio;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use run::engine::Observer as _;
use run::remote::command::ALIVE;
use run::remote::{Connection, Login, Place};

use super::words;
use crate::run::notice::Notices;

/// How long a host may take to let us in.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(10);

/// Keeps the hosts that can be reached and have a shell; this machine is always one of them.
pub(super) fn reachable(logins: Vec<Login>, connection: &Connection) -> anyhow::Result<Vec<Login>> {
    let (sender, answers) = mpsc::channel();
    let mut asked = Vec::new();
    for (at, login) in logins.iter().enumerate() {
        let Place::There(ssh) = &login.place else { continue };
        let mut command = words(&connection.ask_alive(ssh));
        // What ssh says of a host is told by the message that leaves it out.
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let sender = sender.clone();
        // The thread ends with ssh: nobody else waits for what it writes.
        thread::Builder::new().name("hosts".into()).spawn(move || {
            let out = stdout.and_then(|stdout| io::read_to_string(stdout).ok()).unwrap_or_default();
            let error = stderr.and_then(|stderr| io::read_to_string(stderr).ok());
            // Nobody may be left to hear of it.
            let _ = sender.send((at, (out, error.unwrap_or_default())));
        })?;
        asked.push((at, child, None));
    }
    drop(sender);
    let until = Instant::now() + ANSWER_TIME_MAX;
    let mut left = asked.len();
    while left > 0 {
        let wait = until.saturating_duration_since(Instant::now());
        let Ok((at, text)) = answers.recv_timeout(wait) else { break };
        if let Some(asked) = asked.iter_mut().find(|asked| asked.0 == at) {
            asked.2 = Some(text);
        }
        left -= 1;
    }
    let mut down = vec![false; logins.len()];
    for (at, mut child, said) in asked {
        let name = &logins[at].name;
        let why = match said {
            None => {
                let _ = child.kill();
                let _ = child.wait();
                format!("no answer within {} s", ANSWER_TIME_MAX.as_secs())
            }
            Some((out, error)) => {
                // While jobs run it may be the engine that hears of its end: what it wrote tells.
                let _ = child.wait();
                if out.as_bytes().windows(ALIVE.len()).any(|part| part == ALIVE) {
                    continue;
                }
                error.trim().lines().last().unwrap_or("no shell there").to_owned()
            }
        };
        down[at] = true;
        Notices.tell(format!("{name} is left out: {why}").as_bytes());
    }
    Ok(logins.into_iter().zip(down).filter(|(_, down)| !down).map(|(login, _)| login).collect())
}
