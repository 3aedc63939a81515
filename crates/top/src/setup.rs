//! The columns that the user has chosen, and their file.
//!
//! The file has one line, `columns = pid user cpu …`, by the names of `--sort`; the command is always the
//! last column.  Without the file, or of a name that is not known, the usual columns are shown.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::columns::Column;

/// Most bytes of the file.
const FILE_BYTES_MAX: usize = 4096;

/// The user's file of columns, by what the environment says.
#[must_use]
pub fn kept_columns(environment: &dyn Fn(&str) -> Option<OsString>) -> PathBuf {
    terminal::user_file(environment, "top.columns")
}

/// The columns of processes in the order of a choice, and whether each is shown.
pub(crate) fn choices(shown: &[Column]) -> Vec<(Column, bool)> {
    let rest = Column::ALL.iter().filter(|column| !shown.contains(column));
    let all = shown.iter().map(|column| (*column, true)).chain(rest.map(|column| (*column, false)));
    all.filter(|(column, _)| column.is_of_processes()).collect()
}

/// Moves the chosen line up or down by one.
pub(crate) fn shift(lines: &mut [(Column, bool)], chosen: &mut usize, step: isize) {
    let to = chosen.saturating_add_signed(step).min(lines.len().saturating_sub(1));
    lines.swap(*chosen, to);
    *chosen = to;
}

/// The columns of a file, in order; what it may not be is told.
pub(crate) fn read(path: &Path) -> (Option<Vec<Column>>, Option<String>) {
    // A byte more than may be shows that it is too long, whatever the name stands for.
    let mut text = String::new();
    let read = File::open(path)
        .and_then(|file| file.take(FILE_BYTES_MAX as u64 + 1).read_to_string(&mut text));
    match read {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return (None, None),
        Err(error) => return (None, Some(format!("cannot read {}: {error}", path.display()))),
    }
    match parse(&text) {
        Ok(columns) => (Some(columns), None),
        Err(why) => (None, Some(format!("{}: {why}; F2 writes it anew", path.display()))),
    }
}

fn parse(text: &str) -> Result<Vec<Column>, String> {
    if text.len() > FILE_BYTES_MAX {
        return Err(format!("longer than {FILE_BYTES_MAX} bytes"));
    }
    let line = text.lines().find_map(|line| line.trim().strip_prefix("columns"));
    let names = line.and_then(|rest| rest.trim_start().strip_prefix('='));
    let names = names.ok_or("no line 'columns = …'")?;
    let mut columns = Vec::new();
    for name in names.split_whitespace() {
        let known = Column::ALL.iter().find(|column| column.named().0 == name);
        let known = known.filter(|column| column.is_of_processes());
        let column = known.ok_or_else(|| format!("no column '{}'", name.escape_debug()))?;
        if !columns.contains(column) {
            columns.push(*column);
        }
    }
    if columns.is_empty() { Err("no columns".to_owned()) } else { Ok(columns) }
}

/// For fuzz targets: reads the text of a file; one that is read is written as a text that is read as the same.
///
/// # Panics
/// If it is not.
#[doc(hidden)]
pub fn fuzz_columns(text: &str) {
    if let Ok(columns) = parse(text) {
        assert!(parse(&text_of(&columns)).is_ok_and(|again| again == columns), "{text:?}");
    }
}

/// The text of a file of these columns.
fn text_of(columns: &[Column]) -> String {
    let names: Vec<&str> = columns.iter().map(|column| column.named().0).collect();
    format!("# Columns of whit top, in order.\ncolumns = {}\n", names.join(" "))
}

/// Writes the columns that are shown.
pub(crate) fn write(path: &Path, columns: &[Column]) -> Result<(), String> {
    terminal::write_kept(path, &text_of(columns))
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_as_it_was_written_and_a_wrong_one_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("whit/top.columns");
        assert_eq!(read(&path), (None, None));
        let columns = vec![Column::Cpu, Column::Pid, Column::Start, Column::NetIn];
        write(&path, &columns).unwrap();
        assert_eq!(read(&path), (Some(columns), None));
        for text in ["", "columns = \n", "columns = pid pod\n", "columns = command\n", "\u{1b}[2J"]
        {
            std::fs::write(&path, text).unwrap();
            let (columns, why) = read(&path);
            assert!(columns.is_none() && why.is_some(), "{text:?}");
        }
        // One without an end is not read to its end.
        let (columns, why) = read(Path::new("/dev/zero"));
        assert!(columns.is_none() && why.is_some_and(|why| why.contains("longer than")));
    }
}
