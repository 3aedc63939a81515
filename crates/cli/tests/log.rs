//! `whit log` as users call it: a program that logs, proxy, central server, and what shows records.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::io::BufRead as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use testkit::{Running, wait_until};

use crate::log_common::{
    command, end, folder, start, start_writer, text, whit, write, write_and_drop,
};

/// A folder whose `store` has the five records.
pub(crate) fn with_store() -> tempfile::TempDir {
    let folder = folder();
    let here = folder.path();
    let central = start(here, "central --store store --listen ./socket");
    write(&here.join("rings"));
    let sent = whit(here, "proxy --directory rings --central ./socket --spool spool --once");
    assert!(sent.status.success(), "{sent:?}");
    end(central);
    folder
}

#[test]
fn a_run_without_the_central_server_ends_and_the_next_one_sends() {
    let folder = folder();
    let here = folder.path();
    write(&here.join("rings"));
    let once = "proxy --directory rings --central ./socket --spool spool --once";
    let failed = whit(here, once);
    let said = String::from_utf8_lossy(&failed.stderr);
    assert!(!failed.status.success(), "{failed:?}");
    assert!(said.contains("./socket: No such file"), "{said}");
    assert!(said.contains("waits in the spool for the next run"), "{said}");
    let central = start(here, "central --store store --listen ./socket");
    let sent = whit(here, once);
    assert!(sent.status.success(), "{sent:?}");
    assert_eq!(text(&whit(here, "query store --count")).trim(), "5");
    end(central);
}

fn lines(text: &str) -> usize {
    text.lines().count()
}

#[test]
fn filters_choose_the_same_records_everywhere() {
    let folder = with_store();
    let here = folder.path();
    for (filter, expected) in [
        ("--level INFO", 5),
        ("--level ERROR", 2),
        ("--logger a.one", 3),
        ("--logger *two", 2),
        ("--host hostx", 5),
        ("--host other", 0),
        ("--process writer*", 5),
        ("--process 1", 0),
        ("--from 2020-01-01", 5),
        ("--from @4000000000", 0),
        ("--until @4000000000", 5),
        ("--until 2020-01-01T00:00:00Z", 0),
        ("--text trouble", 2),
        ("--pair Antenna=a.one", 3),
        ("--pair Antenna=a.*", 3),
        ("--pair Antenna=*", 5),
        ("--pair Antenna=", 0),
        ("--pair Antenna=a.one --pair Audience=Operator", 3),
        ("--pair Antenna=a.one --pair Audience=Nobody", 0),
        ("--regex [01]$", 2),
        ("--word trouble", 2),
        ("--word TROUBLE --word 1", 1),
        ("--word troubl", 0),
    ] {
        let count = text(&whit(here, &format!("query store --count {filter}")));
        assert_eq!(count.trim(), expected.to_string(), "{filter}");
        let tail = whit(here, &format!("tail store --no-follow --lines 99 {filter}"));
        assert_eq!(lines(&text(&tail)), expected, "{filter}");
        whit(here, &format!("export store --output exported {filter}"));
        let exported = std::fs::read_to_string(here.join("exported")).unwrap();
        assert_eq!(lines(&exported), expected, "{filter}");
        std::fs::remove_file(here.join("exported")).unwrap();
        let stats = text(&whit(here, &format!("stats store --json {filter}")));
        assert!(stats.starts_with(&format!("{{\"records\":{expected}")), "{filter}: {stats}");
    }
    // Records about threads and clocks come on top.
    let all: usize = text(&whit(here, "query store --count --all")).trim().parse().unwrap();
    assert!(all > 5);
    assert_eq!(lines(&text(&whit(here, "tail store --no-follow -n 99 --all"))), all);
    whit(here, "export store -o exported --all");
    assert_eq!(lines(&std::fs::read_to_string(here.join("exported")).unwrap()), all);
    assert!(text(&whit(here, "stats store --json --all")).contains(&format!(":{all},")));
    let said = whit(here, "stats elsewhere");
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.contains("no store is at elsewhere: name its folder"), "{said}");
    // A folder without a store has no records, and is not what was meant.
    for verb in ["query", "verify", "stats", "tail --no-follow"] {
        let said = whit(here, &format!("{verb} rings"));
        assert!(!said.status.success(), "{said:?}");
        let said = String::from_utf8_lossy(&said.stderr).into_owned();
        assert!(said.contains("no store is at rings: name its folder"), "{verb}: {said}");
    }
    assert_eq!(lines(&text(&whit(here, "query store --limit 2"))), 2);
    assert_eq!(whit(here, "query store --logger none").status.code(), Some(1));
    for deep in ["", " --deep"] {
        let verified = whit(here, &format!("verify store --json{deep}"));
        assert!(text(&verified).contains("\"lost\":0,\"duplicates\":0"), "{verified:?}");
        assert!(verified.status.success());
    }
}

