//! `whit poll make`, `index` and `pages`: files beside those of cfgmaker and indexmaker, by the same
//! command lines.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use testkit::Snmpd;

fn whit(folder: &Path, words: &[&str]) -> Output {
    let mut command = crate::whit();
    command.current_dir(folder).args(words).env("LANG", "C");
    command.output().expect("whit")
}

fn text(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn incumbent(folder: &Path, program: &str, words: &[&str]) -> String {
    let output = Command::new(program).current_dir(folder).args(words).env("LANG", "C").output();
    text(&output.expect("a program"))
}

fn from(text: &str, begin: &str) -> String {
    text[text.find(begin).unwrap_or(0)..].to_owned()
}

const TEMPLATE: &str = "$target_lines = \"Target[$target_name]: $if_ref:$router_connect\\n\";\n";
const HOST_TEMPLATE: &str = "$head_lines .= \"# of $router_name\\n\";\n";

#[test]
fn made_configurations_are_those_of_cfgmaker() {
    let has_cfgmaker = testkit::is_installed("configurations beside cfgmaker", "cfgmaker");
    let Some(agent) = Snmpd::start("sysName box\nsysLocation here\nsysContact me\n") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("lines"), TEMPLATE).expect("written");
    fs::write(folder.path().join("host"), HOST_TEMPLATE).expect("written");
    let address = format!("127.0.0.1:{}", agent.address().port());
    let (first, second) = (format!("public@{address}"), format!("public@{address}::::2"));
    let cases: [&[&str]; 10] = [
        &["--ifref=name,nr", "--ifdesc=descr", &first, "--ifref", "nr", &second],
        &["--if-filter=$if_is_loopback", "--zero-speed=1000", &first],
        &["--if-template=lines", "--host-template=host", "--subdirs=HOSTNAME", &second],
        &["--global", "WorkDir: /tmp", &first, "--global", "Options[^]: bits", &second],
        &["--global", "Options[_]: bits", "--no-down", &second, "--global", "Refresh: 300"],
        &["--show-op-down", "--noreversedns", &first],
        &["--nointerfaces", &first, "--interfaces", &second],
        &["--community=public", "--snmp-options=:::::2", &address],
        &["--use-16bit", "--nodefaultglobal", &second],
        &["--dns-domain=", "--enable-ipv6", &second],
    ];
    for case in cases {
        // The last case: cfgmaker takes no empty value.
        let theirs: Vec<&str> = case.iter().copied().filter(|word| !word.ends_with('=')).collect();
        let ours = text(&whit(folder.path(), &[&["poll", "make"], case].concat()));
        assert!(ours.contains("EnableIPv6:"), "{case:?}");
        if has_cfgmaker && !case.contains(&"--enable-ipv6") {
            let theirs = incumbent(folder.path(), "cfgmaker", &theirs);
            assert_eq!(from(&ours, "EnableIPv6:"), from(&theirs, "EnableIPv6:"), "{case:?}");
        }
    }
    // One that is there before, readable by all.
    fs::write(folder.path().join("made.cfg"), "").expect("written");
    whit(folder.path(), &["poll", "make", "--output", "made.cfg", &first]);
    let mode = fs::metadata(folder.path().join("made.cfg")).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "it has communities in it");
    let made = fs::read_to_string(folder.path().join("made.cfg")).expect("a file");
    assert!(made.contains("# System: box"), "{made}");
}

#[test]
fn a_user_of_version_3_makes_a_configuration() {
    let users = "createUser reader SHA password1 AES password2\nrouser reader\nsysName box\n";
    let Some(agent) = Snmpd::start(users) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let device = format!("127.0.0.1:{}::::3", agent.address().port());
    let user = ["poll", "make", "--enablesnmpv3", "--username=reader", "--authprotocol=sha"];
    let secrets = ["--authpassword=password1", "--privpassword=password2", "--privprotocol=aes"];
    let made = text(&whit(folder.path(), &[&user[..], &secrets, &[&device]].concat()));
    assert!(made.contains("# System: box") && made.contains("enablesnmpv3: yes"), "{made}");
    assert!(made.contains("SnmpOptions[127.0.0.1_lo]: username=>'reader',"), "{made}");
    // A context that the agent does not have, wrong keys, and options that exclude each other.
    for (wrong, said) in [
        (&["--contextname=none"][..], "no information"),
        (&["--contextengineid=xyz"], "--contextengineid"),
        (&["--authkey=00"], "not both"),
        (&["--privkey=00"], "not both"),
    ] {
        let output = whit(folder.path(), &[&user[..], &secrets, wrong, &[&device]].concat());
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && error.contains(said), "{wrong:?}: {error}");
    }
}

fn write_config(folder: &Path, more: &str) {
    fs::create_dir_all(folder.join("work/sub")).expect("a folder");
    let mut text = format!("WorkDir: {}\n{more}\n", folder.join("work").display());
    for (name, host) in [("one", "alpha"), ("two", "beta")] {
        text.push_str(&format!(
            "Target[{name}]: 2:public@{host}\nMaxBytes[{name}]: 1000\nTitle[{name}]: Title {name}\n\
             PageTop[{name}]: <h1>Heading {name}</h1>\n  <td>Description:</td><td>d {name}</td>\n"
        ));
    }
    fs::write(folder.join("mrtg.cfg"), text + "Directory[two]: sub\n").expect("written");
}

