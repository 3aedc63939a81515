//! The grammar of `Target[…]`: which parts of the text are queries, and the expression over them.
//!
//! As MRTG does, commands in backticks are found first, then pairs of objects (`a&b:community@host`),
//! then interfaces (`2:community@host`); the text between them is arithmetic.  Each query is replaced
//! by one character of Unicode's private planes, which stands for its number.
//!
//! The patterns are as long as this grammar is; nothing is around them, so that a search without
//! groups finds where they match.  The form that nearly all targets have, an interface's
//! number and its device, is taken apart without them, at a fiftieth of their cost.

use std::sync::{Arc, LazyLock};

use regex::{Captures, Regex};
use text::encoding::hex_with;

use crate::target::{InterfaceSelector, ObjectMethod, Variable, VariableSource};

use super::objects::ObjectNames;

/// The character that stands for the first query.
const FIRST: u32 = 0xF_0000;
/// Queries of one definition.
const QUERIES_MAX: usize = 0xFFFD;

/// An interface by number, address, description, name, Ethernet address or type: 6 groups.
const INTERFACE: &str = r"(?:([0-9]+)|/([0-9]+(?:\.[0-9]+)+)|\\((?:\\[\s:&@]|[^\s:&@])+)|\#((?:\\[\s:&@]|[^\s:&@])+)|!([a-fA-F0-9]+(?:-[a-fA-F0-9]+)+)|%([0-9]+))";
/// An object identifier, and an interface: a number after a point, or another selector, which may
/// follow a point too: 8 groups.
const OBJECT: &str = r"((?:\.[0-9]+)*?\.?[-a-zA-Z0-9]*(?:\.[0-9]+)*?)(SELECTOR)?";
/// Community, host and options: 5 groups.  `2c` is taken too, which MRTG's own pattern forgets.
const DEVICE: &str = r"((?:\\[@\x20]|[^\s@])+)@(?:(\[[a-fA-F0-9:]*\])|([-A-Za-z0-9_]+(?:\.[-A-Za-z0-9_]+)*))((?:(?::[0-9.!]*){4}:2[cC]|(?::[0-9.!]*)*))(?:\|([a-zA-Z_][a-zA-Z0-9_]*))?";

fn pattern(text: &str) -> Regex {
    let selector = INTERFACE.replacen("(?:(", "(?:\\.(", 1);
    let selector = ["|/(", r"|\\(", r"|\#(", "|!(", "|%("]
        .iter()
        .fold(selector, |text, begin| text.replace(begin, &format!(r"|\.?{}", &begin[1..])));
    let text = text.replace("OBJECT", OBJECT).replace("SELECTOR", &selector);
    let text = text.replace("INTERFACE", INTERFACE);
    let text = text.replace("DEVICE", DEVICE);
    #[allow(clippy::unwrap_used, reason = "constant patterns, which a test compiles")]
    Regex::new(&text).unwrap()
}

static PAIR: LazyLock<Regex> = LazyLock::new(|| pattern("OBJECT&OBJECT:DEVICE"));
static SINGLE: LazyLock<Regex> = LazyLock::new(|| pattern("(-)?INTERFACE:DEVICE"));
static COMMAND: LazyLock<Regex> = LazyLock::new(|| pattern(r"`((?:\\`|[^`])+)`"));

/// What a definition asks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ParsedQuery {
    /// A command.
    Command(String),
    /// Two objects of a device.
    Objects {
        /// For in and out.
        variables: Box<[Variable; 2]>,
        /// The device.
        device: DeviceText,
        /// The conversion after `|`.
        conversion: Option<String>,
    },
}

/// A device as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeviceText {
    pub(crate) community: String,
    /// A name or an address, IPv6 in brackets.
    pub(crate) host: String,
    /// `:port:timeout:retries:backoff:version`, possibly less.
    pub(crate) options: String,
}

/// A query and the text it was written as; the same text is asked once.
pub(crate) struct FoundQuery {
    pub(crate) text: String,
    pub(crate) asked: ParsedQuery,
}

/// The expression's text with one character for each query.
pub(crate) struct Definition {
    /// Empty if the definition is its only query.
    pub(crate) expression: String,
    pub(crate) queries: Vec<FoundQuery>,
    /// Whether the definition is its only query.
    pub(crate) is_query: bool,
}

/// The number of the query that a character stands for.
pub(crate) fn query_of(character: char) -> Option<usize> {
    let number = u32::from(character).checked_sub(FIRST)?;
    usize::try_from(number).ok().filter(|&number| number < QUERIES_MAX)
}

/// How a definition's interfaces are asked.
#[derive(Clone, Copy)]
pub(crate) struct GrammarRules<'a> {
    /// Whether 64-bit counters are not used (`noHC`).
    pub(crate) is_without_hc: bool,
    /// Names of objects.
    pub(crate) names: &'a ObjectNames,
}

