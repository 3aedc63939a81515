//! Every key of the configuration: its kind, its default, its help, and the option that it becomes.
//!
//! The check of a file, the installed default, `whit config` and the command lines of parts are all made
//! from this table.

use std::fmt::Write as _;

use crate::key_kinds::{ValueKind, WordPlace};

/// A key.
#[derive(Debug)]
pub(crate) struct ConfigKey {
    /// The table that it is in.
    pub(crate) table: &'static str,
    /// The name of the key.
    pub(crate) name: &'static str,
    /// What its value has to be.
    pub(crate) kind: ValueKind,
    /// The default, as it stands in a file; `None` if the key has none.
    pub(crate) default: Option<&'static str>,
    /// What its value becomes.
    pub(crate) place: WordPlace,
    /// What it is for.
    pub(crate) help: &'static str,
}

/// The key of the folder of the store of log records.
pub(crate) const STORE: &str = "log.central.store";

impl ConfigKey {
    /// `TABLE.NAME`.
    pub(crate) fn full_name(&self) -> String {
        format!("{}.{}", self.table, self.name)
    }

    /// Whether a text of it is a path.
    pub(crate) fn is_path(&self) -> bool {
        matches!(self.kind, ValueKind::Path | ValueKind::Paths)
    }
}

const fn key(
    table: &'static str,
    name: &'static str,
    kind: ValueKind,
    default: Option<&'static str>,
    place: WordPlace,
    help: &'static str,
) -> ConfigKey {
    ConfigKey { table, name, kind, default, place, help }
}

const ACKNOWLEDGE: ValueKind = ValueKind::Choice(&["none", "os", "disk"]);

/// The key of the folder of recordings.
pub(crate) const RECORDINGS: &str = "record.folder";

/// Tables of which there may be several, as `[[NAME]]`.
const LISTS: &[&str] = &["host", "alert", "send"];

/// Whether there may be several of a table.
pub(crate) fn is_list(table: &str) -> bool {
    LISTS.contains(&table)
}

