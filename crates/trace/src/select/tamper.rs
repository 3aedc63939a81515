//! What is done to calls on purpose: the expressions `inject=` and `fault=` of `-e`, as in `strace`.
//!
//! ```text
//! inject=openat:error=ENOENT:when=3       the third openat of each task fails
//! inject=%file:delay_enter=10ms           calls on files begin 10 ms later
//! inject=close:retval=0:signal=USR1       close is not made, seems to succeed, and a signal comes
//! inject=chdir:retval=0:syscall=getuid    getuid is made instead of chdir, which seems to succeed
//! fault=read                              read fails with ENOSYS
//! ```
//!
//! The ptrace engine does it, as only a stopped task can be changed.

use std::time::Duration;

use super::{CallSet, SelectError};
use crate::decode::signals;
use crate::engine::Tampering;
use crate::flags::errors;
use crate::{Abi, CallId};

/// The largest number of a call that `when=` takes.
const WHEN_MAX: u32 = 65_535;

/// The largest error number of the kernel.
const ERROR_MAX: i32 = 4095;

impl Tampering {
    /// Parses an expression without its word; `is_fault` allows an error alone, which is ENOSYS
    /// unless it is named.
    ///
    /// # Errors
    ///
    /// If it is invalid, or does nothing.
    pub fn parse(text: &str, is_fault: bool) -> Result<Self, SelectError> {
        let refuse = |why| Err(SelectError::Tampering { text: text.to_owned(), why });
        let mut parts = text.split(':');
        let mut tampering = Tampering {
            calls: CallSet::parse(parts.next().unwrap_or_default())?.wanted(),
            result: None,
            instead: None,
            signal: 0,
            delay_enter: Duration::ZERO,
            delay_exit: Duration::ZERO,
            first: 1,
            last: u32::MAX,
            step: 1,
        };
        let mut given = Vec::new();
        for part in parts {
            let Some((word, value)) = part.split_once('=') else {
                return refuse("each part after the calls is WORD=VALUE");
            };
            if given.contains(&word) {
                return refuse("a word is given twice");
            }
            given.push(word);
            if is_fault && !matches!(word, "error" | "when") {
                return refuse("fault takes error= and when=; inject takes more");
            }
            match tampering.set(word, value) {
                Ok(true) => {}
                Ok(false) => return refuse(wanted_value(word)),
                Err(why) => return refuse(why),
            }
        }
        if given.contains(&"error") && given.contains(&"retval") {
            return refuse("error= and retval= exclude each other");
        }
        if is_fault && tampering.result.is_none() {
            tampering.result = Some(-i64::from(libc::ENOSYS));
        }
        let is_idle = given.iter().all(|word| matches!(*word, "when" | "syscall"));
        if is_idle && !is_fault {
            return refuse("say what is done: error=, retval=, signal=, delay_enter=, delay_exit=");
        }
        Ok(tampering)
    }

    /// Sets one part; returns whether the value is one.
    fn set(&mut self, word: &str, value: &str) -> Result<bool, &'static str> {
        match word {
            "error" => self.result = error_number(value).map(|number| -i64::from(number)),
            "retval" => self.result = unsigned(value).map(u64::cast_signed),
            "signal" => self.signal = signals::by_name(value).unwrap_or(0),
            "delay_enter" | "delay_exit" => {
                let Some(time) = short_time(value) else { return Ok(false) };
                match word {
                    "delay_enter" => self.delay_enter = time,
                    _ => self.delay_exit = time,
                }
                return Ok(true);
            }
            "when" => return Ok(self.set_when(value).is_some()),
            "syscall" => self.instead = pure_call(value),
            "poke_enter" | "poke_exit" => return Err("other memory is not injected"),
            _ => {
                return Err(
                    "the words are error, retval, syscall, signal, delay_enter, delay_exit, when",
                );
            }
        }
        Ok(match word {
            "signal" => self.signal != 0,
            "syscall" => self.instead.is_some(),
            _ => self.result.is_some(),
        })
    }

    /// `FIRST`, `FIRST..LAST`, each with `+` or `+STEP`.
    fn set_when(&mut self, value: &str) -> Option<()> {
        let number = |text: &str| {
            let number = text.parse::<u32>().ok().filter(|_| text.starts_with(char::is_numeric));
            number.filter(|number| (1..=WHEN_MAX).contains(number))
        };
        let (range, step) = match value.split_once('+') {
            Some((range, step)) => (range, Some(step)),
            None => (value, None),
        };
        let (first, last) = match range.split_once("..") {
            Some((first, last)) => (first, Some(number(last)?)),
            None => (range, None),
        };
        self.first = number(first)?;
        self.last = match (last, step) {
            (Some(last), _) => last,
            (None, Some(_)) => u32::MAX,
            (None, None) => self.first,
        };
        self.step = match step {
            Some(step) if !step.is_empty() => number(step)?,
            _ => 1,
        };
        (self.last >= self.first).then_some(())
    }
}