#[test]
fn forms_colors_and_zones() {
    let folder = with_store();
    let here = folder.path();
    write(&here.join("rings"));
    let run = |verb: &str, options: &str| match verb {
        "query" => text(&whit(here, &format!("query store {options}"))),
        "tail" => text(&whit(here, &format!("tail store --no-follow {options}"))),
        "recover" => text(&whit(here, &format!("recover rings {options}"))),
        _ => {
            whit(here, &format!("export store -o exported {options}"));
            let text = std::fs::read_to_string(here.join("exported")).unwrap();
            std::fs::remove_file(here.join("exported")).unwrap();
            text
        }
    };
    for verb in ["query", "tail", "export"] {
        assert!(run(verb, "--format json").starts_with("{\"time\":\""), "{verb}");
        let document = run(verb, "--format acs");
        assert!(
            document.starts_with("<?xml ") && document.contains("<Info TimeStamp=\""),
            "{verb}"
        );
        assert!(document.trim_end().ends_with("</Log>"), "{verb}: {document}");
        assert!(run(verb, "--format csv").starts_with("time,level,"), "{verb}");
        for form in ["json", "csv"] {
            let (short, long) = (format!("--{form}"), format!("--format {form}"));
            assert_eq!(run(verb, &short), run(verb, &long), "{verb}");
        }
        assert!(run(verb, "--format syslog").starts_with("<14>1 "), "{verb}");
        assert!(run(verb, "--color always").contains("\x1b[31m"), "{verb}");
        assert!(!run(verb, "--color auto").contains('\x1b'), "{verb}");
        assert!(run(verb, "--color never").contains("+05:00 INFO"), "{verb}");
        assert!(run(verb, "--utc").contains("Z INFO"), "{verb}");
    }
    // Looking does not take the records away; only removing does.
    let head = "{\"time\":\"";
    let plain = run("recover", "--utc --color always --format text");
    assert_eq!((lines(&plain), plain.matches("Z INFO").count()), (5, 3));
    assert!(plain.contains("\x1b[31m"), "{plain}");
    assert!(!here.join("rings").read_dir().unwrap().all(|one| one.is_err()));
    assert_eq!(run("recover", "--utc --color always --format text"), plain);
    assert!(run("recover", "--json").starts_with(head));
    assert!(run("recover", "--csv").starts_with("time,level,"));
    assert!(run("recover", "--format json --remove").starts_with(head));
    let left = here.join("rings").read_dir().unwrap();
    let left: Vec<PathBuf> = left.map(|one| one.unwrap().path()).collect();
    assert!(left.iter().all(|path| path.extension().is_none()), "{left:?}");
}

#[test]
fn formulas_of_spreadsheets_are_quoted_on_demand() {
    let folder = with_store();
    let here = folder.path();
    write(&here.join("rings"));
    for verb in ["query store", "tail store --no-follow", "recover rings"] {
        let plain = text(&whit(here, &format!("{verb} --format csv")));
        assert!(plain.contains(",-number 0 of one,"), "{verb}: {plain}");
        let quoted = text(&whit(here, &format!("{verb} --format csv --quote-formulas")));
        assert_eq!(quoted, plain.replace(",-number", ",'-number"), "{verb}");
    }
    whit(here, "export store -o exported --format csv --quote-formulas");
    let exported = std::fs::read_to_string(here.join("exported")).unwrap();
    assert!(exported.contains(",'-number 0 of one,"), "{exported}");
}

#[test]
fn what_was_recovered_is_still_sent() {
    let folder = folder();
    let here = folder.path();
    write(&here.join("rings"));
    for _ in 0..2 {
        assert_eq!(lines(&text(&whit(here, "recover rings"))), 5);
    }
    let central = start(here, "central --store store --listen ./socket");
    let sent = whit(here, "proxy --directory rings --central ./socket --spool spool --once");
    assert!(sent.status.success(), "{sent:?}");
    end(central);
    assert_eq!(text(&whit(here, "query store --count --process writer*")).trim(), "5");
}

