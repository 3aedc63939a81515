//! From answers to readings: conversion, the check for a number, the target's expression, rounding.

use crate::config::{Config, LogFormat};
use crate::conversion::Conversions;
use crate::decimal::Decimal;
use crate::notices::Notices;
use crate::reading::{QueryAnswer, Reading, device_text};
use crate::target::{NoValue, PollTarget, Query};
use text::escape::file_line;

/// Longest value of a target, in characters.
const VALUE_MAX: usize = 190;

/// The in and the out value of a query as numbers; what is no number is unknown and said.
pub(super) fn numbers(
    query: &Query,
    answer: &mut QueryAnswer,
    conversions: &Conversions,
    name: &dyn Fn() -> String,
    notices: &mut Notices,
) -> [Option<Decimal>; 2] {
    let mut why = None;
    let numbers = answer.values.each_ref().map(|value| {
        let value = value.as_deref()?;
        match query {
            Query::Program { .. } => program_number(value),
            Query::Texts(_) => None,
            Query::Snmp(query) => {
                if query.conversion.is_none()
                    && let Some(number) = whole_number(value)
                {
                    return Some(number);
                }
                let text = String::from_utf8_lossy(value);
                let text = match &query.conversion {
                    None => text.into_owned(),
                    Some(name) => conversions.convert(name, &text).or_else(|| {
                        why.get_or_insert_with(|| format!("the conversion {name} gives nothing"));
                        None
                    })?,
                };
                let text: String = text.chars().filter(|c| !matches!(c, '\n' | '\r')).collect();
                let text = text.trim_ascii();
                let number = device_number(text);
                if number.is_none() {
                    let about = || format!("{} {}", name(), quoted(text));
                    why.get_or_insert_with(|| {
                        format!("the device says {}: no number", quoted(text))
                    });
                    notices.add(about, "no number");
                }
                number
            }
        }
    });
    if let Some(why) = why {
        answer.fails(why);
    }
    numbers
}

/// Digits alone, as counters are.
fn whole_number(text: &[u8]) -> Option<Decimal> {
    // So many digits always fit.
    let is_short = !text.is_empty() && text.len() <= 19;
    let number = text.iter().try_fold(0_u64, |number, byte| {
        byte.is_ascii_digit().then(|| number.wrapping_mul(10).wrapping_add((byte - b'0').into()))
    });
    number.filter(|_| is_short).map(Decimal::from)
}

/// `[-+]digits`, perhaps a character and more digits, of which only a number is one.
fn device_number(text: &str) -> Option<Decimal> {
    let digits = text.trim_start_matches(['-', '+']);
    let begins = digits.starts_with(|c: char| c.is_ascii_digit()) && text.len() - digits.len() <= 1;
    let ends = text.ends_with(|c: char| c.is_ascii_digit());
    Decimal::parse(text).filter(|_| begins && ends)
}

/// A stranger's text in a message: cut, and without what a shell or a terminal would act on.
fn quoted(text: &str) -> String {
    format!("'{}'", file_line(text, 60).replace('\'', "\u{2019}"))
}

/// The first number of a line that a program printed.
fn program_number(line: &[u8]) -> Option<Decimal> {
    let text = String::from_utf8_lossy(line);
    let first = text.find(|c: char| c.is_ascii_digit())?;
    let sign = text[..first].ends_with(['-', '+']);
    let begin = first - usize::from(sign);
    let is_digit = |c: char| c.is_ascii_digit();
    let end = |from: usize| text[from..].find(|c| !is_digit(c)).map_or(text.len(), |at| at + from);
    let whole = end(first);
    // As in MRTG, any character between two groups of digits belongs to the number, which is then
    // none unless the character is a point or an `e`.
    let mut last = whole;
    if let Some(between) = text[whole..].chars().next() {
        let fraction = whole + between.len_utf8();
        if end(fraction) > fraction {
            last = end(fraction);
        }
    }
    Decimal::parse(&text[begin..last])
}

/// What a program's output says: in, out, uptime, name.
pub(super) fn program_answer(
    output: &[u8],
    time_ns: i64,
    target: &dyn Fn() -> String,
    notices: &mut Notices,
) -> QueryAnswer {
    let mut lines = output.split(|&byte| byte == b'\n');
    let ended = output.strip_suffix(b"\n").unwrap_or(output).split(|&byte| byte == b'\n').count();
    let mut index = 0;
    let mut line = || {
        index += 1;
        lines.next().filter(|_| index <= ended && !output.is_empty()).map(<[u8]>::to_vec)
    };
    let values = [line(), line()];
    let text = |line: Option<Vec<u8>>| {
        let line = line.unwrap_or_else(|| b"unknown".to_vec());
        Some(device_text(line.trim_ascii_start()))
    };
    let (uptime, name) = (text(line()), text(line()));
    let mut why = None;
    let values = values.map(|value| match value {
        Some(value) if value == b"UNKNOWN" => {
            why.get_or_insert_with(|| "its program printed UNKNOWN".into());
            None
        }
        Some(value) if program_number(&value).is_some() => Some(value),
        other => {
            let shown = quoted(&String::from_utf8_lossy(&other.unwrap_or_default()));
            let about = || format!("{} printed {shown}", target());
            why.get_or_insert_with(|| format!("its program printed {shown}: no number").into());
            notices.add(about, "its program has to print a number there");
            None
        }
    });
    QueryAnswer { time_ns, values, uptime, name, why, ..QueryAnswer::default() }
}

