//! Typed values of keywords that have a grammar of their own: SNMP options, colours, periods.

use std::borrow::Cow;

use crate::device::SnmpOptions;
use crate::options::{LegendColour, Periods, StampPosition, components};
use crate::problem::{ConfigLine, Problems};
use crate::usm_protocol::user;

/// Options whose value is a number.
const NUMBERS: [&str; 4] = ["timeout", "retries", "backoff", "default_max_repetitions"];

/// A wait in seconds, its factor, or a count of requests: what is none would be asked another way
/// than it says, or never.
pub(super) fn wait(text: &str, is_count: bool) -> Result<f64, &'static str> {
    let number: f64 = text.trim().parse().map_err(|_| "is no number")?;
    match is_count {
        _ if !(number.is_finite() && number > 0.0) => Err("is no number above 0"),
        true if number.fract() != 0.0 => Err("is no whole number"),
        _ => Ok(number),
    }
}

/// `SnmpOptions` as pairs, typed.
pub(super) fn snmp(
    text: Option<&str>,
    at: Option<&ConfigLine>,
    problems: &mut Problems,
) -> SnmpOptions {
    let mut options = SnmpOptions::default();
    let Some(Ok(pairs)) = text.map(perl::hash::parse) else { return options };
    for (name, value) in pairs {
        let number = perl::leading_number(&value);
        let is_true = !value.is_empty() && value != "0";
        let count = Some(number as u32);
        let lower = || Some(value.to_ascii_lowercase());
        let key = name.trim_start_matches('-').to_ascii_lowercase();
        let is_count = matches!(key.as_str(), "retries" | "default_max_repetitions");
        if NUMBERS.contains(&key.as_str())
            && let Err(fault) = wait(&value, is_count)
        {
            problems.error(at, format!("snmpoptions: the {key} {fault}"));
        }
        if key == "default_max_repetitions" && number > f64::from(u16::MAX) {
            problems.error(at, format!("snmpoptions: the {key} is above {}", u16::MAX));
        }
        match key.as_str() {
            "timeout" => options.timeout_s = Some(number),
            "retries" => options.retries = count,
            "backoff" => options.backoff = Some(number),
            "default_max_repetitions" => options.max_repetitions = count,
            "use_16bit_request_ids" => options.has_16_bit_request_ids = is_true,
            "lenient_source_port_matching" => options.is_source_port_lenient = Some(is_true),
            "lenient_source_address_matching" => options.is_source_address_lenient = Some(is_true),
            "username" => options.user = Some(value),
            "contextname" => options.context_name = Some(value),
            "contextengineid" => options.context_engine_id = Some(value),
            "authkey" => options.authentication_key = Some(value),
            "authpassword" => options.authentication_password = Some(value),
            "authprotocol" => options.authentication_protocol = lower(),
            "privkey" => options.privacy_key = Some(value),
            "privpassword" => options.privacy_password = Some(value),
            "privprotocol" => options.privacy_protocol = lower(),
            // Options of MRTG's library for Perl that have no meaning here.
            "avoid_negative_request_ids"
            | "return_array_refs"
            | "return_hash_refs"
            | "use_getbulk"
            | "domain"
            | "debug" => options.others.push((name, value)),
            _ => {
                problems.warning(at, format!("snmpoptions: there is no option {name}"));
                options.others.push((name, value));
            }
        }
    }
    // What is wrong with the user is wrong without a name too.
    let named =
        SnmpOptions { user: options.user.clone().or(Some(String::new())), ..options.clone() };
    if let Err(fault) = user(&named) {
        problems.error(at, format!("snmpoptions: {fault}"));
    }
    options
}

/// `Name#rrggbb, Name#rrggbb, …`: as many as wanted; `None` if they are not there.
pub(super) fn colours(text: &str, count: usize) -> Option<Vec<LegendColour>> {
    let mut colours = Vec::new();
    let mut rest = text;
    for number in 0..count {
        if number > 0 {
            rest = rest.trim_ascii_start().strip_prefix(',')?.trim_ascii_start();
        }
        let at = rest.find('#').filter(|&at| at > 0)?;
        let rgb = colour(&rest[at..])?;
        let name = rest[..at].to_owned().into();
        colours.push(LegendColour { name, rgb: rgb.to_owned().into() });
        rest = &rest[at + rgb.len()..];
    }
    Some(colours)
}

/// `#rrggbb` at the beginning of a text.
pub(super) fn colour(text: &str) -> Option<&str> {
    let digits = text.strip_prefix('#')?.get(..6)?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| &text[..7])
}

/// The colours of a target that names none.
pub(super) fn default_colours(count: usize) -> Cow<'static, [LegendColour]> {
    const fn colour(name: &'static str, rgb: &'static str) -> LegendColour {
        LegendColour { name: Cow::Borrowed(name), rgb: Cow::Borrowed(rgb) }
    }
    static COLOURS: [LegendColour; 5] = [
        colour("GREEN", "#00cc00"),
        colour("BLUE", "#0000ff"),
        colour("DARK GREEN", "#006600"),
        colour("MAGENTA", "#ff00ff"),
        colour("AMBER", "#ef9f4f"),
    ];
    Cow::Borrowed(&COLOURS[..count.min(COLOURS.len())])
}

/// White text on a dark background, black on a light one.
pub(super) fn contrast(background: &str) -> &'static str {
    let sum: u32 = components(background).iter().map(|&part| u32::from(part)).sum();
    if sum < 384 { "#ffffff" } else { "#000000" }
}

/// Which of d, w, m, y a value has.
pub(super) fn periods(text: &str) -> Periods {
    Periods {
        day: text.contains('d'),
        week: text.contains('w'),
        month: text.contains('m'),
        year: text.contains('y'),
    }
}

/// `NO`, `LU`, `RU`, `LL`, `RL`.
pub(super) fn stamp_position(text: &str) -> StampPosition {
    match text.to_ascii_uppercase().as_str() {
        "LU" => StampPosition::LeftUpper,
        "RU" => StampPosition::RightUpper,
        "LL" => StampPosition::LeftLower,
        "RL" => StampPosition::RightLower,
        _ => StampPosition::None,
    }
}
