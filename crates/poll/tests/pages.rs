//! Pages beside those of mrtg: its comments, the texts of all tables, its pictures and its log, of
//! one run of mrtg over targets with different options.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{ZONE, pixels, target, write_log};
use jiff::tz::TimeZone;
use poll::log_file::{LogFiles, LogReading};
use poll::pages::{DeviceFacts, PagePeriod, PageWriter, Redraw};
use poll::{Decimal, Global, LegendColour, Periods, PollTarget, Reading};
use testkit::Random;

/// Targets, and the lines of a configuration that say the same.
fn targets() -> Vec<(PollTarget, String)> {
    type Change = fn(&mut PollTarget);
    let all: [(&str, &str, Change); 9] = [
        ("plain", "", |_| {}),
        ("bits", "Options[bits]: bits, growright, nobanner\nUnscaled[bits]: dw\n", |target| {
            (target.options.bits, target.options.growright) = (true, true);
            target.options.nobanner = true;
            (target.unscaled.day, target.unscaled.week) = (true, true);
        }),
        (
            "percent",
            "Options[percent]: dorelpercent, avgpeak\n\
             Colours[percent]: A#00cc00,B#0000ff,C#006600,D#ff00ff,E#ef9f4f\n\
             WithPeak[percent]: my\n",
            |target| {
                (target.options.dorelpercent, target.options.avgpeak) = (true, true);
                let peaks = Periods { month: true, year: true, ..Periods::default() };
                target.with_peak = Some(peaks);
                for (colour, name) in
                    target.colours.to_mut().iter_mut().zip(["A", "B", "C", "D", "E"])
                {
                    colour.name = name.into();
                }
            },
        ),
        ("whole", "Options[whole]: integer, nopercent, noinfo\nSuppress[whole]: wy\n", |target| {
            (target.options.integer, target.options.nopercent) = (true, true);
            target.options.noinfo = true;
            (target.suppress.week, target.suppress.year) = (true, true);
        }),
        ("minute", "Options[minute]: perminute, noo, nolegend\n", |target| {
            (target.options.perminute, target.options.noo) = (true, true);
            target.options.nolegend = true;
        }),
        (
            "gauge",
            "Options[gauge]: gauge, noi, withzeroes\nkMG[gauge]: ,k,M,G,T,P\nkilo[gauge]: 1024\n\
             ShortLegend[gauge]: users\nLegendO[gauge]: People\nFactor[gauge]: 2\n\
             YLegend[gauge]: Number\n",
            |target| {
                (target.options.gauge, target.options.noi) = (true, true);
                target.options.withzeroes = true;
                target.kmg = Some(",k,M,G,T,P".to_owned());
                target.kilo = 1024;
                target.short_legend = Some("users".to_owned());
                target.legend_out = Some("People".to_owned());
                target.factor = 2.0;
                target.y_legend = Some("Number".to_owned());
            },
        ),
        (
            "texts",
            "Legend1[texts]: One\nLegend2[texts]: Two\nLegend3[texts]: Three\n\
             Legend4[texts]: Four\nLegendI[texts]:\nShortLegend[texts]: x\n\
             WithPeak[texts]: ymwd\nPageFoot[texts]: the <em>foot</em>\nPNGTitle[texts]: named\n\
             Options[texts]: unknaszero, transparent, noborder, noarrow, logscale\n",
            |target| {
                let names = ["One", "Two", "Three", "Four"];
                for (legend, name) in target.legends.iter_mut().zip(names) {
                    *legend = Some(name.to_owned());
                }
                target.legend_in = Some(String::new());
                target.short_legend = Some("x".to_owned());
                target.with_peak = Some(Periods { day: true, week: true, month: true, year: true });
                target.page_foot = Some("the <em>foot</em>".to_owned());
                target.png_title = Some("named".to_owned());
                target.options.unknaszero = true;
                (target.options.transparent, target.options.noborder) = (true, true);
                (target.options.noarrow, target.options.logscale) = (true, true);
            },
        ),
        (
            "sizes",
            "XSize[sizes]: 300\nYSize[sizes]: 150\nXScale[sizes]: 1.4\nYScale[sizes]: 1.2\n\
             YTics[sizes]: 5\nYTicsFactor[sizes]: 0.1\nOptions[sizes]: perhour, expscale\n",
            |target| {
                (target.x_size, target.y_size) = (300, 150);
                (target.x_scale, target.y_scale) = (1.4, 1.2);
                (target.y_tics, target.y_tics_factor) = (5, 0.1);
                (target.options.perhour, target.options.expscale) = (true, true);
            },
        ),
        ("folder", "Directory[folder]: sub\nOptions[folder]: absolute, secondmean\n", |target| {
            target.directory = "sub/".to_owned();
            (target.options.absolute, target.options.secondmean) = (true, true);
        }),
    ];
    all.into_iter()
        .map(|(name, lines, change)| {
            let mut target = target();
            target.name = name.to_owned();
            target.title = format!("Title of {name}");
            target.page_top = Some(format!("<h1>Top of {name}</h1>"));
            name_colours(target.colours.to_mut());
            change(&mut target);
            let lines = format!(
                "Target[{name}]: `echo 123456789; echo 98765432; echo '3 days'; echo box`\n\
                 MaxBytes[{name}]: 1250000\nTitle[{name}]: Title of {name}\n\
                 PageTop[{name}]: <h1>Top of {name}</h1>\n{lines}"
            );
            (target, lines)
        })
        .collect()
}

/// MRTG's own names and values of colours.
fn name_colours(colours: &mut [LegendColour]) {
    let all = [
        ("GREEN", "#00cc00"),
        ("BLUE", "#0000ff"),
        ("DARK GREEN", "#006600"),
        ("MAGENTA", "#ff00ff"),
    ];
    for (colour, (name, rgb)) in colours.iter_mut().zip(all) {
        (colour.name, colour.rgb) = (name.to_owned().into(), rgb.to_owned().into());
    }
}

