//! Every keyword and what its value must be: the checks that MRTG makes while it reads a file.
//!
//! MRTG's checks are Perl's; where a pattern of it may match anywhere in the value, so it does here.

/// What a value must be.
#[derive(Clone, Copy, Debug)]
enum Rule {
    Anything,
    Something,
    Folder,
    NonEmptyFolder,
    ExistingFile,
    ReadableFile,
    YesOrNo,
    WholeNumber,
    PositiveWholeNumber,
    DecimalNumber,
    NumberLike,
    AtLeast(i64),
    Between(i64, i64),
    Interval,
    LogFormat,
    OneCharacter,
    SnmpOptions,
    Graphite,
    Host,
    MailAddress,
    Periods,
    WeekFormat,
    CloneFolder,
    HwArchives,
    Environment,
    StampPosition,
    Removed(&'static str),
}

/// Keywords without brackets.
const GLOBAL: &[(&str, Rule)] = &[
    ("workdir", Rule::NonEmptyFolder),
    ("htmldir", Rule::NonEmptyFolder),
    ("imagedir", Rule::NonEmptyFolder),
    ("logdir", Rule::NonEmptyFolder),
    ("forks", Rule::AtLeast(1)),
    ("refresh", Rule::AtLeast(300)),
    ("enablesnmpv3", Rule::YesOrNo),
    ("enableipv6", Rule::YesOrNo),
    ("interval", Rule::Interval),
    ("writeexpires", Rule::Anything),
    ("nomib2", Rule::Anything),
    ("singlerequest", Rule::Anything),
    ("icondir", Rule::Something),
    ("language", Rule::Anything),
    ("loadmibs", Rule::Something),
    ("userrdtool", Rule::Removed("use LogFormat, PathAdd and LibAdd")),
    ("logformat", Rule::LogFormat),
    ("pathadd", Rule::Folder),
    ("libadd", Rule::Folder),
    ("runasdaemon", Rule::Anything),
    ("nodetach", Rule::Anything),
    ("maxage", Rule::PositiveWholeNumber),
    ("nospacechar", Rule::OneCharacter),
    ("snmpoptions", Rule::SnmpOptions),
    ("conversioncode", Rule::ReadableFile),
    ("rrdcached", Rule::Anything),
    ("sendtographite", Rule::Graphite),
    ("threshdir", Rule::NonEmptyFolder),
    ("threshhyst", Rule::DecimalNumber),
    ("hwthreshhyst", Rule::DecimalNumber),
    ("threshmailserver", Rule::Host),
    ("threshmailsender", Rule::MailAddress),
];

/// Keywords with a target in brackets.
const OF_TARGET: &[(&str, Rule)] = &[
    ("userrdtool", Rule::Removed("parameters of other tools are written `tool*Keyword[target]`")),
    ("target", Rule::Anything),
    ("snmpoptions", Rule::SnmpOptions),
    ("routeruptime", Rule::Anything),
    ("routername", Rule::Anything),
    ("nohc", Rule::YesOrNo),
    ("maxbytes", Rule::PositiveWholeNumber),
    ("maxbytes1", Rule::PositiveWholeNumber),
    ("maxbytes2", Rule::PositiveWholeNumber),
    ("ipv4only", Rule::YesOrNo),
    ("absmax", Rule::WholeNumber),
    ("title", Rule::Anything),
    ("directory", Rule::Anything),
    ("clonedirectory", Rule::CloneFolder),
    ("pagetop", Rule::Anything),
    ("bodytag", Rule::Anything),
    ("pagefoot", Rule::Anything),
    ("addhead", Rule::Anything),
    ("rrdrowcount", Rule::Anything),
    ("rrdrowcount30m", Rule::Anything),
    ("rrdrowcount2h", Rule::Anything),
    ("rrdrowcount1d", Rule::Anything),
    ("rrdhwrras", Rule::HwArchives),
    ("extension", Rule::Anything),
    ("unscaled", Rule::Periods),
    ("weekformat", Rule::WeekFormat),
    ("withpeak", Rule::Periods),
    ("suppress", Rule::Periods),
    ("xsize", Rule::Between(30, 600)),
    ("ysize", Rule::AtLeast(30)),
    ("ytics", Rule::AtLeast(1)),
    ("yticsfactor", Rule::NumberLike),
    ("factor", Rule::NumberLike),
    ("step", Rule::AtLeast(0)),
    ("timezone", Rule::Anything),
    ("options", Rule::Anything),
    ("colours", Rule::Anything),
    ("background", Rule::Anything),
    ("textcolor", Rule::Anything),
    ("kilo", Rule::WholeNumber),
    ("kmg", Rule::Anything),
    ("pngtitle", Rule::Anything),
    ("ylegend", Rule::Anything),
    ("shortlegend", Rule::Anything),
    ("legend1", Rule::Anything),
    ("legend2", Rule::Anything),
    ("legend3", Rule::Anything),
    ("legend4", Rule::Anything),
    ("legend5", Rule::Anything),
    ("legendi", Rule::Anything),
    ("legendo", Rule::Anything),
    ("setenv", Rule::Environment),
    ("xzoom", Rule::DecimalNumber),
    ("yzoom", Rule::DecimalNumber),
    ("xscale", Rule::DecimalNumber),
    ("yscale", Rule::DecimalNumber),
    ("threshmini", Rule::Anything),
    ("threshmino", Rule::Anything),
    ("threshmaxi", Rule::Anything),
    ("threshmaxo", Rule::Anything),
    ("threshdesc", Rule::Anything),
    ("threshprogi", Rule::ExistingFile),
    ("threshprogo", Rule::ExistingFile),
    ("threshprogoki", Rule::ExistingFile),
    ("threshprogoko", Rule::ExistingFile),
    ("threshmailaddress", Rule::MailAddress),
    ("hwthreshmini", Rule::Anything),
    ("hwthreshmino", Rule::Anything),
    ("hwthreshmaxi", Rule::Anything),
    ("hwthreshmaxo", Rule::Anything),
    ("hwthreshdesc", Rule::Anything),
    ("hwthreshprogi", Rule::ExistingFile),
    ("hwthreshprogo", Rule::ExistingFile),
    ("hwthreshprogoki", Rule::ExistingFile),
    ("hwthreshprogoko", Rule::ExistingFile),
    ("hwthreshmailaddress", Rule::MailAddress),
    ("timestrpos", Rule::StampPosition),
    ("timestrfmt", Rule::Anything),
];

/// What is wrong with a value, or with a keyword; `None` if nothing is.
pub(super) fn refusal(key: &str, bracket: Option<&str>, value: &str) -> Option<String> {
    if is_of_another_tool(key) {
        return None;
    }
    // MRTG takes `Title[]: x`, a target without a name, and ignores it.
    let nameless = key.strip_suffix("[]").filter(|_| bracket.is_none());
    let key = nameless.unwrap_or(key);
    let table = if bracket.is_none() && nameless.is_none() { GLOBAL } else { OF_TARGET };
    let shown = || match bracket {
        None if nameless.is_some() => format!("{key}[]"),
        None => key.to_owned(),
        Some(name) => format!("{key}[{name}]"),
    };
    if bracket == Some("0") {
        return Some("a target cannot be called 0".to_owned());
    }
    let Some((_, rule)) = table.iter().find(|(known, _)| *known == key) else {
        let other = if bracket.is_none() { OF_TARGET } else { GLOBAL };
        return Some(match other.iter().any(|(known, _)| *known == key) {
            true if bracket.is_none() => {
                format!("{key} is a keyword of a target: write {key}[name]: …")
            }
            true => format!("{key} is a global keyword: write {key}: … without a bracket"),
            false => format!("there is no keyword {}{}", shown(), nearest(key, table)),
        });
    };
    fault(*rule, value).map(|fault| format!("{}: {fault}", shown()))
}

/// The keyword that a word in lower case is, as a text that lives for ever.
pub(super) fn known(word: &str) -> Option<&'static str> {
    let all = OF_TARGET.iter().chain(GLOBAL).map(|(known, _)| *known);
    all.into_iter().find(|known| *known == word)
}

