//! What stands before the first record, and the headers of records.

use sample::Meta;

use super::SadcError;
use super::activities;
use super::description::{Description, STRUCTURE_BYTES_MAX};
use super::input::{Input, Layout, MAGIC};
use super::old;
use crate::imported::{ImportedRecord, text};

/// The first format whose files say how their structures are laid out (sysstat 11.7.1).
pub const FORMAT: u16 = 0x2175;

/// Bytes of the structure with the magic numbers.
pub(super) const MAGIC_BYTES: usize = 76;

/// The largest structures that sysstat itself accepts.
const HEAD_BYTES_MAX: u64 = 8192;
const EXTRAS_MAX: u64 = 8192;

/// The most activities; sysstat 12.7 knows 43.
const ACTIVITIES_MAX: u64 = 256;

/// The bytes of a name of the machine in the header, and those that are written of its time zone.
pub(super) const NAME_BYTES: usize = 65;
pub(super) const ZONE_BYTES: usize = 8;

/// Kinds of records.
pub(super) const STATISTICS: u8 = 1;
pub(super) const RESTART: u8 = 2;
pub(super) const LAST_STATISTICS: u8 = 3;
pub(super) const COMMENT: u8 = 4;
pub(super) const EXTRA_FIRST: u8 = 5;
pub(super) const EXTRA_LAST: u8 = 15;

/// Bytes of a comment.
pub(super) const COMMENT_BYTES: usize = 64;

const SECONDS_OF_DAY: i64 = 86_400;

/// The number of the activity of CPUs.
const CPU_ACTIVITY: u32 = 1;

/// What a file says of itself, as `sadf -H` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SadcContents {
    /// The number of the format that it was converted from; 0 if it was not.
    pub converted_from: u32,
    /// How many numbers of each kind stand in the header, in descriptions and in headers of records.
    pub counts: [[u32; 3]; 3],
    /// The size of a word.
    pub word_bytes: usize,
    /// Whether the machine that wrote it has the byte order of this one.
    pub has_own_order: bool,
    /// When it was begun, in seconds since the epoch.
    pub started_s: i64,
    /// Whether structures of later versions follow the descriptions.
    pub has_extra: bool,
    /// The activities, in its order.
    pub activities: Vec<SadcActivity>,
}

/// What a file says of one of its activities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SadcActivity {
    /// The number of the activity.
    pub id: u32,
    /// The number of its format.
    pub format: u32,
    /// Items of a record, and parts of an item.
    pub items: u32,
    /// See `items`.
    pub parts: u32,
    /// Whether each record says how many items it has.
    pub has_count: bool,
    /// How many numbers of each kind an item has.
    pub counts: [u32; 3],
}

/// What stands before the first record.
pub(super) struct Head {
    pub(super) meta: Meta,
    /// The number of its format.
    pub(super) format: u16,
    /// What the file says of itself, if it does.
    pub(super) contents: Option<SadcContents>,
    pub(super) descriptions: Vec<Description>,
    record: Layout,
    scratch: Vec<u8>,
    /// The time of day of the latest record, as the machine's clock showed it.
    pub(super) local_seconds_of_day: i64,
    /// What stands behind the header of a restart.
    pub(super) restart: Restart,
}

/// What stands behind the header of a record of a restart.
#[derive(Clone, Debug)]
pub(super) enum Restart {
    /// The number of CPUs from here on.
    Cpus,
    /// So many descriptions of activities, which have these numbers; of old files.
    Activities(u32, Vec<u32>),
}

/// The header of a record.
pub(super) struct RecordHeader {
    pub(super) kind: u8,
    pub(super) uptime_hundredths: u64,
    pub(super) realtime_ns: i64,
}

