//! `rrd`: round-robin databases, the files of RRDtool.
//!
//! Only the options are here: the rows are numbers, not bytes, and go to the files without a text
//! between (crate `recorder`, `databases.rs`).

use std::path::PathBuf;

use super::{
    DatabaseDaemon, Databases, Destination, Echo, Export, ExportError, Setting, check_files, split,
};
use crate::entry::Nothing;

const NAME: &str = "rrd";

/// Without `-s`: the machine as a whole, and each CPU, disk and interface.
pub(super) const LETTERS: &str = "cdmnCDN";

const HELP: &str = "\
--export rrd,DIR[,OPTION,…]: round-robin databases below DIR, as whit rrd and rrdtool read them
  table=FILE  what is kept, and for how long; the default is below
  batch=SECS  write so many seconds of samples at once (60)
  limit=SIZE  begin no file that makes DIR larger than this (100M)
  daemon=ADDRESS
              hand samples to this caching daemon (whit rrdcached), which writes the files;
              without it the daemon of RRDCACHED_ADDRESS, if that is set; daemon= for none
  h           show this text

SOURCE.rrd has a source as a whole, SOURCE/INSTANCE.rrd one of its instances; each field is a
data source.  Without -s: what the table names; without both cdmnCDN.

";

/// What is kept, and for how long, unless `table=` names another table.
pub const DEFAULT_TABLE: &str = include_str!("rrd.table");

/// Seconds of samples that are written at once, unless `batch=` says otherwise: what a kill loses.
/// The kernel writes changed pages to the disk every half a minute, however little is new in each.
const BATCH_SECONDS: u32 = 60;

/// The longest batch: an hour.
const BATCH_SECONDS_MAX: u32 = 3_600;

/// Most bytes below the folder, unless `limit=` says otherwise: five times what a machine with 8
/// CPUs and 10 disks takes.
const LIMIT_BYTES: u64 = 100 << 20;

pub(super) fn open(options: &[&str], setting: &Setting) -> Result<Export, ExportError> {
    let wrong = |text: String| ExportError::Option { export: NAME, text };
    if options.contains(&"h") {
        return Err(ExportError::Help(format!("{HELP}{DEFAULT_TABLE}")));
    }
    let (folder, options) = options.split_first().unwrap_or((&"", &[]));
    if folder.is_empty() || folder.contains('=') {
        return Err(wrong("give the folder first: --export rrd,DIR".into()));
    }
    check_files(NAME, setting)?;
    if setting.sending {
        return Err(wrong("-A sends text, and files are none: leave it out".into()));
    }
    let mut databases = Databases {
        folder: PathBuf::from(folder),
        table: None,
        batch_seconds: (!setting.playing).then_some(BATCH_SECONDS),
        limit_bytes: LIMIT_BYTES,
        daemon: Some(setting.daemon.clone()).filter(|daemon| !daemon.address.is_empty()),
    };
    for option in options {
        match split(option) {
            ("table", value) if !value.is_empty() => databases.table = Some(value.into()),
            ("batch", value) => {
                let seconds = value.parse().ok();
                let seconds = seconds.filter(|seconds| (1..=BATCH_SECONDS_MAX).contains(seconds));
                let seconds = seconds.ok_or_else(|| {
                    wrong(format!("batch={value}: give seconds, from 1 to {BATCH_SECONDS_MAX}"))
                })?;
                databases.batch_seconds = databases.batch_seconds.map(|_| seconds);
            }
            ("daemon", "") if option.contains('=') => databases.daemon = None,
            ("daemon", address) if !address.is_empty() => {
                let address = address.to_owned();
                databases.daemon = Some(DatabaseDaemon { address, ..setting.daemon.clone() });
            }
            ("limit", value) => {
                databases.limit_bytes = text::quantity::parse_size(value)
                    .map_err(|_| wrong(format!("limit={value}: give a size, such as 20M or 1G")))?;
            }
            _ => return Err(wrong(format!("no option is called '{option}'; see rrd,h"))),
        }
    }
    Ok(Export {
        view: Box::new(Nothing),
        destination: Destination::Databases(databases),
        echo: Echo::Nothing,
        delay_max_seconds: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn databases(options: &[&str], setting: &Setting) -> Result<Databases, String> {
        match open(options, setting).map_err(|error| error.to_string())?.destination {
            Destination::Databases(databases) => Ok(databases),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn options_are_read() {
        let live = Setting::default();
        let given = databases(&["d", "table=t", "batch=60", "limit=20M"], &live).unwrap();
        let wanted = Databases {
            folder: "d".into(),
            table: Some("t".into()),
            batch_seconds: Some(60),
            limit_bytes: 20 << 20,
            daemon: None,
        };
        assert_eq!(given, wanted);
        let playing = Setting { playing: true, ..Setting::default() };
        assert_eq!(databases(&["d", "batch=5"], &playing).unwrap().batch_seconds, None);
        let daemon = DatabaseDaemon { address: "unix:/s".into(), ..DatabaseDaemon::default() };
        let told = Setting { daemon, ..Setting::default() };
        let address = |options: &[&str]| {
            let daemon = databases(options, &told).unwrap().daemon;
            daemon.map(|daemon| daemon.address)
        };
        assert_eq!(address(&["d"]).as_deref(), Some("unix:/s"));
        assert_eq!(address(&["d", "daemon=tls:h:1"]).as_deref(), Some("tls:h:1"));
        assert_eq!(address(&["d", "daemon="]), None);
    }

    #[test]
    fn wrong_options_are_refused() {
        let live = Setting::default();
        for (options, part) in [
            (&[][..], "the folder first"),
            (&[""], "the folder first"),
            (&["table=x"], "the folder first"),
            (&["d", "batch=0"], "batch=0: give seconds"),
            (&["d", "batch=1h"], "batch=1h"),
            (&["d", "limit=20X"], "limit=20X"),
            (&["d", "limit=99999999999T"], "limit="),
            (&["d", "table="], "no option is called 'table='"),
            (&["d", "daemon"], "no option is called 'daemon'"),
            (&["d", "x"], "no option is called 'x'"),
            (&["h"], "SOURCE/INSTANCE.rrd"),
        ] {
            let error = databases(options, &live).unwrap_err();
            assert!(error.contains(part), "{options:?}: {error}");
        }
        let sending = Setting { sending: true, ..Setting::default() };
        assert!(databases(&["d"], &sending).unwrap_err().contains("-A"));
        let file = Setting { file: Some("x".into()), ..Setting::default() };
        assert!(databases(&["d"], &file).unwrap_err().contains("-P or --rawtoo"));
    }
}
