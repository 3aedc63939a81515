//! Which parts a configuration has, and the command line of each.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use send::SendInput;

use crate::configuration::{Configuration, full_name};
use crate::key_kinds::{ConfigKey, ValueKind, WordPlace};
use crate::keys::{KEYS, RECORDINGS, STORE};
use crate::toml::Item;

/// A poller stops after so many rounds: never.
const ROUNDS: &str = "--count=18446744073709551615";

/// A part as a configuration has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartPlan {
    /// The table of the part, with the name of the part if there may be several.
    pub(crate) name: String,
    /// The words behind `whit`; for the page without its sockets.
    pub(crate) words: Vec<OsString>,
    /// Folders that it needs.
    pub(crate) folders: Vec<PathBuf>,
    /// Whether it writes new data, and so is stopped while its disk is full.
    pub(crate) writes: bool,
    /// The folder in which a recording must be before it starts.
    pub(crate) reads: Option<PathBuf>,
    /// What it has on its standard input.
    pub(crate) input: String,
    /// Whether what it said last is a part of its state.
    pub(crate) tells: bool,
}

/// The configuration that the part `alerts` is given.
pub(crate) fn alerts_text(configuration: &Configuration) -> String {
    configuration.shown_tables(&[
        "data",
        "page",
        "alerts",
        "alerts.mail",
        "alerts.webhook",
        "alert",
    ])
}

/// The parts that are on, in the order in which they start: those that others use come first.
pub(crate) fn plan(configuration: &Configuration) -> Vec<PartPlan> {
    let names = ["log.central", "rrdcached", "record", "log.proxy", "poll", "page", "alerts"];
    let is_on = |name: &&str| configuration.is_on(&format!("{name}.enabled"));
    let parts = names.into_iter().filter(is_on).map(|name| plan_of(configuration, name));
    let rows = configuration.rows("send");
    parts.chain(rows.filter_map(|(row, _)| engine(configuration, row))).collect()
}

/// The part that sends to an engine: one for each, so that none delays another.  It goes on while the
/// disk is full, since what it sends need not be kept.
fn engine(configuration: &Configuration, row: usize) -> Option<PartPlan> {
    let name = configuration.engine_name(row).ok()??;
    let of_logs = configuration.engine_input(row) == SendInput::Logs;
    let folder =
        configuration.path_of(if of_logs { STORE } else { RECORDINGS }).unwrap_or_default();
    let logs = of_logs.then(|| "--logs".into());
    let switch = |key: &str, word: &str| {
        configuration.is_on(&format!("send.{row}.{key}")).then(|| OsString::from(word))
    };
    let switches = [switch("spread", "--spread"), switch("create_tables", "--create-tables")];
    let mut plan = PartPlan {
        name: format!("send.{name}"),
        words: ["send".into(), "--follow".into()]
            .into_iter()
            .chain(logs)
            .chain(switches.into_iter().flatten())
            .collect(),
        folders: vec![folder.clone()],
        writes: false,
        reads: None,
        input: String::new(),
        tells: true,
    };
    let mut last = Vec::new();
    add_all(&mut plan, &mut last, configuration, ("send", Some(row)));
    plan.words.extend(["--".into(), folder.into()]);
    Some(plan)
}

