//! Output saved to files: `--results` as directories or by a name for each job, and `--files`.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, SeekFrom, seek};
use rustix::io::Errno;

use super::{CollectError, JobText, Results};
use template::Record;

/// Longest file name in bytes (NAME_MAX of Linux): longer values are truncated.
const NAME_BYTES_MAX: usize = 255;

/// The files of one job.
#[derive(Debug)]
pub(super) struct Saved {
    pub(super) stdout: OwnedFd,
    /// `None` if its standard error is not saved.
    pub(super) stderr: Option<OwnedFd>,
    /// The name of the first file, to be printed.
    pub(super) name: PathBuf,
    /// The file for the job's number, written when the job has ended, so that a job that died with
    /// its runner does not look complete; `None` to write none.
    seq: Option<PathBuf>,
}

impl Saved {
    /// The lengths of standard output and error in bytes.
    pub(super) fn lengths(&self) -> [u64; 2] {
        let length = |file: &OwnedFd| seek(file, SeekFrom::End(0)).unwrap_or(0);
        [length(&self.stdout), self.stderr.as_ref().map_or(0, length)]
    }

    /// The job has ended: writes its number.
    pub(super) fn complete(&self, seq: u64) -> Result<(), CollectError> {
        let Some(path) = &self.seq else { return Ok(()) };
        let mut file = open(path)?;
        file.write_all(seq.to_string().as_bytes()).map_err(|error| failed("write to", path, error))
    }

    /// Removes the file if its name is one of [`unnamed`].
    pub(super) fn remove_unnamed(&self) -> Result<(), CollectError> {
        if self.seq.is_some() {
            return Ok(());
        }
        fs::remove_file(&self.name).map_err(|error| failed("remove", &self.name, error))
    }
}

/// Creates `stdout`, `stderr` and `seq` in a directory of their own.
pub(super) fn in_folder(folder: &Path) -> Result<Saved, CollectError> {
    fs::create_dir_all(folder).map_err(|error| failed("make the folder", folder, error))?;
    let name = folder.join("stdout");
    make(name, &folder.join("stderr"), folder.join("seq"))
}

/// Creates the files of a name: standard output, `.err` and `.seq`; or a directory of that name.
pub(super) fn by_name(name: &[u8]) -> Result<Saved, CollectError> {
    let path = Path::new(OsStr::from_bytes(name));
    if name.ends_with(b"/") {
        return in_folder(path);
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| failed("make the folder", folder, error))?;
    }
    let beside = |ending: &[u8]| PathBuf::from(OsStr::from_bytes(&[name, ending].concat()));
    make(path.to_path_buf(), &beside(b".err"), beside(b".seq"))
}

fn make(name: PathBuf, stderr: &Path, seq: PathBuf) -> Result<Saved, CollectError> {
    let stdout = open(&name)?.into();
    let stderr = Some(open(stderr)?.into());
    // The file of an earlier run says nothing about this one.
    match fs::remove_file(&seq) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(failed("replace", &seq, error)),
        _ => Ok(Saved { stdout, stderr, name, seq: Some(seq) }),
    }
}

/// For `--resume` without a joblog: whether the job has results already.  Tables cannot tell.
pub fn has_results(results: &Results, names: &[Vec<u8>], text: &JobText<'_>) -> bool {
    let folder = match (results, text.place) {
        (Results::Tree(root), _) => folder_of(root, names, text.records),
        (Results::Template, Some(place)) if place.ends_with(b"/") => {
            PathBuf::from(OsStr::from_bytes(place))
        }
        (Results::Template, Some(place)) => {
            return Path::new(OsStr::from_bytes(&[place, b".seq"].concat())).exists();
        }
        _ => return false,
    };
    folder.join("seq").exists()
}

/// Creates an empty file that is only appended to, like the unnamed ones.
fn open(path: &Path) -> Result<File, CollectError> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(true).write(true);
    let flags = OFlags::APPEND | OFlags::CLOEXEC;
    options.custom_flags(flags.bits().cast_signed());
    options.open(path).map_err(|error| failed("write to", path, error))
}

/// Creates a file with a new name for standard output (`--files`).
pub(super) fn unnamed(folder: &Path, number: &mut u64) -> Result<Saved, CollectError> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::APPEND;
    loop {
        let name = folder.join(temporary_name(number));
        match rustix::fs::open(&name, flags, Mode::RUSR | Mode::WUSR) {
            Ok(stdout) => return Ok(Saved { stdout, stderr: None, name, seq: None }),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(super::temporary::failed("write to", folder, error)),
        }
    }
}

/// `par`, five letters or digits, `.par`.  The names are predictable, which does no harm: a file is
/// created only if the name does not exist.
fn temporary_name(number: &mut u64) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    // A linear congruential generator whose period is 2^64.
    *number =
        number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let mut rest = *number >> 20;
    let mut name = String::from("par");
    for _ in 0..5 {
        name.push(char::from(DIGITS[(rest % 62) as usize]));
        rest /= 62;
    }
    name + ".par"
}