#[test]
fn what_cannot_be_recovered_is_not_removed() {
    let folder = folder();
    let here = folder.path();
    let rings = here.join("rings");
    write(&rings);
    let found = logring::RingDirectory::scan(&rings).unwrap();
    let is_written = |path: &&PathBuf| {
        let mut reader = logring::RingReader::open(path).unwrap();
        let mut batch = logring::Batch::default();
        reader.read(&mut batch, 1 << 20).unwrap();
        batch.count() > 0
    };
    let ring = found.rings.iter().find(is_written).unwrap();
    // Readable again once this is over, as if there had been no descriptor or no permission.
    let elsewhere = here.join("elsewhere");
    std::fs::copy(ring, &elsewhere).unwrap();
    std::fs::OpenOptions::new().write(true).open(ring).unwrap().set_len(100).unwrap();
    let shown = whit(here, "recover rings --remove");
    assert_eq!(shown.status.code(), Some(2), "{shown:?}");
    assert!(String::from_utf8_lossy(&shown.stderr).contains(".ring"), "{shown:?}");
    assert!(found.processes[0].exists() && ring.exists());
    std::fs::copy(&elsewhere, ring).unwrap();
    assert_eq!(lines(&text(&whit(here, "recover rings --remove"))), 5);
    let left = logring::RingDirectory::scan(&rings).unwrap();
    assert_eq!(left, logring::RingDirectory::default());
}

#[test]
fn servers_and_their_options() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = folder();
    let here = folder.path();
    for (name, secret) in [("secret", "one"), ("wrong", "other")] {
        std::fs::write(here.join(name), secret).unwrap();
        let mode = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(here.join(name), mode).unwrap();
    }
    let settings = "central --store store --listen ./socket --secret-file secret --ack os \
                    --segment 1K";
    for round in 0..3 {
        let central = start(here, &format!("{settings} --delay 300ms"));
        let writer = start_writer(&here.join("rings"), 1000);
        let proxy = "proxy --directory rings --central ./socket --spool spool --idle 5ms";
        let begin = Instant::now();
        let running = start(here, &format!("{proxy} --secret-file secret --sync 10ms"));
        let ask = |words: &str| {
            let words = format!("{words} --central ./socket --secret-file secret");
            text(&whit(here, &words))
        };
        wait_until("the proxy is there, and its records", || {
            let counters = ask("stats --json");
            counters.contains("\"connections\":2") && !counters.contains("{\"records\":0")
        });
        assert!(begin.elapsed() > Duration::from_millis(200), "a commit waits for more");
        let set = ask("level a.* OFF --host host* --process writerx");
        // Later there are also files of writers that have ended.
        assert!(round > 0 || set == "1 loggers set, by 1 proxies\n", "{set}");
        assert!(!set.starts_with('0'), "{set}");
        assert!(!ask("level * DEBUG --local").starts_with('0'));
        assert_eq!(ask("level * DEBUG --host other"), "0 loggers set, by 1 proxies\n");
        // Exit code 0, since it is for loggers to come.
        assert_eq!(ask("level kept INFO --keep --host other"), "0 loggers set, by 1 proxies\n");
        let kept = || std::fs::read_to_string(here.join("rings/levels")).unwrap_or_default();
        wait_until("it is kept", || kept() == "kept\tother\t\t4\t-\n");
        assert_eq!(ask("level kept INFO --forget --host other"), "0 loggers set, by 1 proxies\n");
        wait_until("it is forgotten", || kept().is_empty());
        drop(writer);
        drop(running);
        let refused = start(here, &format!("{proxy} --secret-file wrong"));
        // Time for it to be refused in.
        std::thread::sleep(Duration::from_millis(100));
        drop(refused);
        end(central);
    }
    // Beside the lock, the levels that last, and the words of segments.
    let names = || here.join("store").read_dir().unwrap().map(|one| one.unwrap().file_name());
    let has_records = |name: &std::ffi::OsString| !name.to_string_lossy().ends_with("words");
    let segments = || names().filter(has_records).count() - 2;
    assert!(segments() > 1, "--segment");
    end(start(here, &format!("{settings} --keep-for 90d --keep 1G")));
    assert!(segments() > 1);
    end(start(here, &format!("{settings} --keep 1")));
    assert_eq!(segments(), 1, "--keep {:?}", names().collect::<Vec<_>>());
    let aged = start(here, &format!("{settings} --keep-for 0s"));
    end(aged);
    assert_eq!(segments(), 1, "--keep-for");
    for idle in ["0", "1001ms"] {
        let refused = whit(here, &format!("proxy --directory rings --spool spool --idle {idle}"));
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && said.contains("1ms to 1s"), "{said}");
    }
    write(&here.join("rings"));
    let mut full = command(here, "proxy --directory rings --spool small --quota 100");
    let mut full = Running::start(full.stderr(Stdio::piped()));
    let mut said = String::new();
    std::io::BufReader::new(full.stderr.take().unwrap()).read_line(&mut said).unwrap();
    assert!(said.contains("quota of 100 bytes"), "{said}");
}

