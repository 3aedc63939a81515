//! The banner at the foot of pages and indexes: three small pictures under the names that MRTG's
//! have, so that pages of both programs, and of others that show them, find all of them.
//!
//! They are drawn here and are not MRTG's: a name, four columns under a line, and a line of text.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};

use super::PageError;
use super::raster::{Brush, Raster};
use crate::config::Global;
use crate::path_of;

/// White, grey, the green of traffic that comes in and the blue of what goes out.
const PALETTE: [[u8; 3]; 4] = [[255, 255, 255], [100, 100, 100], [0, 204, 0], [0, 0, 255]];
const GREY: u8 = 1;
const GREEN: u8 = 2;
const BLUE: u8 = 3;

/// Rows of each picture.
const HEIGHT: i64 = 25;
/// Where letters of 13 rows stand in the middle.
const TEXT_TOP: i64 = 6;

/// Writes the pictures that are not there yet, where pages look for them.  In a folder of `IconDir`
/// only if it is one of this machine: the keyword is an address.
///
/// # Errors
/// If one cannot be written.
pub fn write_banner(global: &Global) -> Result<(), PageError> {
    let folder = path_of(global.icon_dir.as_ref().unwrap_or(&global.image_dir));
    if global.icon_dir.is_some() && !folder.is_dir() {
        return Ok(());
    }
    type Draw = fn(&mut Raster);
    let all: [(&str, i64, Draw); 3] = [
        ("mrtg-l.png", 63, |raster| raster.text((33, TEXT_TOP), "whit", GREY)),
        ("mrtg-m.png", HEIGHT, draw_columns),
        ("mrtg-r.png", 388, |raster| {
            raster.text((6, TEXT_TOP), "watches everything, weighs nothing", GREY);
        }),
    ];
    for (name, width, draw) in all {
        let Some(mut raster) = Raster::new(width, HEIGHT, &PALETTE) else { continue };
        let path = folder.join(name);
        // One that is there may be the user's own.
        let opened = OpenOptions::new().write(true).create_new(true).open(&path);
        let written = opened.and_then(|mut file| {
            draw(&mut raster);
            file.write_all(&raster.png())
        });
        match written {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(source) => return Err(PageError { path, source }),
            Ok(()) => {}
        }
    }
    Ok(())
}

/// Four columns and a line above them.
fn draw_columns(raster: &mut Raster) {
    let tops = [(3, 15), (8, 10), (13, 13), (18, 7)];
    for (left, top) in tops {
        for x in left..left + 4 {
            raster.line((x, top), (x, HEIGHT - 3), Brush::Solid(GREEN));
        }
    }
    for pair in tops.windows(2) {
        let above = |(x, y): (i64, i64)| (x + 1, y - 4);
        raster.line(above(pair[0]), above(pair[1]), Brush::Solid(BLUE));
    }
    raster.rectangle((0, 0), (HEIGHT - 1, HEIGHT - 1), GREY);
}
