//! `Clonedirectory`: the second folder has the files that MRTG puts there.

use std::collections::BTreeSet;

use crate::beside_mrtg::site::{BEGIN_S, Site};

#[test]
fn clones_are_those_of_mrtg() {
    let Some(mut site) = Site::new() else { return };
    site.is_log_only = false;
    let target = |name: &str, more: &str| {
        format!(
            "Target[{name}]: `echo 5; echo 6; echo 3 days; echo box`\nTitle[{name}]: The {name}\n\
             MaxBytes[{name}]: 1000\nPageTop[{name}]: <h1>{name} and {name}</h1>\n{more}\n"
        )
    };
    let text = [
        target("one", "Directory[one]: sub\nClonedirectory[one]: copies"),
        target("two", "Clonedirectory[two]: copies/deep,Renamed"),
        target("three", "Directory[three]: sub\nClonedirectory[three]: copies/deep/ other"),
        target("three4", "Directory[three4]: sub/"),
    ];
    site.configure(&text.concat());
    for side in ["mrtg", "whit"] {
        std::fs::create_dir_all(site.path(side).join("data/copies/deep")).unwrap();
    }
    for round in 0..2 {
        let (theirs, code) = site.mrtg(BEGIN_S + 300 * round);
        let (ours, report) = site.whit(BEGIN_S + 300 * round);
        assert_eq!((code, report.unknown_count), (0, 0), "{theirs} {ours:?}");
        for folder in ["copies", "copies/deep"] {
            let names = |side: &str| -> BTreeSet<String> {
                let entries = std::fs::read_dir(site.path(side).join("data").join(folder)).unwrap();
                entries.map(|one| one.unwrap().file_name().into_string().unwrap()).collect()
            };
            let theirs = names("mrtg");
            assert!(theirs.len() >= 5, "{theirs:?}");
            assert_eq!(theirs, names("whit"), "round {round}: {folder}");
            for name in
                theirs.iter().filter(|name| name.ends_with(".log") || name.ends_with(".old"))
            {
                site.assert_same(&format!("{folder}/{name}"), &format!("round {round}"));
            }
        }
    }
    // Of a page the name is replaced once a line, as by MRTG.
    let [page, theirs] = ["whit", "mrtg"].map(|side| site.data(side, "copies/deep/other.html"));
    for text in [page, theirs] {
        for wanted in ["<title>The other</title>", "<h1>other and three</h1>", "\"other-day.png\""]
        {
            assert!(text.contains(wanted), "{wanted}: {text}");
        }
    }
    // A folder that is not there, and the target's own, are said; MRTG ends at the first.
    let wrong = [
        target("one", "Clonedirectory[one]: nowhere"),
        target("two", "Directory[two]: sub\nClonedirectory[two]: sub/"),
    ];
    site.configure(&wrong.concat());
    let (ours, _) = site.whit(BEGIN_S + 600);
    assert!(ours.iter().any(|line| line.contains("nowhere is no folder")), "{ours:?}");
    assert!(ours.iter().any(|line| line.contains("the target's own folder")), "{ours:?}");
}