/// Takes a definition apart.
pub(crate) fn parse(text: &str, rules: GrammarRules<'_>) -> Result<Definition, String> {
    if let Some(wrong) = text.chars().find(|&c| query_of(c).is_some()) {
        return Err(format!("the character U+{:X} is not expected", u32::from(wrong)));
    }
    if let Some(query) = simple(text.trim_ascii(), rules) {
        return Ok(Definition { expression: String::new(), queries: vec![query], is_query: true });
    }
    let mut queries: Vec<FoundQuery> = Vec::new();
    let text = replace(&COMMAND, '`', text, &mut queries, |found| {
        let asked = ParsedQuery::Command(group(found, 1).replace("\\`", "`"));
        Some((group(found, 1).to_owned(), Ok(asked)))
    })?;
    let text = replace(&PAIR, '&', &text, &mut queries, |found| {
        let ends_with_escape = [5, 6, 13, 14].iter().any(|&at| group(found, at).ends_with('\\'));
        let asked = [0, 8].map(|offset| {
            let interface = found.get(2 + offset).map(|_| interface(found, 3 + offset));
            variable(group(found, 1 + offset), interface.transpose()?, rules.names)
        });
        (!ends_with_escape).then(|| (group(found, 0).to_owned(), objects(asked, found, 17)))
    })?;
    let expression = replace(&SINGLE, '@', &text, &mut queries, |found| {
        let selector = interface(found, 2);
        let is_swapped = found.get(1).is_some();
        let names = octets(rules, group(found, 11), is_swapped);
        let asked = names.map(|name| variable(name, Some(selector.clone()?), rules.names));
        Some((group(found, 0).to_owned(), objects(asked, found, 8)))
    })?;
    Ok(Definition { expression, queries, is_query: false })
}

/// The objects of an interface: octets in and out, or out and in.
fn octets(rules: GrammarRules<'_>, options: &str, is_swapped: bool) -> [&'static str; 2] {
    let has_hc = !rules.is_without_hc && is_version_2_or_3(options);
    let [one, other] =
        if has_hc { ["ifHCInOctets", "ifHCOutOctets"] } else { ["ifInOctets", "ifOutOctets"] };
    if is_swapped { [other, one] } else { [one, other] }
}

/// `2:community@host:options` and `-2:…`, with nothing that the patterns might read in another way.
fn simple(text: &str, rules: GrammarRules<'_>) -> Option<FoundQuery> {
    let bare = text.strip_prefix('-').unwrap_or(text);
    let (interface, rest) = bare.split_once(':')?;
    let (community, place) = rest.split_once('@')?;
    let is_number = !interface.is_empty() && interface.bytes().all(|byte| byte.is_ascii_digit());
    let is_other = |byte: u8| !byte.is_ascii_graphic() || matches!(byte, b'`' | b'&' | b'\\');
    if !is_number || community.is_empty() || community.bytes().any(is_other) {
        return None;
    }
    let (host, options) = place.split_at(place.find(':').unwrap_or(place.len()));
    let is_label = |label: &str| {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        !label.is_empty() && label.bytes().all(is_part)
    };
    let is_option = |byte: u8| byte.is_ascii_digit() || matches!(byte, b':' | b'.' | b'!');
    if !host.split('.').all(is_label) || !options.bytes().all(is_option) {
        return None;
    }
    let selector = InterfaceSelector::Number(interface.parse().ok()?);
    let names = octets(rules, options, bare.len() < text.len());
    let [one, other] = names.map(|name| variable(name, Some(selector.clone()), rules.names).ok());
    let [community, host, options] = [community, host, options].map(str::to_owned);
    let asked = ParsedQuery::Objects {
        variables: Box::new([one?, other?]),
        device: DeviceText { community, host, options },
        conversion: None,
    };
    Some(FoundQuery { text: text.to_owned(), asked })
}

fn group<'t>(found: &Captures<'t>, number: usize) -> &'t str {
    found.get(number).map_or("", |found| found.as_str())
}

/// What a query is written as, and what it asks.
type ReadQuery = (String, Result<ParsedQuery, String>);

