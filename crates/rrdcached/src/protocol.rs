//! The protocol: lines of fields, and the commands that they name.
//!
//! A line ends with a line feed, before which a carriage return is ignored.  Fields are separated
//! by one blank or zero byte each, so two blanks have an empty field between them; a backslash
//! takes the next byte as it is.  Nothing is copied unless a field has a backslash.

use std::borrow::Cow;

/// Longest line with its line feed, in bytes: rrdcached closes a connection that sends a longer one.
pub const LINE_BYTES_MAX: usize = 8192;

/// Fields of a line, from left to right.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    /// What is left; `None` after the last field.
    rest: Option<&'a [u8]>,
}

/// A backslash is the last byte of the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("nothing follows the backslash")]
pub struct OpenEscape;

impl<'a> Fields<'a> {
    /// The fields of a line without its end.
    #[must_use]
    pub fn of(line: &'a [u8]) -> Self {
        Self { rest: Some(line) }
    }

    /// What is left, as it is written; `None` after the last field.
    #[must_use]
    pub fn rest(&self) -> Option<&'a [u8]> {
        self.rest
    }

    /// Passes over a field that the caller knows: what is left begins with it, and a blank follows
    /// or nothing.
    pub fn pass(&mut self, length: usize) {
        self.rest = self.rest.and_then(|rest| rest.get(length + 1..));
    }

    /// The next field, `None` after the last one.
    ///
    /// # Errors
    /// If it ends with a backslash.
    pub fn next_field(&mut self) -> Result<Option<Cow<'a, [u8]>>, OpenEscape> {
        let Some(rest) = self.rest else { return Ok(None) };
        match memchr::memchr3(b' ', 0, b'\\', rest) {
            None => {
                self.rest = None;
                Ok(Some(Cow::Borrowed(rest)))
            }
            Some(end) if rest[end] != b'\\' => {
                self.rest = Some(&rest[end + 1..]);
                Ok(Some(Cow::Borrowed(&rest[..end])))
            }
            Some(_) => self.escaped(rest).map(Some),
        }
    }

    fn escaped(&mut self, rest: &'a [u8]) -> Result<Cow<'a, [u8]>, OpenEscape> {
        let mut field = Vec::new();
        let mut bytes = rest.iter().enumerate();
        while let Some((place, byte)) = bytes.next() {
            match byte {
                b' ' | 0 => {
                    self.rest = Some(&rest[place + 1..]);
                    return Ok(Cow::Owned(field));
                }
                b'\\' => match bytes.next() {
                    Some((_, next)) => field.push(*next),
                    None => {
                        self.rest = None;
                        return Err(OpenEscape);
                    }
                },
                _ => field.push(*byte),
            }
        }
        self.rest = None;
        Ok(Cow::Owned(field))
    }

    /// Whether every field has been read.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.rest.is_none()
    }
}

