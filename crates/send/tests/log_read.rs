//! Log records that engines have, read back: the same as over the store, in every form.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex};

use log_format::{FormatOptions, LogZone, RecordFormat};
use log_store::query::Filter;
use log_store::{Item, StoreReader};
use logring::LogLevel;
use send::{EngineAccess, SendError, read_logs};
use testkit::{Authority, NatsServer};

use crate::jetstream::Nats;
use crate::logs::{LokiLine, Programs, START_NS, pushed, sender, settings};
use crate::receiver::{Received, receive};

const NOW_NS: u64 = START_NS + 3_600_000_000_000;

/// A line for each record, in a form.
struct Lines {
    format: Box<dyn RecordFormat>,
    filter: Filter,
    lines: Vec<String>,
}

impl Lines {
    fn new(form: &str, filter: &Filter) -> Self {
        let (zone, formulas) = (LogZone::default(), layout::text::CsvFormulas::Keep);
        let options = FormatOptions { has_colors: false, zone, formulas };
        let format = log_format::format_named(form, options).unwrap();
        Lines { format, filter: filter.clone(), lines: Vec::new() }
    }

    fn take(&mut self, item: &Item<'_>) -> ControlFlow<()> {
        let mut scratch = Vec::new();
        if let Some(record) = self.filter.wanted(item, &mut scratch) {
            let mut line = Vec::new();
            self.format.put(&mut line, &record);
            self.lines.push(String::from_utf8(line).unwrap());
        }
        ControlFlow::Continue(())
    }
}

/// What a question over the store shows.
fn stored(folder: &Path, form: &str, filter: &Filter) -> Vec<String> {
    let mut lines = Lines::new(form, filter);
    let mut reader = StoreReader::open(folder).unwrap();
    let flow = reader.visit_all(&|_, _| true, &mut |item| lines.take(item)).unwrap();
    assert!(flow.is_continue());
    lines.lines
}

/// What the same question of an engine shows.
fn held(engine: &str, form: &str, filter: &Filter, access: &EngineAccess) -> Vec<String> {
    let mut lines = Lines::new(form, filter);
    let unknown = read_logs(engine, filter, access, NOW_NS, &mut |item| lines.take(item)).unwrap();
    assert_eq!(unknown, 0);
    lines.lines
}

/// When a record was made, by its line.
fn time(form: &str, line: &str) -> String {
    match form {
        "json" => line[..40].to_owned(),
        "syslog" => line.split(' ').nth(1).unwrap().to_owned(),
        "acs" => line.split('"').nth(1).unwrap().to_owned(),
        _ => line[..27].to_owned(),
    }
}

/// Checks that both have the same lines; of one time each process is for itself.
fn assert_same(mut wanted: Vec<String>, mut found: Vec<String>) {
    wanted.sort();
    found.sort();
    assert!(wanted.len() > 20, "{}", wanted.len());
    let different = wanted.iter().zip(&found).find(|(wanted, found)| wanted != found);
    assert_eq!((different, wanted.len()), (None, found.len()));
}

/// Questions that leave something out, each by another part of a filter.
fn filters() -> [Filter; 6] {
    let all = Filter { from_ns: Some(START_NS), ..Filter::default() };
    [
        all.clone(),
        Filter { level: Some(LogLevel::Warning), host: "host.1".into(), ..all.clone() },
        Filter { process: "pro gram\"0".into(), text: "ä".into(), ..all.clone() },
        Filter { process: "102".into(), ..all.clone() },
        Filter { logger: "log/*".into(), host: "*.0".into(), ..all.clone() },
        Filter {
            from_ns: Some(START_NS + 5_000_000_000),
            until_ns: Some(START_NS + 9_000_000_000),
            ..all
        },
    ]
}

#[test]
fn a_stream_is_read_as_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let _programs = Programs::logged(folder.path(), 40);
    let Some(server) = NatsServer::start(None) else { return };
    Nats::connect(server.address()).make_stream();
    let engine = format!("jetstream=nats://{}", server.address());
    let access = EngineAccess::default();
    assert_eq!(held(&engine, "json", &Filter::default(), &access), Vec::<String>::new());
    let sent = sender(folder.path(), &engine).run(&mut |_| true, &mut |event| panic!("{event:?}"));
    assert!(sent.unwrap());
    for (at, filter) in filters().iter().enumerate() {
        let forms: &[&str] =
            if at == 0 { &["text", "json", "csv", "acs", "syslog"] } else { &["json"] };
        for form in forms {
            let wanted = stored(folder.path(), form, filter);
            let found = held(&engine, form, filter, &access);
            assert!(found.is_sorted_by_key(|line| time(form, line)), "{form} {filter:?}");
            assert_same(wanted, found);
        }
    }
    // Whoever wants some of them alone gets the first.
    let mut count = 0;
    let mut first = |_: &Item<'_>| {
        count += 1;
        if count == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    read_logs(&engine, &filters()[0], &access, NOW_NS, &mut first).unwrap();
    assert_eq!(count, 3);
}