/// The comments with numbers, and the texts of headings, tables and paragraphs.
fn contents(page: &str) -> (Vec<String>, Vec<String>) {
    let is_number = |line: &&str| {
        let words: Vec<&str> = line.split(' ').collect();
        words.len() == 5 && words[3].parse::<i64>().is_ok()
    };
    let numbers = page.lines().filter(|line| line.starts_with("<!-- ")).filter(is_number);
    let body = page.find("<body>").map_or("", |at| &page[at..]);
    let end = body.find("<!-- Begin MRTG Block -->").unwrap_or(body.len());
    let after = body.find("<!-- End MRTG Block -->").unwrap_or(body.len());
    let mut text = String::new();
    let mut is_tag = false;
    for character in [&body[..end], &body[after..]].concat().chars() {
        match character {
            '<' => (is_tag, _) = (true, text.push('\n')),
            '>' => is_tag = false,
            _ if is_tag => {}
            _ => text.push(character),
        }
    }
    let words = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    (numbers.map(str::to_owned).collect(), words.filter(|line| !line.is_empty()).collect())
}

/// The sources of the pictures of a page.
fn links(page: &str) -> Vec<String> {
    let all = page.split("<img src=\"").skip(1).filter_map(|rest| rest.split('"').next());
    all.filter(|link| !link.contains("mrtg-")).map(str::to_owned).collect()
}

fn clear_pictures(folder: &Path) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        if entry.path().extension().is_some_and(|one| one == "png") {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[test]
fn pages_say_what_those_of_mrtg_say() {
    if !testkit::is_installed("pages beside mrtg", "mrtg") {
        return;
    }
    let (theirs, ours) = (tempfile::tempdir().expect("one"), tempfile::tempdir().expect("two"));
    let config = theirs.path().join("mrtg.cfg");
    let targets = targets();
    let now = jiff::Timestamp::now().as_second();
    for folder in [theirs.path(), ours.path()] {
        fs::create_dir(folder.join("sub")).expect("a folder");
        for (number, (target, _)) in targets.iter().enumerate() {
            let mut random = Random::from_seed(number as u64);
            let path = folder.join(&target.directory).join(format!("{}.log", target.name));
            write_log(&path, &mut random, now - 300, 1 << number);
        }
    }
    let mut text = format!("WorkDir: {}\nWriteExpires: yes\n", theirs.path().display());
    text.extend(targets.iter().map(|(_, lines)| lines.as_str()));
    fs::write(&config, text).expect("written");
    // Under load mrtg may take longer than a minute's end: both times are then in the page.
    let output = Command::new("mrtg").arg(&config).env("LANG", "C").env("TZ", ZONE).output();
    let output = output.expect("mrtg");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let folder = |path: &Path| format!("{}/", path.display());
    let global = Global {
        log_dir: folder(ours.path()),
        html_dir: folder(ours.path()),
        image_dir: folder(ours.path()),
        writes_expires: true,
        ..Global::default()
    };
    clear_pictures(ours.path());
    for (target, _) in &targets {
        compare(&global, target, theirs.path(), ours.path(), &said);
    }
}

fn compare(global: &Global, target: &PollTarget, theirs: &Path, ours: &Path, said: &str) {
    let name = &target.name;
    let (theirs, ours) = (theirs.join(&target.directory), ours.join(&target.directory));
    let log = fs::read_to_string(theirs.join(format!("{name}.log"))).expect("their log");
    let now_s: i64 = log.split(' ').next().and_then(|time| time.parse().ok()).expect("a time");
    let value = |value: u64| Some(Decimal::from(value));
    let values = [value(123_456_789), value(98_765_432)];
    let reading = Reading { time_ns: now_s * 1_000_000_000, values, ..Reading::default() };
    let mut files = LogFiles::new();
    let path = ours.join(format!("{name}.log"));
    let updated = files.update(&path, &LogReading::of(target, &reading)).expect("updated");
    let time_zone = TimeZone::get(ZONE).expect("a zone");
    let writer = PageWriter { global, time_zone, now_s, redraw: Redraw::Due };
    let device = DeviceFacts { uptime: Some("3 days"), name: Some("box") };
    writer.write(target, updated.history, device).expect("pages");
    assert_eq!(fs::read_to_string(&path).expect("a log"), log, "{name}: log; {said}");

    let page =
        |folder: &Path| fs::read_to_string(folder.join(format!("{name}.html"))).expect("a page");
    let (their_page, our_page) = (page(&theirs), page(&ours));
    let ((their_numbers, their_texts), (our_numbers, our_texts)) =
        (contents(&their_page), contents(&our_page));
    assert_eq!(our_numbers, their_numbers, "{name}: comments");
    let without_date = |texts: Vec<String>| {
        texts.into_iter().filter(|text| !text.contains(" at ")).collect::<Vec<_>>()
    };
    assert_eq!(without_date(our_texts), without_date(their_texts), "{name}: texts");
    assert_eq!(links(&our_page), links(&their_page), "{name}: pictures");
    for period in PagePeriod::ALL {
        let file = format!("{name}-{}.png", period.name());
        let read = |folder: &Path| fs::read(folder.join(&file)).ok();
        let (their_png, our_png) = (read(&theirs), read(&ours));
        assert_eq!(our_png.is_some(), their_png.is_some(), "{file}");
        if let (Some(our_png), Some(their_png)) = (our_png, their_png) {
            assert!(pixels(&our_png) == pixels(&their_png), "{file}: pixels");
            assert!(ours.join(format!("{file}.meta")).exists(), "{file}.meta");
        }
    }
}
