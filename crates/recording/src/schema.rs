//! The head: what a recording says about its machine and its sources, and how that becomes
//! definitions again.
//!
//! ```text
//! head   = varint entries, for each: string key, string value
//!          varint sources, for each: string (so that more may be added at its end)
//! source = name, letters, about: strings
//!          byte cadence: 1, 2, 3
//!          varint labels, for each: string
//!          varint fields, for each: string name, byte unit, byte kind, string help
//! ```
//!
//! Kinds: 1 counter, 2 gauge, 3 text.  Units: [`UNITS`], from 1.  A reader takes an unknown unit
//! for a bare number, an unknown kind for a gauge.

use std::sync::Mutex;

use sample::{Cadence, Field, Kind, Meta, SourceDef, Unit};

use crate::varint::{Bytes, Corrupt, put, put_bytes};

/// Units in the order of their codes, from 1.  Only ever appended to.
const UNITS: [Unit; 19] = [
    Unit::Count,
    Unit::Bytes,
    Unit::Kibibytes,
    Unit::Sectors,
    Unit::Pages,
    Unit::Ticks,
    Unit::Nanoseconds,
    Unit::Microseconds,
    Unit::Milliseconds,
    Unit::Seconds,
    Unit::Hundredths,
    Unit::Percent,
    Unit::PercentHundredths,
    Unit::Millicelsius,
    Unit::Microwatts,
    Unit::Millivolts,
    Unit::Rpm,
    Unit::Megabits,
    Unit::Text,
];

/// Limits of a head: ten times what any machine's sources come to.
const ENTRIES_MAX: usize = 1024;
const SOURCES_MAX: usize = 1024;
const FIELDS_MAX: usize = 4096;

/// A source as a recording describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    /// Its name.
    pub name: String,
    /// Its `-s` letters.
    pub letters: String,
    /// What it is.
    pub about: String,
    /// How often it was read.
    pub cadence: Cadence,
    /// The labels of an instance.
    pub instance: Vec<String>,
    /// Its columns.
    pub fields: Vec<SchemaField>,
}

/// A column as a recording describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaField {
    /// Its name.
    pub name: String,
    /// What one step means.
    pub unit: Unit,
    /// How it behaves.
    pub kind: Kind,
    /// What it is.
    pub help: String,
}

impl Schema {
    /// The schema of a source of this build.
    pub(crate) fn of(def: &SourceDef) -> Self {
        let field = |field: &Field| SchemaField {
            name: field.name.to_owned(),
            unit: field.unit,
            kind: field.kind,
            help: field.help.to_owned(),
        };
        Schema {
            name: def.name.to_owned(),
            letters: def.letters.to_owned(),
            about: def.about.to_owned(),
            cadence: def.cadence,
            instance: def.instance.iter().map(|&label| label.to_owned()).collect(),
            fields: def.fields.iter().map(field).collect(),
        }
    }

    /// Indices of the text fields.
    pub(crate) fn text_fields(&self) -> Vec<usize> {
        let is_text = |&index: &usize| self.fields[index].kind == Kind::Text;
        (0..self.fields.len()).filter(is_text).collect()
    }

    /// A definition made from this schema alone, for a source that this build does not have.  It
    /// is never freed, and equal ones are the same: a process leaks each schema it meets once.
    pub(crate) fn leak(&self) -> &'static SourceDef {
        static LEAKED: Mutex<Vec<&'static SourceDef>> = Mutex::new(Vec::new());
        let mut leaked = LEAKED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(def) = leaked.iter().find(|def| Schema::of(def) == *self) {
            return def;
        }
        let text = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
        let field = |field: &SchemaField| Field {
            name: text(&field.name),
            unit: field.unit,
            kind: field.kind,
            help: text(&field.help),
        };
        let def: &'static SourceDef = Box::leak(Box::new(SourceDef {
            name: text(&self.name),
            about: text(&self.about),
            letters: text(&self.letters),
            reads: &[],
            instance: self.instance.iter().map(|label| text(label)).collect::<Vec<_>>().leak(),
            fields: self.fields.iter().map(field).collect::<Vec<_>>().leak(),
            cadence: self.cadence,
            layouts: &[],
        }));
        leaked.push(def);
        def
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for text in [&self.name, &self.letters, &self.about] {
            put_bytes(&mut out, text.as_bytes());
        }
        out.push(match self.cadence {
            Cadence::First => 1,
            Cadence::Second => 2,
            Cadence::Third => 3,
        });
        put(&mut out, self.instance.len() as u64);
        for label in &self.instance {
            put_bytes(&mut out, label.as_bytes());
        }
        put(&mut out, self.fields.len() as u64);
        for field in &self.fields {
            put_bytes(&mut out, field.name.as_bytes());
            let unit = UNITS.iter().position(|&unit| unit == field.unit);
            out.push(unit.map_or(1, |index| index as u8 + 1));
            out.push(match field.kind {
                Kind::Counter => 1,
                Kind::Gauge => 2,
                Kind::Text => 3,
            });
            put_bytes(&mut out, field.help.as_bytes());
        }
        out
    }

    fn decode(bytes: &[u8]) -> Result<Self, Corrupt> {
        let mut bytes = Bytes::new(bytes);
        let name = text(&mut bytes)?;
        let letters = text(&mut bytes)?;
        let about = text(&mut bytes)?;
        let cadence = match bytes.byte()? {
            2 => Cadence::Second,
            3 => Cadence::Third,
            _ => Cadence::First,
        };
        let labels = bytes.count()?;
        let instance = (0..labels).map(|_| text(&mut bytes)).collect::<Result<_, _>>()?;
        let count = bytes.count()?;
        if count > FIELDS_MAX {
            return Err(Corrupt("a source has too many fields"));
        }
        let mut fields = Vec::with_capacity(count);
        for _ in 0..count {
            fields.push(SchemaField {
                name: text(&mut bytes)?,
                unit: UNITS
                    .get(usize::from(bytes.byte()?).wrapping_sub(1))
                    .copied()
                    .unwrap_or(Unit::Count),
                kind: match bytes.byte()? {
                    1 => Kind::Counter,
                    3 => Kind::Text,
                    _ => Kind::Gauge,
                },
                help: text(&mut bytes)?,
            });
        }
        Ok(Schema { name, letters, about, cadence, instance, fields })
    }
}