#[test]
fn indexes_are_those_of_indexmaker() {
    let has_indexmaker = testkit::is_installed("index pages beside indexmaker", "indexmaker");
    let folder = tempfile::tempdir().expect("a folder");
    write_config(folder.path(), "");
    let cases: [&[&str]; 12] = [
        &["--filter=name=~one", "--section=title", "--show=week"],
        &["--sort=title", "--columns=1", "--sectionhost"],
        &["--title=T", "--subtitle=S", "--bodyopt=x", "--pagetopend=P"],
        &["--pagetop=above", "--pageend=below", "--enumerate"],
        &["--perhost", "--compact"],
        &["--width=3", "--height=4", "--picfirst"],
        &["--sidebyside", "--nobold"],
        &["--clicktext", "--prefix=up"],
        &["--addhead=<meta a>", "--headeradd=<meta b>", "--icondir=/i"],
        &["--nooptlog"],
        &["--rrdviewer=/x.cgi?y"],
        &["--nolegend"],
    ];
    for case in cases {
        let words = [case, &["mrtg.cfg"]].concat();
        let ours = text(&whit(folder.path(), &[&["poll", "index"], &words[..]].concat()));
        if has_indexmaker {
            let theirs = incumbent(folder.path(), "indexmaker", &words);
            let part = |page: &str| {
                let end = page.find("</TABLE>").unwrap_or(page.len());
                let body = from(&page[..end], "<BODY");
                let head: Vec<&str> =
                    page.lines().filter(|line| line.trim().starts_with("<meta ")).collect();
                (body, head.join("\n").replace("iso-8859-15", "utf-8"))
            };
            assert_eq!(part(&ours), part(&theirs), "{case:?}");
        }
        assert_eq!(ours.contains("whit poll index"), !case.contains(&"--nooptlog"), "{case:?}");
        assert_eq!(ours.contains("mrtg-m.png"), !case.contains(&"--nolegend"), "{case:?}");
    }
    write_config(folder.path(), "LogFormat: rrdtool");
    let page = text(&whit(folder.path(), &["poll", "index", "--rrdviewer=/x.cgi?y", "mrtg.cfg"]));
    assert!(page.contains("/x.cgi?y&amp;log=one&amp;cfg=mrtg.cfg"), "{page}");
    let words = ["poll", "index", "--headlevel=3", "--autoprefix", "--output", "index.html"];
    whit(folder.path(), &[&words[..], &["mrtg.cfg"]].concat());
    let page = fs::read_to_string(folder.path().join("index.html")).expect("a page");
    assert!(page.contains("<H3>MRTG Index Page</H3>"), "{page}");
}

#[test]
fn pages_come_from_logs_and_databases() {
    let folder = tempfile::tempdir().expect("a folder");
    write_config(folder.path(), "");
    let work = folder.path().join("work");
    let mut log = "1700000100 1 1\n".to_owned();
    for number in 0..600 {
        log.push_str(&format!("{} 1000 500 2000 600\n", 1_700_000_100 - 300 * number));
    }
    fs::write(work.join("one.log"), log).expect("written");
    text(&whit(folder.path(), &["poll", "pages", "--target", "one", "mrtg.cfg"]));
    let page = fs::read_to_string(work.join("one.html")).expect("a page");
    assert!(page.contains("<!-- maxin d 1000 -->"), "{page}");
    assert!(page.contains("<td>1000.0 B/s (100.0%)</td>"), "{page}");
    let year = work.join("one-year.png");
    fs::write(&year, "kept").expect("written");
    text(&whit(folder.path(), &["poll", "pages", "--due", "--target=one", "mrtg.cfg"]));
    assert_eq!(fs::read(&year).expect("a picture"), b"kept");
    assert!(!whit(folder.path(), &["poll", "pages", "mrtg.cfg"]).status.success());
    write_config(folder.path(), "LogFormat: rrdtool");
    let create = ["rrd", "create", "work/one.rrd", "-b", "1700000000", "-s", "300"];
    let sources = ["DS:ds0:GAUGE:600:0:U", "DS:ds1:GAUGE:600:0:U"];
    let archives = ["RRA:AVERAGE:0.5:1:800", "RRA:MAX:0.5:1:800"];
    text(&whit(folder.path(), &[&create[..], &sources, &archives].concat()));
    for number in 1..20 {
        let reading = format!("{}:40:20", 1_700_000_100 + 300 * number);
        text(&whit(folder.path(), &["rrd", "update", "work/one.rrd", &reading]));
    }
    text(&whit(folder.path(), &["poll", "pages", "--target", "one", "mrtg.cfg"]));
    let page = fs::read_to_string(work.join("one.html")).expect("a page");
    assert!(page.contains("<!-- cuin d 40 -->") && page.contains("<!-- cuout d 20 -->"), "{page}");
}
