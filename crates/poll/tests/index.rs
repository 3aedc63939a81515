//! Index pages beside those of `indexmaker`: the same HTML from the body on, but for the lines about
//! who wrote it.

use std::path::Path;
use std::process::Command;

use poll::index::{IndexFilter, IndexRequest, IndexSection, IndexSort, index};
use poll::pages::PagePeriod;
use poll::{Config, LoadEnvironment};

fn config(folder: &str, more: &str) -> String {
    let mut text = format!("WorkDir: {folder}\n{more}\n");
    let all = [
        ("router_9", "2:public@alpha.example.org", "Traffic for eth9 -- alpha", "eth9 to lab"),
        ("router_10", "3:public@alpha.example.org:161", "Traffic for eth10", "eth10 Up to hall"),
        ("beta", "\\my\\ if:secret@beta", "A title", "Zeta link"),
        ("sum", "1:a@gamma + 2:a@gamma", "Both", "all"),
        ("command", "`echo 1`", "Command", ""),
    ];
    for (name, target, title, description) in all {
        text.push_str(&format!(
            "Target[{name}]: {target}\nMaxBytes[{name}]: 1000\nTitle[{name}]: {title}\n\
             SetEnv[{name}]: MRTG_INT_IP=\"1.2.3.4\" MRTG_INT_DESCR=\"eth9\"\n\
             PageTop[{name}]: <h1 class=\"x\">{title}</h1>\n  <table>\n  <tr><td>Description:</td>\
             <td>{description}</td></tr>\n  <tr><td>ifName:</td>\n  <td>if-{name}</td></tr>\n\
             \x20 <tr><td>Port Name:</td><td>port {name}</td></tr>\n  </table>\n"
        ));
    }
    text.push_str("Directory[beta]: sub/folder\nExtension[sum]: htm\n");
    text
}

/// The page from its body on, without the last lines.
fn body(page: &str) -> Vec<String> {
    let from = page.find("<BODY").unwrap_or(0);
    let end = page.find("</TABLE>").unwrap_or(page.len());
    page[from..end].lines().map(str::to_owned).collect()
}

fn compare(path: &Path, loaded: &[(String, Config)], arguments: &[&str], request: &IndexRequest) {
    let output = Command::new("indexmaker")
        .args(arguments)
        .arg(path)
        .env("LANG", "C")
        .output()
        .expect("indexmaker");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let theirs = String::from_utf8_lossy(&output.stdout).into_owned();
    match index(request, loaded) {
        Ok(ours) => {
            assert!(output.status.success(), "{arguments:?}: {said}");
            assert_eq!(body(&ours), body(&theirs), "{arguments:?}");
            let refresh = |page: &str| {
                page.lines().find(|line| line.contains("Refresh")).map(str::trim).map(str::to_owned)
            };
            assert_eq!(refresh(&ours), refresh(&theirs), "{arguments:?}");
        }
        Err(error) => {
            assert!(!output.status.success(), "{arguments:?}: {error}");
            let message = error.to_string();
            assert!(said.to_lowercase().contains(&message.to_lowercase()), "{said}: {message}");
        }
    }
}

type Change = fn(&mut IndexRequest);

fn cases() -> Vec<(&'static [&'static str], Change)> {
    vec![
        (&[], |_| {}),
        (&["--section=title", "--sort=name"], |request| {
            (request.section, request.sort) = (IndexSection::Title, IndexSort::Name);
        }),
        (&["--section=name", "--sort=title", "--columns=3"], |request| {
            (request.section, request.sort) = (IndexSection::Name, IndexSort::Title);
            request.columns = 3;
        }),
        (&["--section=descr", "--sort=descr"], |request| {
            (request.section, request.sort) = (IndexSection::Description, IndexSort::Description);
        }),
        (&["--section=ifname", "--show=week"], |request| {
            (request.section, request.show) = (IndexSection::InterfaceName, Some(PagePeriod::Week));
        }),
        (&["--section=portname", "--show=none"], |request| {
            (request.section, request.show) = (IndexSection::PortName, None);
        }),
        (&["--perhost", "--show=year"], |request| {
            (request.is_per_host, request.show) = (true, Some(PagePeriod::Year));
        }),
        (&["--sectionhost", "--enumerate", "--picfirst"], |request| {
            (request.has_host_in_section, request.is_numbered) = (true, true);
            request.has_picture_first = true;
        }),
        (&["--compact", "--nobold", "--clicktext"], |request| {
            (request.is_compact, request.is_bold) = (true, false);
            request.has_text_links = true;
        }),
        (&["--compact", "--sidebyside", "--width=300", "--height=80"], |request| {
            (request.is_compact, request.is_side_by_side) = (true, true);
            (request.width, request.height) = (Some(300), Some(80));
        }),
        (
            &["--prefix=up/there", "--title=T", "--subtitle=S", "--bodyopt=x", "--pagetop=P"],
            |request| {
                request.prefix = "up/there/".to_owned();
                (request.title, request.subtitle) = ("T".to_owned(), "S".to_owned());
                (request.body_options, request.page_top) = ("x".to_owned(), "P".to_owned());
            },
        ),
        (&["--filter=name=~router", "--filter=title!~10"], |request| {
            let filters = ["name=~router", "title!~10"].map(IndexFilter::parse);
            request.filters = filters.into_iter().map(|one| one.expect("a filter")).collect();
        }),
        (&["--filter=pagetop=~nothing"], |request| {
            request.filters = vec![IndexFilter::parse("pagetop=~nothing").expect("a filter")];
        }),
    ]
}

fn load(path: &Path) -> Vec<(String, Config)> {
    let loading = Config::load(path, &LoadEnvironment::default());
    let config = loading.config.unwrap_or_else(|| panic!("{:?}", loading.problems));
    vec![(path.display().to_string(), config)]
}

#[test]
fn pages_have_the_html_of_indexmaker() {
    if !testkit::is_installed("index pages beside indexmaker", "indexmaker") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let work = folder.path().join("work");
    for inner in ["", "sub/folder", "pictures/sub/folder"] {
        std::fs::create_dir_all(work.join(inner)).expect("a folder");
    }
    let path = folder.path().join("mrtg.cfg");
    let work = work.display().to_string();
    let pictures = format!("ImageDir: {work}/pictures");
    for more in ["", &pictures, "LogFormat: rrdtool", "Refresh: 600"] {
        std::fs::write(&path, config(&work, more)).expect("written");
        let loaded = load(&path);
        for (arguments, change) in cases() {
            let mut request = IndexRequest::default();
            change(&mut request);
            compare(&path, &loaded, arguments, &request);
        }
    }
}