/// What a round read for a target.
pub(super) fn reading(
    config: &Config,
    target: &PollTarget,
    numbers: &[[Option<Decimal>; 2]],
    answers: &[QueryAnswer],
    now_ns: i64,
    say: &mut dyn FnMut(String),
) -> Reading {
    let only = target.only_query.and_then(|query| answers.get(query));
    let queries = target.expression.as_ref().map_or_else(Vec::new, |all| match target.only_query {
        Some(only) => vec![only],
        None => all.values(),
    });
    let latest_ns = queries.iter().filter_map(|&query| answers.get(query)?.time_ns.into()).max();
    let mut reading = Reading {
        time_ns: latest_ns.unwrap_or(now_ns),
        values: [None, None],
        uptime: only.and_then(|answer| answer.uptime.clone()),
        device_name: only.and_then(|answer| answer.name.clone()),
        was_reset: false,
        up_s: None,
        why: None,
        is_elsewhere: false,
    };
    name_device(target, answers, &mut reading);
    let Some(expression) = &target.expression else {
        reading.why = Some("its definition cannot be computed".into());
        return reading;
    };
    let mut whys = queries.iter().filter_map(|&query| answers.get(query)?.why.as_ref());
    let why = whys.next().cloned();
    if !target.options.gauge && !target.options.absolute {
        let answers = queries.into_iter().filter_map(|query| answers.get(query));
        reading.was_reset = answers.clone().any(|answer| answer.was_reset);
        reading.up_s = answers.filter_map(|answer| answer.up_s).min();
    }
    let is_exact = config.global.log_format == LogFormat::Rrdtool && target.options.gauge;
    for (direction, name) in ["in", "out"].iter().enumerate() {
        let value = |query: usize| numbers.get(query).and_then(|both| both[direction].clone());
        match expression.evaluate(&value) {
            Ok(number) if !number.is_short() && number.to_string().len() > VALUE_MAX => {
                reading.why = Some("the value is too long".into());
                say(format!("Target[{}] {name}: the value is too long", target.name));
            }
            Ok(number) => {
                let is_kept = is_exact || number.is_whole();
                let number = if is_kept { number } else { number.rounded() };
                reading.values[direction] = Some(number);
            }
            Err(NoValue::Unknown) => reading.why = reading.why.take().or_else(|| why.clone()),
            Err(NoValue::Arithmetic(error)) => {
                reading.why = Some(error.to_string().into());
                say(format!("Target[{}] {name}: {error}", target.name));
            }
        }
    }
    reading
}

/// Uptime and name from where `RouterUptime` and `RouterName` say.
fn name_device(target: &PollTarget, answers: &[QueryAnswer], reading: &mut Reading) {
    let text = |query: Option<usize>, place: usize| {
        let value = answers.get(query?)?.values[place].as_ref()?;
        let text = device_text(value);
        Some(text.chars().filter(|c| !matches!(c, '\n' | '\r')).collect::<String>().into())
    };
    if let Some(object) = &target.router_uptime {
        reading.uptime = text(object.query, 0);
        reading.device_name = text(object.query, 1);
    }
    if let Some(object) = &target.router_name
        && object.query.is_some()
    {
        reading.device_name = text(object.query, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_as_by_mrtg() {
        for (text, expected) in [
            ("12", Some("12")),
            ("in: 12.5 %", Some("12.5")),
            ("x-3", Some("-3")),
            ("12,5", None),
            ("12 34", None),
            ("1e5", Some("100000")),
            ("none", None),
            ("5.", Some("5")),
        ] {
            let number = program_number(text.as_bytes()).map(|number| number.to_string());
            assert_eq!(number.as_deref(), expected, "{text}");
        }
        for (text, expected) in [
            ("12", true),
            ("-1.5", true),
            ("1 day", false),
            (".5", false),
            ("", false),
            ("5.", false),
        ] {
            assert_eq!(device_number(text).is_some(), expected, "{text}");
        }
    }

    #[test]
    fn a_programs_lines_are_read() {
        let mut said = Vec::new();
        let mut notices = Notices::default();
        let name = || "Target[x]".to_owned();
        let text = b"1\nUNKNOWN\nup 3 days\nhost\n";
        let answer = program_answer(text, 5, &name, &mut notices);
        assert_eq!(answer.values, [Some(b"1".to_vec()), None]);
        assert_eq!(answer.uptime.as_deref(), Some("up 3 days"));
        assert_eq!(answer.name.as_deref(), Some("host"));
        let answer = program_answer(b"`touch x`", 5, &name, &mut notices);
        notices.say(&mut |text| said.push(text));
        assert_eq!(answer.values, [None, None]);
        assert_eq!(answer.name.as_deref(), Some("unknown"));
        let expected = "Target[x] printed '\u{fffd}touch x\u{fffd}', Target[x] printed '': its program has to \
                        print a number there";
        assert_eq!(said, [expected]);
    }
}
