//! Pages read by a parser of HTML that is not ours.

use std::path::PathBuf;
use std::process::Command;

/// Elements and attributes that pages and indexes have; any other comes from the text of a device.
const PARSER: &str = r#"
import html.parser, sys
ATTRIBUTES = {'border','cellpadding','cellspacing','href','rel','name','content','http-equiv','src',
 'alt','title','width','height','class','id','scope','lang','charset','bgcolor','text','link','vlink',
 'alink','colspan'}
TAGS = set('''html head title meta link body h1 h2 p strong br div table tr td th img a b small style
 span'''.split())
class P(html.parser.HTMLParser):
    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            assert name in ATTRIBUTES, (tag, name)
            assert not (value or '').lower().startswith('javascript:'), value
        assert tag in TAGS, tag
    handle_startendtag = handle_starttag
    def handle_comment(self, text):
        assert not text.lstrip().startswith('#') or text.startswith('#flastmod file="'), text
        assert text.count('"') in (0, 2), text
for path in sys.argv[1:]:
    P().feed(open(path, encoding='utf-8').read())
"#;

/// Checks that pages are UTF-8 and have no elements and attributes but those of pages and indexes, as
/// Python's parser finds them; without Python this is skipped.
///
/// # Panics
/// If a page has others.
pub fn assert_plain_html(files: &[PathBuf]) {
    if super::is_installed("pages read by html.parser", "python3") {
        let output = Command::new("python3").args(["-c", PARSER]).args(files).output();
        let output = output.expect("python3 runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