/// Replaces every match of a pattern by its query's character; a match for which there is no query
/// is left as it is.  A text without `needed` has none.
fn replace(
    pattern: &LazyLock<Regex>,
    needed: char,
    text: &str,
    queries: &mut Vec<FoundQuery>,
    query: impl Fn(&Captures<'_>) -> Option<ReadQuery>,
) -> Result<String, String> {
    if !text.contains(needed) {
        return Ok(text.to_owned());
    }
    let (mut done, mut rest) = (String::new(), text);
    while let Some(found) = pattern.captures(rest) {
        let range = found.get(0).map_or(0..0, |found| found.range());
        // A definition of several lines has no queries but those that go from line to line.
        if rest[..range.start].contains('\n') || rest[range.end..].contains('\n') {
            break;
        }
        let Some((text, asked)) = query(&found) else {
            // As it was written, up to the end of the match.
            done.push_str(&rest[..range.end]);
            rest = &rest[range.end..];
            continue;
        };
        let asked = asked?;
        let number = queries.iter().position(|one| one.text == text).unwrap_or(queries.len());
        if number == queries.len() {
            if number >= QUERIES_MAX {
                return Err(format!("more than {QUERIES_MAX} queries"));
            }
            queries.push(FoundQuery { text, asked });
        }
        done.push_str(&rest[..range.start]);
        done.push(' ');
        let character = u32::try_from(number).ok().and_then(|n| char::from_u32(FIRST + n));
        done.extend(character);
        done.push(' ');
        rest = &rest[range.end..];
    }
    done.push_str(rest);
    Ok(done)
}

fn objects(
    variables: [Result<Variable, String>; 2],
    found: &Captures<'_>,
    first: usize,
) -> Result<ParsedQuery, String> {
    let [one, other] = variables;
    let host = found.get(first + 1).map_or_else(|| group(found, first + 2), |host| host.as_str());
    let community = group(found, first).replace("\\ ", " ").replace("\\@", "@");
    let options = group(found, first + 3).to_owned();
    Ok(ParsedQuery::Objects {
        variables: Box::new([one?, other?]),
        device: DeviceText { community, host: host.to_owned(), options },
        conversion: found.get(first + 4).map(|name| name.as_str().to_owned()),
    })
}

/// The interface that the six groups from `first` on select.
fn interface(found: &Captures<'_>, first: usize) -> Result<InterfaceSelector, String> {
    let text = |offset: usize| found.get(first + offset).map(|found| found.as_str());
    let trimmed = |text: &str| text.trim_end_matches(|c: char| c <= ' ').to_owned();
    Ok(if let Some(number) = text(0) {
        let number = number.parse::<u32>();
        InterfaceSelector::Number(number.map_err(|_| "the interface number is above 4294967295")?)
    } else if let Some(address) = text(1) {
        InterfaceSelector::Address(address.to_owned())
    } else if let Some(description) = text(2) {
        InterfaceSelector::Description(trimmed(&unescaped(description)))
    } else if let Some(name) = text(3) {
        InterfaceSelector::Name(trimmed(&unescaped(name)))
    } else if let Some(address) = text(4) {
        let bytes = address.split('-').map(|byte| u8::from_str_radix(byte, 16));
        let bytes: Result<Vec<u8>, _> = bytes.collect();
        let bytes = bytes.map_err(|_| format!("`{address}` is no Ethernet address"))?;
        InterfaceSelector::Ethernet(hex_with(&bytes, "-").to_string())
    } else if let Some(kind) = text(5) {
        InterfaceSelector::Type(kind.to_owned())
    } else {
        InterfaceSelector::None
    })
}

/// Removes the backslash before a space, `:`, `&` and `@`.
fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let is_escape = character == '\\'
            && characters
                .peek()
                .is_some_and(|&c| c.is_whitespace() || matches!(c, ':' | '&' | '@'));
        if !is_escape {
            plain.push(character);
        }
    }
    plain
}

/// Whether MRTG asks for 64-bit counters: the version's place, or a later one, says 2 or 3.
fn is_version_2_or_3(options: &str) -> bool {
    options.split(':').skip(5).any(|version| version.starts_with(['2', '3']))
}