impl Head {
    pub(super) fn read(input: &mut Input) -> Result<Self, SadcError> {
        let mut bytes = Vec::new();
        let not_sadc = |input: &Input| SadcError::NotSadc(input.path().to_owned());
        input.bytes(&mut bytes, 8)?;
        if bytes[..2] == MAGIC.to_be_bytes() {
            input.is_big_endian = true;
        } else if bytes[..2] != MAGIC.to_le_bytes() {
            return Err(not_sadc(input));
        }
        let short = |bytes: &[u8]| match input.is_big_endian {
            true => u16::from_be_bytes([bytes[0], bytes[1]]),
            false => u16::from_le_bytes([bytes[0], bytes[1]]),
        };
        let format = short(&bytes[2..]);
        let [major, minor, patch, _] = [bytes[4], bytes[5], bytes[6], bytes[7]];
        if old::FORMATS.contains(&format) {
            return Head::read_old(input, format, [major, minor, patch]);
        }
        if format < FORMAT {
            return Err(SadcError::TooOld { path: input.path().to_owned(), format });
        }
        input.bytes(&mut bytes, MAGIC_BYTES - 8)?;
        let magic = fixed(input, [0, 0, 5], &bytes)?;
        let number = |place| magic.number(&bytes, 2, place).unwrap_or(0);
        let (head_bytes, converted_from) = (number(0), number(1) as u32);
        let counts = [number(2), number(3), number(4)].map(|count| count as u32);
        if head_bytes > HEAD_BYTES_MAX {
            return Err(input.damaged(format!("a header of {head_bytes} bytes")));
        }
        input.bytes(&mut bytes, head_bytes as usize)?;
        let mut head = fixed(input, counts, &bytes)?;
        // The size of a word is the third of the bytes behind the numbers.
        input.word_bytes = match head.rest(&bytes).get(2) {
            Some(8) => 8,
            Some(4) => 4,
            _ => return Err(input.damaged("a word that has neither 4 nor 8 bytes".to_owned())),
        };
        head = fixed(input, counts, &bytes)?;
        let meta = meta_of(&head, &bytes, [major, minor, patch]);
        let field = |place| head.number(&bytes, 2, place).unwrap_or(0);
        let three = |first: usize| [first, first + 1, first + 2].map(|place| field(place) as u32);
        let (described, has_extra) = (field(1), field(11) != 0);
        let layout = |counts: [u32; 3], size: u64, of: &str| {
            let size = Some(size).filter(|size| *size <= STRUCTURE_BYTES_MAX);
            let layout = size.and_then(|size| Layout::new(input, counts, size as u32));
            layout.ok_or_else(|| input.damaged(format!("{of} whose size is not its own")))
        };
        let description = layout(three(3), field(9), "descriptions of activities")?;
        let record = layout(three(6), field(10), "headers of records")?;
        if described > ACTIVITIES_MAX {
            return Err(input.damaged(format!("{described} activities")));
        }
        let mut contents = SadcContents {
            converted_from,
            counts: [counts, three(3), three(6)],
            word_bytes: input.word_bytes,
            has_own_order: input.is_big_endian == cfg!(target_endian = "big"),
            started_s: head.number(&bytes, 0, 0).unwrap_or(0).cast_signed(),
            has_extra,
            activities: Vec::new(),
        };
        let mut head = Head {
            meta,
            format,
            contents: None,
            descriptions: Vec::new(),
            record,
            scratch: Vec::new(),
            local_seconds_of_day: 0,
            restart: Restart::Cpus,
        };
        for _ in 0..described {
            input.bytes(&mut bytes, description.bytes)?;
            let (told, description) = describe(input, &description, &bytes)?;
            contents.activities.push(told);
            head.descriptions.push(description);
        }
        head.contents = Some(contents);
        if has_extra {
            skip_extras(input)?;
        }
        head.name_sources();
        Ok(head)
    }