/// `tool*Keyword`: another program reads it.
pub(super) fn is_of_another_tool(key: &str) -> bool {
    key.split_once('*').is_some_and(|(tool, rest)| !tool.is_empty() && !rest.is_empty())
}

/// A keyword that differs in one letter.
fn nearest(key: &str, table: &[(&str, Rule)]) -> String {
    let found = table.iter().map(|(known, _)| *known).find(|known| {
        let shared = key.bytes().zip(known.bytes()).take_while(|(one, other)| one == other).count();
        let (mine, theirs) = (&key.as_bytes()[shared..], &known.as_bytes()[shared..]);
        let tail = |text: &[u8]| text.get(1..).unwrap_or_default().to_vec();
        tail(mine) == tail(theirs) || tail(mine) == theirs || mine == tail(theirs)
    });
    found.map(|known| format!(": did you mean {known}?")).unwrap_or_default()
}

/// What is wrong with a value.
fn fault(rule: Rule, value: &str) -> Option<String> {
    match rule {
        Rule::SnmpOptions => perl::hash::parse(value)
            .err()
            // What is wrong may be a password: it is not shown.
            .map(|_| "the format is `name => number, name => 'text', …`".to_owned()),
        _ if is_right(rule, value) => None,
        _ => Some(wanted(rule, value)),
    }
}

