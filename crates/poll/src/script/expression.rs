//! Expressions: from the loosest operator (`or`) to names, numbers and texts.

use regex::Regex;

use super::ScriptError;
use super::scanner::Scanner;

/// An expression.
#[derive(Debug, Clone)]
pub(super) enum Expression {
    Nothing,
    Text(String),
    Number(f64),
    /// Texts and values, one after the other.
    Joined(Vec<Expression>),
    Scalar(String),
    /// An element of a hash.
    Element(String, Box<Expression>),
    Not(Box<Expression>),
    Negative(Box<Expression>),
    Both(Box<Expression>, Box<Expression>),
    Either(Box<Expression>, Box<Expression>),
    Choice(Box<[Expression; 3]>),
    Binary(&'static str, Box<Expression>, Box<Expression>),
    Match(Box<Expression>, Regex),
    Substitute {
        target: Box<Expression>,
        pattern: Regex,
        with: Box<Expression>,
        is_global: bool,
    },
    /// The operator without `=`, the target, the value.
    Assign(&'static str, Box<Expression>, Box<Expression>),
    Call(&'static str, Vec<Expression>),
}

const FUNCTIONS: [(&str, usize, usize); 11] = [
    ("lc", 1, 1),
    ("uc", 1, 1),
    ("lcfirst", 1, 1),
    ("ucfirst", 1, 1),
    ("length", 1, 1),
    ("defined", 1, 1),
    ("int", 1, 1),
    ("abs", 1, 1),
    ("substr", 2, 3),
    ("index", 2, 2),
    ("html_escape", 1, 1),
];

type Parsed = Result<Expression, ScriptError>;

pub(super) fn expression(scanner: &mut Scanner) -> Parsed {
    scanner.deeper()?;
    let mut left = word_and(scanner)?;
    while scanner.take_word("or") {
        left = Expression::Either(Box::new(left), Box::new(word_and(scanner)?));
    }
    scanner.shallower();
    Ok(left)
}

fn word_and(scanner: &mut Scanner) -> Parsed {
    let mut left = word_not(scanner)?;
    while scanner.take_word("and") {
        left = Expression::Both(Box::new(left), Box::new(word_not(scanner)?));
    }
    Ok(left)
}

fn word_not(scanner: &mut Scanner) -> Parsed {
    if scanner.take_word("not") {
        scanner.deeper()?;
        let inner = word_not(scanner)?;
        scanner.shallower();
        return Ok(Expression::Not(Box::new(inner)));
    }
    assignment(scanner)
}

fn assignment(scanner: &mut Scanner) -> Parsed {
    let left = choice(scanner)?;
    for (sign, operator) in [(".=", "."), ("+=", "+"), ("-=", "-"), ("*=", "*"), ("||=", "||")] {
        if scanner.take(sign) {
            return assign(scanner, operator, left);
        }
    }
    scanner.skip_spaces();
    let is_plain = scanner.peek() == Some('=') && !matches!(scanner.peek_at(1), Some('=' | '~'));
    match is_plain && scanner.take("=") {
        true => assign(scanner, "", left),
        false => Ok(left),
    }
}

fn assign(scanner: &mut Scanner, operator: &'static str, target: Expression) -> Parsed {
    if !matches!(target, Expression::Scalar(_) | Expression::Element(..)) {
        return Err(scanner.error("only a variable can be set"));
    }
    scanner.deeper()?;
    let value = assignment(scanner)?;
    scanner.shallower();
    Ok(Expression::Assign(operator, Box::new(target), Box::new(value)))
}

fn choice(scanner: &mut Scanner) -> Parsed {
    let condition = either(scanner)?;
    if !scanner.take("?") {
        return Ok(condition);
    }
    scanner.deeper()?;
    let yes = assignment(scanner)?;
    scanner.expect(":")?;
    let no = assignment(scanner)?;
    scanner.shallower();
    Ok(Expression::Choice(Box::new([condition, yes, no])))
}

fn either(scanner: &mut Scanner) -> Parsed {
    let mut left = both(scanner)?;
    loop {
        scanner.skip_spaces();
        let is_assignment = scanner.peek_at(2) == Some('=');
        if is_assignment || !scanner.take("||") {
            return Ok(left);
        }
        left = Expression::Either(Box::new(left), Box::new(both(scanner)?));
    }
}

fn both(scanner: &mut Scanner) -> Parsed {
    let mut left = comparison(scanner)?;
    while scanner.take("&&") {
        left = Expression::Both(Box::new(left), Box::new(comparison(scanner)?));
    }
    Ok(left)
}

fn comparison(scanner: &mut Scanner) -> Parsed {
    let left = sum(scanner)?;
    for sign in ["==", "!=", "<=", ">=", "<", ">"] {
        if scanner.take(sign) {
            return Ok(Expression::Binary(sign, Box::new(left), Box::new(sum(scanner)?)));
        }
    }
    for word in ["eq", "ne", "lt", "gt", "le", "ge"] {
        if scanner.take_word(word) {
            return Ok(Expression::Binary(word, Box::new(left), Box::new(sum(scanner)?)));
        }
    }
    Ok(left)
}

/// A sign that is not the beginning of an assignment (`.=`).
fn take_operator(scanner: &mut Scanner, signs: &[&'static str]) -> Option<&'static str> {
    scanner.skip_spaces();
    let is_assignment = scanner.peek_at(1) == Some('=');
    signs.iter().find(|sign| !is_assignment && scanner.take(sign)).copied()
}

fn sum(scanner: &mut Scanner) -> Parsed {
    let mut left = product(scanner)?;
    while let Some(sign) = take_operator(scanner, &["+", "-", "."]) {
        left = Expression::Binary(sign, Box::new(left), Box::new(product(scanner)?));
    }
    Ok(left)
}

fn product(scanner: &mut Scanner) -> Parsed {
    let mut left = matching(scanner)?;
    loop {
        let sign = match take_operator(scanner, &["*", "/", "%"]) {
            Some(sign) => sign,
            None if scanner.take_word("x") => "x",
            None => return Ok(left),
        };
        left = Expression::Binary(sign, Box::new(left), Box::new(matching(scanner)?));
    }
}

fn matching(scanner: &mut Scanner) -> Parsed {
    let mut left = unary(scanner)?;
    loop {
        if scanner.take("=~") {
            left = pattern(scanner, left)?;
        } else if scanner.take("!~") {
            left = Expression::Not(Box::new(pattern(scanner, left)?));
        } else {
            return Ok(left);
        }
    }
}

fn unary(scanner: &mut Scanner) -> Parsed {
    let sign = ["!", "-", "+"].into_iter().find(|sign| scanner.take(sign));
    let Some(sign) = sign else { return primary(scanner) };
    scanner.deeper()?;
    let inner = Box::new(unary(scanner)?);
    scanner.shallower();
    Ok(match sign {
        "!" => Expression::Not(inner),
        "-" => Expression::Negative(inner),
        _ => *inner,
    })
}

fn primary(scanner: &mut Scanner) -> Parsed {
    scanner.skip_spaces();
    let Some(first) = scanner.peek() else {
        return Err(scanner.error("a value is wanted at the end"));
    };
    match first {
        '(' => {
            scanner.next();
            let inner = expression(scanner)?;
            scanner.expect(")")?;
            Ok(inner)
        }
        '$' => {
            scanner.next();
            variable(scanner)
        }
        '\'' | '"' => {
            scanner.next();
            let text = scanner.quoted(first)?;
            if first == '"' { interpolated(scanner, &text) } else { Ok(single(&text)) }
        }
        '<' if scanner.peek_at(1) == Some('<') => here(scanner),
        '/' => {
            let target = Expression::Scalar("_".to_owned());
            pattern(scanner, target)
        }
        '0'..='9' => number(scanner),
        'a'..='z' | 'A'..='Z' | '_' => word(scanner),
        '@' | '%' | '&' | '`' => {
            scanner.next();
            let name = scanner.name();
            Err(scanner.refused(&format!("`{first}{name}`")))
        }
        other => Err(scanner.error(format!("a value is wanted, and `{other}` comes"))),
    }
}

fn number(scanner: &mut Scanner) -> Parsed {
    let mut text = scanner.name();
    if scanner.peek() == Some('.') && scanner.peek_at(1).is_some_and(|c| c.is_ascii_digit()) {
        scanner.next();
        text = format!("{text}.{}", scanner.name());
    }
    let digits = text.replace('_', "");
    let number = match digits.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok().map(f64::from),
        None => digits.parse().ok(),
    };
    number.map(Expression::Number).ok_or_else(|| scanner.error(format!("{text} is no number")))
}

/// What follows a `$`: a name, or a name and a key.
fn variable(scanner: &mut Scanner) -> Parsed {
    let is_reference = scanner.peek() == Some('$');
    if is_reference {
        scanner.next();
    }
    let name = if scanner.peek() == Some('{') {
        scanner.next();
        let name = scanner.quoted('{')?;
        name.trim().trim_start_matches('$').to_owned()
    } else {
        scanner.name()
    };
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(scanner.refused(&format!("the variable `${name}`")));
    }
    let has_arrow = scanner.peek() == Some('-') && scanner.peek_at(1) == Some('>');
    if has_arrow && scanner.peek_at(2) == Some('{') {
        scanner.next();
        scanner.next();
    }
    if scanner.peek() != Some('{') {
        return match is_reference {
            true => Err(scanner.refused(&format!("the reference `$${name}`"))),
            false => Ok(Expression::Scalar(name)),
        };
    }
    scanner.next();
    let key = scanner.quoted('{')?;
    let trimmed = key.trim();
    let is_bare = trimmed.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let key = match is_bare {
        true => Expression::Text(trimmed.to_owned()),
        false => {
            let mut inner = Scanner::new(trimmed);
            let at_line = |error: ScriptError| ScriptError { line: scanner.line(), ..error };
            expression(&mut inner).map_err(at_line)?
        }
    };
    Ok(Expression::Element(name, Box::new(key)))
}

fn word(scanner: &mut Scanner) -> Parsed {
    let word = scanner.peek_word();
    if word == "my" {
        scanner.take_word("my");
        scanner.skip_spaces();
        if scanner.peek() != Some('$') {
            let sign: String = scanner.peek().into_iter().collect();
            scanner.next();
            let name = scanner.name();
            return Err(scanner.refused(&format!("`my {sign}{name}`")));
        }
        scanner.next();
        return variable(scanner);
    }
    if word == "undef" {
        scanner.take_word("undef");
        return Ok(Expression::Nothing);
    }
    if ["q", "qq", "m", "s"].contains(&word.as_str()) {
        return quote_word(scanner, &word);
    }
    let Some(&(name, least, most)) = FUNCTIONS.iter().find(|(name, ..)| *name == word) else {
        return Err(scanner.refused(&format!("`{word}`")));
    };
    scanner.take_word(&word);
    let mut arguments = Vec::new();
    if scanner.take("(") {
        while !scanner.take(")") {
            arguments.push(assignment(scanner)?);
            if !scanner.take(",") {
                scanner.expect(")")?;
                break;
            }
        }
    } else {
        arguments.push(unary(scanner)?);
    }
    if !(least..=most).contains(&arguments.len()) {
        return Err(scanner.error(format!("`{name}` takes {least} to {most} values")));
    }
    Ok(Expression::Call(name, arguments))
}

fn quote_word(scanner: &mut Scanner, word: &str) -> Parsed {
    if word == "m" || word == "s" {
        return pattern(scanner, Expression::Scalar("_".to_owned()));
    }
    scanner.take_word(word);
    scanner.skip_spaces();
    let begin = scanner.next().ok_or_else(|| scanner.error("a text is wanted at the end"))?;
    let text = scanner.quoted(begin)?;
    if word == "qq" { interpolated(scanner, &text) } else { Ok(single(&text)) }
}

/// `/…/`, `m{…}` or `s/…/…/`, with its flags.
fn pattern(scanner: &mut Scanner, target: Expression) -> Parsed {
    let is_substitution = scanner.take_word("s");
    if !is_substitution {
        scanner.take_word("m");
    }
    scanner.skip_spaces();
    let begin = scanner.next().ok_or_else(|| scanner.error("a pattern is wanted at the end"))?;
    if begin.is_alphanumeric() || begin == '$' {
        return Err(scanner.refused("a pattern that is not written out"));
    }
    let text = scanner.quoted(begin)?;
    let replacement = match is_substitution {
        false => None,
        true => {
            let is_bracket = matches!(begin, '(' | '[' | '{' | '<');
            scanner.skip_spaces();
            let begin = if is_bracket { scanner.next().unwrap_or('/') } else { begin };
            Some(scanner.quoted(begin)?)
        }
    };
    let flags = scanner.name();
    if let Some(flag) = flags.chars().find(|flag| !"gimsxo".contains(*flag)) {
        return Err(scanner.refused(&format!("the flag `{flag}` of a pattern")));
    }
    let inner: String = flags.chars().filter(|flag| "imsx".contains(*flag)).collect();
    let whole = if inner.is_empty() { text.clone() } else { format!("(?{inner}){text}") };
    let pattern = Regex::new(&whole)
        .map_err(|_| scanner.error(format!("the pattern `{text}` is not supported")))?;
    Ok(match replacement {
        None => Expression::Match(Box::new(target), pattern),
        Some(with) => Expression::Substitute {
            target: Box::new(target),
            pattern,
            with: Box::new(interpolated(scanner, &with)?),
            is_global: flags.contains('g'),
        },
    })
}

/// `<<TAG`, `<<"TAG"`, `<<'TAG'`.
fn here(scanner: &mut Scanner) -> Parsed {
    scanner.next();
    scanner.next();
    let quote = scanner.peek().filter(|c| matches!(c, '"' | '\''));
    let tag = match quote {
        Some(quote) => {
            scanner.next();
            scanner.quoted(quote)?
        }
        None => scanner.name(),
    };
    if tag.is_empty() {
        return Err(scanner.error("`<<` needs the name of a last line"));
    }
    let body = scanner.lines_to(&tag)?;
    if quote == Some('\'') { Ok(Expression::Text(body)) } else { interpolated(scanner, &body) }
}

/// A text in single quotes: only `\\` means something.
fn single(text: &str) -> Expression {
    Expression::Text(text.replace("\\\\", "\\"))
}

/// A text in double quotes.
fn interpolated(scanner: &Scanner, text: &str) -> Parsed {
    let mut inner = Scanner::new(text);
    let at_line = |error: ScriptError| ScriptError { line: scanner.line(), ..error };
    let mut parts = Vec::new();
    let mut plain = String::new();
    while let Some(character) = inner.next() {
        match character {
            '\\' => match inner.next() {
                Some('n') => plain.push('\n'),
                Some('t') => plain.push('\t'),
                Some('r') => plain.push('\r'),
                Some(other) => plain.push(other),
                None => plain.push('\\'),
            },
            '@' if inner.peek().is_some_and(|c| c.is_ascii_alphabetic() || c == '_') => {
                let name = inner.name();
                return Err(scanner.refused(&format!("`@{name}` in a text (write `\\@`)")));
            }
            '$' if inner.peek().is_some_and(is_name_begin) => {
                parts.push(Expression::Text(std::mem::take(&mut plain)));
                parts.push(variable(&mut inner).map_err(at_line)?);
            }
            other => plain.push(other),
        }
    }
    parts.push(Expression::Text(plain));
    Ok(Expression::Joined(parts))
}

fn is_name_begin(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '{' | '$')
}
