//! The installed configuration, made from the table of all keys.

use std::fmt::Write as _;

use crate::keys::{KEYS, is_list};

/// The file that is installed: every key, with its comment, and with its default where it has one.
#[must_use]
pub fn default_file() -> String {
    let mut text = "\
# The configuration of `whit watch`: a line that begins with # says what the key below it does; a key
# that is commented out has the value shown, or none.  `whit config` checks this file and shows what is
# in force; `systemctl reload whit` takes changes over.  A path without / in front is below [data] folder.
"
    .to_owned();
    let mut table = "";
    for key in KEYS {
        if key.table != table {
            table = key.table;
            // Writing to a string cannot fail.
            let _ = match is_list(table) {
                false => write!(text, "\n[{table}]\n"),
                true => write!(text, "\n# There may be several of these:\n#[[{table}]]\n"),
            };
        }
        let name = key.name;
        let _ = writeln!(text, "# {}", key.help);
        let _ = match key.default {
            Some(value) => writeln!(text, "#{name} = {value}"),
            None => writeln!(text, "#{name} ="),
        };
    }
    text
}
