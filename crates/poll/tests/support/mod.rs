//! What tests of pages share: a target with MRTG's defaults, a log of two years, PNG files read.

#![allow(dead_code, reason = "each test uses its part")]

use std::fs;
use std::io::Read as _;
use std::path::Path;

use poll::{LegendColour, Periods, PollTarget, StampPosition, TargetOptions};
use testkit::Random;

/// The zone of times in pictures.
pub(crate) const ZONE: &str = "Europe/Berlin";

/// A target with MRTG's defaults.
pub(crate) fn target() -> PollTarget {
    let colours = ["#00eb0c", "#005eff", "#00a621", "#ff00ff", "#ef9f4f"];
    let colours = colours.map(|rgb| LegendColour { name: "A".into(), rgb: rgb.into() });
    PollTarget {
        name: "device".to_owned(),
        definition: String::new(),
        expression: None,
        only_query: None,
        title: String::new(),
        page_top: None,
        page_foot: None,
        add_head: None,
        body_tag: None,
        extension: "html".into(),
        directory: String::new(),
        clone_folder: None,
        max_bytes: [1_250_000.0; 2],
        abs_max: None,
        unscaled: Periods::default(),
        with_peak: None,
        suppress: Periods::default(),
        x_size: 400,
        y_size: 100,
        x_zoom: 1.0,
        y_zoom: 1.0,
        x_scale: 1.0,
        y_scale: 1.0,
        y_tics: 4,
        y_tics_factor: 1.0,
        factor: 1.0,
        step: None,
        options: TargetOptions::default(),
        colours: colours.to_vec().into(),
        background: "#ffffff".into(),
        text_colour: "#000000".into(),
        kilo: 1000,
        kmg: None,
        y_legend: None,
        short_legend: None,
        legends: Default::default(),
        legend_in: None,
        legend_out: None,
        png_title: None,
        time_zone: None,
        week_format: None,
        stamp_position: StampPosition::None,
        stamp_format: "".into(),
        row_counts: Default::default(),
        hw_archives: Vec::new(),
        set_env: Vec::new(),
        thresholds: Default::default(),
        hw_thresholds: Default::default(),
        router_uptime: None,
        router_name: None,
        snmp_options: Default::default(),
    }
}

/// A log that ends at `last`, with gaps.
pub(crate) fn write_log(path: &Path, random: &mut Random, last: i64, factor: u64) {
    let mut text = format!("{last} 0 0\n");
    let mut time = last;
    for (step, count) in [(300, 600), (1_800, 600), (7_200, 600), (86_400, 732)] {
        time -= time % step;
        let (mut input, mut output) = (random.below(1_000) * factor, random.below(1_000) * factor);
        for _ in 0..count {
            input = (input + random.below(200) * factor).saturating_sub(random.below(200) * factor);
            output =
                (output + random.below(90) * factor).saturating_sub(random.below(100) * factor);
            let is_gap = random.below(40) == 0;
            let (a, b) = if is_gap { (0, 0) } else { (input, output) };
            let (c, d) = (a + random.below(50) * factor, b + random.below(50) * factor);
            text.push_str(&format!("{time} {a} {b} {c} {d}\n"));
            time -= step;
        }
    }
    fs::write(path, text).expect("written");
}

/// Width of a PNG file with a palette of 4 bits a pixel, and the colours of all pixels.
pub(crate) fn pixels(png: &[u8]) -> (usize, Vec<[u8; 3]>) {
    let (mut palette, mut data) = (Vec::new(), Vec::new());
    let (mut width, mut height, mut is_interlaced) = (0, 0, false);
    let mut at = 8;
    while at + 8 < png.len() {
        let length = u32::from_be_bytes(png[at..at + 4].try_into().expect("4 bytes")) as usize;
        let body = &png[at + 8..at + 8 + length];
        match &png[at + 4..at + 8] {
            b"IHDR" => {
                let size = |at: usize| u32::from_be_bytes(body[at..at + 4].try_into().expect("4"));
                (width, height) = (size(0) as usize, size(4) as usize);
                assert_eq!((body[8], body[9]), (4, 3), "4 bits, a palette");
                is_interlaced = body[12] == 1;
            }
            b"PLTE" => palette = body.chunks(3).map(|one| [one[0], one[1], one[2]]).collect(),
            b"IDAT" => data.extend_from_slice(body),
            _ => {}
        }
        at += length + 12;
    }
    let mut raw = Vec::new();
    flate2::read::ZlibDecoder::new(&data[..]).read_to_end(&mut raw).expect("compressed rows");
    let mut all = vec![[0; 3]; width * height];
    const ADAM7: [[usize; 4]; 7] = [
        [0, 0, 8, 8],
        [4, 0, 8, 8],
        [0, 4, 4, 8],
        [2, 0, 4, 4],
        [0, 2, 2, 4],
        [1, 0, 2, 2],
        [0, 1, 1, 2],
    ];
    let passes: &[[usize; 4]] = if is_interlaced { &ADAM7 } else { &[[0, 0, 1, 1]] };
    let mut rest = &raw[..];
    for &[left, top, across, down] in passes {
        let columns = width.saturating_sub(left).div_ceil(across);
        let mut above = vec![0; columns.div_ceil(2)];
        if columns == 0 {
            continue;
        }
        for y in (top..height).step_by(down) {
            let (row, after) = rest.split_at(columns.div_ceil(2) + 1);
            rest = after;
            above = unfiltered(row, &above);
            for (number, x) in (left..width).step_by(across).enumerate() {
                let index = above[number / 2] >> (4 - 4 * (number % 2)) & 15;
                all[y * width + x] = palette[usize::from(index)];
            }
        }
    }
    (width, all)
}

/// A row without its filter; a pixel before has one byte.
fn unfiltered(row: &[u8], above: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::with_capacity(row.len() - 1);
    for (at, &byte) in row[1..].iter().enumerate() {
        let left = if at > 0 { out[at - 1] } else { 0 };
        let corner = if at > 0 { above[at - 1] } else { 0 };
        let (a, b, c) = (i32::from(left), i32::from(above[at]), i32::from(corner));
        let guess = match row[0] {
            0 => 0,
            1 => a,
            2 => b,
            3 => (a + b) / 2,
            _ => {
                let near = [(a, (b - c).abs()), (b, (a - c).abs()), (c, (a + b - 2 * c).abs())];
                near.into_iter().min_by_key(|one| one.1).expect("three").0
            }
        };
        out.push(byte.wrapping_add(guess as u8));
    }
    out
}
