//! From a text to tokens.
//!
//! Blanks, `_` and `,` separate.  A character that begins no token ends the text, as in RRDtool.

/// What a token is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Token {
    End,
    Number,
    Plus,
    Minus,
    Dot,
    Colon,
    Slash,
    Word(Word),
    /// Letters that are no known word.
    Unknown,
}

/// The words, before an offset and in it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Word {
    Midnight,
    Noon,
    Teatime,
    Am,
    Pm,
    Yesterday,
    Today,
    Tomorrow,
    Now,
    Start,
    End,
    Epoch,
    /// A month, from 0.
    Month(i64),
    /// A day of the week, from 0, Sunday.
    Weekday(i64),
    Unit(Unit),
}

/// Units of an offset.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Unit {
    Seconds,
    Minutes,
    Hours,
    Days,
    Weeks,
    Months,
    Years,
    /// `m`: months or minutes.
    MonthsOrMinutes,
}

const REFERENCES: &[(&str, Word)] = &[
    ("midnight", Word::Midnight),
    ("noon", Word::Noon),
    ("teatime", Word::Teatime),
    ("am", Word::Am),
    ("pm", Word::Pm),
    ("tomorrow", Word::Tomorrow),
    ("yesterday", Word::Yesterday),
    ("today", Word::Today),
    ("now", Word::Now),
    ("n", Word::Now),
    ("start", Word::Start),
    ("s", Word::Start),
    ("end", Word::End),
    ("e", Word::End),
    ("epoch", Word::Epoch),
];

const UNITS: &[(&[&str], Unit)] = &[
    (&["second", "seconds", "sec", "s"], Unit::Seconds),
    (&["minute", "minutes", "min"], Unit::Minutes),
    (&["m"], Unit::MonthsOrMinutes),
    (&["hour", "hours", "hr", "h"], Unit::Hours),
    (&["day", "days", "d"], Unit::Days),
    (&["week", "weeks", "wk", "w"], Unit::Weeks),
    (&["month", "months", "mon"], Unit::Months),
    (&["year", "years", "yr", "y"], Unit::Years),
];

/// A text and how far it is read.
#[derive(Clone, Debug)]
pub(crate) struct Scanner<'a> {
    rest: &'a str,
    /// Letters are units of an offset.
    pub(crate) in_offset: bool,
    /// The token that was read last, and its text.
    pub(crate) token: Token,
    pub(crate) text: &'a str,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Scanner { rest: text, in_offset: false, token: Token::End, text: "" }
    }

    /// Reads the next token.
    pub(crate) fn next(&mut self) -> Token {
        let is_blank =
            |byte: char| byte.is_ascii_whitespace() || matches!(byte, '\x0b' | '_' | ',');
        self.rest = self.rest.trim_start_matches(is_blank);
        let Some(first) = self.rest.chars().next() else {
            self.text = "";
            self.token = Token::End;
            return self.token;
        };
        let run = |is: fn(&char) -> bool| self.rest.find(|other| !is(&other));
        let length = match first {
            '0'..='9' => run(char::is_ascii_digit).unwrap_or(self.rest.len()),
            'a'..='z' | 'A'..='Z' => run(char::is_ascii_alphabetic).unwrap_or(self.rest.len()),
            other => other.len_utf8(),
        };
        let (text, rest) = self.rest.split_at(length);
        self.text = text;
        self.token = match first {
            '0'..='9' => Token::Number,
            'a'..='z' | 'A'..='Z' => self.word(text).map_or(Token::Unknown, Token::Word),
            ':' => Token::Colon,
            '.' => Token::Dot,
            '+' => Token::Plus,
            '-' => Token::Minus,
            '/' => Token::Slash,
            _ => Token::End,
        };
        if self.token != Token::End {
            self.rest = rest;
        }
        self.token
    }

    /// The token and what follows it, as errors show it.
    pub(crate) fn shown(&self) -> String {
        format!("{}{}", self.text, self.rest).chars().take(1000).collect()
    }

    /// What is not read yet.
    pub(crate) fn shown_rest(&self) -> String {
        self.rest.chars().take(1000).collect()
    }

    /// The number of the token: the greatest `long` if it has no place.
    pub(crate) fn number(&self) -> i64 {
        self.text.parse().unwrap_or(if self.token == Token::Number { i64::MAX } else { 0 })
    }

    fn word(&self, text: &str) -> Option<Word> {
        let is = |name: &str| text.eq_ignore_ascii_case(name);
        if self.in_offset {
            let unit = UNITS.iter().find(|(names, _)| names.iter().any(|name| is(name)));
            return unit.map(|(_, unit)| Word::Unit(*unit));
        }
        let named = |names: &[&str]| names.iter().position(|name| is(name) || is(&name[..3]));
        let reference = REFERENCES.iter().find(|(name, _)| is(name)).map(|(_, word)| *word);
        reference
            .or_else(|| named(&calendar::MONTHS).map(|month| Word::Month(month as i64)))
            .or_else(|| named(&calendar::WEEKDAYS).map(|weekday| Word::Weekday(weekday as i64)))
    }
}
