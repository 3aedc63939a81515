//! Copies a period of a collectl recording, with its header, line by line, as collectl does; and
//! searches one for text.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::header::Header;
use super::lines::Lines;
use super::{CollectlError, marker_ns};

/// The size of an extracted file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextExtractSummary {
    /// Markers written: one more than intervals.
    pub markers: u64,
    /// Lines written, markers and header included.
    pub lines: u64,
}

enum Output {
    Plain(BufWriter<File>),
    Gzip(Box<GzEncoder<BufWriter<File>>>),
}

impl Output {
    fn line(&mut self, line: &[u8]) -> std::io::Result<()> {
        let out: &mut dyn Write = match self {
            Output::Plain(out) => out,
            Output::Gzip(out) => out,
        };
        out.write_all(line)?;
        out.write_all(b"\n")
    }

    fn finish(self) -> std::io::Result<()> {
        match self {
            Output::Plain(mut out) => out.flush(),
            Output::Gzip(out) => out.finish()?.flush(),
        }
    }
}

/// Copies what `collectl --extract` copies: the header, and every interval from `from_ns` to the
/// first one that begins after `thru_ns`, including that one and the marker that ends it.  `to`
/// must not exist.  It is compressed if its name ends in `gz`.
///
/// # Errors
/// See [`CollectlError`]; those of writing name `to`.
pub fn extract(
    path: &Path,
    to: &Path,
    from_ns: i64,
    thru_ns: i64,
) -> Result<TextExtractSummary, CollectlError> {
    let failed = |source| CollectlError::Io { path: to.to_owned(), source };
    let mut lines = Lines::open(path)?;
    let header = Header::read(path, &mut lines)?;
    let file = BufWriter::new(File::create_new(to).map_err(failed)?);
    let gz = to.extension().is_some_and(|extension| extension == "gz");
    let mut out = if gz {
        Output::Gzip(Box::new(GzEncoder::new(file, Compression::default())))
    } else {
        Output::Plain(file)
    };
    let mut done = TextExtractSummary::default();
    for line in header.text.lines() {
        out.line(line.as_bytes()).map_err(failed)?;
        done.lines += 1;
    }
    let (mut inside, mut previous_ns) = (false, i64::MIN);
    while let Some(line) = lines.next()? {
        let marker = line.starts_with(b">>>").then(|| marker_ns(line)).flatten();
        if let Some(now_ns) = marker {
            inside |= now_ns >= from_ns;
            done.markers += u64::from(inside);
        }
        if inside && line.first() != Some(&b'#') {
            out.line(line).map_err(failed)?;
            done.lines += 1;
        }
        if let Some(now_ns) = marker {
            if previous_ns > thru_ns {
                break;
            }
            previous_ns = now_ns;
        }
    }
    out.finish().map_err(failed)?;
    Ok(done)
}

/// Calls `found` with each line of data between the two times for which `wanted` returns true, and
/// with the time of its interval.
///
/// # Errors
/// See [`CollectlError`]; `found` may fail with an I/O error, which ends the search.
pub fn search(
    path: &Path,
    from_ns: i64,
    thru_ns: i64,
    mut wanted: impl FnMut(&[u8]) -> bool,
    mut found: impl FnMut(i64, &[u8]) -> std::io::Result<()>,
) -> Result<(), CollectlError> {
    let mut lines = Lines::open(path)?;
    Header::read(path, &mut lines)?;
    let mut now_ns = i64::MIN;
    while let Some(line) = lines.next()? {
        if let Some(marker) = line.starts_with(b">>>").then(|| marker_ns(line)).flatten() {
            now_ns = marker;
            if now_ns > thru_ns {
                break;
            }
        } else if now_ns >= from_ns && now_ns != i64::MIN && wanted(line) {
            let failed = |source| CollectlError::Io { path: path.to_owned(), source };
            found(now_ns, line).map_err(failed)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_has_its_header_and_its_closing_marker() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vm-20261121-000000.raw");
        let mut text = String::from("# Collectl:   V4.3.1-1\n# SubSys: c\n");
        for second in 10..20 {
            text.push_str(&format!(">>> {second}.000 <<<\nload {second}\n"));
        }
        std::fs::write(&path, &text).unwrap();
        let to = folder.path().join("slice.raw");
        let done = extract(&path, &to, 12_000_000_000, 14_999_000_000).unwrap();
        let slice = std::fs::read_to_string(&to).unwrap();
        assert_eq!(
            slice,
            "# Collectl:   V4.3.1-1\n# SubSys: c\n>>> 12.000 <<<\nload 12\n>>> 13.000 <<<\n\
             load 13\n>>> 14.000 <<<\nload 14\n>>> 15.000 <<<\nload 15\n>>> 16.000 <<<\n"
        );
        assert_eq!(done, TextExtractSummary { markers: 5, lines: 11 });
        assert!(extract(&path, &to, 0, 0).is_err(), "an existing file is not touched");
        let mut hits = Vec::new();
        let wanted = |line: &[u8]| line.ends_with(b"3");
        search(&path, 0, i64::MAX, wanted, |at, line| {
            hits.push((at, line.to_vec()));
            Ok(())
        })
        .unwrap();
        assert_eq!(hits, [(13_000_000_000, b"load 13".to_vec())]);
    }
}
