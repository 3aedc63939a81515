//! Stored values: columns of side files are what the rows of readings are.

use std::collections::BTreeMap;

use archive::{Error, Recordings, Select, StoredColumn, StoredRow, StoredValue, VisitStored};
use sample::Kind;

use crate::{decoded, machine};

/// By instance and field the values and their times; nothing where the values end.
type Stored = BTreeMap<(Vec<u8>, usize), Vec<(i64, Option<u64>)>>;

#[derive(Default)]
struct Taken {
    takes_columns: bool,
    columns: usize,
    times_ns: Vec<i64>,
    fields: usize,
    /// Readings before it are not compared: there may be one or none.
    from_ns: i64,
    stored: Stored,
}

impl Taken {
    fn push(&mut self, instance: &[u8], field: usize, time_ns: i64, value: Option<u64>) {
        if time_ns < self.from_ns {
            return;
        }
        let known = self.stored.entry((instance.to_vec(), field)).or_default();
        let is_there = known.last().is_some_and(|last| last.1.is_some());
        if value.is_some() || is_there {
            known.push((time_ns, value));
        }
    }
}

impl VisitStored for Taken {
    fn wants(&mut self, name: &[u8]) -> bool {
        // Not all are wanted.
        name != b"disk1"
    }

    fn row(&mut self, row: &StoredRow<'_>) -> Result<(), Error> {
        for field in 0..self.fields {
            let value = row.values.and_then(|values| match values[field] {
                StoredValue::Number(number) => Some(number),
                StoredValue::Missing | StoredValue::Text(_) => None,
            });
            self.push(row.name, field, row.realtime_ns, value);
        }
        Ok(())
    }

    fn takes_columns(&self) -> bool {
        self.takes_columns
    }

    fn begin_columns(&mut self, times_ns: &[i64]) {
        self.times_ns = times_ns.to_vec();
    }

    fn column(&mut self, column: &StoredColumn<'_>) -> Result<(), Error> {
        self.columns += 1;
        let (mut next, times_ns) = (0, self.times_ns.clone());
        let ends = |taken: &mut Self, from: usize, to: usize| {
            if let Some(&time_ns) = times_ns[from..to].first() {
                taken.push(column.name, column.field, time_ns, None);
            }
        };
        for (begun, values) in column.runs() {
            ends(self, next, begun);
            next = begun + values.len();
            for (&time_ns, &value) in times_ns[begun..next].iter().zip(values) {
                self.push(column.name, column.field, time_ns, Some(value));
            }
        }
        ends(self, next, times_ns.len());
        Ok(())
    }
}

#[test]
fn columns_are_what_rows_are() {
    let (mut columns, mut values) = (0, 0);
    for seed in [23, 24, 25] {
        let (folder, _machine, _writer, _path) = machine::folder(testkit::seed(seed));
        let recordings =
            Recordings::open(&[folder.path().to_owned()], &jiff::Zoned::now()).unwrap();
        let mut asked = Vec::new();
        for of in decoded::everything(folder.path()) {
            let numbers = of.def.fields.iter().filter(|field| field.kind != Kind::Text);
            let fields: Vec<String> = numbers.map(|field| field.name.to_string()).collect();
            asked.push((of.host.clone(), of.def.name.to_string(), fields, of.period_ns));
        }
        let mut ask = |takes_columns: bool| -> Vec<Stored> {
            let mut found = Vec::new();
            for (host, source, fields, (from_ns, thru_ns)) in &asked {
                let third_ns = (thru_ns - from_ns) / 3;
                for (from_ns, thru_ns) in
                    [(*from_ns, *thru_ns), (from_ns + third_ns, thru_ns - third_ns)]
                {
                    let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
                    let select = Select { host, source, fields: &fields, from_ns, thru_ns };
                    let mut taken =
                        Taken { takes_columns, fields: fields.len(), from_ns, ..Taken::default() };
                    recordings.stored(&select, &mut taken).unwrap();
                    columns += taken.columns;
                    values += taken.stored.values().map(Vec::len).sum::<usize>();
                    found.push(taken.stored);
                }
            }
            found
        };
        let by_readings = ask(false);
        assert_eq!(recordings.write_side_files(), Vec::<String>::new());
        for (stored, expected) in
            ask(std::env::var_os("ROWS").is_none()).into_iter().zip(by_readings)
        {
            assert_eq!(stored.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
            for (key, values) in expected {
                let different =
                    stored[&key].iter().zip(&values).position(|(one, other)| one != other);
                let (ours, theirs) = (stored[&key].len(), values.len());
                assert_eq!((different, ours), (None, theirs), "{key:?}");
            }
        }
    }
    assert!(columns > 100 && values > 10_000, "{columns} {values}");
}
