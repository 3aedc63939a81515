//! Names: of files by source and instance, of data sources by field.
//!
//! An instance's name is bytes from the kernel.  In the name of a file a byte other than a letter,
//! a digit, `_`, `-`, `.`, `+` or `=` is `%` and two hexadecimal digits, and so is a full stop in
//! front; the parts of a name with two labels have a comma between.  So different instances have
//! different files, all of them within their folder, and no name needs quoting in a shell or in a
//! `DEF` of a graph.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use rrd::specification::NAME_BYTES_MAX;
use sample::SourceDef;
use text::encoding::push_percent;

/// Longest escaped name: file systems take 255 bytes, of which the ending and the temporary name
/// of a new file need some.
const NAME_LENGTH_MAX: usize = 220;

/// The file of a source as a whole, or of an instance.
#[must_use]
pub fn file_of(folder: &Path, source: &str, instance: Option<&[u8]>) -> PathBuf {
    let source = escape(source.as_bytes());
    match instance {
        None => folder.join(format!("{source}.rrd")),
        Some(instance) => folder.join(source).join(format!("{}.rrd", escape(instance))),
    }
}

/// The name of an instance by that of its file without the ending; `None` if it was too long for the
/// name of a file, or if that is another program's.
#[must_use]
pub fn instance_of(file: &str) -> Option<Vec<u8>> {
    let mut name = Vec::with_capacity(file.len());
    let mut rest = file.bytes();
    while let Some(byte) = rest.next() {
        name.push(match byte {
            b',' => SourceDef::INSTANCE_SEPARATOR,
            b'%' if file.len() > 1 => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                u8::try_from(digit()? << 4 | digit()?).ok()?
            }
            b'%' => break,
            byte => byte,
        });
    }
    (escape(&name) == file).then_some(name)
}

fn escape(name: &[u8]) -> String {
    let mut escaped = String::new();
    for (index, &byte) in name.iter().enumerate() {
        let is_plain =
            byte.is_ascii_alphanumeric() || b"_-+=".contains(&byte) || byte == b'.' && index > 0;
        if is_plain {
            escaped.push(char::from(byte));
        } else if byte == SourceDef::INSTANCE_SEPARATOR {
            escaped.push(',');
        } else {
            push_percent(&mut escaped, byte);
        }
    }
    if escaped.is_empty() {
        escaped.push('%');
    }
    if escaped.len() > NAME_LENGTH_MAX {
        // What is cut off still tells two names apart.
        escaped.truncate(NAME_LENGTH_MAX - 18);
        let _ = write!(escaped, "%%{:016x}", hash(name));
    }
    escaped
}

/// The data source of a field: its name, or, if that is longer than a data source's can be, its
/// first 14 bytes, `_` and four digits that are made from all of it.
#[must_use]
pub fn data_source(field: &str) -> String {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if (1..=NAME_BYTES_MAX).contains(&field.len()) && field.bytes().all(fits) {
        return field.to_owned();
    }
    let plain = field.bytes().take(NAME_BYTES_MAX - 5);
    let plain = plain.map(|byte| if fits(byte) { char::from(byte) } else { '_' });
    format!("{}_{:04x}", plain.collect::<String>(), hash(field.as_bytes()) & 0xffff)
}

/// FNV-1a: the same in every version, as names have to be.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(instance: &[u8]) -> String {
        file_of(Path::new("d"), "disk", Some(instance)).to_str().unwrap().to_owned()
    }

    #[test]
    fn names_stay_within_their_folder() {
        assert_eq!(file_of(Path::new("d"), "cpu", None), Path::new("d/cpu.rrd"));
        for (instance, file) in [
            (&b"sda"[..], "d/disk/sda.rrd"),
            (b"eth0.5", "d/disk/eth0.5.rrd"),
            (b"..", "d/disk/%2E..rrd"),
            (b".", "d/disk/%2E.rrd"),
            (b"", "d/disk/%.rrd"),
            (b"../../etc/x", "d/disk/%2E.%2F..%2Fetc%2Fx.rrd"),
            (b"a:b c\n\xff%", "d/disk/a%3Ab%20c%0A%FF%25.rrd"),
            (b"24\x1fcpu1", "d/disk/24,cpu1.rrd"),
            (b"24,cpu1", "d/disk/24%2Ccpu1.rrd"),
        ] {
            assert_eq!(name(instance), file);
            let file = file.strip_prefix("d/disk/").and_then(|file| file.strip_suffix(".rrd"));
            assert_eq!(instance_of(file.unwrap()).as_deref(), Some(instance));
        }
    }

    #[test]
    fn long_names_are_cut_and_differ() {
        let (mut one, mut other) = (vec![b'/'; 4_000], vec![b'/'; 4_000]);
        one.push(b'a');
        other.push(b'b');
        assert_ne!(name(&one), name(&other));
        assert!(name(&one).len() < 240, "{}", name(&one));
        for other in [&name(&one)[7..name(&one).len() - 4], "", "a b", "%4", "%41", "a%", ".a"] {
            assert_eq!(instance_of(other), None, "{other}");
        }
    }

    #[test]
    fn data_sources_have_names_that_fit() {
        assert_eq!(data_source("user"), "user");
        assert_eq!(data_source("scanned_kswapd_nor1"), "scanned_kswapd_nor1");
        let (one, other) =
            (data_source("scanned_direct_normal"), data_source("scanned_direct_dma32"));
        assert_ne!(one, other);
        assert!(one.starts_with("scanned_direct_") && one.len() == NAME_BYTES_MAX, "{one}");
        assert_eq!(data_source("a b:c").len(), 10);
        assert!(!data_source("").is_empty());
    }
}