    /// Reads what follows the first eight bytes of a file that does not describe itself.
    fn read_old(input: &mut Input, format: u16, version: [u8; 3]) -> Result<Self, SadcError> {
        let mut bytes = Vec::new();
        let (structure, word_at, mut head_bytes) = old::head(format);
        if format == old::FORMATS[1] {
            input.bytes(&mut bytes, MAGIC_BYTES - 8)?;
            let told = fixed(input, [0, 0, 1], &bytes)?.number(&bytes, 2, 0).unwrap_or(0);
            if told < head_bytes as u64 || told > HEAD_BYTES_MAX {
                return Err(input.damaged(format!("a header of {told} bytes")));
            }
            head_bytes = told as usize;
        }
        input.bytes(&mut bytes, head_bytes)?;
        input.word_bytes = match bytes.get(word_at) {
            Some(8) => 8,
            Some(4) => 4,
            _ => return Err(input.damaged("a word that has neither 4 nor 8 bytes".to_owned())),
        };
        let layout = Layout::old(input, structure, head_bytes as u32);
        let number = |kind, place| layout.number(&bytes, kind, place).unwrap_or(0);
        let (described, changing) = (number(2, 1), number(2, 2));
        if described > ACTIVITIES_MAX || changing > ACTIVITIES_MAX {
            return Err(input.damaged(format!("{described} activities")));
        }
        let meta = old_meta(&bytes[word_at + 1..], number(1, 0), version);
        let mut head = Head {
            meta,
            format,
            contents: None,
            descriptions: Vec::new(),
            record: Layout::old(input, &old::RECORD, old::RECORD_BYTES),
            scratch: Vec::new(),
            local_seconds_of_day: 0,
            restart: Restart::Cpus,
        };
        let mut ids = Vec::new();
        for _ in 0..described {
            let (id, description) = old::describe(input)?;
            // All CPUs together are counted as one more.
            if id == CPU_ACTIVITY {
                head.meta.set("cpus", description.items.saturating_sub(1).to_string());
            }
            ids.push(id);
            head.descriptions.push(description);
        }
        head.restart = Restart::Activities(changing as u32, ids);
        head.name_sources();
        Ok(head)
    }

    /// Passes over what stands behind the header of a restart, or takes what it says.
    pub(super) fn read_restart(&mut self, input: &mut Input) -> Result<(), SadcError> {
        match &self.restart {
            Restart::Cpus => input.skip(4),
            Restart::Activities(count, ids) => {
                old::restart(input, *count, ids, &mut self.descriptions)
            }
        }
    }

    /// Notes in the facts which subsystems the file has values of.
    fn name_sources(&mut self) {
        let mut letters = String::new();
        for activity in self.descriptions.iter().filter_map(|one| one.activity) {
            let new = activity.letters.chars().filter(|letter| !letters.contains(*letter));
            let new: String = new.collect();
            letters.push_str(&new);
        }
        self.meta.set("subsystems", letters);
    }

    /// The header of the next record; `None` at the end of the file.
    pub(super) fn record_header(
        &mut self,
        input: &mut Input,
    ) -> Result<Option<RecordHeader>, SadcError> {
        let (layout, bytes) = (self.record, &mut self.scratch);
        if !input.bytes_or_end(bytes, layout.bytes)? {
            return Ok(None);
        }
        let number = |kind, place| layout.number(bytes, kind, place).unwrap_or(0);
        let &[kind, hour, minute, second, ..] = layout.rest(bytes) else {
            return Err(input.damaged("a header of a record without its kind".to_owned()));
        };
        self.local_seconds_of_day =
            i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
        let seconds = i64::try_from(number(0, 1)).unwrap_or(i64::MAX);
        let header = RecordHeader {
            kind,
            uptime_hundredths: number(0, 0),
            realtime_ns: seconds.saturating_mul(1_000_000_000),
        };
        if number(2, 0) != 0 {
            skip_extras(input)?;
        }
        Ok(Some(header))
    }

    /// Adds the facts that follow from the first records: when it began, the interval, and the
    /// offset of the machine's time, as the times of day of the first record show it.
    pub(super) fn complete_meta(
        &mut self,
        first: Option<ImportedRecord>,
        local_seconds_of_day: i64,
        second: Option<ImportedRecord>,
    ) {
        let Some(first) = first else { return };
        self.meta.set("started_ns", first.realtime_ns.to_string());
        let seconds = first.realtime_ns / 1_000_000_000;
        let ahead =
            (local_seconds_of_day - seconds.rem_euclid(SECONDS_OF_DAY)).rem_euclid(SECONDS_OF_DAY);
        // Zones reach from 12 hours behind to 14 before, in steps of a quarter of an hour.
        let quarters = (ahead + 450).div_euclid(900);
        let quarters = if quarters > 14 * 4 { quarters - 24 * 4 } else { quarters };
        let (sign, size) = (if quarters < 0 { '-' } else { '+' }, quarters.abs());
        self.meta.set("timezone", format!("{sign}{:02}:{:02}", size / 4, size % 4 * 15));
        if let Some(second) = second {
            let interval_ns = second.uptime_ns.saturating_sub(first.uptime_ns);
            self.meta.set("interval_ns", interval_ns.to_string());
        }
    }
}

