//! `--export`: opens the format by its name and options, and prints its help.

use anyhow::Context;
use procfs::SystemClock;
use sample::Clock;
use view::export::{ExportError, Setting};
use view::{Setup, View};

/// Opens an export by its name and options.  `None` when its help was asked for and printed.
///
/// # Errors
/// One line about the option that is wrong or the address that cannot be used.
pub(crate) fn open(
    name: &str,
    options: &[&str],
    setup: &Setup,
    setting: &Setting,
) -> anyhow::Result<Option<Box<dyn View>>> {
    let export = match view::export::open(name, options, setup, setting) {
        Ok(export) => export,
        Err(ExportError::Help(text)) => {
            crate::stderr::print(&text)?;
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    let clock = (!setting.playing).then(|| Box::new(SystemClock) as Box<dyn Clock + Send>);
    let notify = Box::new(|text: &str| crate::stderr::message(text));
    Ok(Some(recorder::open_export(export, clock, notify).context("--export")?))
}

/// A host's name with its domain, as the resolver gives it (`AI_CANONNAME`); `None` if it has
/// none.
pub(crate) fn full_host_name(host: &str) -> Option<String> {
    let host = std::ffi::CString::new(host).ok()?;
    // SAFETY: all zero is a valid `addrinfo`: no flags, no addresses, no pointers.
    let mut hints: libc::addrinfo = unsafe { std::mem::zeroed() };
    hints.ai_flags = libc::AI_CANONNAME;
    let mut found = std::ptr::null_mut();
    // SAFETY: the name ends with NUL, `hints` and `found` outlive the call.
    if unsafe { libc::getaddrinfo(host.as_ptr(), std::ptr::null(), &hints, &mut found) } != 0 {
        return None;
    }
    // SAFETY: success means a list of at least one, whose first has the name or NULL; it is copied
    // before the list is freed, once.
    let name = unsafe {
        let name = (*found).ai_canonname;
        let copied = (!name.is_null()).then(|| std::ffi::CStr::from_ptr(name).to_owned());
        libc::freeaddrinfo(found);
        copied
    };
    name?.into_string().ok().filter(|name| !name.is_empty())
}

/// The files of encrypted connections to the caching daemon: RRDtool has none, so the variables are
/// named as its own are.
pub(crate) fn tls_files() -> rrdtool::TlsFiles {
    let path = |name| {
        std::env::var_os(name).filter(|value| !value.is_empty()).map(std::path::PathBuf::from)
    };
    rrdtool::TlsFiles {
        authority: path("RRDCACHED_TLS_CA"),
        certificate: path("RRDCACHED_TLS_CERT"),
        key: path("RRDCACHED_TLS_KEY"),
    }
}

/// The caching daemon of the environment, for `--export rrd`.
pub(crate) fn caching_daemon() -> view::export::DatabaseDaemon {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let tls = tls_files();
    view::export::DatabaseDaemon {
        address: variable("RRDCACHED_ADDRESS").unwrap_or_default(),
        stripped_folder: variable("RRDCACHED_STRIPPATH"),
        tls: [tls.authority, tls.certificate, tls.key],
    }
}

#[cfg(test)]
mod tests {
    use layout::Frame;
    use std::io::Read;
    use std::net::{TcpListener, UdpSocket};
    use std::time::Duration;

    use layout::Options;
    use sample::{Meta, SourceDef};

    use super::*;

    /// One source with one level.
    fn def() -> SourceDef {
        SourceDef {
            name: "demo".into(),
            letters: "m".into(),
            fields: vec![sample::Field::gauge("free", sample::Unit::Count, "A level")].into(),
            ..SourceDef::EMPTY
        }
    }

    fn layouts_of(_: &str) -> &'static [layout::Layout] {
        static LAYOUTS: &[layout::Layout] = &[layout::Layout {
            metrics: &[layout::PlotColumn::new("meminfo.free", |row| row.gauge(0))],
            ..layout::Layout::EMPTY
        }];
        LAYOUTS
    }

    /// Shows `ticks` ticks through an export; what it wrote to the output.
    fn run(name: &str, options: &[&str], playing: bool, ticks: u64) -> (String, Vec<String>) {
        let setting = Setting { playing, ..Setting::default() };
        let setup = Setup::of(jiff::tz::TimeZone::UTC);
        let mut view = open(name, options, &setup, &setting).unwrap().unwrap();
        let mut meta = Meta::new();
        meta.set("host", "vm");
        let defs = [def().shared()];
        let layouts = layout::LayoutLookup(layouts_of);
        let options = Options { layouts, ..Options::default() };
        let mut history = sample::History::new(&defs);
        let mut out = Vec::new();
        view.begin(&meta, &defs, &options, &mut out).unwrap();
        for tick in 1..=ticks {
            let mut snapshot = sample::Snapshot::new(&defs);
            snapshot.monotonic_ns = tick * 1_000_000_000;
            snapshot.realtime_ns = snapshot.monotonic_ns.cast_signed();
            snapshot.fresh[0] = true;
            snapshot.samples[0].state = sample::State::Ok;
            snapshot.samples[0].table.row(b"").set(0, tick);
            history.push(&mut snapshot);
            view.frame(&Frame::new(&history, &meta, &options), &mut out).unwrap();
        }
        view.end(&mut out).unwrap();
        (String::from_utf8(out).unwrap(), view.notes())
    }

    #[test]
    fn the_resolver_knows_this_machine_by_name() {
        assert!(full_host_name("localhost").is_some_and(|name| name.contains("localhost")));
        assert_eq!(full_host_name("a\0b"), None);
    }

    #[test]
    fn graphite_reaches_a_carbon_from_a_play_and_from_a_recorder() {
        for playing in [true, false] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap().to_string();
            let carbon = std::thread::spawn(move || {
                let mut text = String::new();
                listener.accept().unwrap().0.read_to_string(&mut text).unwrap();
                text
            });
            let (out, notes) = run("graphite", &[&address, "d=1"], playing, 3);
            assert_eq!(out, "vm.meminfo.free 2 2\nvm.meminfo.free 3 3\n");
            assert!(notes.is_empty(), "{notes:?}");
            assert_eq!(carbon.join().unwrap(), out);
        }
    }

    #[test]
    fn a_carbon_that_is_not_there_is_counted() {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let (_, notes) = run("graphite", &[&address], true, 3);
        assert_eq!(notes, ["--export: 2 reports could not be sent"]);
    }

    #[test]
    fn gexpr_sends_a_datagram_for_each_packet() {
        let gmond = UdpSocket::bind("127.0.0.1:0").unwrap();
        gmond.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let address = gmond.local_addr().unwrap().to_string();
        let (out, _) = run("gexpr", &[&address, "d=4"], true, 2);
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines.len(), 2);
        for line in lines {
            let mut packet = [0; 2048];
            let length = gmond.recv(&mut packet).unwrap();
            let hex: String = packet[..length].iter().map(|byte| format!("{byte:02x} ")).collect();
            assert_eq!(hex, line);
        }
    }

    #[test]
    fn a_snapshot_is_replaced_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("L");
        let (out, _) = run("lexpr", &[&format!("f={}", path.display())], true, 3);
        assert_eq!(out, "");
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "sample.time 3.000\nmeminfo.free 3\n");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
