//! Takes out of the fonts what no picture needs: hints for small sizes, names of glyphs, rules of
//! scripts.  That is a sixth of them.  The font that only some pictures need is packed.

use std::io::Write as _;
use std::path::Path;

/// The tables that are kept: outlines, widths, heights, kerning, characters; and `name`, which has
/// the licence.
const KEPT: [&[u8; 4]; 10] =
    [b"OS/2", b"cmap", b"glyf", b"head", b"hhea", b"hmtx", b"kern", b"loca", b"maxp", b"name"];

/// Bytes of a font before its list of tables, and of a table in that list (OpenType, "Table
/// Directory").
const HEAD_BYTES: usize = 12;
const ENTRY_BYTES: usize = 16;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let folder = std::env::var_os("OUT_DIR").expect("cargo names a folder");
    let keep = |name: &str, bytes: &[u8]| {
        std::fs::write(Path::new(&folder).join(name), bytes)
            .expect("cargo's folder can be written");
    };
    keep("mono.ttf", &reduce(dejavu::sans_mono::regular()));
    let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    packer.write_all(&reduce(dejavu::sans::regular())).expect("memory can be written");
    keep("sans.ttf.zlib", &packer.finish().expect("memory can be written"));
}

/// A font with the tables that are kept.
fn reduce(font: &[u8]) -> Vec<u8> {
    let entries = font[HEAD_BYTES..].chunks_exact(ENTRY_BYTES);
    let kept: Vec<&[u8]> = entries
        .take(usize::from(u16::from_be_bytes([font[4], font[5]])))
        .filter(|entry| KEPT.iter().any(|name| entry.starts_with(*name)))
        .collect();
    // What else is in the head helps to search the list, and readers compute it.
    let mut reduced = font[..HEAD_BYTES].to_vec();
    reduced[5] = u8::try_from(kept.len()).expect("few tables");
    let mut tables = Vec::new();
    for entry in &kept {
        let number = |at: usize| {
            u32::from_be_bytes(entry[at..at + 4].try_into().expect("four bytes")) as usize
        };
        let begin = HEAD_BYTES + kept.len() * ENTRY_BYTES + tables.len();
        reduced.extend(&entry[..8]);
        reduced.extend(u32::try_from(begin).expect("fonts are small").to_be_bytes());
        reduced.extend(&entry[12..]);
        tables.extend(&font[number(8)..][..number(12)]);
        tables.resize(tables.len().next_multiple_of(4), 0);
    }
    reduced.extend(tables);
    reduced
}