/// An object as MRTG writes it: a method, then a name or numbers.
fn variable(
    text: &str,
    interface: Option<InterfaceSelector>,
    names: &ObjectNames,
) -> Result<Variable, String> {
    let interface = interface.unwrap_or(InterfaceSelector::None);
    let constant = |value| Variable {
        source: VariableSource::Constant(value),
        interface: InterfaceSelector::None,
    };
    match text {
        "PseudoZero" => return Ok(constant(0)),
        "PseudoOne" => return Ok(constant(1)),
        "" if interface == InterfaceSelector::None => {
            return Err("an object is missing beside the `&`".to_owned());
        }
        _ => {}
    }
    let (method, name) = if let Some(rest) = text.strip_prefix("CnTWaLK") {
        (ObjectMethod::Count, rest)
    } else if let Some(rest) = text.strip_prefix("GeTNEXT") {
        (ObjectMethod::Next, rest)
    } else if let Some(rest) = text.strip_prefix("WaLK") {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let number = if end == 0 { Ok(0) } else { rest[..end].parse() };
        let number = number.map_err(|_| format!("the number of {text} is too great"))?;
        (ObjectMethod::Walk(number), &rest[end..])
    } else {
        (ObjectMethod::Get, text)
    };
    let object = |(name, id): (Arc<str>, Arc<[u32]>), method, interface| {
        let source = VariableSource::Object { name, id, method };
        Variable { source, interface }
    };
    let Some((before, after)) = name.split_once("IndexPOS") else {
        return Ok(object(names.shared(name), method, interface));
    };
    let mut id = names.id(before.trim_end_matches('.')).unwrap_or_default();
    let place = id.len();
    let rest = after.trim_start_matches('.');
    if !rest.is_empty() {
        id.extend(names.id(rest).ok_or_else(|| format!("`{rest}` after IndexPOS is not numbers"))?);
    }
    let mut interface = interface;
    if interface == InterfaceSelector::None && id.len() > place {
        interface = InterfaceSelector::Number(id.pop().unwrap_or(0));
    }
    Ok(object((name.into(), id.into()), ObjectMethod::IndexAt(place), interface))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Definition {
        let names = ObjectNames::default();
        parse(text, GrammarRules { is_without_hc: false, names: &names }).expect("a definition")
    }

    fn interfaces(text: &str) -> Vec<InterfaceSelector> {
        let asked = parsed(text).queries.into_iter().map(|query| query.asked);
        asked
            .flat_map(|asked| match asked {
                ParsedQuery::Objects { variables, .. } => {
                    variables.map(|one| one.interface).to_vec()
                }
                ParsedQuery::Command(_) => Vec::new(),
            })
            .collect()
    }

    #[test]
    fn interfaces_are_selected() {
        use InterfaceSelector::{Address, Description, Ethernet, Name, Number, Type};
        for (text, expected) in [
            ("2:public@router", Number(2)),
            ("/10.0.0.1:public@router", Address("10.0.0.1".into())),
            (r"\Gi0\/1\ up:public@router", Description(r"Gi0\/1 up".into())),
            ("#eth0.5:public@router:161:1:1:1:2", Name("eth0.5".into())),
            ("!0-1B-c:public@router", Ethernet("00-1b-0c".into())),
            ("%24:public@router", Type("24".into())),
        ] {
            assert_eq!(interfaces(text), [expected.clone(), expected], "{text}");
        }
    }

    #[test]
    fn expressions_and_queries_are_apart() {
        let text = "2:a@x + 3:b@[fe80::1]:161::::2 * `echo \\`1` - 2:a@x";
        let found = parsed(text);
        let texts: Vec<_> = found.queries.iter().map(|query| query.text.as_str()).collect();
        assert_eq!(texts, ["echo \\`1", "2:a@x", "3:b@[fe80::1]:161::::2"]);
        let numbers: Vec<_> = found.expression.chars().filter_map(query_of).collect();
        assert_eq!(numbers, [1, 2, 0, 1]);
        let rest: String = found.expression.chars().filter(|&c| query_of(c).is_none()).collect();
        assert_eq!(rest.split_whitespace().collect::<String>(), "+*-");
    }

    #[test]
    fn objects_are_asked() {
        let of = |text: &str| match parsed(text).queries.swap_remove(0).asked {
            ParsedQuery::Objects { variables, .. } => *variables,
            ParsedQuery::Command(command) => panic!("{command}"),
        };
        let id = |variable: &Variable| match &variable.source {
            VariableSource::Object { id, method, .. } => (id.to_vec(), *method),
            VariableSource::Constant(value) => (vec![u32::from(*value)], ObjectMethod::Get),
        };
        let [one, other] = of("1.3.6.1.4.1.5.7&ifOutErrors.3:public@router");
        assert_eq!(
            (id(&one), one.interface),
            ((vec![1, 3, 6, 1, 4, 1, 5], ObjectMethod::Get), InterfaceSelector::Number(7))
        );
        assert_eq!(id(&other).0, [1, 3, 6, 1, 2, 1, 2, 2, 1, 20]);
        let [one, other] = of("WaLK2.1.3.6.1.2.5&PseudoOne:public@router");
        assert_eq!(id(&one), (vec![1, 3, 6, 1, 2], ObjectMethod::Walk(2)));
        assert_eq!(id(&other), (vec![1], ObjectMethod::Get));
        let [one, _] = of(".1.3.6.IndexPOS.9/10.0.0.1&.1.3.6.IndexPOS.9:public@router");
        assert_eq!(id(&one), (vec![1, 3, 6, 9], ObjectMethod::IndexAt(3)));
        let swapped = of("-4:public@router::::2|twice");
        assert_eq!(id(&swapped[0]).0, [1, 3, 6, 1, 2, 1, 2, 2, 1, 16]);
        let high = of("4:public@router:::::2c");
        assert_eq!(id(&high[0]).0, [1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 6]);
    }
}
