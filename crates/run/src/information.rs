//! What a command line asks for instead of jobs: the release, the CPUs, the limits.

use crate::cpus::CpuUnit;
use crate::parallel_options::RELEASE;
use crate::settings::InformationSettings;

/// Bytes that the kernel takes for one word, without its NUL: a shell's command is one.
const WORD_BYTES_MAX: u32 = 131_071;

/// Exit code for a release that is too old.
const TOO_OLD: u8 = 255;

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
pub struct Information {
    /// The lines to print.
    pub text: String,
    /// The exit code; `None` if jobs run then.
    pub exit_code: Option<u8>,
}

/// What these settings ask for, if they ask for anything.
pub fn information(settings: &InformationSettings) -> Option<Information> {
    let last = |text: String| Some(Information { text, exit_code: Some(0) });
    let own = env!("CARGO_PKG_VERSION");
    let number = |count: u32| last(format!("{count}\n"));
    match *settings {
        InformationSettings { version: true, .. } => {
            // Scripts look for the first three words.
            last(format!("GNU parallel {RELEASE} is the one whose options whit {own} takes\n"))
        }
        InformationSettings { minversion: Some(least), .. } => Some(Information {
            text: format!("{RELEASE}\n"),
            exit_code: Some(if least > u64::from(RELEASE) { TOO_OLD } else { 0 }),
        }),
        InformationSettings { env_parallel: Some(shell), .. } => last(shell.code().to_owned()),
        InformationSettings { number_of_cpus: true, .. }
        | InformationSettings { number_of_cores: true, .. } => number(CpuUnit::Core.count()),
        InformationSettings { number_of_sockets: true, .. } => number(CpuUnit::Socket.count()),
        InformationSettings { number_of_threads: true, .. } => number(CpuUnit::Thread.count()),
        InformationSettings { max_line_length_allowed: true, .. } => number(WORD_BYTES_MAX),
        InformationSettings { show_limits: true, .. } => {
            let text = format!("Maximal size of command: {WORD_BYTES_MAX}\n");
            Some(Information { text, exit_code: None })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_that_is_too_old_is_an_error() {
        let code = |least| {
            let asked = InformationSettings { minversion: Some(least), ..Default::default() };
            information(&asked).and_then(|told| told.exit_code)
        };
        assert_eq!((code(20_200_101), code(u64::from(RELEASE) + 1)), (Some(0), Some(255)));
        assert_eq!(information(&InformationSettings::default()), None);
    }
}
