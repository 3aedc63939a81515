//! Words of an expression: numbers as Perl writes them, values, symbols, names.

use std::fmt;

use crate::decimal::Decimal;

use super::grammar::query_of;

/// Why a text is no expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpressionError {
    /// The text is Perl, but not arithmetic that is done here: what it uses.
    Unsupported(String),
    /// The text is no expression, also for Perl: what is wrong.
    Malformed(String),
}

/// One word.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Number(Decimal),
    Value(usize),
    Symbol(&'static str),
    Word(String),
    End,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Number(number) => write!(f, "the number {number}"),
            Token::Value(_) => f.write_str("a query"),
            Token::Symbol(symbol) => write!(f, "`{symbol}`"),
            Token::Word(word) => write!(f, "`{word}`"),
            Token::End => f.write_str("the end"),
        }
    }
}

/// Symbols, longest first.
const SYMBOLS: &[&str] = &[
    "<=>", "**", "==", "!=", "<=", ">=", "&&", "||", "//", "+", "-", "*", "/", "%", "<", ">", "?",
    ":", "(", ")", "!", ";", ",", "=",
];
/// Symbols of Perl that are refused, longest first.
const REFUSED: &[&str] = &["<<", ">>", "..", "=~", "!~", "++", "--", "->", "&", "|", "^", "~", "."];

/// The words of a text and the place of the next.
pub(super) struct Scanner {
    tokens: Vec<Token>,
    next: usize,
}

impl Scanner {
    /// Takes a text apart.
    pub(super) fn new(text: &str) -> Result<Self, ExpressionError> {
        let mut tokens = Vec::new();
        let mut rest = text;
        loop {
            rest = rest.trim_start();
            if let Some(comment) = rest.strip_prefix('#') {
                rest = comment.find('\n').map_or("", |end| &comment[end..]);
                continue;
            }
            let Some(first) = rest.chars().next() else { break };
            let (token, length) = token(rest, first)?;
            tokens.push(token);
            rest = &rest[length..];
        }
        Ok(Scanner { tokens, next: 0 })
    }

    pub(super) fn peek(&self) -> Token {
        self.tokens.get(self.next).cloned().unwrap_or(Token::End)
    }

    pub(super) fn next_token(&mut self) -> Token {
        let token = self.peek();
        self.next += 1;
        token
    }

    /// Takes a symbol or an operator that is a word, if it is next.
    pub(super) fn take_symbol(&mut self, wanted: &str) -> bool {
        let is_next = match self.tokens.get(self.next) {
            Some(Token::Symbol(symbol)) => *symbol == wanted,
            Some(Token::Word(word)) => word == wanted,
            _ => false,
        };
        self.next += usize::from(is_next);
        is_next
    }
}

fn token(rest: &str, first: char) -> Result<(Token, usize), ExpressionError> {
    let unsupported = |what: String| Err(ExpressionError::Unsupported(what));
    if let Some(number) = query_of(first) {
        return Ok((Token::Value(number), first.len_utf8()));
    }
    let begins_number = rest.starts_with(|c: char| c.is_ascii_digit())
        || (first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit()));
    if begins_number {
        return number(rest);
    }
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let word_end = |text: &str| text.find(|c| !is_word(c)).unwrap_or(text.len());
    match first {
        'a'..='z' | 'A'..='Z' | '_' => {
            let end = word_end(rest);
            return Ok((Token::Word(rest[..end].to_owned()), end));
        }
        '$' | '@' if word_end(&rest[1..]) > 0 => {
            return unsupported(format!("the variable {}", &rest[..=word_end(&rest[1..])]));
        }
        '\'' | '"' => return unsupported("a text in quotes".to_owned()),
        '{' | '[' => return unsupported(format!("a list or block in `{first}`")),
        _ => {}
    }
    // `--` may be two signs, as in `1--1`, which is an error in Perl too.
    let refused = REFUSED.iter().find(|symbol| rest.starts_with(**symbol));
    let taken = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol));
    match (refused, taken) {
        (Some(refused), taken) if taken.is_none_or(|taken| taken.len() < refused.len()) => {
            unsupported(format!("the operator {refused}"))
        }
        (_, Some(symbol)) => Ok((Token::Symbol(symbol), symbol.len())),
        _ => Err(ExpressionError::Malformed(format!("`{first}` is not expected"))),
    }
}

/// A number at the beginning of a text, and its length.
fn number(text: &str) -> Result<(Token, usize), ExpressionError> {
    let literal = perl::Literal::at_beginning(text.as_bytes());
    let written = &text[..literal.length];
    // Perl warns of it, which makes a target unknown.
    let has_warning = literal.radix == 10 && (written.contains("__") || written.ends_with('_'));
    let number = match literal.radix {
        10 => Decimal::parse(&literal.digits),
        radix => Decimal::parse_radix(&literal.digits, radix),
    };
    let number = number.filter(|_| !has_warning);
    let malformed = || ExpressionError::Malformed(format!("`{written}` is no number"));
    Ok((Token::Number(number.ok_or_else(malformed)?), literal.length))
}