/// Whether a value is as its keyword wants it.
fn is_right(rule: Rule, value: &str) -> bool {
    let number = || perl::leading_integer(value);
    match rule {
        Rule::Anything | Rule::SnmpOptions => true,
        Rule::Something => is_true(value),
        Rule::NonEmptyFolder | Rule::Folder => crate::path_of(value).is_dir() && is_true(value),
        Rule::ExistingFile => is_true(value) && crate::path_of(value).exists(),
        Rule::ReadableFile => std::fs::File::open(value).is_ok(),
        Rule::YesOrNo => ["yes", "no"].iter().any(|word| value.eq_ignore_ascii_case(word)),
        Rule::WholeNumber => is_whole(value) && value.parse::<u64>().is_ok(),
        Rule::PositiveWholeNumber => {
            is_whole(value) && value.parse::<u64>().is_ok_and(|number| number > 0)
        }
        Rule::DecimalNumber => is_decimal(value),
        // MRTG takes a sign, a point or an `e` alone too, for 0.
        Rule::NumberLike => has_number(value),
        Rule::AtLeast(_) | Rule::Between(..) if !has_number(value) => false,
        Rule::AtLeast(least) => number() >= least,
        Rule::Between(least, most) => (least..=most).contains(&number()),
        Rule::Interval => interval_s(value).is_some(),
        Rule::LogFormat => matches!(value, "rateup" | "rrdtool"),
        Rule::OneCharacter => value.len() == 1,
        Rule::Graphite => is_whole(value.rsplit_once(',').map_or("", |(_, port)| port)),
        Rule::Host => is_true(value) && super::resolve::is_known(value),
        Rule::MailAddress => is_mail_address(value),
        Rule::Periods => value.contains(|c: char| "ndwmy".contains(c.to_ascii_lowercase())),
        Rule::WeekFormat => value.contains(['U', 'V', 'W']),
        Rule::CloneFolder => !value.is_empty() && !value.trim_ascii_end().ends_with(','),
        Rule::HwArchives => is_hw_archives(value),
        Rule::Environment => environment(value).is_some_and(|list| !list.is_empty()),
        Rule::StampPosition => {
            ["no", "lu", "ll", "ru", "rl"].iter().any(|place| value.eq_ignore_ascii_case(place))
        }
        Rule::Removed(_) => false,
    }
}

/// What is said of a value that is not right.
fn wanted(rule: Rule, value: &str) -> String {
    match rule {
        Rule::Anything | Rule::SnmpOptions => String::new(),
        Rule::Something => "a value is missing".into(),
        Rule::NonEmptyFolder | Rule::Folder => format!("there is no folder {value}"),
        Rule::ExistingFile => format!("there is no program {value}"),
        Rule::ReadableFile => format!("cannot read the file {value}"),
        Rule::YesOrNo => format!("`{value}` is neither yes nor no"),
        Rule::WholeNumber | Rule::PositiveWholeNumber if is_whole(value) && is_long(value) => {
            format!("`{value}` is above {}", u64::MAX)
        }
        Rule::WholeNumber => format!("`{value}` is no whole number"),
        Rule::PositiveWholeNumber => format!("`{value}` is no whole number above 0"),
        Rule::DecimalNumber => format!("`{value}` is no number like 1.5"),
        Rule::NumberLike => format!("`{value}` is no number"),
        Rule::AtLeast(least) => format!("`{value}` is below {least}"),
        Rule::Between(least, most) => format!("`{value}` is not between {least} and {most}"),
        Rule::Interval => {
            format!("`{value}` is not between one second (0:01) and 60 minutes (60)")
        }
        Rule::LogFormat => format!("`{value}` is neither rateup nor rrdtool"),
        Rule::OneCharacter => format!("`{value}` is not one character"),
        Rule::Graphite => format!("`{value}` is not HOST,PORT"),
        Rule::Host => format!("there is no host {value}"),
        Rule::MailAddress => format!("`{value}` is no mail address"),
        Rule::Periods => format!("`{value}` has none of n, d, w, m, y"),
        Rule::WeekFormat => format!("`{value}` is none of U, V, W"),
        Rule::CloneFolder => format!("a name is missing after the comma of `{value}`"),
        Rule::HwArchives => format!("`{value}` is no list of RRA:HWPREDICT:…"),
        Rule::Environment => format!("`{value}` is not NAME=\"text\" NAME=\"text\" …"),
        Rule::StampPosition => format!("`{value}` is none of NO, LU, RU, LL, RL"),
        Rule::Removed(instead) => format!("is no longer a keyword: {instead}"),
    }
}

/// Perl's truth: neither empty nor `0`.
fn is_true(value: &str) -> bool {
    !value.is_empty() && value != "0"
}