#[test]
fn a_stream_is_sent_and_read_by_tls() {
    let folder = tempfile::tempdir().unwrap();
    let keys = tempfile::tempdir().unwrap();
    let _programs = Programs::logged(folder.path(), 3);
    let authority = Authority::new(keys.path(), "authority");
    let files = authority.sign("server", &["127.0.0.1"], false);
    let Some(server) = NatsServer::encrypted(&files) else { return };
    let of = |file: &Path| EngineAccess { authorities: Some(file.to_owned()), token_file: None };
    let access = of(&authority.file);
    let engine = format!("jetstream=tls://{}", server.address());
    let waits = |engine: &str, access: &EngineAccess| {
        let (mut settings, mut told) = (settings(), Vec::new());
        access.load(&mut settings, true).unwrap();
        let mut sender = crate::deliveries::sender_to(folder.path(), engine, &settings);
        assert!(!sender.run(&mut |_| false, &mut |event| told.push(event)).unwrap());
        format!("{told:?}")
    };
    // The server itself answers behind TLS.
    let said = waits(&engine, &access);
    assert!(said.contains("no stream takes the subject whit.logs."), "{said}");
    let said = waits(&engine, &of(&Authority::new(keys.path(), "other").file));
    assert!(said.to_lowercase().contains("certificate"), "{said}");
    let said = waits(&format!("jetstream=nats://{}", server.address()), &access);
    assert!(said.contains("it wants TLS: write tls://HOST:PORT"), "{said}");
    let Some(clear) = NatsServer::start(None) else { return };
    let said = waits(&format!("jetstream=tls://{}", clear.address()), &access);
    assert!(said.contains("it speaks no TLS"), "{said}");
    let nothing = read_logs(&engine, &Filter::default(), &access, NOW_NS, &mut |_| panic!());
    let nothing = nothing.unwrap_err().to_string();
    assert!(nothing.contains("no stream takes the subject whit.logs.*.*.*"), "{nothing}");
}

/// A Loki that keeps what is pushed and answers questions about a time as its interface says.
#[derive(Default)]
struct Loki {
    lines: Vec<LokiLine>,
    questions: usize,
}

impl Loki {
    /// Its engine, which lets in who knows a token.
    fn start() -> (String, Arc<Mutex<Loki>>) {
        let loki: Arc<Mutex<Loki>> = Arc::default();
        let own = loki.clone();
        let address = receive(move |request| {
            let mut loki = own.lock().unwrap();
            if !request.head.contains("authorization: bearer sesame\r\n") {
                return ("401 Unauthorized".into(), Vec::new());
            }
            if request.head.starts_with("post ") {
                loki.lines.extend(pushed(&request));
                return ("204 No Content".into(), Vec::new());
            }
            loki.answer(&request)
        });
        (format!("loki=http://{address}"), loki)
    }

    fn answer(&mut self, request: &Received) -> (String, Vec<u8>) {
        self.questions += 1;
        let target = request.head.strip_prefix("get /loki/api/v1/query_range?").unwrap();
        let target = target.split(' ').next().unwrap();
        let parameters: BTreeMap<&str, String> = target
            .split('&')
            .map(|pair| pair.split_once('=').unwrap())
            .map(|(name, value)| (name, decoded(value)))
            .collect();
        let number = |name: &str| parameters[name].parse::<u64>().unwrap();
        let (start, end, limit) = (number("start"), number("end"), number("limit"));
        assert_eq!(parameters["direction"], "forward");
        assert!(limit <= 5_000 && end - start <= 30 * 86_400_000_000_000, "{target}");
        let wanted = matchers(&parameters["query"]);
        let fits = |labels: &str| {
            let of_stream = matchers(labels);
            wanted.iter().all(|(name, is_regex, value)| {
                let own = of_stream.iter().find(|(other, ..)| other == name);
                let own = own.map_or("", |(_, _, value)| value.as_str());
                if *is_regex { value.split('|').any(|one| one == own) } else { own == value }
            })
        };
        let mut found: Vec<&LokiLine> = self
            .lines
            .iter()
            .filter(|(labels, time, _)| (start..end).contains(time) && fits(labels))
            .collect();
        found.sort_by_key(|(_, time, _)| *time);
        found.truncate(limit as usize);
        let mut streams: BTreeMap<&str, Vec<[&str; 2]>> = BTreeMap::new();
        let times: Vec<String> = found.iter().map(|(_, time, _)| time.to_string()).collect();
        for ((labels, _, line), time) in found.iter().zip(&times) {
            streams.entry(labels).or_default().push([time, line]);
        }
        let streams: Vec<serde_json::Value> = streams
            .values()
            .map(|values| serde_json::json!({ "stream": {}, "values": values }))
            .collect();
        let answer = serde_json::json!({
            "status": "success", "data": { "resultType": "streams", "result": streams },
        });
        ("200 OK".into(), answer.to_string().into_bytes())
    }
}