/// All keys, in the order of the installed default.
pub(crate) const KEYS: &[ConfigKey] = &[
    key(
        "data",
        "folder",
        ValueKind::Path,
        None,
        WordPlace::Service,
        "Where all data is: /var/lib/whit for root, $XDG_STATE_HOME/whit or ~/.local/state/whit for others.",
    ),
    key(
        "data",
        "free_min",
        ValueKind::Size,
        Some("\"256M\""),
        WordPlace::Service,
        "Below so much free space on its disk no part writes new data: those that write are stopped until there is room, and the state of parts says since when.",
    ),
    key(
        "record",
        "enabled",
        ValueKind::Switch,
        Some("true"),
        WordPlace::Service,
        "The recorder of this machine.",
    ),
    key(
        "record",
        "folder",
        ValueKind::Path,
        Some("\"recordings\""),
        WordPlace::Option("--filename"),
        "Folder of its recordings.",
    ),
    key(
        "record",
        "interval",
        ValueKind::Interval,
        Some("\"1:1:60\""),
        WordPlace::Option("--interval"),
        "Seconds between samples: of most subsystems, of processes, of sensors, volumes and slabs.",
    ),
    key(
        "record",
        "third_interval",
        ValueKind::Words,
        Some("[\"slab\"]"),
        WordPlace::Option("--third-interval"),
        "Sources that are read at the third interval, whatever their own: the kernel takes milliseconds to count its slabs.",
    ),
    key(
        "record",
        "subsystems",
        ValueKind::Text,
        Some("\"ALL\""),
        WordPlace::Subsystems,
        "ALL (all summaries and details, processes too), all (summaries without processes), or letters as of whit record -s.",
    ),
    key(
        "record",
        "keep",
        ValueKind::Keep,
        Some("\"10G\""),
        WordPlace::Option("--keep"),
        "Delete recordings older than an age (30d), or the oldest beyond a size (10G), or both: \"30d,10G\".",
    ),
    key(
        "record",
        "durable",
        ValueKind::Span,
        None,
        WordPlace::Seconds("--sync"),
        "A power cut loses at most this much; without it the kernel decides, some 30 s. The end of the process alone loses nothing.",
    ),
    key(
        "record",
        "budget",
        ValueKind::Percent,
        None,
        WordPlace::Option("--budget"),
        "At most this share of one CPU in per cent: over it, expensive sources are read less often.",
    ),
    key(
        "page",
        "enabled",
        ValueKind::Switch,
        Some("true"),
        WordPlace::Service,
        "The server: Prometheus's query interface over the recordings, and /metrics.",
    ),
    key(
        "page",
        "listen",
        ValueKind::Address,
        Some("\"127.0.0.1:9797\""),
        WordPlace::Service,
        "HOST:PORT of the loopback; tls:HOST:PORT for other machines too (with tls_cert, and token_file or users); or the path of a socket.",
    ),
    key(
        "page",
        "token_file",
        ValueKind::Path,
        None,
        WordPlace::Option("--token-file"),
        "Let clients in that know the token in this file.",
    ),
    key(
        "page",
        "users",
        ValueKind::Path,
        None,
        WordPlace::Option("--users"),
        "Let the users in that this file lists, NAME:HASH (whit serve --hash-password).",
    ),
    key(
        "page",
        "tls_cert",
        ValueKind::Path,
        None,
        WordPlace::Option("--tls-cert"),
        "Certificate of a tls: address, in PEM.",
    ),
    key(
        "page",
        "tls_key",
        ValueKind::Path,
        None,
        WordPlace::Option("--tls-key"),
        "Its key, in PEM.",
    ),
    key(
        "page",
        "tls_client_ca",
        ValueKind::Path,
        None,
        WordPlace::Option("--tls-client-ca"),
        "Take only clients whose certificate an authority in this file has signed.",
    ),
    key(
        "page",
        "side_files",
        ValueKind::Switch,
        Some("true"),
        WordPlace::Unless("--no-side-files"),
        "Make files beside recordings that make answers fast.",
    ),
    key(
        "page",
        "databases",
        ValueKind::Paths,
        None,
        WordPlace::Option("--databases"),
        "Folders whose round-robin databases the page shows; without it that of rrdcached, if it is on.",
    ),
    key(
        "page",
        "device_pages",
        ValueKind::Path,
        None,
        WordPlace::Option("--device-pages"),
        "Folder of the pages of [poll] (WorkDir or HtmlDir of its configuration), to be served at /mrtg/.",
    ),
    key(
        "history",
        "enabled",
        ValueKind::Switch,
        Some("false"),
        WordPlace::Service,
        "Keep means of minutes beside the recordings, in databases that do not grow: the page shows them for times of which recordings are deleted.",
    ),
    key(
        "history",
        "limit",
        ValueKind::Size,
        Some("\"100M\""),
        WordPlace::Service,
        "Most bytes of its databases: a further disk or interface has none.",
    ),
    key(
        "history",
        "table",
        ValueKind::Path,
        None,
        WordPlace::Service,
        "What it keeps for how long, as whit record --export rrd,h explains; a history needs one, without the lines * and *[*].",
    ),
    key(
        "log.central",
        "enabled",
        ValueKind::Switch,
        Some("false"),
        WordPlace::Service,
        "The central store of log records.",
    ),
    key(
        "log.central",
        "listen",
        ValueKind::Addresses,
        Some("[\"/run/whit-log.sock\"]"),
        WordPlace::Option("--listen"),
        "Where it listens: paths of sockets, HOST:PORT or tls:HOST:PORT.",
    ),
    key(
        "log.central",
        "store",
        ValueKind::Path,
        Some("\"log\""),
        WordPlace::Option("--store"),
        "Folder of the store.",
    ),
    key(
        "log.central",
        "keep",
        ValueKind::Size,
        Some("\"4G\""),
        WordPlace::Option("--keep"),
        "Most bytes of the store: the oldest segments are removed.",
    ),
    key(
        "log.central",
        "keep_for",
        ValueKind::Span,
        None,
        WordPlace::Option("--keep-for"),
        "Age at which a segment is removed.",
    ),
    key(
        "log.central",
        "recordings",
        ValueKind::Switch,
        Some("false"),
        WordPlace::Service,
        "true: it takes recordings of other hosts, too ([[send]] to = \"whit=ADDRESS\" there), and puts them beside those of this host.",
    ),
    key(
        "log.central",
        "ack",
        ACKNOWLEDGE,
        Some("\"disk\""),
        WordPlace::Option("--ack"),
        "When records are acknowledged: received (none), written (os), on disk (disk).",
    ),
    key(
        "log.central",
        "secret_file",
        ValueKind::Path,
        None,
        WordPlace::Option("--secret-file"),
        "File with the secret that clients must know.",
    ),
    key(
        "log.central",
        "tls_cert",
        ValueKind::Path,
        None,
        WordPlace::Option("--tls-cert"),
        "Certificate of a tls: address, in PEM.",
    ),
    key(
        "log.central",
        "tls_key",
        ValueKind::Path,
        None,
        WordPlace::Option("--tls-key"),
        "Its key, in PEM.",
    ),
    key(
        "log.central",
        "tls_client_ca",
        ValueKind::Path,
        None,
        WordPlace::Option("--tls-client-ca"),
        "Take only clients whose certificate an authority in this file has signed.",
    ),
    key(
        "log.proxy",
        "enabled",
        ValueKind::Switch,
        Some("false"),
        WordPlace::Service,
        "The proxy that carries the log records of this host's programs.",
    ),
    key(
        "log.proxy",
        "central",
        ValueKind::Address,
        Some("\"/run/whit-log.sock\""),
        WordPlace::Option("--central"),
        "The central server: the path of a socket, HOST:PORT or tls:HOST:PORT.",
    ),
    key(
        "log.proxy",
        "spool",
        ValueKind::Path,
        Some("\"spool\""),
        WordPlace::Option("--spool"),
        "Folder for what is not acknowledged yet.",
    ),
    key(
        "log.proxy",
        "quota",
        ValueKind::Size,
        Some("\"1G\""),
        WordPlace::Option("--quota"),
        "Most bytes of the spool.",
    ),
    key(
        "log.proxy",
        "folders",
        ValueKind::Paths,
        None,
        WordPlace::Option("--directory"),
        "Folders of rings; without it those that programs use by default.",
    ),
    key(
        "log.proxy",
        "secret_file",
        ValueKind::Path,
        None,
        WordPlace::Option("--secret-file"),
        "File with the secret that the central server asks for.",
    ),
    key(
        "poll",
        "enabled",
        ValueKind::Switch,
        Some("false"),
        WordPlace::Service,
        "The poller of network devices.",
    ),
    key(
        "poll",
        "configs",
        ValueKind::Paths,
        Some("[\"/etc/mrtg/mrtg.cfg\"]"),
        WordPlace::Words,
        "MRTG's configuration files.",
    ),
    key(
        "poll",
        "keep",
        ValueKind::Keep,
        Some("\"2G\""),
        WordPlace::Option("--keep"),
        "Of the recordings of its rounds, which are beside those of the recorder: an age, a size, or both.",
    ),
    key(
        "poll",
        "pages",
        ValueKind::Switch,
        Some("true"),
        WordPlace::Unless("--log-only"),
        "Write MRTG's pages and pictures, too.",
    ),
    key(
        "rrdcached",
        "enabled",
        ValueKind::Switch,
        Some("false"),
        WordPlace::Service,
        "The caching daemon of round-robin databases.",
    ),
    key(
        "rrdcached",
        "listen",
        ValueKind::Addresses,
        Some("[\"/run/rrdcached.sock\"]"),
        WordPlace::Option("--listen"),
        "Where it listens: paths of sockets, HOST:PORT or tls:HOST:PORT.",
    ),
    key(
        "rrdcached",
        "base",
        ValueKind::Path,
        Some("\"rrd\""),
        WordPlace::Option("--base"),
        "The folder that names of databases are relative to; others are refused.",
    ),
    key(
        "rrdcached",
        "journal",
        ValueKind::Path,
        Some("\"rrd-journal\""),
        WordPlace::Option("--journal"),
        "Folder of its journal.",
    ),
    key(
        "rrdcached",
        "write",
        ValueKind::Span,
        None,
        WordPlace::Seconds("--write"),
        "Write a file when its readings are this old; without it an hour, or 5 minutes while memory is half full.",
    ),
    key(
        "rrdcached",
        "ack",
        ACKNOWLEDGE,
        Some("\"os\""),
        WordPlace::Service,
        "When updates are acknowledged: none (before they are in the journal), os (when they survive the end of the daemon), disk (of the power).",
    ),
    key(
        "rrdcached",
        "tls_cert",
        ValueKind::Path,
        None,
        WordPlace::Option("--tls-cert"),
        "Certificate of a tls: address, in PEM.",
    ),
    key(
        "rrdcached",
        "tls_key",
        ValueKind::Path,
        None,
        WordPlace::Option("--tls-key"),
        "Its key, in PEM.",
    ),
    key(
        "rrdcached",
        "tls_client_ca",
        ValueKind::Path,
        None,
        WordPlace::Option("--tls-client-ca"),
        "Take only clients whose certificate an authority in this file has signed.",
    ),
    key(
        "alerts",
        "enabled",
        ValueKind::Switch,
        Some("true"),
        WordPlace::Service,
        "Rules over the recordings; the page shows what fires.",
    ),
    key(
        "alerts",
        "defaults",
        ValueKind::Switch,
        Some("true"),
        WordPlace::Service,
        "Three rules of whit itself: disk full in 24 h, memory pressure, a part of whit failed.",
    ),
    key(
        "alerts",
        "interval",
        ValueKind::Span,
        Some("\"30s\""),
        WordPlace::Service,
        "How often the rules are looked at, 1 s to 60 s.",
    ),
    key(
        "alerts",
        "folder",
        ValueKind::Path,
        Some("\"alerts\""),
        WordPlace::Service,
        "Folder of the states and of messages that wait.",
    ),
    key(
        "alerts",
        "to",
        ValueKind::Receivers,
        None,
        WordPlace::Service,
        "Who is told, unless a rule says otherwise: mail:NAME@HOST, webhook:URL, command:/PATH, syslog, syslog:/SOCKET or syslog:HOST:PORT. Without it alerts are only shown.",
    ),
    key(
        "alerts",
        "page",
        ValueKind::Text,
        None,
        WordPlace::Service,
        "The address of the page in messages, https://NAME:9797; without it that of [page] listen.",
    ),
    key(
        "alerts.mail",
        "server",
        ValueKind::Address,
        None,
        WordPlace::Service,
        "The server that takes mail, HOST:PORT.",
    ),
    key(
        "alerts.mail",
        "encryption",
        ValueKind::Choice(&["starttls", "tls", "none"]),
        Some("\"starttls\""),
        WordPlace::Service,
        "starttls (port 25 or 587), tls from the first byte (port 465), or none: for a server on this machine.",
    ),
    key("alerts.mail", "from", ValueKind::Text, None, WordPlace::Service, "The sender, NAME@HOST."),
    key(
        "alerts.mail",
        "user",
        ValueKind::Text,
        None,
        WordPlace::Service,
        "The user that the server asks for; the password goes only over TLS.",
    ),
    key(
        "alerts.mail",
        "password_file",
        ValueKind::Path,
        None,
        WordPlace::Service,
        "File with the password.",
    ),
    key(
        "alerts.mail",
        "ca",
        ValueKind::Path,
        None,
        WordPlace::Service,
        "The authorities by which the certificate of the server is checked, in PEM; without it those of the system.",
    ),
    key(
        "alerts.webhook",
        "token_file",
        ValueKind::Path,
        None,
        WordPlace::Service,
        "File with a token that web hooks get as Authorization: Bearer, only over https or on this machine.",
    ),
    key(
        "alerts.webhook",
        "ca",
        ValueKind::Path,
        None,
        WordPlace::Service,
        "The authorities by which certificates of web hooks are checked, in PEM; without it those of the system.",
    ),
    key(
        "alert",
        "name",
        ValueKind::Text,
        None,
        WordPlace::Service,
        "A rule: what it is called. One with the name of a rule of whit itself takes its place.",
    ),
    key(
        "alert",
        "when",
        ValueKind::Condition,
        None,
        WordPlace::Service,
        "The condition, in PromQL: node_load1 > 20. Names of metrics are those of the page of Prometheus.",
    ),
    key("alert", "for", ValueKind::Span, None, WordPlace::Service, "It must hold for so long."),
    key(
        "alert",
        "until",
        ValueKind::Text,
        None,
        WordPlace::Service,
        "When an alert ends: another limit (15), or another condition; without it as soon as the condition does not hold.",
    ),
    key(
        "alert",
        "to",
        ValueKind::Receivers,
        None,
        WordPlace::Service,
        "Who is told, in place of [alerts] to.",
    ),
    key(
        "alert",
        "silence",
        ValueKind::Silences,
        None,
        WordPlace::Service,
        "Times of the week in which no message is sent: Sat 00:00-24:00, Mon-Fri 22:00-06:00. What still fires afterwards is told then.",
    ),
    key(
        "alert",
        "repeat",
        ValueKind::Span,
        None,
        WordPlace::Service,
        "Send a message again after so long while the alert lasts.",
    ),
    key(
        "alert",
        "message",
        ValueKind::Text,
        None,
        WordPlace::Service,
        "A sentence in the messages: what to do.",
    ),
    key(
        "alert",
        "heaviest",
        ValueKind::Choice(&["cpu", "mem", "io", "read", "write"]),
        None,
        WordPlace::Service,
        "What the five heaviest processes in a message are chosen by; without it by what the condition is about.",
    ),
    key(
        "send",
        "to",
        ValueKind::Text,
        None,
        WordPlace::Option("--to"),
        "An engine that gets all that is recorded: KIND=ADDRESS, as remote-write=http://HOST:9090; whit send --help lists the kinds. One that does not answer gets all of it later.",
    ),
    key(
        "send",
        "name",
        ValueKind::Text,
        None,
        WordPlace::Option("--name"),
        "What its part and its cursor are called, so that it may move; without it its kind and address.",
    ),
    key(
        "send",
        "sources",
        ValueKind::Words,
        None,
        WordPlace::Option("--sources"),
        "What is sent, as [\"cpu\", \"disk\"]; without it all but the sources with a row for each process.",
    ),
    key(
        "send",
        "processes_by",
        ValueKind::Text,
        None,
        WordPlace::Option("--processes-by"),
        "Processes are sent, too, summed by command, user or cgroup: BY or BY:COUNT, as command:50, which is how many groups have series of their own.",
    ),
    key(
        "send",
        "step",
        ValueKind::Span,
        None,
        WordPlace::Option("--step"),
        "One point for each step of this length, as 1m: means, and the last value of counters.",
    ),
    key(
        "send",
        "spread",
        ValueKind::Switch,
        None,
        WordPlace::Service,
        "true: with step, the smallest and the largest value of gauges, too.",
    ),
    key(
        "send",
        "logs",
        ValueKind::Switch,
        None,
        WordPlace::Service,
        "true: it gets the log records of [log.central] store, and not what is recorded.",
    ),
    key(
        "send",
        "create_tables",
        ValueKind::Switch,
        None,
        WordPlace::Service,
        "true: the tables that clickhouse needs are made, if they are not there.",
    ),
    key(
        "send",
        "ca",
        ValueKind::Path,
        None,
        WordPlace::Option("--ca"),
        "The authorities by which its certificate is checked, in PEM; without it those of the system.",
    ),
    key(
        "send",
        "token_file",
        ValueKind::Path,
        None,
        WordPlace::Option("--token-file"),
        "File with the token that it asks for (Authorization: Bearer); of another whit the secret.",
    ),
    key(
        "host",
        "url",
        ValueKind::Text,
        None,
        WordPlace::Service,
        "Another host that the page shows: the address of its whit, https://NAME:9797. It is asked when somebody looks.",
    ),
    key(
        "host",
        "name",
        ValueKind::Text,
        None,
        WordPlace::Service,
        "What it is called here; without it its address.",
    ),
    key(
        "host",
        "token_file",
        ValueKind::Path,
        None,
        WordPlace::Service,
        "File with the token by which it knows this host: its [page] token_file has the same.",
    ),
    key(
        "host",
        "ca",
        ValueKind::Path,
        None,
        WordPlace::Service,
        "The authorities by which its certificate is checked, in PEM; without it those of the system.",
    ),
];

/// The key of a table and a name.
pub(crate) fn find(table: &str, name: &str) -> Option<&'static ConfigKey> {
    KEYS.iter().find(|key| key.table == table && key.name == name)
}

/// The file that is installed: every key, with its comment, and with its default where it has one.
#[must_use]
pub fn default_file() -> String {
    let mut text = "\
# The configuration of `whit watch`: a line that begins with # says what the key below it does; a key
# that is commented out has the value shown, or none.  `whit config` checks this file and shows what is
# in force; `systemctl reload whit` takes changes over.  A path without / in front is below [data] folder.
"
    .to_owned();
    let mut table = "";
    for key in KEYS {
        if key.table != table {
            table = key.table;
            // Writing to a string cannot fail.
            let _ = match is_list(table) {
                false => write!(text, "\n[{table}]\n"),
                true => write!(text, "\n# There may be several of these:\n#[[{table}]]\n"),
            };
        }
        let name = key.name;
        let _ = writeln!(text, "# {}", key.help);
        let _ = match key.default {
            Some(value) => writeln!(text, "#{name} = {value}"),
            None => writeln!(text, "#{name} ="),
        };
    }
    text
}
