//! What shows records: `tail`, `query`, `export`, `recover`.

use std::collections::VecDeque;
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use log_format::{RecordFormat, RecoveredRings, WriterSink};
use log_store::query::Filter;
use log_store::{Chunk, Item, StoreReader};

use super::filters::{self, FilterArguments, FormatArguments, ring_folders};
use super::reach::ReachArguments;

/// Between two looks for new records.
const LOOK: Duration = Duration::from_millis(5);
/// Bytes of output that are written at once.
const OUT_BYTES: usize = 64 << 10;

/// Which records are shown, where they are, and how: of `tail` and `query`.
#[derive(clap::Args)]
pub(crate) struct RecordsArguments {
    /// Folder of the store [default: that of the service]; for query also an engine that whit send hands
    /// records to: loki=URL (with --from), jetstream=ADDRESS
    #[arg(value_name = "STORE")]
    store: Option<PathBuf>,
    /// Ask the central server at this address, not a store on this machine: the path of a socket,
    /// HOST:PORT or tls:HOST:PORT
    #[arg(short = 'c', long, value_name = "ADDRESS", conflicts_with = "store")]
    pub(crate) central: Option<String>,
    #[command(flatten)]
    pub(super) reach: ReachArguments,
    #[command(flatten)]
    pub(super) filter: FilterArguments,
    #[command(flatten)]
    pub(super) format: FormatArguments,
}

/// Options of `whit log query`.
#[derive(clap::Args)]
pub(crate) struct QueryArguments {
    #[command(flatten)]
    pub(crate) records: RecordsArguments,
    /// Show this many records at most
    #[arg(short = 'n', long, value_name = "N")]
    pub(super) limit: Option<u64>,
    /// Show only how many records there are
    #[arg(long)]
    pub(super) count: bool,
    #[command(flatten)]
    pub(crate) pager: crate::pager::PagerArguments,
    /// Say the token in this file to the engine (loki=URL, jetstream=ADDRESS) that stands for STORE; one
    /// with TLS is checked by --tls-ca, or by the authorities of the system
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

/// Options of `whit log export`.
#[derive(clap::Args)]
pub(crate) struct ExportArguments {
    /// Folder of the store [default: that of the service]
    #[arg(value_name = "STORE")]
    store: Option<PathBuf>,
    /// The file to write; it must not exist
    #[arg(short = 'o', long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    filter: FilterArguments,
    #[command(flatten)]
    format: FormatArguments,
}

/// Options of `whit log tail`.
#[derive(clap::Args)]
pub(crate) struct TailArguments {
    #[command(flatten)]
    pub(crate) records: RecordsArguments,
    /// Begin with this many of the newest records
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    pub(super) lines: usize,
    /// End after the newest records, without waiting for more
    #[arg(long)]
    pub(super) no_follow: bool,
}

/// Options of `whit log recover`.
#[derive(clap::Args)]
pub(crate) struct RecoverArguments {
    /// Folder of rings (default: $WHIT_LOG_DIRECTORY; or /run/whit/log/UID, $XDG_RUNTIME_DIR/whit-log
    /// and /dev/shm/whit-log-UID, as far as they are this user's alone)
    #[arg(value_name = "FOLDER")]
    directory: Option<PathBuf>,
    #[command(flatten)]
    format: FormatArguments,
    /// Remove the rings once their records are shown
    #[arg(long)]
    remove: bool,
}

/// Records as text, to an output.
pub(super) struct Printer<W: Write> {
    pub(super) format: Box<dyn RecordFormat>,
    pub(super) filter: Filter,
    pub(super) buffer: Vec<u8>,
    pub(super) scratch: Vec<u8>,
    pub(super) out: W,
    shown: u64,
    failure: Option<io::Error>,
}

impl<W: Write> Printer<W> {
    pub(super) fn new(format: Box<dyn RecordFormat>, filter: Filter, out: W) -> Self {
        let buffer = format.head().to_vec();
        Printer { format, filter, buffer, scratch: Vec::new(), out, shown: 0, failure: None }
    }