/// Writes a heading to the saved standard output.
pub(super) fn write_heading(saved: &Saved, heading: &[u8]) -> Result<(), CollectError> {
    let file = saved.stdout.as_fd().try_clone_to_owned();
    let mut line = heading.to_vec();
    line.push(b'\n');
    file.and_then(|file| File::from(file).write_all(&line))
        .map_err(|error| failed("write to", &saved.name, error))
}

/// The directory of a job below `root`: for each value of its records, the name or number of the
/// source, and the value.  Sorted by the number at the beginning of the name, then by name, as in GNU
/// parallel.
///
/// Values are written as in GNU parallel: `/` becomes `\_`, and backslash, TAB and NUL are escaped.
/// `..` becomes `\..` only here: no value leads to the directory of another job, or out of the
/// tree.
pub fn folder_of(root: &Path, names: &[Vec<u8>], records: &[Record]) -> PathBuf {
    let mut folder = root.as_os_str().as_bytes().to_vec();
    for record in records {
        for (name, value) in sorted_by_name(names, record) {
            for part in name.split(|byte| *byte == b'/') {
                add_part(part, &mut folder);
            }
            add_part(&escaped(value), &mut folder);
        }
    }
    PathBuf::from(OsStr::from_bytes(&folder))
}

/// The values of a record with their names, in the order of the directories.
fn sorted_by_name<'a>(names: &'a [Vec<u8>], record: &'a Record) -> Vec<(Cow<'a, [u8]>, &'a [u8])> {
    let name = |at: usize| match names.get(at) {
        Some(name) => Cow::Borrowed(name.as_slice()),
        None => Cow::Owned((at + 1).to_string().into_bytes()),
    };
    let mut values: Vec<_> =
        record.values.iter().enumerate().map(|(at, value)| (name(at), value.as_slice())).collect();
    // Without names the order is that of the numbers already.
    if !names.is_empty() {
        values.sort_by(|(a, _), (b, _)| {
            leading_number(a).total_cmp(&leading_number(b)).then_with(|| a.cmp(b))
        });
    }
    values
}

/// The number at the beginning of a text as Perl reads one; 0 if there is none.
fn leading_number(text: &[u8]) -> f64 {
    let text = text.trim_ascii_start();
    let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    let end = text.iter().position(|byte| !is_part(byte)).unwrap_or(text.len());
    let number = |end| std::str::from_utf8(&text[..end]).ok()?.parse::<f64>().ok();
    (1..=end).rev().find_map(number).unwrap_or(0.0)
}

fn add_part(part: &[u8], folder: &mut Vec<u8>) {
    folder.push(b'/');
    if matches!(part, b"." | b"..") {
        folder.push(b'\\');
    }
    folder.extend_from_slice(&part[..part.len().min(NAME_BYTES_MAX)]);
}

fn escaped(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    for &byte in value {
        match byte {
            b'/' => out.extend_from_slice(b"\\_"),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0 => out.extend_from_slice(b"\\0"),
            _ => out.push(byte),
        }
    }
    out
}

fn failed(what: &str, path: &Path, error: std::io::Error) -> CollectError {
    match error.raw_os_error() {
        Some(code) => super::sink::failed(what, path, Errno::from_raw_os_error(code)),
        None => CollectError::Io { what: format!("{what} {}", path.display()), error },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(names: &[&str], values: &[&[u8]]) -> String {
        let names: Vec<Vec<u8>> = names.iter().map(|name| name.as_bytes().to_vec()).collect();
        let records: Vec<Record> =
            vec![Record { values: values.iter().map(|value| value.to_vec()).collect() }];
        folder_of(Path::new("d"), &names, &records).display().to_string()
    }

    #[test]
    fn a_folder_is_named_by_sources_and_values() {
        assert_eq!(folder(&[], &[b"A", b"B c"]), "d/1/A/2/B c");
        assert_eq!(folder(&["x"], &[b"A", b"B"]), "d/x/A/2/B");
        assert_eq!(folder(&["nb/c"], &[b"1"]), "d/nb/c/1");
        assert_eq!(folder(&["b", "a"], &[b"1", b"2"]), "d/a/2/b/1");
        assert_eq!(folder(&["10", "9x", "-1"], &[b"1", b"2", b"3"]), "d/-1/3/9x/2/10/1");
        assert_eq!(folder(&[], &[b"x/y", b"B\tc\\d", b"\0"]), r"d/1/x\_y/2/B\tc\\d/3/\0");
        assert_eq!(folder(&[], &[&[b'0'; 300]]), format!("d/1/{}", "0".repeat(255)));
    }

    #[test]
    fn no_value_leads_out_of_the_tree() {
        assert_eq!(folder(&[".."], &[b".."]), r"d/\../\..");
        assert_eq!(folder(&["a/../../b"], &[b"."]), r"d/a/\../\../b/\.");
        assert_eq!(folder(&[], &[b"../../etc"]), r"d/1/..\_..\_etc");
    }
}
