//! The head: facts about the machine and definitions of the sources, encoded and decoded.
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
//! Kinds: 1 counter, 2 gauge, 3 text.  Units: [`UNITS`], from 1.  A reader treats an unknown unit
//! as a count and an unknown kind as a gauge.

use std::sync::Arc;

use sample::{Cadence, Field, Kind, Meta, SourceDef, Unit};

use varint::{Bytes, Corrupt, put, put_bytes};

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

/// Limits of a head: ten times the size of any known machine's, and of a poller's whose sources are
/// 5,000 devices of 90 objects.
const ENTRIES_MAX: usize = 1024;
const SOURCES_MAX: usize = 65_536;
const FIELDS_MAX: usize = 65_536;
/// Fields of all sources together: 56 MiB of them.
const FIELDS_OF_ALL_MAX: usize = 1 << 20;

/// Indices of a source's text fields, in ascending order.
#[must_use]
pub fn text_fields(def: &SourceDef) -> Vec<usize> {
    let is_text = |&index: &usize| def.fields[index].kind == Kind::Text;
    (0..def.fields.len()).filter(is_text).collect()
}

/// A source's description as bytes.
fn encode(def: &SourceDef) -> Vec<u8> {
    let mut out = Vec::new();
    for text in [&def.name, &def.letters, &def.about] {
        put_bytes(&mut out, text.as_bytes());
    }
    out.push(match def.cadence {
        Cadence::First => 1,
        Cadence::Second => 2,
        Cadence::Third => 3,
    });
    put(&mut out, def.instance.len() as u64);
    for label in def.instance.iter() {
        put_bytes(&mut out, label.as_bytes());
    }
    put(&mut out, def.fields.len() as u64);
    for field in def.fields.iter() {
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

/// Checks that a reader takes a head of these sources.
///
/// # Errors
/// What there is too much of.
pub(crate) fn check(meta: &Meta, schemas: &[Arc<SourceDef>]) -> Result<(), &'static str> {
    let fields = schemas.iter().map(|schema| schema.fields.len());
    if meta.entries().count() > ENTRIES_MAX {
        Err("entries")
    } else if schemas.len() > SOURCES_MAX {
        Err("sources")
    } else if fields.clone().any(|count| count > FIELDS_MAX)
        || fields.sum::<usize>() > FIELDS_OF_ALL_MAX
    {
        Err("fields")
    } else {
        Ok(())
    }
}

/// Parses a source's description.
fn decode(bytes: &[u8]) -> Result<SourceDef, Corrupt> {
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
    let instance =
        (0..labels).map(|_| Ok(text(&mut bytes)?.into())).collect::<Result<Vec<_>, Corrupt>>()?;
    let count = bytes.count()?;
    if count > FIELDS_MAX {
        return Err(Corrupt("a source has too many fields"));
    }
    let mut fields = Vec::with_capacity(count);
    for _ in 0..count {
        fields.push(Field {
            name: text(&mut bytes)?.into(),
            unit: UNITS
                .get(usize::from(bytes.byte()?).wrapping_sub(1))
                .copied()
                .unwrap_or(Unit::Count),
            kind: match bytes.byte()? {
                1 => Kind::Counter,
                3 => Kind::Text,
                _ => Kind::Gauge,
            },
            help: text(&mut bytes)?.into(),
        });
    }
    Ok(SourceDef {
        name: name.into(),
        about: about.into(),
        letters: letters.into(),
        instance: instance.into(),
        fields: fields.into(),
        cadence,
    })
}

fn text(bytes: &mut Bytes<'_>) -> Result<String, Corrupt> {
    let text = std::str::from_utf8(bytes.prefixed()?);
    text.map(str::to_owned).map_err(|_| Corrupt("a name is not UTF-8"))
}

/// The head as bytes.
pub(crate) fn encode_head(meta: &Meta, schemas: &[Arc<SourceDef>]) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out, meta.entries().count() as u64);
    for (key, value) in meta.entries() {
        put_bytes(&mut out, key.as_bytes());
        put_bytes(&mut out, value.as_bytes());
    }
    put(&mut out, schemas.len() as u64);
    for schema in schemas {
        put_bytes(&mut out, &encode(schema));
    }
    out
}

/// Parses a head.
pub(crate) fn decode_head(bytes: &[u8]) -> Result<(Meta, Vec<Arc<SourceDef>>), Corrupt> {
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
    let (mut schemas, mut fields) = (Vec::new(), 0);
    for _ in 0..count {
        let schema = decode(bytes.prefixed()?)?;
        fields += schema.fields.len();
        if fields > FIELDS_OF_ALL_MAX {
            return Err(Corrupt("its sources have too many fields"));
        }
        schemas.push(Arc::new(schema));
    }
    Ok((meta, schemas))
}

/// Maps a recorded source to one of this build.
#[derive(Clone, Debug)]
pub(crate) struct Mapping {
    /// The definition to use.
    pub(crate) def: Arc<SourceDef>,
    /// For each recorded field its index in the definition; empty if all are the same.
    pub(crate) fields: Vec<Option<usize>>,
}

impl Mapping {
    /// Finds the source in `known` by name, and its fields by name; a text field never matches a
    /// number.  Unknown sources keep their recorded definition.
    pub(crate) fn new(schema: &Arc<SourceDef>, known: &[Arc<SourceDef>]) -> Self {
        let Some(def) = known.iter().find(|def| def.name == schema.name) else {
            return Mapping { def: schema.clone(), fields: Vec::new() };
        };
        let place = |field: &Field| {
            let place = def.field(&field.name)?;
            let same = (def.fields[place].kind == Kind::Text) == (field.kind == Kind::Text);
            same.then_some(place)
        };
        let fields: Vec<_> = schema.fields.iter().map(place).collect();
        let same = fields.len() == def.fields.len()
            && fields.iter().enumerate().all(|(index, &place)| place == Some(index));
        Mapping { def: def.clone(), fields: if same { Vec::new() } else { fields } }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;

    static KNOWN: LazyLock<Arc<SourceDef>> = LazyLock::new(|| {
        Arc::new(SourceDef {
            name: "disk".into(),
            about: "Disks".into(),
            letters: "dD".into(),
            instance: vec!["disk".into()].into(),
            fields: vec![
                Field::counter("reads", Unit::Count, "Reads"),
                Field::gauge("temperature", Unit::Millicelsius, "Temperature"),
                Field::text("model", "Model"),
            ]
            .into(),
            cadence: Cadence::Second,
        })
    });

    #[test]
    fn a_head_returns() {
        let mut meta = Meta::new();
        meta.set("host", "größe");
        let schemas = vec![KNOWN.clone()];
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
        let mut schema = (**KNOWN).clone();
        schema.fields.to_mut().swap(0, 1);
        schema.fields.to_mut()[2].kind = Kind::Gauge;
        let schema = Arc::new(schema);
        let mapping = Mapping::new(&schema, std::slice::from_ref(&KNOWN));
        assert_eq!(mapping.fields, [Some(1), Some(0), None]);
        let unknown = Mapping::new(&schema, &[]);
        assert_eq!(unknown.def, schema);
    }
}