    /// Shows a record if it is wanted.
    pub(super) fn show(&mut self, item: &Item<'_>) -> ControlFlow<()> {
        let Some(record) = self.filter.wanted(item, &mut self.scratch) else {
            return ControlFlow::Continue(());
        };
        self.format.put(&mut self.buffer, &record);
        self.shown += 1;
        if self.buffer.len() >= OUT_BYTES {
            return self.write();
        }
        ControlFlow::Continue(())
    }

    pub(super) fn write(&mut self) -> ControlFlow<()> {
        let done = self.out.write_all(&self.buffer);
        self.buffer.clear();
        match done {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.failure = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    pub(super) fn finish(mut self) -> anyhow::Result<u64> {
        self.buffer.extend_from_slice(self.format.foot());
        let _ = self.write();
        if let Some(error) = self.failure {
            return Err(error.into());
        }
        self.out.flush()?;
        Ok(self.shown)
    }
}

/// The newest lines, of which only so many are kept.
pub(super) struct Newest {
    lines: VecDeque<Vec<u8>>,
    most: usize,
}

impl Newest {
    pub(super) fn new(most: usize) -> Self {
        Newest { lines: VecDeque::new(), most }
    }

    pub(super) fn add<W: Write>(&mut self, printer: &mut Printer<W>, item: &Item<'_>) {
        let Some(record) = printer.filter.wanted(item, &mut printer.scratch) else { return };
        if self.most == 0 {
            return;
        }
        let mut line = match self.lines.len() >= self.most {
            true => self.lines.pop_front().unwrap_or_default(),
            false => Vec::new(),
        };
        line.clear();
        printer.format.put(&mut line, &record);
        self.lines.push_back(line);
    }

    /// Shows them, behind what the form begins with.
    pub(super) fn show<W: Write>(&self, printer: &mut Printer<W>) {
        self.lines.iter().for_each(|line| printer.buffer.extend_from_slice(line));
    }
}

/// Says what was damaged.
fn complain(reader: &StoreReader) {
    for (path, from, to) in &reader.damaged {
        let path = path.display();
        crate::stderr::message(format_args!("{path}: bytes {from} to {to} are damaged"));
    }
}

/// Exit code of a search: 1 if nothing was found.
pub(super) fn found(count: u64) -> ExitCode {
    if count > 0 { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

/// Runs `whit log query`.
pub(crate) fn query(arguments: &QueryArguments) -> anyhow::Result<ExitCode> {
    let filter = arguments.records.filter.filter()?;
    let stdout = io::stdout();
    let format = arguments.records.format.format(terminal::shows(&stdout));
    let wanted = filter.clone();
    let limit = arguments.limit.unwrap_or(u64::MAX);
    let mut printer = Printer::new(format, filter, stdout.lock());
    let mut count = 0_u64;
    let mut visit = |item: &Item<'_>| {
        if arguments.count {
            count += u64::from(printer.filter.wanted(item, &mut printer.scratch).is_some());
            return ControlFlow::Continue(());
        }
        if printer.shown >= limit {
            return ControlFlow::Break(());
        }
        printer.show(item)
    };
    let store = arguments.records.store.as_deref();
    if let Some(engine) = store.and_then(Path::to_str).filter(|text| send::is_log_engine(text)) {
        let (authorities, token_file) =
            (arguments.records.reach.tls_ca.clone(), arguments.token_file.clone());
        let access = send::EngineAccess { authorities, token_file };
        let now_ns = u64::try_from(crate::zone::now().timestamp().as_nanosecond())?;
        match send::read_logs(engine, &wanted, &access, now_ns, &mut visit)? {
            0 => {}
            lines => {
                crate::stderr::message(format!("{engine}: {lines} lines are no records of whit"));
            }
        }
    } else {
        anyhow::ensure!(arguments.token_file.is_none(), "--token-file is for engines: loki=URL");
        let mut reader = filters::open_store(store, &wanted)?;
        match arguments.count {
            true => count = reader.count(&wanted)?,
            false => drop(reader.visit_wanted(&wanted, &mut visit)?),
        }
        complain(&reader);
    }
    if arguments.count {
        crate::stderr::print(&format!("{count}\n"))?;
        return Ok(found(count));
    }
    Ok(found(printer.finish()?))
}

/// Runs `whit log export`.
pub(crate) fn export(arguments: &ExportArguments) -> anyhow::Result<ExitCode> {
    let filter = arguments.filter.filter()?;
    let path = &arguments.output;
    let mut reader = filters::open_store(arguments.store.as_deref(), &filter)?;
    let file = std::fs::OpenOptions::new().write(true).create_new(true).open(path);
    let file = file.with_context(|| format!("cannot write {}", path.display()))?;
    let wanted = filter.clone();
    let mut printer = Printer::new(arguments.format.format(false), filter, file);
    let _ = reader.visit_wanted(&wanted, &mut |item| printer.show(item))?;
    complain(&reader);
    let shown = printer.finish().with_context(|| format!("cannot write {}", path.display()))?;
    Ok(found(shown))
}

/// Runs `whit log tail`.
pub(crate) fn tail(arguments: &TailArguments) -> anyhow::Result<ExitCode> {
    let filter = arguments.records.filter.filter()?;
    let stdout = io::stdout();
    let format = arguments.records.format.format(stdout.is_terminal());
    let mut reader = filters::open_store(arguments.records.store.as_deref(), &filter)?;
    let wanted = filter.clone();
    let wants = |chunk: &Chunk, block: &log_store::BlockIndex| wanted.wants_block(chunk, block);
    let mut printer = Printer::new(format, filter, stdout.lock());
    let mut newest = Newest::new(arguments.lines);
    let (chosen, mut scratch) = (wanted.clone(), Vec::new());
    let mut is_wanted = |item: &Item<'_>| chosen.wanted(item, &mut scratch).is_some();
    let _ = reader.visit_newest(arguments.lines, &wants, &mut is_wanted, &mut |item| {
        newest.add(&mut printer, item);
        ControlFlow::Continue(())
    })?;
    newest.show(&mut printer);
    if arguments.no_follow {
        complain(&reader);
        printer.finish()?;
        return Ok(ExitCode::SUCCESS);
    }
    loop {
        if printer.write().is_break() {
            break;
        }
        printer.out.flush()?;
        let Some((chunk, at)) = reader.next_chunk()? else {
            std::thread::sleep(LOOK);
            continue;
        };
        if reader.visit_chunk(&chunk, at, &wants, &mut |item| printer.show(item))?.is_break() {
            break;
        }
    }
    complain(&reader);
    printer.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// Runs `whit log recover`.
pub(crate) fn recover(arguments: &RecoverArguments) -> anyhow::Result<ExitCode> {
    super::serve::raise_descriptors();
    let mut folders = ring_folders(arguments.directory.as_slice())?;
    // Of several folders some may not be in use; of none it is said that it is not there.
    while folders.len() > 1
        && let Some(at) = folders.iter().position(|folder| !folder.exists())
    {
        folders.remove(at);
    }
    let stdout = io::stdout();
    let format = arguments.format.format(stdout.is_terminal());
    let mut sink = WriterSink::new(format, BufWriter::new(stdout));
    let rings = if arguments.remove { RecoveredRings::Remove } else { RecoveredRings::Keep };
    let (mut records, mut has_complaints) = (0, false);
    for folder in folders {
        let recovered = log_format::recover(&folder, &mut sink, rings)?;
        recovered.complaints.iter().for_each(crate::stderr::message);
        has_complaints |= !recovered.complaints.is_empty();
        let counters = recovered.counters;
        if counters.missing > 0 || counters.damaged_bytes > 0 {
            crate::stderr::message(format_args!(
                "{} records are missing, {} bytes are damaged",
                counters.missing, counters.damaged_bytes
            ));
        }
        records += counters.records;
    }
    sink.finish()?;
    if has_complaints {
        return Ok(ExitCode::from(2));
    }
    Ok(found(records))
}
