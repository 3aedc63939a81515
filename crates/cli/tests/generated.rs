//! `whit generate`: man pages and completions, as packages have them.

use std::fs;
use std::path::Path;

fn generate(what: &str, to: &Path) {
    let mut command = crate::whit();
    command.args(["generate", what, "--to"]).arg(to).env("SOURCE_DATE_EPOCH", "1700000000");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn man_pages_have_a_date_a_synopsis_of_one_line_and_examples() {
    let folder = tempfile::tempdir().unwrap();
    generate("man", folder.path());
    let page = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let play = page("whit-play.1");
    assert!(
        play.contains(".TH whit-play 1  \"2023-11-14\"") || play.contains("2023-11-14"),
        "{play}"
    );
    let (_, synopsis) = play.split_once(".SH SYNOPSIS\n").unwrap();
    assert!(synopsis.starts_with("whit play [OPTIONS] [FILE]...\n."), "{synopsis}");
    assert!(play.contains(".SH \"EXAMPLES\"\n.nf\n  whit play "), "{play}");
    for file in fs::read_dir(folder.path()).unwrap().flatten() {
        let name = file.file_name().into_string().unwrap();
        assert!(page(&name).contains(".SH \"EXAMPLES\""), "{name}");
        let foot = format!("2023-11-14 \"whit {}\"", env!("CARGO_PKG_VERSION"));
        let title = page(&name).lines().find(|line| line.starts_with(".TH ")).unwrap().to_owned();
        assert!(title.replace("\"2023-11-14\"", "2023-11-14").contains(&foot), "{title}");
    }
    let query = page("whit-log-query.1");
    let (_, examples) = query.split_once(".SH \"EXAMPLES\"\n.nf\n").unwrap();
    let examples = examples.split(".fi").next().unwrap().trim_end();
    assert!(examples.lines().all(|line| line.starts_with("  whit log query ")), "{examples}");
    assert!(!fs::read_dir(folder.path()).unwrap().flatten().any(|file| {
        let name = file.file_name().into_string().unwrap();
        // A line that begins with a dot is a request of troff.
        let known = [
            ".TH", ".SH", ".SS", ".TP", ".PP", ".RS", ".RE", ".br", ".nf", ".fi", ".ie", ".el",
            ".IP",
        ];
        let text = page(&name);
        text.lines()
            .any(|line| line.starts_with('.') && !known.iter().any(|one| line.starts_with(one)))
    }));
}

#[test]
fn completions_know_values_and_the_verbs_below() {
    let folder = tempfile::tempdir().unwrap();
    generate("completions", folder.path());
    let bash = fs::read_to_string(folder.path().join("whit.bash")).unwrap();
    for values in [
        "\"command user cgroup\"",
        "\"lexpr ",
        "lastupdate",
        "graphv",
        "buddy cgroup compressed cpu ",
    ] {
        assert!(bash.contains(values), "{values}");
    }
    assert!(bash.contains("whit__subcmd__log__subcmd__query") || bash.contains("whit__log__query"));
    assert!(
        fs::read_to_string(folder.path().join("_whit")).unwrap().contains("(command user cgroup)")
    );
}