macro_rules! commands {
    ($($(#[$about:meta])* $variant:ident = $name:literal, $usage:literal;)*) => {
        /// A command.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Command {
            $($(#[$about])* $variant,)*
        }

        impl Command {
            /// Every command, in the order of their help.
            pub const ALL: &[Command] = &[$(Command::$variant,)*];

            /// The name of the command in capitals.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Command::$variant => $name,)* }
            }

            /// How it is written; empty for those that have no help.
            #[must_use]
            pub fn usage(self) -> &'static str {
                match self { $(Command::$variant => $usage,)* }
            }
        }
    };
}

commands! {
    /// New readings.
    Update = "UPDATE", "UPDATE <filename> <values> [<values> ...]";
    /// Write a file's readings now.
    Flush = "FLUSH", "FLUSH <filename>";
    /// Begin to write all readings.
    FlushAll = "FLUSHALL", "FLUSHALL";
    /// Show readings that are not written.
    Pending = "PENDING", "PENDING <filename>";
    /// Drop a file's readings.
    Forget = "FORGET", "FORGET <filename>";
    /// Show the files that wait to be written.
    Queue = "QUEUE", "QUEUE";
    /// Show counters.
    Stats = "STATS", "STATS";
    /// Show help.
    Help = "HELP", "HELP [<command>]";
    /// Answer.
    Ping = "PING", "PING";
    /// Begin commands that are answered together.
    Batch = "BATCH", "BATCH";
    /// Rows of a period as text.
    Fetch = "FETCH", "FETCH <file> <CF> [<start> [<end>] [<column>...]]";
    /// Rows of a period as doubles.
    FetchBin = "FETCHBIN", "FETCHBIN <file> <CF> [<start> [<end>] [<column>...]]";
    /// What a file keeps.
    Info = "INFO", "INFO <filename>";
    /// The oldest row of an archive.
    First = "FIRST", "FIRST <filename> <rra index>";
    /// The last update.
    Last = "LAST", "LAST <filename>";
    /// Make a file.
    Create = "CREATE", "CREATE <filename> [-b start] [-s step] [-O] <DS definitions> <RRA definitions>";
    /// Names of files.
    List = "LIST", "LIST [RECURSIVE] /[<path>]";
    /// Keep a file's readings in memory.
    Suspend = "SUSPEND", "SUSPEND <filename>";
    /// Write them again.
    Resume = "RESUME", "RESUME <filename>";
    /// Keep all readings in memory.
    SuspendAll = "SUSPENDALL", "SUSPENDALL";
    /// Write them again.
    ResumeAll = "RESUMEALL", "RESUMEALL";
    /// Close the connection.
    Quit = "QUIT", "QUIT";
    /// Change what a file keeps.
    Tune = "TUNE", "TUNE <filename> <count> <option> [<option>...]";
    /// A file as XML; the connection is closed after it.
    Dump = "DUMP", "DUMP <filename>";
    /// The end of a batch.
    Dot = ".", "";
    /// What a file has; only in rrdcached's journals.
    Wrote = "WROTE", "";
}

impl Command {
    /// The fields of an UPDATE, the command of nearly every line, after its name; `None` of others.
    #[must_use]
    #[inline]
    pub fn update_fields(line: &[u8]) -> Option<Fields<'_>> {
        let (name, rest) = line.split_first_chunk::<7>()?;
        // No other bytes than these become small letters.
        let small = name.map(|byte| byte | 0x20);
        (small == *b"update " && name[6] == b' ').then(|| Fields::of(rest))
    }

    /// The command of a name, in capitals or not.
    #[must_use]
    pub fn of(name: &[u8]) -> Option<Self> {
        let all = Self::ALL.iter();
        all.copied().find(|command| name.eq_ignore_ascii_case(command.name().as_bytes()))
    }

    /// Whether it may stand in a batch.
    #[must_use]
    pub fn is_for_batches(self) -> bool {
        use Command as C;
        matches!(
            self,
            C::Update
                | C::Flush
                | C::FlushAll
                | C::Forget
                | C::Create
                | C::Suspend
                | C::Resume
                | C::SuspendAll
                | C::ResumeAll
                | C::Tune
                | C::Quit
                | C::Dot
        )
    }

    /// Whether it may stand outside of a batch.
    #[must_use]
    pub fn is_for_single_lines(self) -> bool {
        !matches!(self, Self::Dot | Self::Wrote)
    }
}

/// The commands that a socket takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Permissions(u32);

impl Permissions {
    /// Every command.
    pub const ALL: Self = Self(u32::MAX);

    /// Only what is always allowed: HELP and QUIT.
    pub const NONE: Self = Self(1 << Command::Help as u8 | 1 << Command::Quit as u8);

    /// Reads a list of commands with commas between.
    ///
    /// # Errors
    /// The word that is no command.
    pub fn read(list: &str) -> Result<Self, String> {
        let mut own = Self::NONE;
        for word in list.split(',') {
            let command = Command::of(word.as_bytes()).filter(|one| !one.usage().is_empty());
            let command = command.ok_or_else(|| word.to_owned())?;
            own.0 |= 1 << command as u8;
            if command == Command::Batch {
                own.0 |= 1 << Command::Dot as u8;
            }
        }
        Ok(own)
    }

    /// Whether a command is among them.
    #[must_use]
    pub fn has(self, command: Command) -> bool {
        self.0 & (1 << command as u8) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(line: &str) -> Vec<String> {
        let mut fields = Fields::of(line.as_bytes());
        let mut all = Vec::new();
        loop {
            match fields.next_field() {
                Ok(Some(field)) => all.push(String::from_utf8_lossy(&field).into_owned()),
                Ok(None) => return all,
                Err(OpenEscape) => all.push("!".to_owned()),
            }
        }
    }

    #[test]
    fn fields_are_separated_by_single_blanks() {
        assert_eq!(fields("a b"), ["a", "b"]);
        assert_eq!(fields(""), [""]);
        assert_eq!(fields("a  b "), ["a", "", "b", ""]);
        assert_eq!(fields("a\0b"), ["a", "b"]);
        assert_eq!(fields(r"a\ b c\\d"), ["a b", r"c\d"]);
        assert_eq!(fields(r"a b\"), ["a", "!"]);
    }

    #[test]
    fn permissions_name_commands() {
        let permissions = Permissions::read("flush,BATCH").expect("names");
        for command in [Command::Flush, Command::Batch, Command::Dot, Command::Help, Command::Quit]
        {
            assert!(permissions.has(command), "{command:?}");
        }
        assert!(!permissions.has(Command::Update));
        assert_eq!(Permissions::read("FLUSH,NOSUCH"), Err("NOSUCH".to_owned()));
    }
}
