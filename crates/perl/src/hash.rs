//! The inside of a hash: `name => value, 'name', value`.
//!
//! Names, texts in quotes, numbers and `undef` are taken; anything else is refused by what it is.

/// The pairs of a hash, in their order.
///
/// # Errors
/// If a part is not a name, a text, a number or `undef`, or a comma is missing.
pub fn parse(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut scanner = Scanner { rest: text };
    let mut items: Vec<String> = Vec::new();
    loop {
        scanner.skip_spaces();
        if scanner.rest.is_empty() {
            break;
        }
        let before = scanner.rest;
        let item = scanner.item()?;
        scanner.skip_spaces();
        let is_arrow = scanner.take_word("=>");
        if let Item::Word(word) = &item
            && !is_arrow
            && word != "undef"
        {
            return Err(format!("`{word}` must be in quotes"));
        }
        if !is_arrow && !scanner.rest.is_empty() && !scanner.take_word(",") {
            let shown: String = before.chars().take(40).collect();
            return Err(format!("a comma is missing in `{shown}`"));
        }
        items.push(match item {
            Item::Word(word) if word == "undef" && !is_arrow => String::new(),
            Item::Word(text) | Item::Text(text) => text,
        });
        // Several commas are as one.
        scanner.skip_spaces();
        while scanner.take_word(",") {
            scanner.skip_spaces();
        }
    }
    let mut items = items.into_iter();
    let mut pairs = Vec::new();
    while let Some(name) = items.next() {
        pairs.push((name, items.next().unwrap_or_default()));
    }
    Ok(pairs)
}

enum Item {
    Word(String),
    Text(String),
}

struct Scanner<'a> {
    rest: &'a str,
}

impl Scanner<'_> {
    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_start();
        if self.rest.starts_with('#') {
            let end = self.rest.find('\n').unwrap_or(self.rest.len());
            self.rest = &self.rest[end..];
            self.skip_spaces();
        }
    }

    fn take_word(&mut self, word: &str) -> bool {
        let rest = self.rest.strip_prefix(word);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn item(&mut self) -> Result<Item, String> {
        let first = self.rest.chars().next().unwrap_or(' ');
        match first {
            '\'' | '"' => self.quoted(first).map(Item::Text),
            '0'..='9' | '-' | '+' | '.' => self.number().map(Item::Text),
            'a'..='z' | 'A'..='Z' | '_' => {
                let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
                let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
                let (word, rest) = self.rest.split_at(end);
                self.rest = rest;
                Ok(Item::Word(word.to_owned()))
            }
            other => Err(format!("`{other}` is not expected")),
        }
    }

    fn quoted(&mut self, quote: char) -> Result<String, String> {
        let mut text = String::new();
        let mut characters = self.rest.char_indices().skip(1);
        while let Some((at, character)) = characters.next() {
            match character {
                _ if character == quote => {
                    self.rest = &self.rest[at + 1..];
                    return Ok(text);
                }
                '\\' => match characters.next() {
                    Some((_, next)) if next == quote || next == '\\' => text.push(next),
                    Some((_, next)) if quote == '"' && next.is_ascii_alphanumeric() => {
                        return Err(format!("`\\{next}` in a text is not known here"));
                    }
                    Some((_, next)) if quote == '"' => text.push(next),
                    Some((_, next)) => text.extend(['\\', next]),
                    None => break,
                },
                '$' | '@' if quote == '"' => {
                    return Err(format!("`{character}` in a text is a variable of Perl: use '…'"));
                }
                _ => text.push(character),
            }
        }
        Err("a quote is not closed".to_owned())
    }

    fn number(&mut self) -> Result<String, String> {
        let sign = usize::from(self.rest.starts_with(['-', '+']));
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
        let end = self.rest[sign..].find(|c| !is_part(c)).map_or(self.rest.len(), |at| at + sign);
        let (text, rest) = self.rest.split_at(end);
        let plain = text.replace('_', "");
        if let Some(hexadecimal) = plain.strip_prefix("0x") {
            let value = u64::from_str_radix(hexadecimal, 16);
            let value = value.map_err(|_| format!("`{text}` is no number"))?;
            self.rest = rest;
            return Ok(value.to_string());
        }
        if plain.parse::<f64>().is_err() || !plain.contains(|c: char| c.is_ascii_digit()) {
            return Err(format!("`{text}` is no number"));
        }
        self.rest = rest;
        Ok(plain)
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn pairs_are_read() {
        let pairs = parse("timeout => 2.5, 'retries' => 3, username => 'a b', backoff,").err();
        assert_eq!(pairs, Some("`backoff` must be in quotes".to_owned()));
        let pairs = parse("timeout=>2.5,\"retries\", 3, username => 'it\\'s',").expect("right");
        let expected = [("timeout", "2.5"), ("retries", "3"), ("username", "it's")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(pairs, expected);
        for wrong in
            ["a => b", "a => 1 b => 2", "a => '", "a => \"$x\"", "a => f(1)", "=> 1", "a => 1-"]
        {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
