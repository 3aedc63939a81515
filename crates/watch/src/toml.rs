//! The part of TOML that configurations need: tables, lists of tables, keys, strings, numbers, switches and
//! lists.
//!
//! What else TOML has (dates, tables in a line, strings over several lines) is refused by name.  An error
//! ends its line and not the reading, so that all of them are reported at once.

use std::iter::Peekable;
use std::str::CharIndices;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Item {
    Text(String),
    Whole(i64),
    Number(f64),
    Switch(bool),
    List(Vec<Item>),
}

/// A line and a column, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Spot {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// `[NAME]`, or `[[NAME]]`: one more table of a list.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) name: String,
    pub(crate) at: Spot,
    /// Which table of a list, from 0; `None` of a table that stands once.
    pub(crate) row: Option<usize>,
}

/// `KEY = VALUE` in a table.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) table: String,
    /// Which table of a list, as of its head.
    pub(crate) row: Option<usize>,
    pub(crate) key: String,
    pub(crate) key_at: Spot,
    pub(crate) value: Item,
    pub(crate) value_at: Spot,
}

/// What a text has.
#[derive(Debug, Default)]
pub(crate) struct Document {
    /// The heads of tables.
    pub(crate) tables: Vec<Head>,
    pub(crate) entries: Vec<Entry>,
    /// What is wrong, and where.
    pub(crate) faults: Vec<(Spot, String)>,
}

impl Document {
    fn add_head(&mut self, name: String, at: Spot, is_list: bool) -> Head {
        let same = self.tables.iter().rev().find(|known| known.name == name);
        let row = match same {
            _ if !is_list => None,
            Some(Head { row: Some(before), .. }) => Some(before + 1),
            _ => Some(0),
        };
        if let Some(first) = same.filter(|known| row.is_none() || known.row.is_none()) {
            let text = format!("the table [{name}] is in line {} already", first.at.line);
            self.faults.push((at, text));
        }
        let head = Head { name, at, row };
        self.tables.push(head.clone());
        head
    }

    fn add_entry(&mut self, entry: Entry) {
        let same =
            |one: &&Entry| one.table == entry.table && one.row == entry.row && one.key == entry.key;
        match self.entries.iter().find(same) {
            Some(first) => {
                let text = format!("{} is in line {} already", entry.key, first.key_at.line);
                self.faults.push((entry.key_at, text));
            }
            None => self.entries.push(entry),
        }
    }
}

/// Reads a text.
pub(crate) fn parse(text: &str) -> Document {
    let mut document = Document::default();
    let mut reader = TomlReader { text, chars: text.char_indices().peekable(), line: 1, begin: 0 };
    let mut head = Head { name: String::new(), at: Spot { line: 1, column: 1 }, row: None };
    loop {
        reader.skip(true);
        let at = reader.spot();
        let Some(next) = reader.peek() else { break };
        let done = match next {
            '[' => reader.head().map(|(name, is_list)| {
                head = document.add_head(name, at, is_list);
            }),
            _ => reader.entry(&head).map(|entry| document.add_entry(entry)),
        };
        let done = done.and_then(|()| reader.end_of_line());
        if let Err(fault) = done {
            document.faults.push(fault);
            reader.skip_line();
        }
    }
    document
}

type Fault = (Spot, String);

struct TomlReader<'a> {
    text: &'a str,
    chars: Peekable<CharIndices<'a>>,
    line: usize,
    /// Where the line begins.
    begin: usize,
}

