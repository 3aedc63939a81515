//! Groups over a made-up feed: every number worked out by hand.

use layout::{List, Options};

use super::*;
use crate::demo::instances::{HOSTILE, show, show_inferred};

fn options(order: &str, count: usize) -> Options {
    let list = List { order: order.to_owned(), count, scroll_end: None, records: false };
    Options { by: "command".to_owned(), list: Some(list), ..Options::default() }
}

fn written(form: TableForm, options: &Options) -> String {
    show(&mut Groups::new(form, TimeZone::UTC), options).unwrap()
}

#[test]
fn lines_hold_the_living_and_the_ended() {
    let text = written(TableForm::Text, &options("", usize::MAX));
    let hostile = layout::text::escape(HOSTILE);
    assert_eq!(
        text,
        format!(
            "
# PROCESSES BY COMMAND sorted by time (counters are /sec) Thu Jan  1 00:00:11 1970
# Procs Births   Ends   CPU%    RSS Command
      1      0      1   75.0    60K work
      0      1      1   50.0      - short
      1      1      0   25.0    10K {hostile}
      1      0      0    0.0   100K init
      3      2      2  150.0   170K total
# CPU: busy 200.0%, attributed 150.0%, unattributed 50.0%; ends lost 1

# PROCESSES BY COMMAND sorted by time (counters are /sec) Thu Jan  1 00:00:13 1970
# Procs Births   Ends   CPU%    RSS Command
      1      1      1   37.5     2K work
      0      0      1   25.0      - {hostile}
      1      1      0    6.2     1K again
      1      0      0    0.0   100K init
      3      2      2   68.8   103K total
# CPU: busy 200.0%, attributed 150.0%, unattributed 50.0%; ends lost 2
"
        )
    );
}

#[test]
fn what_is_inferred_counts_in_sums_and_is_no_end() {
    let mut view = Groups::new(TableForm::Text, TimeZone::UTC);
    let text = show_inferred(&mut view, &options("", usize::MAX)).unwrap();
    assert_eq!(
        text,
        "
# PROCESSES BY COMMAND sorted by time (counters are /sec) Thu Jan  1 00:00:11 1970
# Procs Births   Ends   CPU%    RSS Command
      0      0      0   75.0      - children of init
      1      0      0    0.0   100K init
      0      0      1      -      - work
      1      0      1   75.0   100K total
# CPU: busy 200.0%, attributed 150.0%, unattributed 50.0%; ends lost - (no exit events: ends are inferred from two readings)
"
    );
}

#[test]
fn a_list_is_cut_and_sorted_by_any_order_but_sums_are_whole() {
    let text = written(TableForm::Csv, &options("rss", 1));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[..3],
        [
            "time,host,by,group,processes,births,ends,cpu,resident,busy,attributed,unattributed,\
             ends_lost",
            "1970-01-01T00:00:11.000Z,vm,command,init,1,0,0,0,102400,,,,",
            "1970-01-01T00:00:11.000Z,vm,total,,3,2,2,1.5,174080,2,1.5,0.5,1",
        ]
    );
    assert_eq!(lines.len(), 5);
    let text = written(TableForm::Text, &options("accum", 1));
    assert!(text.contains("60K work\n"), "10.5 s of 7 and 3.25 s of 8: {text}");
    let error = show(&mut Groups::new(TableForm::Csv, TimeZone::UTC), &options("pid", 1));
    assert!(error.unwrap_err().to_string().contains("time, rss, accum"));
}

#[test]
fn json_leaves_out_what_is_missing_and_escapes_names() {
    let text = written(TableForm::Json, &options("", usize::MAX));
    let line = text.lines().next().unwrap();
    let short = "{\"command\":\"short\",\"processes\":0,\"births\":1,\"ends\":1,\"cpu\":0.5}";
    assert!(line.contains(short), "{line}");
    assert!(line.contains("ev) R 1\\\\x0a\\\\x1b[2J\\\\xff"), "{line}");
    assert!(line.ends_with("\"unattributed\":0.5,\"ends_lost\":1}}"), "{line}");
}

#[test]
fn groups_that_nothing_has_are_refused() {
    let options = Options { by: "colour".to_owned(), ..Options::default() };
    let error = show(&mut Groups::new(TableForm::Text, TimeZone::UTC), &options).unwrap_err();
    assert!(error.to_string().contains("known are command"), "{error}");
}