fn wanted_value(word: &str) -> &'static str {
    match word {
        "error" => "give an error by its name (ENOENT) or number, from 1 to 4095",
        "retval" => "give a number",
        "syscall" => "give a call without arguments and effects, of the class %pure: getpid, …",
        "signal" => "give a signal by its name (USR1) or number",
        "when" => "give FIRST or FIRST..LAST, perhaps with +STEP, from 1 to 65535",
        _ => "give microseconds, or a number with s, ms, us or ns",
    }
}

/// The name of a call of the class `%pure`.
fn pure_call(name: &str) -> Option<&'static str> {
    let pure = CallSet::parse("%pure").ok()?;
    let call = CallId::by_name(Abi::X86_64, name).filter(|call| pure.has(*call))?;
    call.known_name()
}

fn error_number(text: &str) -> Option<i32> {
    if let Ok(number) = text.parse::<i32>() {
        return (1..=ERROR_MAX).contains(&number).then_some(number);
    }
    (1..=ERROR_MAX)
        .find(|number| errors::name(*number).is_some_and(|name| name.eq_ignore_ascii_case(text)))
}

/// A number that may be below zero, or hexadecimal after `0x`.
fn unsigned(text: &str) -> Option<u64> {
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    text.parse::<u64>().ok().or_else(|| Some(text.parse::<i64>().ok()?.cast_unsigned()))
}

/// Nanoseconds of a time as strace takes it: microseconds, or a number with a unit.
///
/// # Errors
///
/// If it is neither.
pub fn short_time_ns(text: &str) -> Result<u64, &'static str> {
    let wrong = "give microseconds, or a number with s, ms, us or ns";
    let time = short_time(text).ok_or(wrong)?;
    u64::try_from(time.as_nanos()).map_err(|_| wrong)
}

fn short_time(text: &str) -> Option<Duration> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let scale = match &text[digits.len()..] {
        "s" => 1.0,
        "ms" => 1e-3,
        "" | "us" => 1e-6,
        "ns" => 1e-9,
        _ => return None,
    };
    let number = digits.parse::<f64>().ok().filter(|_| digits.starts_with(char::is_numeric))?;
    Duration::try_from_secs_f64(number * scale).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn expressions_are_straces() {
        let parse = |text| Tampering::parse(text, false);
        let third = parse("openat:error=enoent:when=3").unwrap();
        assert_eq!((third.result, third.is_due(3), third.is_due(4)), (Some(-2), true, false));
        let later = parse("%file:retval=0x10:when=2..9+3").unwrap();
        let due: Vec<u32> = (1..12).filter(|number| later.is_due(*number)).collect();
        assert_eq!((later.result, due), (Some(16), vec![2, 5, 8]));
        assert!(parse("read:signal=USR1:when=5+").unwrap().is_due(60_000));
        assert_eq!(parse("read:delay_exit=1.5s").unwrap().delay_exit, Duration::from_millis(1500));
        assert_eq!(parse("read:delay_enter=7").unwrap().delay_enter, Duration::from_micros(7));
        assert_eq!(Tampering::parse("read", true).unwrap().result, Some(-38));
        for wrong in [
            "openat",
            "openat:",
            "openat:when=2",
            "openat:error=EFOO",
            "openat:error=5000",
            "openat:error=EIO:when=0",
            "openat:error=EIO:when=3..2",
            "openat:error=EIO:when=2+0",
            "openat:error=EIO:when=+2",
            "openat:error=EIO:when=65536",
            "openat:error=EIO:error=EPERM",
            "openat:error=EIO:retval=3",
            "openat:signal=99",
            "openat:delay_enter=1h",
            "openat:syscall=getpid",
            "openat:error=EIO:syscall=openat",
            "openat:error=EIO:syscall=nosuch",
            "foo:error=EIO",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        for wrong in ["openat:retval=0", "openat:error=EIO:retval=0", "openat:signal=USR1"] {
            assert!(Tampering::parse(wrong, true).is_err(), "{wrong}");
        }
    }
}