fn plan_of(configuration: &Configuration, name: &'static str) -> PartPlan {
    let mut plan = PartPlan {
        name: name.to_owned(),
        words: Vec::new(),
        folders: Vec::new(),
        // Alerts keep little, and are needed when the disk is full.
        writes: !["page", "alerts"].contains(&name),
        reads: None,
        input: String::new(),
        tells: false,
    };
    let recordings = configuration.path_of(RECORDINGS).unwrap_or_default();
    let logs = configuration.path_of("log.central.store");
    let logs = logs.filter(|_| configuration.is_on("log.central.enabled"));
    let logs = logs.map(|store| option("--logs", store));
    let folders: &[&str] = match name {
        "record" => {
            plan.words.push("record".into());
            plan.folders.push(recordings.clone());
            &[]
        }
        "page" => {
            plan.words.push("serve".into());
            plan.words.extend(logs);
            let alerts = configuration.path_of("alerts.folder");
            let alerts = alerts.filter(|_| configuration.is_on("alerts.enabled"));
            plan.words.extend(alerts.map(|folder| option("--alerts", folder)));
            plan.reads = Some(recordings.clone());
            &[]
        }
        "alerts" => {
            plan.words.extend(["alert".into(), "--config=/dev/stdin".into()]);
            plan.words.extend(logs);
            plan.input = alerts_text(configuration);
            plan.reads = Some(recordings.clone());
            &["alerts.folder"]
        }
        "log.central" => {
            plan.words.extend(["log".into(), "central".into()]);
            if configuration.is_on("log.central.recordings") {
                plan.words.push(option("--recordings", recordings.clone()));
                let keep = ["log.central.recordings_keep", "record.keep"];
                let keep = keep.into_iter().find_map(|key| configuration.text(key));
                plan.words.extend(keep.map(|keep| option("--recordings-keep", keep.into())));
                plan.folders.push(recordings.clone());
            }
            &["log.central.store"]
        }
        "log.proxy" => {
            plan.words.extend(["log".into(), "proxy".into()]);
            &["log.proxy.spool"]
        }
        "poll" => {
            plan.words.extend(["poll".into(), ROUNDS.into()]);
            plan.words.push(option("--filename", recordings.join("poll")));
            // The folder of the configurations may be one that nobody but root writes to.
            let own = configuration.folder().join("poll");
            plan.words.push(option("--lock-file", own.clone()));
            plan.words.push(option("--confcache-file", own.clone()));
            plan.folders.push(own);
            plan.folders.push(recordings.clone());
            &[]
        }
        _ => {
            plan.words.extend(["rrdcached".into(), "-g".into(), "-B".into(), "-R".into()]);
            // It holds for the sockets behind it.
            let acknowledge = configuration.text("rrdcached.ack").unwrap_or("os");
            plan.words.push(option("--ack", acknowledge.into()));
            &["rrdcached.base", "rrdcached.journal"]
        }
    };
    plan.folders.extend(folders.iter().filter_map(|name| configuration.path_of(name)));
    match name {
        "record" => plan.words.extend(history(configuration, &recordings)),
        "page" if configuration.item("page.databases").is_none() => {
            let base = configuration.path_of("rrdcached.base");
            let base = base.filter(|_| configuration.is_on("rrdcached.enabled"));
            // Of its addresses a socket of this machine: others may ask for certificates.
            let daemon = configuration.texts("rrdcached.listen").unwrap_or_default();
            let daemon = daemon.into_iter().find(|one| one.starts_with('/'));
            let daemon = daemon.filter(|_| base.is_some());
            plan.words.extend(base.map(|base| option("--databases", base)));
            plan.words.extend(daemon.map(|path| option("--rrdcached", path.into())));
        }
        _ => {}
    }
    let mut last = Vec::new();
    add_all(&mut plan, &mut last, configuration, (name, None));
    if name == "page" {
        plan.words
            .extend(configuration.rows("host").filter_map(|(row, _)| host(configuration, row)));
        last.push(recordings.into());
    } else if name == "alerts" {
        last.push(recordings.into());
    }
    if !last.is_empty() {
        plan.words.push("--".into());
        plan.words.append(&mut last);
    }
    plan
}

/// The option for a table `[[host]]`; none for one without keys.
fn host(configuration: &Configuration, row: usize) -> Option<OsString> {
    let mut word = OsString::from("--host=url=");
    word.push(configuration.text(&format!("host.{row}.url"))?);
    for key in KEYS.iter().filter(|key| key.table == "host" && key.name != "url") {
        let name = format!("host.{row}.{}", key.name);
        let Some(text) = configuration.text(&name) else { continue };
        word.push(format!(",{}=", key.name));
        match key.is_path() {
            true => word.push(configuration.folder().join(text)),
            false => word.push(text),
        }
    }
    Some(word)
}