/// A text of a form.
pub(crate) fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, behind)) = rest.split_first() {
        let (byte, behind) = match first {
            b'%' => {
                let digits = std::str::from_utf8(&behind[..2]).unwrap();
                (u8::from_str_radix(digits, 16).unwrap(), &behind[2..])
            }
            b'+' => (b' ', behind),
            other => (*other, behind),
        };
        bytes.push(byte);
        rest = behind;
    }
    String::from_utf8(bytes).unwrap()
}

/// The names, whether by pattern, and values of a selector or of labels.
fn matchers(text: &str) -> Vec<(String, bool, String)> {
    let mut rest = text.strip_prefix('{').unwrap();
    let mut found = Vec::new();
    loop {
        let (name, behind) = rest.split_once('=').unwrap();
        let (is_regex, behind) = match behind.strip_prefix('~') {
            Some(behind) => (true, behind),
            None => (false, behind),
        };
        let (mut value, mut characters) =
            (String::new(), behind.strip_prefix('"').unwrap().chars());
        loop {
            match characters.next().unwrap() {
                '\\' => value.push(characters.next().unwrap()),
                '"' => break,
                other => value.push(other),
            }
        }
        found.push((name.to_owned(), is_regex, value));
        match characters.as_str().strip_prefix(',') {
            Some(behind) => rest = behind,
            None => return found,
        }
    }
}

#[test]
fn loki_is_read_as_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let _programs = Programs::logged(folder.path(), 60);
    let (engine, loki) = Loki::start();
    let keys = tempfile::tempdir().unwrap();
    let token = keys.path().join("token");
    std::fs::write(&token, "sesame\n").unwrap();
    std::fs::set_permissions(&token, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let access = EngineAccess { authorities: None, token_file: Some(token) };
    let mut settings = settings();
    access.load(&mut settings, false).unwrap();
    let mut sender = crate::deliveries::sender_to(folder.path(), &engine, &settings);
    assert!(sender.run(&mut |_| true, &mut |event| panic!("{event:?}")).unwrap());
    for filter in filters() {
        let found = held(&engine, "json", &filter, &access);
        assert!(found.is_sorted_by_key(|line| time("json", line)), "{filter:?}");
        assert_same(stored(folder.path(), "json", &filter), found);
    }
    // More than an answer has.
    assert!(loki.lock().unwrap().lines.len() > 2_500, "{}", loki.lock().unwrap().lines.len());
    assert!(loki.lock().unwrap().questions > 6 + 1);
    // A line of somebody else is counted, and who is not let in is told.
    loki.lock().unwrap().lines.push(("{job=\"whit\"}".into(), START_NS, "hello".into()));
    let all = &filters()[0];
    let mut none = |_: &Item<'_>| ControlFlow::Continue(());
    assert_eq!(read_logs(&engine, all, &access, NOW_NS, &mut none).unwrap(), 1);
    let refused = read_logs(&engine, all, &EngineAccess::default(), NOW_NS, &mut none).unwrap_err();
    assert!(refused.to_string().contains("401"), "{refused}");
    let endless = read_logs(&engine, &Filter::default(), &access, NOW_NS, &mut none).unwrap_err();
    assert!(matches!(endless, SendError::NoStart(_)), "{endless}");
    let other = read_logs("otlp=http://h", all, &access, NOW_NS, &mut none).unwrap_err();
    assert!(other.to_string().contains("those of jetstream, loki can"), "{other}");
}
