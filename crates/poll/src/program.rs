//! Programs of a round: the commands in backticks, and those of thresholds; several at once, each
//! with a time limit.
//!
//! Each is started by the crate `spawn` in a process group of its own, and its output is read from
//! a pipe.  What has not ended in time is killed with its whole group.

use std::collections::HashMap;
use std::ffi::CString;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::AsRawFd as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::clock;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, getpid, kill_process, kill_process_group};
use spawn::{
    Arguments, Child, Environment, Launch, SignalFd, SpawnError, Spawner, push_word, reap,
};
use text::byte_text;

/// Programs at once: enough for commands that wait for a network, few enough for a small machine.
const AT_ONCE: usize = 16;
/// Bytes of output that are kept; four short lines are wanted.
const OUTPUT_MAX: usize = 64 << 10;
/// How often exits are looked for while a program has closed its output.
const CHECK: Duration = Duration::from_millis(20);

/// Signals that a program of ours may handle (HUP, INT, USR1, USR2, ALRM, TERM): blocked in the thread
/// that starts programs, as `spawn` demands; programs get the mask from before.
const HANDLED: [i32; 6] = [1, 2, 10, 12, 14, 15];

/// A program to run.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProgramCall {
    /// The file and its arguments.
    pub(crate) words: Vec<String>,
    /// Variables that are set for it.
    pub(crate) set_env: Vec<(String, String)>,
}

impl ProgramCall {
    /// A command for the shell.
    pub(crate) fn shell(command: &str, set_env: Vec<(String, String)>) -> Self {
        let words = ["/bin/sh", "-c", command].map(str::to_owned).to_vec();
        ProgramCall { words, set_env }
    }
}