/// The words of a recorder that keeps a history; the archive finds it beside the recordings.
fn history(configuration: &Configuration, recordings: &Path) -> Vec<OsString> {
    if !configuration.is_on("history.enabled") {
        return Vec::new();
    }
    let mut export = option("--export", Path::new("rrd").to_owned());
    export.push(",");
    export.push(recordings.join("history"));
    if let Some(limit) = configuration.text("history.limit") {
        export.push(format!(",limit={limit}"));
    }
    if let Some(table) = configuration.path_of("history.table") {
        export.push(",table=");
        export.push(table);
    }
    vec!["--rawtoo".into(), export]
}

fn option(name: &str, value: PathBuf) -> OsString {
    let mut word = OsString::from(format!("{name}="));
    word.push(value);
    word
}

/// Adds what the values of a table become.
fn add_all(
    plan: &mut PartPlan,
    last: &mut Vec<OsString>,
    configuration: &Configuration,
    (table, row): (&str, Option<usize>),
) {
    for key in KEYS.iter().filter(|key| key.table == table) {
        if let Some(item) = configuration.item(&full_name(key, row)) {
            add(plan, last, configuration, key, item);
        }
    }
}

/// Adds what a value becomes; words that are no options go to `last`.
fn add(
    plan: &mut PartPlan,
    last: &mut Vec<OsString>,
    configuration: &Configuration,
    key: &ConfigKey,
    item: &Item,
) {
    // Spans are checked: whole seconds.
    let seconds = |text: &str| text::quantity::parse_span(text).unwrap_or_default().as_secs();
    let value = |item: &Item| match item {
        Item::Text(text) if key.is_path() => configuration.folder().join(text),
        // Options want a unit, which the configuration may leave out.
        Item::Text(text) if key.kind == ValueKind::Span => format!("{}s", seconds(text)).into(),
        Item::Text(text) => text.into(),
        Item::Whole(number) => number.to_string().into(),
        Item::Number(number) => number.to_string().into(),
        Item::Switch(_) | Item::List(_) => PathBuf::new(),
    };
    let items = match item {
        Item::List(items) => items.as_slice(),
        item => std::slice::from_ref(item),
    };
    let is_on = *item == Item::Switch(true);
    match key.place {
        WordPlace::Service => {}
        WordPlace::Option(name) => {
            plan.words.extend(items.iter().map(|item| option(name, value(item))));
        }
        WordPlace::Seconds(name) => {
            let text = configuration.text(&key.full_name()).unwrap_or_default();
            plan.words.push(format!("{name}={}", seconds(text)).into());
        }
        WordPlace::Unless(name) if !is_on => plan.words.push(name.into()),
        WordPlace::Unless(_) => {}
        WordPlace::Words => last.extend(items.iter().map(|item| value(item).into_os_string())),
        WordPlace::Subsystems => match configuration.text(&key.full_name()).unwrap_or_default() {
            every @ ("all" | "ALL") => plan.words.push(format!("--{every}").into()),
            letters => plan.words.push(format!("--subsys={letters}").into()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The command lines of a configuration, each as one line.
    fn lines(configuration: &Configuration) -> Vec<String> {
        let line = |plan: PartPlan| plan.words.join(" ".as_ref()).into_string().unwrap();
        plan(configuration).into_iter().map(line).collect()
    }

    #[test]
    fn the_page_shows_what_other_parts_keep() {
        let folder = tempfile::tempdir().unwrap();
        let lines_of = |text: &str| {
            let path = folder.path().join("whit.toml");
            std::fs::write(&path, text).unwrap();
            lines(&Configuration::read(&path, Path::new("/d")).unwrap())
        };
        let with = lines_of(
            "[page]\ndevice_pages = \"/www\"\n[history]\nenabled = true\ntable = \"t\"\n[rrdcached]\nenabled = true\nlisten = [\"h:1\", \"/run/rrdcached.sock\"]",
        );
        assert!(with[1].contains("--export=rrd,/d/recordings/history,limit=100M,table=/d/t"));
        assert_eq!(
            with[2],
            "serve --alerts=/d/alerts --databases=/d/rrd --rrdcached=/run/rrdcached.sock --device-pages=/www -- /d/recordings"
        );
        let others = lines_of("[page]\ndatabases = [\"a\", \"/b\"]\n[rrdcached]\nenabled = true");
        assert!(!others[1].contains("--export"), "{others:?}");
        assert_eq!(
            others[2],
            "serve --alerts=/d/alerts --databases=/d/a --databases=/b -- /d/recordings"
        );
        let path = folder.path().join("whit.toml");
        std::fs::write(&path, "[record]\nfolder = \"/a,b\"\n[history]\nenabled = true").unwrap();
        let wrong = Configuration::read(&path, Path::new("/d")).unwrap_err().to_string();
        assert!(
            wrong.contains("whit.toml:2:")
                && wrong.contains("comma")
                && wrong.contains("needs a table"),
            "{wrong}"
        );
    }

    #[test]
    fn recordings_of_others_are_kept_as_own_ones_unless_a_key_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("whit.toml");
        for (more, wanted) in [
            ("", "10G"),
            ("[record]\nkeep = \"7d\"", "7d"),
            ("recordings_keep = \"30d,1G\"\n[record]\nkeep = \"7d\"", "30d,1G"),
        ] {
            let text = format!("[log.central]\nenabled = true\nrecordings = true\n{more}");
            std::fs::write(&path, text).unwrap();
            let lines = lines(&Configuration::read(&path, Path::new("/d")).unwrap());
            let wanted = format!(" --recordings=/d/recordings --recordings-keep={wanted}");
            assert!(lines.iter().any(|line| line.contains(&wanted)), "{lines:?}");
        }
    }

    #[test]
    fn the_page_is_told_of_other_hosts() {
        let text = "[[host]]\nurl = \"http://a:1\"\n[[host]]\nca = \"c\"\nurl = \"https://b\"\n";
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("whit.toml");
        std::fs::write(&path, text).unwrap();
        let read = Configuration::read(&path, Path::new("/d")).unwrap();
        let page = plan(&read).swap_remove(1);
        assert_eq!(
            page.words[2..],
            ["--host=url=http://a:1", "--host=url=https://b,ca=/d/c", "--", "/d/recordings"]
        );
        for (text, wanted) in [
            ("[[host]]\nname = \"x\"\n", ":1:1: url: there is none"),
            ("[[host]]\nurl = \"http://a,b\"\n", ":2:1: url: it has a comma"),
        ] {
            std::fs::write(&path, text).unwrap();
            let said = Configuration::read(&path, Path::new("/d")).unwrap_err().to_string();
            assert!(said.contains(wanted), "{said}");
        }
    }

    #[test]
    fn a_span_without_a_unit_is_in_seconds() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("whit.toml");
        let text = "[[send]]\nto = \"remote-write=http://a:1\"\nevery = \"5\"\nstep = \"90\"\n";
        std::fs::write(&path, text).unwrap();
        let lines = lines(&Configuration::read(&path, Path::new("/d")).unwrap());
        assert!(lines.iter().any(|line| line.contains(" --every=5s --step=90s ")), "{lines:?}");
    }

    #[test]
    fn each_engine_has_a_part_of_its_own() {
        let text = "[[send]]\nto = \"remote-write=http://a:1\"\n[[send]]\nname = \"b\"\nca = \"c\"\n\
                    sources = [\"cpu\", \"disk\"]\nto = \"remote-write=https://b\"\n\
                    processes_by = \"user:9\"\nstep = \"1m\"\nspread = true\n\
                    every = \"5s\"\n\
                    [[send]]\nto = \"loki=http://c:3\"\n[[send]]\nto = \"otlp=http://a:2\"\n\
                    logs = true\n[[send]]\nto = \"whit=tls:c\"\ntoken_file = \"s\"\n\
                    [[send]]\nto = \"clickhouse=http://c:8\"\ncreate_tables = true\n[[send]]\n";
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("whit.toml");
        std::fs::write(&path, text).unwrap();
        let read = Configuration::read(&path, Path::new("/d")).unwrap();
        let parts = plan(&read);
        assert_eq!(
            parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>(),
            [
                "record",
                "page",
                "alerts",
                "send.remote-write-http-a-1",
                "send.b",
                "send.loki-logs-http-c-3",
                "send.otlp-logs-http-a-2",
                "send.whit-tls-c-4515",
                "send.clickhouse-http-c-8"
            ]
        );
        assert_eq!(
            lines(&read)[3..],
            [
                "send --follow --to=remote-write=http://a:1 -- /d/recordings",
                "send --follow --spread --to=remote-write=https://b --name=b --every=5s \
                 --sources=cpu --sources=disk --processes-by=user:9 --step=60s --ca=/d/c -- /d/recordings",
                "send --follow --logs --to=loki=http://c:3 -- /d/log",
                "send --follow --logs --to=otlp=http://a:2 -- /d/log",
                "send --follow --to=whit=tls:c --token-file=/d/s -- /d/recordings",
                "send --follow --create-tables --to=clickhouse=http://c:8 -- /d/recordings"
            ]
        );
        for (text, wanted) in [
            ("[[send]]\nname = \"x\"\n", ":1:1: to: there is none"),
            ("[[send]]\nto = \"kafka=h:1\"\n", ":1:1: 'kafka=h:1' is no engine"),
            ("[[send]]\nto = \"graphite=h\"\nlogs = true\n", "graphite takes no log records"),
            (
                "[[send]]\nto = \"loki=http://h:1\"\nsources = [\"cpu\"]\n",
                "sources: log records have none",
            ),
            ("[[send]]\nto = \"remote-write=http://a\"\nname = \"a b\"\n", "'a b' is no name"),
            ("[[send]]\nto = \"graphite=h\"\nspread = true\n", "spread: it is of a step"),
            ("[[send]]\nto = \"graphite=h\"\nevery = \"2h\"\n", "every: a sender looks for"),
            (
                "[[send]]\nto = \"graphite=h\"\ncreate_tables = true\n",
                "create_tables: clickhouse has some",
            ),
            (
                "[[send]]\nto = \"whit=h\"\nsources = [\"cpu\"]\n",
                "whit gets recordings as they are",
            ),
            (
                "[[send]]\nto = \"graphite=h\"\nprocesses_by = \"pid\"\n",
                "--processes-by pid: --by pid: known are command, user, cgroup",
            ),
            (
                "[[send]]\nto = \"remote-write=http://a\"\n[[send]]\nto = \"remote-write=http://a\"\n",
                ":3:1: name: another [[send]] is called remote-write-http-a, too",
            ),
            (
                "[[send]]\nto = \"remote-write=http://a\"\nsources = [\"cqu\"]\n",
                ":1:1: sources: there is no source cqu",
            ),
        ] {
            std::fs::write(&path, text).unwrap();
            let said = Configuration::read(&path, Path::new("/d")).unwrap_err().to_string();
            assert!(said.contains(wanted), "{said}");
        }
    }

    #[test]
    fn without_a_file_this_machine_is_recorded_and_shown() {
        let lines = lines(&Configuration::defaults(Path::new("/d")));
        assert_eq!(
            lines,
            [
                "record --filename=/d/recordings --interval=1:1:60 --third-interval=slab --ALL --keep=10G",
                "serve --alerts=/d/alerts -- /d/recordings",
                "alert --config=/dev/stdin -- /d/recordings"
            ]
        );
    }
}