fn text(bytes: &mut Bytes<'_>) -> Result<String, Corrupt> {
    let text = std::str::from_utf8(bytes.prefixed()?);
    text.map(str::to_owned).map_err(|_| Corrupt("a name is not UTF-8"))
}

/// The head as bytes.
pub(crate) fn encode_head(meta: &Meta, schemas: &[Schema]) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out, meta.entries().count() as u64);
    for (key, value) in meta.entries() {
        put_bytes(&mut out, key.as_bytes());
        put_bytes(&mut out, value.as_bytes());
    }
    put(&mut out, schemas.len() as u64);
    for schema in schemas {
        put_bytes(&mut out, &schema.encode());
    }
    out
}

/// Reads a head back.
pub(crate) fn decode_head(bytes: &[u8]) -> Result<(Meta, Vec<Schema>), Corrupt> {
    let mut bytes = Bytes::new(bytes);
    let mut meta = Meta::new();
    let entries = bytes.count()?;
    if entries > ENTRIES_MAX {
        return Err(Corrupt("it has too many entries"));
    }
    for _ in 0..entries {
        let key = text(&mut bytes)?;
        meta.set(&key, text(&mut bytes)?);
    }
    let count = bytes.count()?;
    if count > SOURCES_MAX {
        return Err(Corrupt("it has too many sources"));
    }
    let schemas = (0..count).map(|_| Schema::decode(bytes.prefixed()?));
    Ok((meta, schemas.collect::<Result<_, _>>()?))
}

/// How a recorded source becomes one of this build's.
#[derive(Debug)]
pub(crate) struct Mapping {
    /// The definition to offer.
    pub(crate) def: &'static SourceDef,
    /// For each recorded field its place in the definition; empty if all are where they were.
    pub(crate) fields: Vec<Option<usize>>,
}

impl Mapping {
    /// Finds the source among `known` by name, its fields by name and kind of content: a text is
    /// never taken for a number.  Sources that are not known are offered as recorded.
    pub(crate) fn new(schema: &Schema, known: &[&'static SourceDef]) -> Self {
        let Some(def) = known.iter().find(|def| def.name == schema.name) else {
            return Mapping { def: schema.leak(), fields: Vec::new() };
        };
        let place = |field: &SchemaField| {
            let place = def.field(&field.name)?;
            let same = (def.fields[place].kind == Kind::Text) == (field.kind == Kind::Text);
            same.then_some(place)
        };
        let fields: Vec<_> = schema.fields.iter().map(place).collect();
        let same = fields.len() == def.fields.len()
            && fields.iter().enumerate().all(|(index, &place)| place == Some(index));
        Mapping { def, fields: if same { Vec::new() } else { fields } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: SourceDef = SourceDef {
        name: "disk",
        about: "Disks",
        letters: "dD",
        reads: &["/proc/diskstats"],
        instance: &["disk"],
        fields: &[
            Field::counter("reads", Unit::Count, "Reads"),
            Field::gauge("temperature", Unit::Millicelsius, "Temperature"),
            Field::text("model", "Model"),
        ],
        cadence: Cadence::Second,
        layouts: &[],
    };

    #[test]
    fn a_head_returns() {
        let mut meta = Meta::new();
        meta.set("host", "größe");
        let schemas = vec![Schema::of(&KNOWN)];
        let bytes = encode_head(&meta, &schemas);
        assert_eq!(decode_head(&bytes), Ok((meta, schemas)));
        for length in 0..bytes.len() {
            assert!(decode_head(&bytes[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn every_unit_has_a_code() {
        let code = |unit| UNITS.iter().position(|&u| u == unit);
        assert_eq!(code(Unit::Count), Some(0));
        assert_eq!(code(Unit::Ticks), Some(5));
        assert_eq!(code(Unit::Text), Some(18));
    }

    #[test]
    fn fields_are_found_by_name() {
        let mut schema = Schema::of(&KNOWN);
        schema.fields.swap(0, 1);
        schema.fields[2].kind = Kind::Gauge;
        let mapping = Mapping::new(&schema, &[&KNOWN]);
        assert_eq!(mapping.fields, [Some(1), Some(0), None]);
        let unknown = Mapping::new(&schema, &[]);
        assert_eq!(Schema::of(unknown.def), schema);
        assert!(std::ptr::eq(unknown.def, Mapping::new(&schema, &[]).def));
    }
}