/// Outputs of the proxy itself, beside a central server and without one.
#[test]
fn outputs_of_the_proxy() {
    let folder = folder();
    let here = folder.path();
    write(&here.join("rings"));
    let local = "proxy --directory rings --central none --once";
    let said = whit(here, &format!("{local} --utc -o text:- -o json:json -o acs:xml -o none"));
    assert!(said.status.success(), "{said:?}");
    assert_eq!((lines(&text(&said)), text(&said).matches("Z INFO").count()), (5, 3));
    let file = |name: &str| std::fs::read_to_string(here.join(name)).unwrap();
    assert_eq!((lines(&file("json")), file("json").matches("\"level\":\"ERROR\"").count()), (5, 2));
    assert_eq!(file("xml").matches("<Info TimeStamp=").count(), 3);
    // Each round writes at once; 300 bytes are less than what a writer writes.
    for _ in 0..4 {
        write(&here.join("rings"));
        let rotated = format!("{local} --output text:log --rotate 300 --keep 2");
        assert!(whit(here, &rotated).status.success());
    }
    assert_eq!([1, 2, 3].map(|n| here.join(format!("log.{n}")).exists()), [true, true, false]);
    assert!(file("log.1").contains("+05:00 ERROR"), "{}", file("log.1"));
    // A socket of syslog, beside a central server.
    let socket = std::os::unix::net::UnixDatagram::bind(here.join("syslog")).unwrap();
    let central = start(here, "central --store store --listen ./socket");
    write(&here.join("others"));
    let beside = "proxy --directory others --central ./socket --spool spool --once";
    assert!(whit(here, &format!("{beside} -o syslog:./syslog")).status.success());
    let mut message = [0; 2048];
    let count = socket.recv(&mut message).unwrap();
    assert!(message[..count].starts_with(b"<14>1 "), "{:?}", &message[..count]);
    end(central);
    assert_eq!(text(&whit(here, "query store --count")).trim(), "5");
    for (wrong, why) in [
        ("--central none", "give an output with -o"),
        ("-o json", "give a form and a target"),
        ("-o xml:file", "xml is no form"),
        ("-o text:", "give a form and a target"),
        ("-o syslog:./nobody", "--output syslog:./nobody"),
    ] {
        let said = whit(here, &format!("proxy --directory rings --spool spool {wrong}"));
        assert!(!said.status.success());
        let said = String::from_utf8_lossy(&said.stderr).into_owned();
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn verify_tells_dropped_from_lost_by_its_exit_code() {
    let folder = folder();
    let here = folder.path();
    let central = start(here, "central --store store --listen ./socket");
    write_and_drop(&here.join("rings"), 10_000);
    let sent = whit(here, "proxy --directory rings --central ./socket --spool spool --once");
    assert!(sent.status.success(), "{sent:?}");
    end(central);
    let verified = whit(here, "verify store");
    let said = text(&verified);
    assert_eq!(verified.status.code(), Some(3), "{said}");
    assert!(said.contains("writerx") && said.contains(" dropped by its writer"), "{said}");
    assert!(said.contains(" lost 0,"), "{said}");
    assert_eq!(whit(here, "verify store --json").status.code(), Some(3));
    for filter in ["--level WARNING --process writerx", "--logger b.two --level INFO"] {
        let shown = text(&whit(here, &format!("query store {filter} --utc")));
        assert!(shown.contains("were dropped"), "{filter}: {shown}");
    }
}

#[test]
fn a_folder_of_rings_that_is_not_its_users_is_told() {
    let folder = folder();
    let here = folder.path();
    // It is named after a user, and is another's.
    std::fs::create_dir(here.join("whit-log-54321")).unwrap();
    std::os::unix::fs::symlink("whit-log-54321", here.join("link")).unwrap();
    let said = |command: &str| {
        let done = whit(here, command);
        String::from_utf8(done.stderr).unwrap()
    };
    for verb in ["recover", "proxy --central none --output json:out --once --directory"] {
        let foreign = said(&format!("{verb} whit-log-54321"));
        assert!(foreign.contains("whit-log-54321: refused"), "{verb}: {foreign}");
        assert!(foreign.contains("belongs to another user"), "{verb}: {foreign}");
        let link = said(&format!("{verb} link"));
        assert!(link.contains("it is a symbolic link"), "{verb}: {link}");
        assert_eq!(said(&format!("{verb} rings")), "", "{verb}");
    }
}