fn is_whole(value: &str) -> bool {
    !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a whole number has more than 64 bits.
fn is_long(value: &str) -> bool {
    value.parse::<u64>().is_err()
}

/// Whether a value begins with a number.
fn has_number(value: &str) -> bool {
    let digits = value.trim_start().trim_start_matches(['-', '+', '.']);
    digits.starts_with(|c: char| c.is_ascii_digit())
}

/// Whether something follows the number at a value's beginning.
fn has_more(value: &str) -> bool {
    has_number(value) && value.trim().parse::<f64>().is_err()
}

/// What is said of a value that MRTG takes, and that may mean something else.
pub(super) fn doubt(key: &str, bracket: Option<&str>, value: &str) -> Option<String> {
    let table = if bracket.is_none() { GLOBAL } else { OF_TARGET };
    let (_, rule) = table.iter().find(|(known, _)| *known == key)?;
    let is_number = matches!(rule, Rule::NumberLike | Rule::AtLeast(_) | Rule::Between(..));
    let name = bracket.map_or_else(|| key.to_owned(), |name| format!("{key}[{name}]"));
    if is_number && has_more(value) {
        let number = perl::written_number(perl::leading_number(value));
        return Some(format!("{name}: of `{value}` only {number} counts, as in MRTG"));
    }
    if key == "timezone" && !value.is_empty() {
        let is_known =
            jiff::tz::TimeZone::get(value).is_ok() || jiff::tz::TimeZone::posix(value).is_ok();
        return (!is_known)
            .then(|| format!("{name}: there is no time zone `{value}`: the machine's holds"));
    }
    let is_bound = ["thresh", "hwthresh"].iter().any(|kind| {
        let rest = key.strip_prefix(kind).unwrap_or_default();
        matches!(rest, "mini" | "mino" | "maxi" | "maxo")
    });
    let bound = value.strip_suffix('%').unwrap_or(value).trim();
    let is_odd = is_bound && !value.is_empty() && bound.parse::<f64>().is_err();
    let counts = perl::written_number(perl::leading_number(value));
    is_odd.then(|| format!("{name}: `{value}` is neither a number nor one with %: {counts} counts"))
}

fn is_decimal(value: &str) -> bool {
    match value.split_once('.') {
        None => is_whole(value),
        Some((whole, fraction)) => is_whole(whole) && is_whole(fraction),
    }
}

/// Whether there is an `@` between two characters that are not spaces.
fn is_mail_address(value: &str) -> bool {
    let bytes = value.as_bytes();
    let is_in_word = |at: usize| bytes.get(at).is_some_and(|byte| !byte.is_ascii_whitespace());
    (1..bytes.len()).any(|at| bytes[at] == b'@' && is_in_word(at - 1) && is_in_word(at + 1))
}

fn is_hw_archives(value: &str) -> bool {
    let kinds = ["HWPREDICT", "SEASONAL", "DEVPREDICT", "DEVSEASONAL", "FAILURES"];
    let is_one = |word: &str| {
        let rest = word.strip_prefix("RRA:").and_then(|rest| rest.split_once(':'));
        rest.is_some_and(|(kind, settings)| kinds.contains(&kind) && !settings.is_empty())
    };
    let is_apart = !value.starts_with(|c: char| c.is_ascii_whitespace());
    let mut words = value.split_ascii_whitespace().peekable();
    is_apart && words.peek().is_some() && words.all(is_one) && value.trim_ascii_end() == value
}

/// `NAME="text"` with spaces between; `None` if it is anything else.
pub(super) fn environment(value: &str) -> Option<Vec<(String, String)>> {
    let mut list = Vec::new();
    let mut rest = value;
    while !rest.is_empty() {
        let (name, after) = rest.split_once("=\"")?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || !name.chars().all(is_name) {
            return None;
        }
        let (text, after) = after.split_once('"')?;
        list.push((name.to_owned(), text.to_owned()));
        let next = after.trim_ascii_start();
        if !next.is_empty() && next.len() == after.len() {
            return None;
        }
        rest = next;
    }
    Some(list)
}

/// `5` (minutes) or `0:30` (minutes and seconds), in seconds; the first numbers of the value count.
pub(super) fn interval_s(value: &str) -> Option<u32> {
    let digits = |text: &str| {
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        (text[..end].to_owned(), text[end..].to_owned())
    };
    let from = value.find(|c: char| c.is_ascii_digit())?;
    let (minutes, rest) = digits(&value[from..]);
    let seconds = rest.strip_prefix(':').map(|rest| digits(rest).0).unwrap_or_default();
    let parse = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<u32>().ok() };
    let total = parse(&minutes)?.checked_mul(60)?.checked_add(parse(&seconds)?)?;
    (1..=3600).contains(&total).then_some(total)
}