impl TomlReader<'_> {
    fn peek(&mut self) -> Option<char> {
        self.chars.peek().map(|(_, one)| *one)
    }

    fn next(&mut self) -> Option<char> {
        let (at, one) = self.chars.next()?;
        if one == '\n' {
            self.line += 1;
            self.begin = at + 1;
        }
        Some(one)
    }

    fn offset(&mut self) -> usize {
        self.chars.peek().map_or(self.text.len(), |(at, _)| *at)
    }

    fn spot(&mut self) -> Spot {
        let offset = self.offset();
        Spot { line: self.line, column: self.text[self.begin..offset].chars().count() + 1 }
    }

    fn fault<T>(&mut self, text: impl Into<String>) -> Result<T, Fault> {
        Err((self.spot(), text.into()))
    }

    /// Skips blanks and comments; over the end of lines, too, if `lines`.
    fn skip(&mut self, lines: bool) {
        while let Some(next) = self.peek() {
            match next {
                ' ' | '\t' | '\r' => {}
                '\n' if lines => {}
                '#' => {
                    while self.peek().is_some_and(|next| next != '\n') {
                        self.next();
                    }
                    continue;
                }
                _ => return,
            }
            self.next();
        }
    }

    fn skip_line(&mut self) {
        while self.next().is_some_and(|next| next != '\n') {}
    }

    fn end_of_line(&mut self) -> Result<(), Fault> {
        self.skip(false);
        match self.peek() {
            None | Some('\n') => Ok(()),
            Some(next) => self.fault(format!("'{next}' is left over: one key in a line")),
        }
    }

    /// `[NAME.NAME]`, or `[[NAME.NAME]]` of a list; whether it is one.
    fn head(&mut self) -> Result<(String, bool), Fault> {
        self.next();
        let is_list = self.peek() == Some('[');
        if is_list {
            self.next();
        }
        let name = self.path()?.join(".");
        for _ in 0..1 + usize::from(is_list) {
            match self.peek() {
                Some(']') => self.next(),
                _ => return self.fault("a ] is missing behind the name of the table"),
            };
        }
        Ok((name, is_list))
    }

    /// Names with dots between them.
    fn path(&mut self) -> Result<Vec<String>, Fault> {
        let mut path = Vec::new();
        loop {
            self.skip(false);
            path.push(self.name()?);
            self.skip(false);
            if self.peek() != Some('.') {
                return Ok(path);
            }
            self.next();
        }
    }

    fn name(&mut self) -> Result<String, Fault> {
        if let Some(quote @ ('"' | '\'')) = self.peek() {
            return self.string(quote);
        }
        let mut name = String::new();
        while let Some(next) = self.peek() {
            if !(next.is_ascii_alphanumeric() || next == '_' || next == '-') {
                break;
            }
            name.push(next);
            self.next();
        }
        if name.is_empty() {
            return self.fault("a name is missing: write KEY = VALUE or [TABLE]");
        }
        Ok(name)
    }

    fn entry(&mut self, head: &Head) -> Result<Entry, Fault> {
        let key_at = self.spot();
        let mut path = self.path()?;
        let key = path.pop().unwrap_or_default();
        let names = Some(head.name.clone()).filter(|name| !name.is_empty()).into_iter().chain(path);
        let table = names.collect::<Vec<_>>().join(".");
        if self.peek() != Some('=') {
            return self.fault(format!("a = is missing behind {key}"));
        }
        self.next();
        self.skip(false);
        let value_at = self.spot();
        let value = self.value(true)?;
        Ok(Entry { table, row: head.row, key, key_at, value, value_at })
    }

    fn value(&mut self, may_be_list: bool) -> Result<Item, Fault> {
        match self.peek() {
            Some(quote @ ('"' | '\'')) => self.string(quote).map(Item::Text),
            Some('[') if may_be_list => self.list(),
            Some('[') => self.fault("a list in a list means nothing here"),
            Some('{') => self.fault("write a table as [NAME] and its keys below it, not in { }"),
            None | Some('\n' | '#') => self.fault("a value is missing"),
            Some(_) => self.bare(),
        }
    }

    fn list(&mut self) -> Result<Item, Fault> {
        self.next();
        let mut items = Vec::new();
        loop {
            self.skip(true);
            match self.peek() {
                Some(']') => {
                    self.next();
                    return Ok(Item::List(items));
                }
                None => return self.fault("a ] is missing at the end of a list"),
                Some(_) => items.push(self.value(false)?),
            }
            self.skip(true);
            match self.peek() {
                Some(',') => {
                    self.next();
                }
                Some(']') => {}
                _ => return self.fault("a comma or a ] is missing in a list"),
            }
        }
    }

    /// A switch or a number.
    fn bare(&mut self) -> Result<Item, Fault> {
        let at = self.spot();
        let mut word = String::new();
        while let Some(next) = self.peek() {
            if next.is_whitespace() || ",]#".contains(next) {
                break;
            }
            word.push(next);
            self.next();
        }
        let digits = word.replace('_', "");
        let item = match word.as_str() {
            "true" => Some(Item::Switch(true)),
            "false" => Some(Item::Switch(false)),
            _ if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+') => None,
            _ => {
                let whole = digits.parse().map(Item::Whole).ok();
                whole.or_else(|| digits.parse().map(Item::Number).ok())
            }
        };
        item.ok_or_else(|| (at, format!("{word} is no value: text stands in quotes, \"{word}\"")))
    }

    fn string(&mut self, quote: char) -> Result<String, Fault> {
        let begin = self.spot();
        self.next();
        let mut text = String::new();
        loop {
            match self.peek() {
                None | Some('\n') => {
                    return Err((begin, format!("the {quote} at the end of the text is missing")));
                }
                Some(next) if next == quote => {
                    self.next();
                    if text.is_empty() && self.peek() == Some(quote) {
                        return Err((begin, "text over several lines means nothing here".into()));
                    }
                    return Ok(text);
                }
                Some('\\') if quote == '"' => text.push(self.escape()?),
                Some(next) => {
                    text.push(next);
                    self.next();
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char, Fault> {
        let at = self.spot();
        self.next();
        let kind = self.next();
        let digits = match kind {
            Some('b') => return Ok('\u{8}'),
            Some('t') => return Ok('\t'),
            Some('n') => return Ok('\n'),
            Some('f') => return Ok('\u{c}'),
            Some('r') => return Ok('\r'),
            Some(same @ ('"' | '\\')) => return Ok(same),
            Some('u') => 4,
            Some('U') => 8,
            _ => 0,
        };
        let hex: String = (0..digits).filter_map(|_| self.next()).collect();
        let code = u32::from_str_radix(&hex, 16).ok().and_then(char::from_u32);
        code.ok_or_else(|| (at, "that is no escape: a backslash itself is \\\\".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_every_kind_are_read() {
        let text = "top = 1\n[a]\nb = \"x\\t\\u0041\\\"\" # c\n c= 'raw\\'\n[ d . e ]\r\nf=[1, -2_0,\n \
                    # x\n 'y',]\ng = true\nh.i = 0.5\n\"j k\" = false\n";
        let document = parse(text);
        assert_eq!(document.faults, []);
        let read = |table: &str, key: &str| {
            let found = document.entries.iter().find(|one| one.table == table && one.key == key);
            found.unwrap().value.clone()
        };
        assert_eq!(read("", "top"), Item::Whole(1));
        assert_eq!(read("a", "b"), Item::Text("x\tA\"".into()));
        assert_eq!(read("a", "c"), Item::Text("raw\\".into()));
        let items = vec![Item::Whole(1), Item::Whole(-20), Item::Text("y".into())];
        assert_eq!(read("d.e", "f"), Item::List(items));
        assert_eq!(read("d.e", "g"), Item::Switch(true));
        assert_eq!(read("d.e.h", "i"), Item::Number(0.5));
        assert_eq!(read("d.e", "j k"), Item::Switch(false));
    }

    #[test]
    fn every_fault_has_its_line_and_column_and_the_rest_is_read() {
        let text = "a = yes\nb = 1 2\nc\nd = {x=1}\ne = \"open\nf = 1\nf = 2\n[t\n[[u]\ng = [1\n";
        let document = parse(text);
        let spots: Vec<_> = document.faults.iter().map(|(at, _)| (at.line, at.column)).collect();
        let wanted = [(1, 5), (2, 7), (3, 2), (4, 5), (5, 5), (7, 1), (8, 3), (9, 5), (11, 1)];
        assert_eq!(spots, wanted, "{:?}", document.faults);
        let keys: Vec<_> = document.entries.iter().map(|one| one.key.as_str()).collect();
        assert_eq!(keys, ["b", "f"]);
    }

    #[test]
    fn tables_of_a_list_are_counted() {
        let document = parse("[[a]]\nk = 1\n[b]\nk = 2\n[[a]]\nk = 3\nl.k = 4\n[[ c.d ]]\nk = 5\n");
        assert_eq!(document.faults, []);
        let read = |entry: &Entry| (entry.table.clone(), entry.row, entry.value.clone());
        let wanted = [("a", Some(0), 1), ("b", None, 2), ("a", Some(1), 3), ("a.l", Some(1), 4)];
        let wanted = wanted.into_iter().chain([("c.d", Some(0), 5)]);
        let wanted: Vec<_> =
            wanted.map(|(table, row, value)| (table.to_owned(), row, Item::Whole(value))).collect();
        assert_eq!(document.entries.iter().map(read).collect::<Vec<_>>(), wanted);
        // A table is a list or none, and a key stands once in each table of one.
        let document = parse("[a]\n[[a]]\n[[b]]\nk = 1\nk = 2\n[b]\n");
        let spots: Vec<_> = document.faults.iter().map(|(at, _)| at.line).collect();
        assert_eq!(spots, [2, 5, 6], "{:?}", document.faults);
    }

    #[test]
    fn no_text_ends_the_reader() {
        let mut random = testkit::Random::from_seed(7);
        let pieces = ["[", "]", "a", "=", "\"", "'", "\\u", "\n", "#", ",", ".", "é", "1", " "];
        for _ in 0..20_000 {
            let text: String = (0..random.below(24)).map(|_| random.one_of(&pieces)).collect();
            parse(&text);
        }
    }
}
