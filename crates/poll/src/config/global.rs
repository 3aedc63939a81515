//! Global settings from their raw values.

use std::path::PathBuf;

use crate::problem::Problems;

use super::assign::RawConfig;
use super::{Global, LoadEnvironment, LogFormat, options, rules};

/// Types the global values.  Values that the rules refuse are left out; the rules have said so.
pub(super) fn build(
    raw: &RawConfig<'_>,
    environment: &LoadEnvironment,
    problems: &mut Problems,
) -> Global {
    let text = |key: &str| raw.globals.get(key).map(|value| value.text.to_string());
    let at = |key: &str| raw.globals.get(key).map(|value| &value.at);
    let is_set = |key: &str| raw.globals.contains_key(key);
    let says_yes = |key: &str| text(key).is_some_and(|value| value.contains(['y', 'Y']));
    let is_yes = |key: &str| text(key).is_some_and(|value| value.eq_ignore_ascii_case("yes"));
    let list = |key: &str| text(key).unwrap_or_default();
    let number =
        |key: &str| text(key).map(|value| perl::leading_number(&value)).filter(|&n| n != 0.0);
    let whole = |key: &str| text(key).and_then(|value| value.parse::<u64>().ok());
    let log_format = match text("logformat").as_deref() {
        Some("rrdtool") => LogFormat::Rrdtool,
        _ => LogFormat::Rateup,
    };
    let interval_s = text("interval").and_then(|value| rules::interval_s(&value)).unwrap_or(300);
    if interval_s < 300 && log_format == LogFormat::Rateup {
        let what = "Interval: below 5 minutes only `LogFormat: rrdtool` works";
        problems.error(at("interval"), what);
    }
    let threshold_dir = text("threshdir").map(PathBuf::from);
    let hysteresis = number("threshhyst").or_else(|| threshold_dir.as_ref().map(|_| 0.1));
    let mut global = Global {
        icon_dir: text("icondir"),
        refresh_s: text("refresh").map(|value| perl::leading_integer(&value)),
        interval_s,
        writes_expires: is_set("writeexpires"),
        is_without_mib2: is_set("nomib2"),
        is_single_request: is_set("singlerequest"),
        language: text("language"),
        load_mibs: words(&list("loadmibs")),
        log_format,
        path_add: text("pathadd"),
        lib_add: text("libadd"),
        rrdcached: text("rrdcached").or_else(|| environment.rrdcached_address.clone()),
        runs_as_daemon: says_yes("runasdaemon"),
        is_attached: says_yes("nodetach"),
        max_age_s: whole("maxage"),
        send_to_graphite: graphite(text("sendtographite"), at("sendtographite"), problems),
        threshold_dir,
        threshold_hysteresis: hysteresis,
        hw_threshold_hysteresis: text("hwthreshhyst").map(|value| perl::leading_number(&value)),
        threshold_mail_server: text("threshmailserver"),
        threshold_mail_sender: text("threshmailsender"),
        forks: text("forks").and_then(|value| u32::try_from(perl::leading_integer(&value)).ok()),
        has_ipv6: is_yes("enableipv6"),
        has_snmpv3: is_yes("enablesnmpv3"),
        snmp_options: options::snmp(text("snmpoptions").as_deref(), at("snmpoptions"), problems),
        ..Global::default()
    };
    folders(raw, &mut global, problems);
    for (one, other) in
        [("threshmailserver", "threshmailsender"), ("threshmailsender", "threshmailserver")]
    {
        if is_set(one) && !is_set(other) && !raw.targets.is_empty() {
            problems.error(at(one), format!("{one} needs {other}"));
        }
    }
    let is_other = |language: &String| !language.eq_ignore_ascii_case("english");
    if let Some(language) = global.language.as_ref().filter(|language| is_other(language)) {
        let what = format!("Language: pages are in English, not in {language}");
        problems.warning(at("language"), what);
    }
    if let (Some(_), Some(at)) = (&global.forks, at("forks")) {
        problems.warning(Some(at), "Forks has no effect: all devices are asked at once");
    }
    global
}

/// `WorkDir`, or all of `LogDir`, `HtmlDir` and `ImageDir`.
fn folders(raw: &RawConfig<'_>, global: &mut Global, problems: &mut Problems) {
    let folder = |key: &str| raw.globals.get(key).map(|value| with_slash(&value.text));
    if let Some(all) = folder("workdir") {
        global.log_dir.clone_from(&all);
        global.html_dir.clone_from(&all);
        global.image_dir = all;
    } else {
        let keys = ["logdir", "htmldir", "imagedir"];
        let [log, html, image] = keys.map(folder);
        if log.is_none() && html.is_none() && image.is_none() {
            problems.error(None, "WorkDir is missing: `WorkDir: FOLDER` says where files are");
        } else {
            for (key, value) in keys.iter().zip([&log, &html, &image]) {
                if value.is_some() {
                    continue;
                }
                let what =
                    format!("{key} is missing: name all of LogDir, HtmlDir, ImageDir, or WorkDir");
                match raw.targets.is_empty() {
                    true => problems.warning(None, what),
                    false => problems.error(None, what),
                }
            }
        }
        global.log_dir = log.unwrap_or_default();
        global.html_dir = html.unwrap_or_default();
        global.image_dir = image.unwrap_or_default();
    }
    global.image_link = link(&global.html_dir, &global.image_dir);
}

/// The path from one folder to another: `../` for each that they do not share, then the rest.
fn link(from: &str, to: &str) -> String {
    let parts = |path: &str| -> Vec<String> {
        path.trim_end_matches('/').split('/').map(str::to_owned).collect()
    };
    let (from, to) = (parts(from), parts(to));
    let shared = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
    let up = from[shared..].iter().filter(|part| !part.is_empty()).map(|_| "../".to_owned());
    let down = to[shared..].iter().filter(|part| !part.is_empty()).map(|part| format!("{part}/"));
    up.chain(down).collect()
}

/// A path with one slash wherever it has several, and one at its end.
pub(super) fn with_slash(path: &str) -> String {
    let mut text = String::new();
    for character in path.chars() {
        if character != '/' || !text.ends_with('/') {
            text.push(character);
        }
    }
    if !text.is_empty() && !text.ends_with('/') {
        text.push('/');
    }
    text
}

fn words(text: &str) -> Vec<String> {
    let parts = text.split(|c: char| c == ',' || c.is_ascii_whitespace());
    parts.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn graphite(
    value: Option<String>,
    at: Option<&crate::problem::ConfigLine>,
    problems: &mut Problems,
) -> Option<(String, u16)> {
    let value = value?;
    let mut parts = value.split(',');
    let (host, port) = (parts.next()?.to_owned(), parts.next()?);
    match port.trim().parse::<u16>() {
        Ok(port) if port > 0 => {
            let is_address = host.parse::<std::net::Ipv4Addr>().is_ok();
            if is_address || super::resolve::is_known(&host) {
                return Some((host, port));
            }
            problems.error(at, format!("sendtographite: there is no host {host}"));
        }
        _ => problems.error(at, format!("sendtographite: {port} is no port")),
    }
    None
}
