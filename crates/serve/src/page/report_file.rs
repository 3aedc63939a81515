//! The file of a report: the page's script and style in it, and packed answers, each in an element of
//! its own that no name can end.

use std::io::{self, Write};

use base64ct::{Base64, Encoding as _};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use text::escape::html_text;

use super::files;

/// Answers, each with what it was asked for.
#[derive(Default)]
pub(super) struct Answers {
    /// What each was asked for, in the form in which the page looks for it.
    heads: Vec<Value>,
    /// Each packed by gzip, in base 64.
    packed: Vec<String>,
    /// Bytes of all.
    pub(super) bytes: usize,
}

impl Answers {
    /// Adds an answer, if there are then at most so many bytes; says whether it was added.
    pub(super) fn add(&mut self, head: Value, text: &str, bytes_max: usize) -> io::Result<bool> {
        let mut packer = GzEncoder::new(Vec::new(), Compression::best());
        packer.write_all(layout::text::visible_json(text.to_owned()).as_bytes())?;
        let packed = Base64::encode_string(&packer.finish()?);
        if self.bytes + packed.len() > bytes_max {
            return Ok(false);
        }
        self.bytes += packed.len();
        self.heads.push(head);
        self.packed.push(packed);
        Ok(true)
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.packed.len()
    }

    /// Takes back all but the first ones.
    pub(super) fn truncate(&mut self, count: usize) {
        self.bytes -= self.packed[count..].iter().map(String::len).sum::<usize>();
        self.heads.truncate(count);
        self.packed.truncate(count);
    }

    /// Writes the file: `about` is what the page shows of the report, and `title` its title.
    pub(super) fn write(
        &self,
        title: &str,
        mut about: Value,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let (script, style) = (files::text("assets/page.js"), files::text("assets/page.css"));
        // Nothing but these two may run or shape the page, and nothing may be fetched.
        let policy = format!(
            "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; base-uri 'none'; \
             form-action 'none'",
            hash(script),
            hash(style)
        );
        about["answers"] = self.heads.clone().into();
        // `<` in a string of JSON is the same as its escape, and cannot begin a tag.
        let about = layout::text::visible_json(about.to_string()).replace('<', "\\u003c");
        write!(
            out,
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{}</title>\n<style>{style}</style>\n</head>\n<body>\n\
             <noscript>This report draws curves by script: allow scripts of this file.</noscript>\n\
             <div id=\"page\"></div>\n\
             <script type=\"text/plain\">{}</script>\n\
             <script type=\"application/json\" id=\"report\">{about}</script>\n",
            html_text(title),
            files::text("assets/uplot-license.txt"),
        )?;
        for (number, packed) in self.packed.iter().enumerate() {
            writeln!(out, "<script type=\"text/plain\" id=\"answer-{number}\">{packed}</script>")?;
        }
        write!(out, "<script type=\"module\">{script}</script>\n</body>\n</html>\n")
    }
}

/// A checksum as a policy of content names it.
fn hash(text: &str) -> String {
    Base64::encode_string(&Sha256::digest(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_files_do_not_end_their_elements() {
        for name in ["assets/page.js", "assets/page.css", "assets/uplot-license.txt"] {
            let text = files::text(name).to_ascii_lowercase();
            assert!(!text.is_empty(), "{name}");
            let ends = ["</script", "<script", "</style", "<!--", "\r", "\0"];
            for end in ends {
                assert!(!text.contains(end), "{name} contains {end:?}");
            }
        }
    }

    #[test]
    fn what_is_too_much_is_not_added() {
        let mut answers = Answers::default();
        assert!(answers.add(Value::Null, "{}", 1000).unwrap());
        let one = answers.bytes;
        assert!(!answers.add(Value::Null, "{}", 2 * one - 1).unwrap());
        assert!(answers.add(Value::Null, "{}", 2 * one).unwrap());
        answers.truncate(1);
        assert_eq!((answers.count(), answers.bytes), (1, one));
    }
}