/// Why a program gave nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProgramError {
    /// The program was not started.
    #[error(transparent)]
    Start(#[from] SpawnError),
    /// A system call failed.
    #[error("cannot run a program: {0}")]
    System(#[from] std::io::Error),
    /// An argument holds a NUL.
    #[error("a NUL in an argument")]
    Nul,
    /// The program took too long.
    #[error("not done after {} s; it was killed", .0.as_secs())]
    Timeout(Duration),
}

struct RunningProgram {
    place: usize,
    child: Option<Child>,
    output: Option<File>,
    text: Vec<u8>,
    ends: Instant,
    is_killed: bool,
    has_exited: bool,
}

/// What a program printed, or why it gave nothing, and when it ended.
#[derive(Debug)]
pub(crate) struct ProgramOutput {
    pub(crate) result: Result<Vec<u8>, ProgramError>,
    ended: Instant,
}

impl ProgramOutput {
    fn ended(result: Result<Vec<u8>, ProgramError>) -> Self {
        ProgramOutput { result, ended: clock::now() }
    }

    /// How long ago the program ended, in ns.
    pub(crate) fn ended_ns_ago(&self) -> i64 {
        i64::try_from(clock::now().saturating_duration_since(self.ended).as_nanos())
            .unwrap_or(i64::MAX)
    }
}

/// Runs all, a few at once, and returns their outputs in the same order.
pub(crate) fn run_all(
    calls: &[ProgramCall],
    environment: &[Vec<u8>],
    time_limit: Duration,
) -> Vec<ProgramOutput> {
    let mut results: Vec<_> = calls.iter().map(|_| ProgramOutput::ended(Ok(Vec::new()))).collect();
    if calls.is_empty() {
        return results;
    }
    let signals = match SignalFd::listen(&HANDLED) {
        Ok(signals) => signals,
        Err(error) => {
            let code = error.raw_os_error().unwrap_or(0);
            let fail = || ProgramError::System(std::io::Error::from_raw_os_error(code));
            return calls.iter().map(|_| ProgramOutput::ended(Err(fail()))).collect();
        }
    };
    let spawner = Spawner::new(signals.mask());
    let mut taken: Vec<Signal> = Vec::new();
    let mut running: Vec<RunningProgram> = Vec::new();
    let mut next = 0;
    while next < calls.len() || !running.is_empty() {
        while next < calls.len() && running.len() < AT_ONCE {
            match start(&calls[next], environment, &spawner, next, time_limit) {
                Ok(started) => running.push(started),
                Err(error) => results[next] = ProgramOutput::ended(Err(error)),
            }
            next += 1;
        }
        wait(&mut running);
        signals.read_pending(|signal| taken.extend(Signal::from_named_raw(signal)));
        let mut exited: HashMap<i32, ()> = HashMap::new();
        while let Some(reaped) = reap(None) {
            exited.insert(reaped.pid, ());
        }
        for one in &mut running {
            let pid = one.child.as_ref().map_or(0, |child| child.pid);
            if exited.contains_key(&pid) {
                one.has_exited = true;
                if let Some(error) = one.child.take().and_then(|child| child.reclaim().error) {
                    results[one.place] = ProgramOutput::ended(Err(error.into()));
                    one.output = None;
                }
            }
            expire(one, &mut results, time_limit);
        }
        running.retain_mut(|one| {
            let is_over = one.has_exited && one.output.is_none();
            if is_over && results[one.place].result.is_ok() {
                results[one.place] = ProgramOutput::ended(Ok(std::mem::take(&mut one.text)));
            }
            !is_over
        });
    }
    // What was not about programs was meant for the process, perhaps to stop it.
    drop(signals);
    for signal in taken.into_iter().filter(|signal| *signal != Signal::CHILD) {
        let _ = kill_process(getpid(), signal);
    }
    results
}

/// Kills a program whose time is over.
fn expire(one: &mut RunningProgram, results: &mut [ProgramOutput], limit: Duration) {
    if one.is_killed || clock::now() < one.ends {
        return;
    }
    one.is_killed = true;
    one.output = None;
    results[one.place] = ProgramOutput::ended(Err(ProgramError::Timeout(limit)));
    if let Some(pid) = one.child.as_ref().and_then(|child| Pid::from_raw(child.pid)) {
        // It may have ended just now.
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

fn start(
    call: &ProgramCall,
    environment: &[Vec<u8>],
    spawner: &Spawner,
    place: usize,
    limit: Duration,
) -> Result<RunningProgram, ProgramError> {
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .map_err(|error| ProgramError::System(error.into()))?;
    let null = File::open("/dev/null")?;
    let program = call.words.first().cloned().unwrap_or_default();
    let program = CString::new(&*byte_text::encode(&program)).map_err(|_| ProgramError::Nul)?;
    let mut arguments = Arguments::default();
    arguments.set(|list| {
        for word in &call.words {
            if word.contains('\0') {
                return Err(ProgramError::Nul);
            }
            push_word(list, &byte_text::encode(word));
        }
        Ok(())
    })?;
    let names: Vec<String> = call.set_env.iter().map(|(name, _)| name.clone()).collect();
    let mut variables = Environment::new(environment.iter().cloned(), &names);
    let values: Vec<_> = call.set_env.iter().map(|(_, value)| byte_text::encode(value)).collect();
    let values: Vec<&[u8]> = values.iter().map(|value| &**value).collect();
    variables.set(&values);
    let mut launch = Box::new(Launch::new(Arc::new(program), variables));
    launch.arguments = arguments;
    launch.streams = [Some(null.as_raw_fd()), Some(write.as_raw_fd()), None];
    let now = clock::now();
    let child = spawner.spawn(launch, now).map_err(|(_, error)| error)?;
    rustix::io::ioctl_fionbio(&read, true).map_err(|error| ProgramError::System(error.into()))?;
    Ok(RunningProgram {
        place,
        child: Some(child),
        output: Some(File::from(read)),
        text: Vec::new(),
        ends: now + limit,
        is_killed: false,
        has_exited: false,
    })
}

/// Waits for output, an exit or the end of a time limit, and reads what there is.
fn wait(running: &mut [RunningProgram]) {
    if running.is_empty() {
        return;
    }
    let now = clock::now();
    let first = running.iter().map(|one| one.ends).min().unwrap_or(now);
    let has_silent = running.iter().any(|one| one.output.is_none() || one.child.is_none());
    let most = first.saturating_duration_since(now);
    let most = if has_silent { most.min(CHECK) } else { most.min(Duration::from_secs(1)) };
    let timeout = rustix::event::Timespec {
        tv_sec: i64::try_from(most.as_secs()).unwrap_or(1),
        tv_nsec: most.subsec_nanos().into(),
    };
    let outputs: Vec<&File> = running.iter().filter_map(|one| one.output.as_ref()).collect();
    let mut watched: Vec<PollFd<'_>> =
        outputs.iter().map(|file| PollFd::new(*file, PollFlags::IN)).collect();
    // An interrupted wait is as a short one.
    let _ = poll(&mut watched, Some(&timeout));
    drop(watched);
    for one in running {
        let Some(output) = &mut one.output else { continue };
        let mut buffer = [0; 4096];
        loop {
            match output.read(&mut buffer) {
                Ok(0) => {
                    one.output = None;
                    break;
                }
                Ok(count) => {
                    let room = OUTPUT_MAX.saturating_sub(one.text.len());
                    one.text.extend_from_slice(&buffer[..count.min(room)]);
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => break,
                Err(_) => {
                    one.output = None;
                    break;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_run_at_once_and_are_killed_in_time() {
        let shell = |command: &str| ProgramCall::shell(command, vec![("A".into(), "b c".into())]);
        let calls = [
            shell("echo \"$A\"; echo 2"),
            shell("sleep 30"),
            shell("sleep 0.5; echo late"),
            ProgramCall { words: vec!["/nonexistent".into()], set_env: vec![] },
            shell("exec >&-; sleep 0.2"),
            shell("head -c 1000000 /dev/zero"),
        ];
        let begin = Instant::now();
        let results = run_all(&calls, &[b"PATH=/usr/bin:/bin".to_vec()], Duration::from_secs(3));
        assert!(begin.elapsed() < Duration::from_secs(25));
        let result = |place: usize| results[place].result.as_ref();
        let text = |place: usize| result(place).map(|text| String::from_utf8_lossy(text));
        assert_eq!(text(0).expect("done"), "b c\n2\n");
        assert!(matches!(result(1), Err(ProgramError::Timeout(_))), "{:?}", results[1]);
        assert_eq!(text(2).expect("done"), "late\n");
        assert!(matches!(result(3), Err(ProgramError::Start(_))), "{:?}", results[3]);
        assert_eq!(text(4).expect("done"), "");
        assert_eq!(text(5).expect("done").len(), OUTPUT_MAX);
    }
}