/// The layout of bytes that are there.
fn fixed(input: &Input, counts: [u32; 3], bytes: &[u8]) -> Result<Layout, SadcError> {
    let layout = Layout::new(input, counts, bytes.len() as u32);
    layout.ok_or_else(|| input.damaged("a header whose numbers do not fit into it".to_owned()))
}

/// The facts of an old file: its names of the machine, and when it began.
fn old_meta(names: &[u8], started_s: u64, version: [u8; 3]) -> Meta {
    let mut meta = Meta::new();
    let mut names = names.chunks(NAME_BYTES);
    meta.set("origin", "sysstat");
    meta.set("version", format!("{}.{}.{}", version[0], version[1], version[2]));
    for key in ["system", "host", "kernel", "architecture"] {
        let name = text(names.next().unwrap_or_default());
        meta.set(key, String::from_utf8_lossy(name).into_owned());
    }
    meta.set("ticks_per_second", "100");
    let started_ns = i64::try_from(started_s).unwrap_or(0).saturating_mul(1_000_000_000);
    meta.set("started_ns", started_ns.to_string());
    meta
}

fn meta_of(head: &Layout, bytes: &[u8], version: [u8; 3]) -> Meta {
    let mut meta = Meta::new();
    let number = |kind, place| head.number(bytes, kind, place).unwrap_or(0);
    let mut names = head.rest(bytes).get(3..).unwrap_or_default().chunks(NAME_BYTES);
    let mut name = || String::from_utf8_lossy(text(names.next().unwrap_or_default())).into_owned();
    meta.set("origin", "sysstat");
    meta.set("version", format!("{}.{}.{}", version[0], version[1], version[2]));
    meta.set("system", name());
    meta.set("host", name());
    meta.set("kernel", name());
    meta.set("architecture", name());
    meta.set("ticks_per_second", number(1, 0).to_string());
    // All CPUs together are counted as one more.
    meta.set("cpus", number(2, 0).saturating_sub(1).to_string());
    meta.set("zone_abbreviation", name());
    let started_ns = i64::try_from(number(0, 0)).unwrap_or(0).saturating_mul(1_000_000_000);
    meta.set("started_ns", started_ns.to_string());
    meta
}

/// Reads the description of one activity.
fn describe(
    input: &Input,
    layout: &Layout,
    bytes: &[u8],
) -> Result<(SadcActivity, Description), SadcError> {
    let number = |place| layout.number(bytes, 2, place).unwrap_or(0);
    let (id, format) = (number(0) as u32, number(1) as u32);
    let size = number(5);
    let counts = [number(6), number(7), number(8)].map(|count| count as u32);
    let known = Some(size).filter(|size| *size <= STRUCTURE_BYTES_MAX);
    let item = known.and_then(|size| Layout::new(input, counts, size as u32));
    let damaged = || input.damaged(format!("items of {size} bytes in activity {id}"));
    let description = Description {
        activity: activities::find(id, format),
        items: input.checked(number(2), "items of an activity")?,
        parts: input.checked(number(3), "parts of an item")?.max(1),
        has_count: number(4) != 0,
        layout: item.ok_or_else(damaged)?,
    };
    let Description { items, parts, has_count, .. } = description;
    Ok((SadcActivity { id, format, items, parts, has_count, counts }, description))
}

/// Passes over structures that later versions may add.
fn skip_extras(input: &mut Input) -> Result<(), SadcError> {
    let mut bytes = Vec::new();
    loop {
        input.bytes(&mut bytes, 24)?;
        let layout = fixed(input, [0, 0, 6], &bytes)?;
        let number = |place| layout.number(&bytes, 2, place).unwrap_or(0);
        let (count, size, has_more) = (number(0), number(1), number(2) != 0);
        if count > EXTRAS_MAX || size > STRUCTURE_BYTES_MAX {
            return Err(input.damaged(format!("{count} more structures of {size} bytes")));
        }
        input.skip(count * size)?;
        if !has_more {
            return Ok(());
        }
    }
}
