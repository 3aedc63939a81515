//! The command line of `rrdtool graph`: options anywhere among the other arguments.
//!
//! The grammar is RRDtool's: one letter with its value attached or next, `--name value` or
//! `--name=value`, no
//! shortened names, `--` ends the options.  Error texts are RRDtool's, as programs match on them.

use crate::picture::Rgba;
use crate::settings::{
    AxisFormatter, ColorRole, FontMode, ImageFormat, LegendDirection, LegendPosition, RightAxis,
    Settings, TextRole, TimeGrid, TimeUnit, XGrid, YGrid,
};

/// Long names, the letter that means the same (or a letter of our own), and whether a value
/// follows.
const OPTIONS: &[KnownOption] = &[
    ("alt-autoscale", 'A', false),
    ("imgformat", 'a', true),
    ("font-smoothing-threshold", 'B', true),
    ("base", 'b', true),
    ("color", 'c', true),
    ("full-size-mode", 'D', false),
    ("daemon", 'd', true),
    ("slope-mode", 'E', false),
    ("end", 'e', true),
    ("force-rules-legend", 'F', false),
    ("imginfo", 'f', true),
    ("graph-render-mode", 'G', true),
    ("no-legend", 'g', false),
    ("height", 'h', true),
    ("no-minor", 'I', false),
    ("interlaced", 'i', false),
    ("alt-autoscale-min", 'J', false),
    ("only-graph", 'j', false),
    ("units-length", 'L', true),
    ("lower-limit", 'l', true),
    ("alt-autoscale-max", 'M', false),
    ("zoom", 'm', true),
    ("no-gridfit", 'N', false),
    ("font", 'n', true),
    ("logarithmic", 'o', false),
    ("pango-markup", 'P', false),
    ("font-render-mode", 'R', true),
    ("rigid", 'r', false),
    ("step", 'S', true),
    ("start", 's', true),
    ("tabwidth", 'T', true),
    ("title", 't', true),
    ("upper-limit", 'u', true),
    ("vertical-label", 'v', true),
    ("watermark", 'W', true),
    ("width", 'w', true),
    ("units-exponent", 'X', true),
    ("x-grid", 'x', true),
    ("alt-y-grid", 'Y', false),
    ("y-grid", 'y', true),
    ("use-nan-for-all-missing-data", 'Z', false),
    ("lazy", 'z', false),
    ("units", '\u{1}', true),
    ("alt-y-mrtg", '\u{2}', false),
    ("disable-rrdtool-tag", '\u{3}', false),
    ("right-axis", '\u{4}', true),
    ("right-axis-label", '\u{5}', true),
    ("right-axis-format", '\u{6}', true),
    ("legend-position", '\u{7}', true),
    ("legend-direction", '\u{8}', true),
    ("border", '\u{e}', true),
    ("grid-dash", '\u{f}', true),
    ("dynamic-labels", '\u{10}', false),
    ("week-fmt", '\u{11}', true),
    ("graph-type", '\u{12}', true),
    ("left-axis-format", '\u{13}', true),
    ("left-axis-formatter", '\u{14}', true),
    ("right-axis-formatter", '\u{15}', true),
    ("allow-shrink", '\u{16}', false),
    ("utc", '\u{17}', false),
    ("add-jsontime", '\u{18}', false),
];

/// What is wrong with a command line, in RRDtool's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SettingsError(pub String);

fn fail<T>(text: impl Into<String>) -> Result<T, SettingsError> {
    Err(SettingsError(text.into()))
}

/// Reads the options out of `arguments`; gives them and all other arguments in their order.
///
/// `default_font` is the description of the font that all texts begin with, where it is not
/// RRDtool's own.  `check_time` says what is wrong with a time at the moment it is read, as RRDtool
/// does.
///
/// # Errors
/// The first option that is unknown, lacks its value or has one that cannot be used.
pub fn parse(
    arguments: &[String],
    default_font: Option<&str>,
    check_time: &dyn Fn(&str) -> Result<(), String>,
) -> Result<(Settings, Vec<String>), SettingsError> {
    let mut reader =
        SettingsReader { settings: Settings::default(), check_time, units_given: false };
    if let Some(font) = default_font {
        reader.settings.set_default_family(font);
    }
    let mut option = |letter: char, value: &str| reader.option(letter, value);
    let others = read(arguments, OPTIONS, &mut option)?;
    if reader.settings.logarithmic && reader.settings.lower_limit.is_some_and(|limit| limit <= 0.0)
    {
        return fail("for a logarithmic yaxis you must specify a lower-limit > 0");
    }
    check_axis_format(&reader.settings.left_axis_format, reader.settings.left_axis_formatter)?;
    check_axis_format(&reader.settings.right_axis_format, reader.settings.right_axis_formatter)?;
    Ok((reader.settings, others))
}

/// A long name, the letter that means the same, and whether a value follows.
pub(crate) type KnownOption = (&'static str, char, bool);

/// Reads the options of a table out of `arguments`, gives each to `option`, and gives back all other
/// arguments in their order.
pub(crate) fn read(
    arguments: &[String],
    table: &[KnownOption],
    option: &mut dyn FnMut(char, &str) -> Result<(), SettingsError>,
) -> Result<Vec<String>, SettingsError> {
    let mut others = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--" {
            others.extend(rest.by_ref().cloned());
        } else if let Some(long) = argument.strip_prefix("--") {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (long, None),
            };
            let Some((_, letter, takes_value)) = table.iter().find(|one| one.0 == name) else {
                return fail(format!("invalid option -- '{name}'"));
            };
            match (takes_value, value) {
                (false, Some(_)) => return fail(format!("option takes no arguments -- '{name}'")),
                (false, None) => option(*letter, "")?,
                (true, Some(value)) => option(*letter, value)?,
                (true, None) => match rest.next() {
                    Some(value) => option(*letter, value)?,
                    None => return fail(format!("option requires argument -- '{name}'")),
                },
            }
        } else if argument.len() > 1 && argument.starts_with('-') {
            for (at, letter) in argument[1..].char_indices() {
                let known = table.iter().find(|one| one.1 == letter && letter.is_ascii_graphic());
                let Some((_, _, takes_value)) = known else {
                    return fail(format!("invalid option -- '{letter}'"));
                };
                if !takes_value {
                    option(letter, "")?;
                    continue;
                }
                let attached = &argument[1 + at + letter.len_utf8()..];
                if !attached.is_empty() {
                    option(letter, attached)?;
                } else if let Some(value) = rest.next() {
                    option(letter, value)?;
                } else {
                    return fail(format!("option requires an argument -- '{letter}'"));
                }
                break;
            }
        } else {
            others.push(argument.clone());
        }
    }
    Ok(others)
}

struct SettingsReader<'a> {
    settings: Settings,
    check_time: &'a dyn Fn(&str) -> Result<(), String>,
    units_given: bool,
}

impl SettingsReader<'_> {
    fn option(&mut self, letter: char, value: &str) -> Result<(), SettingsError> {
        let settings = &mut self.settings;
        match letter {
            'A' => settings.alt_autoscale = true,
            'J' => settings.alt_autoscale_min = true,
            'M' => settings.alt_autoscale_max = true,
            'D' => settings.full_size = true,
            'E' => settings.slope_mode = true,
            'F' => settings.force_rules_legend = true,
            'g' => settings.no_legend = true,
            'I' => settings.no_minor = true,
            'j' => settings.only_graph = true,
            'N' => settings.grid_fit = false,
            'o' => settings.logarithmic = true,
            'P' => settings.markup = true,
            'r' => settings.rigid = true,
            'Y' => settings.alt_y_grid = true,
            'Z' => settings.missing_is_unknown = true,
            'z' => settings.lazy = true,
            '\u{3}' => settings.no_tag = true,
            '\u{10}' => settings.dynamic_labels = true,
            '\u{16}' => settings.allow_shrink = true,
            '\u{17}' => settings.utc = true,
            '\u{18}' => settings.json_time = true,
            // These have no effect: interlaced pictures, alt-y-mrtg, font-smoothing-threshold.
            'i' | '\u{2}' | 'B' => {}
            _ => return self.valued(letter, value),
        }
        Ok(())
    }

    fn valued(&mut self, letter: char, value: &str) -> Result<(), SettingsError> {
        let settings = &mut self.settings;
        match letter {
            's' | 'e' => return self.time(letter, value),
            't' => value.clone_into(&mut settings.title),
            'v' => value.clone_into(&mut settings.vertical_label),
            'W' => value.clone_into(&mut settings.watermark),
            'f' => {
                check_image_info(value)?;
                settings.image_info = Some(value.to_owned());
            }
            'd' if settings.daemon.is_some() => {
                return fail("You cannot specify --daemon more than once.");
            }
            'd' => settings.daemon = Some(value.to_owned()),
            'S' => settings.step = leading_integer(value),
            'X' => settings.units_exponent = Some(clamp(leading_integer(value))),
            'L' => {
                settings.units_length = clamp(leading_integer(value));
                settings.keep_label_room = true;
            }
            '\u{e}' => settings.border = leading_integer(value).min(10_000),
            'w' => settings.width = size(value, "width")?,
            'h' => settings.height = size(value, "height")?,
            'b' => match leading_integer(value) {
                base @ (1000 | 1024) => settings.base = base,
                _ => return fail("the only sensible value for base apart from 1000 is 1024"),
            },
            'u' => settings.upper_limit = Some(float(value, "-u")?).filter(|limit| !limit.is_nan()),
            'l' => settings.lower_limit = Some(float(value, "-l")?).filter(|limit| !limit.is_nan()),
            'T' => settings.tab_width = float(value, "-T")?,
            'm' => {
                settings.zoom = float(value, "-m")?;
                if settings.zoom <= 0.0 {
                    return fail("zoom factor must be > 0");
                }
            }
            'x' => settings.x_grid = x_grid(value)?,
            'y' => settings.y_grid = y_grid(value)?,
            'c' => return self.color(value),
            'n' => return self.font(value),
            _ => return self.word(letter, value),
        }
        Ok(())
    }

    fn word(&mut self, letter: char, value: &str) -> Result<(), SettingsError> {
        let settings = &mut self.settings;
        match letter {
            'a' => match ImageFormat::parse(value) {
                Some(format) => settings.format = format,
                None => return fail(format!("unsupported graphics format '{value}'")),
            },
            'G' => match value {
                "normal" => settings.smooth_lines = true,
                "mono" => settings.smooth_lines = false,
                _ => return fail(format!("unknown graph-render-mode '{value}'")),
            },
            'R' => match value {
                "normal" => settings.font_mode = FontMode::Normal,
                "light" => settings.font_mode = FontMode::Light,
                "mono" => settings.font_mode = FontMode::Mono,
                _ => return fail(format!("unknown font-render-mode '{value}'")),
            },
            '\u{1}' if self.units_given => return fail("--units can only be used once!"),
            '\u{1}' if value == "si" => (settings.units_si, self.units_given) = (true, true),
            '\u{1}' => return fail(format!("invalid argument for --units: {value}")),
            '\u{4}' => settings.right_axis = Some(right_axis(value)?),
            '\u{5}' => value.clone_into(&mut settings.right_axis_label),
            '\u{6}' => settings.right_axis_format = value.to_owned(),
            '\u{7}' => {
                settings.legend_position = match value {
                    "north" => LegendPosition::North,
                    "west" => LegendPosition::West,
                    "south" => LegendPosition::South,
                    "east" => LegendPosition::East,
                    _ => return fail(format!("unknown legend-position '{value}'")),
                }
            }
            '\u{8}' => {
                settings.legend_direction = match value {
                    "topdown" => LegendDirection::TopDown,
                    "bottomup" => LegendDirection::BottomUp,
                    "bottomup2" => LegendDirection::BottomUpKeepComments,
                    _ => return fail(format!("unknown legend-position '{value}'")),
                }
            }
            '\u{f}' => match two_floats(value) {
                Some(dash) => settings.grid_dash = dash,
                None => return fail("invalid grid-dash format"),
            },
            '\u{11}' => value.clone_into(&mut settings.week_format),
            '\u{12}' => match value {
                "time" => settings.is_xy = false,
                "xy" => settings.is_xy = true,
                _ => return fail(format!("unsupported graphics type '{value}'")),
            },
            '\u{13}' => value.clone_into(&mut settings.left_axis_format),
            '\u{14}' => settings.left_axis_formatter = formatter(value, "left")?,
            '\u{15}' => settings.right_axis_formatter = formatter(value, "right")?,
            _ => {}
        }
        Ok(())
    }

    fn time(&mut self, letter: char, value: &str) -> Result<(), SettingsError> {
        let (name, slot) = match letter {
            's' => ("start", &mut self.settings.start),
            _ => ("end", &mut self.settings.end),
        };
        if let Err(error) = (self.check_time)(value) {
            return fail(format!("{name} time: {error}"));
        }
        value.clone_into(slot);
        Ok(())
    }

    fn color(&mut self, value: &str) -> Result<(), SettingsError> {
        let Some((name, digits)) = value.split_once('#') else {
            return fail("invalid color def format");
        };
        let is_name = !name.is_empty()
            && name.len() <= 10
            && name.bytes().all(|byte| byte.is_ascii_uppercase());
        let count = digits.bytes().take_while(u8::is_ascii_hexdigit).count();
        if !is_name || count == 0 {
            return fail("invalid color def format");
        }
        // RRDtool takes the digits before the fault for another colour.
        if !digits[count..].trim().is_empty() {
            return fail("the color format is #RRGGBB[AA]");
        }
        let digits = &digits[..count];
        let doubled = || digits.chars().flat_map(|digit| [digit, digit]).collect::<String>();
        let full = match digits.len() {
            3 => doubled() + "FF",
            4 => doubled(),
            6 => format!("{digits}FF"),
            8 => digits.to_owned(),
            _ => return fail("the color format is #RRGGBB[AA]"),
        };
        let Some(role) = ColorRole::parse(name) else {
            return fail(format!("invalid color name '{name}'"));
        };
        self.settings.colors[role as usize] =
            Rgba::from_hex(u32::from_str_radix(&full, 16).unwrap_or(0));
        Ok(())
    }

    fn font(&mut self, value: &str) -> Result<(), SettingsError> {
        let invalid = || SettingsError("invalid text property format".to_owned());
        let (name, rest) = value.split_once(':').ok_or_else(invalid)?;
        if name.is_empty() || name.len() > 10 || !name.bytes().all(|byte| byte.is_ascii_uppercase())
        {
            return Err(invalid());
        }
        let (number, family) = rest.split_at(number_length(rest));
        let points =
            prefix_float(number).filter(|(_, left)| left.is_empty()).ok_or_else(invalid)?.0;
        let Some(role) = TextRole::parse(name) else {
            return fail(format!("invalid fonttag '{name}'"));
        };
        let roles = if role == TextRole::Default { 0..6 } else { role as usize..role as usize + 1 };
        for font in &mut self.settings.fonts[roles] {
            if points > 0.0 {
                font.points = points.min(crate::font::POINTS_MAX);
            }
            // RRDtool reads a family of two letters or more.
            if family.len() > 2 {
                let Some(family) = family.strip_prefix(':') else {
                    return fail(format!("expected : after font size in '{value}'"));
                };
                let points = font.points;
                font.describe(family);
                font.points = points;
            }
        }
        Ok(())
    }
}

fn size(value: &str, name: &str) -> Result<i64, SettingsError> {
    match leading_integer(value) {
        pixels if pixels < 10 => fail(format!("{name} below 10 pixels")),
        pixels => Ok(pixels),
    }
}

fn formatter(value: &str, side: &str) -> Result<AxisFormatter, SettingsError> {
    match value {
        "numeric" => Ok(AxisFormatter::Numeric),
        "timestamp" => Ok(AxisFormatter::Timestamp),
        "duration" => Ok(AxisFormatter::Duration),
        _ => fail(format!("Unknown {side} axis formatter")),
    }
}

fn right_axis(value: &str) -> Result<RightAxis, SettingsError> {
    match two_floats(value) {
        Some((0.0, _)) => fail("the second_axis_scale  must not be 0"),
        Some((scale, shift)) => Ok(RightAxis { scale, shift }),
        None => fail("invalid right-axis format expected scale:shift"),
    }
}

fn y_grid(value: &str) -> Result<YGrid, SettingsError> {
    if value == "none" {
        return Ok(YGrid::Absent);
    }
    let length = number_length(value);
    let factor = value[length..].strip_prefix(':').filter(|_| length > 0);
    let starts = |text: &&str| {
        text.trim_start().trim_start_matches(['+', '-']).starts_with(|c: char| c.is_ascii_digit())
    };
    let Some(factor) = factor.filter(starts) else { return fail("invalid y-grid format") };
    let step = float(&value[..length], "-y")?;
    if step <= 0.0 {
        return fail("grid step must be > 0");
    }
    match clamp(leading_integer(factor)) {
        label_factor if label_factor < 1 => fail("label factor must be > 0"),
        label_factor => Ok(YGrid::Given { step, label_factor }),
    }
}

fn x_grid(value: &str) -> Result<XGrid, SettingsError> {
    if value == "none" {
        return Ok(XGrid::Absent);
    }
    let invalid = || SettingsError("invalid x-grid format".to_owned());
    let parts: Vec<&str> = value.splitn(8, ':').collect();
    let &[minor, minor_count, major, major_count, label, label_count, span, format] =
        parts.as_slice()
    else {
        return Err(invalid());
    };
    let count = |text: &str| text.trim_start().parse::<i64>().ok().ok_or_else(invalid);
    let (minor_count, major_count) = (count(minor_count)?, count(major_count)?);
    let (label_count, span_seconds) = (count(label_count)?, count(span)?);
    let unit = |name: &str| {
        let is_word = !name.is_empty()
            && name.len() <= 10
            && name.bytes().all(|byte| byte.is_ascii_uppercase());
        if !is_word {
            return Err(invalid());
        }
        TimeUnit::parse(name).ok_or_else(|| SettingsError(format!("unknown keyword {name}")))
    };
    let grid = TimeGrid {
        minor: (unit(minor)?, minor_count),
        major: (unit(major)?, major_count),
        label: (unit(label)?, label_count),
        span_seconds,
        format: format.to_owned(),
    };
    // RRDtool hangs on these.
    if minor_count < 1 || major_count < 1 || label_count < 1 {
        return Err(invalid());
    }
    Ok(XGrid::Given(grid))
}

/// The format of `--imginfo` must take a name and two numbers, if there is one.
fn check_image_info(format: &str) -> Result<(), SettingsError> {
    // An empty text prints nothing in place of the size.
    if format.is_empty() {
        return Ok(());
    }
    let mut rest = format.replace("%%", "");
    let fits = ["%s", "%lu", "%lu"].iter().all(|wanted| match rest.split_once('%') {
        Some((_, after)) if format!("%{after}").starts_with(wanted) => {
            rest = after[wanted.len() - 1..].to_owned();
            true
        }
        _ => false,
    });
    if fits && !rest.contains('%') {
        return Ok(());
    }
    let pattern = "^(?:[^%]+|%%)*%s(?:[^%]+|%%)*%lu(?:[^%]+|%%)*%lu(?:[^%]+|%%)*$";
    fail(format!("invalid format string '{format}' (should match '{pattern}')"))
}

/// The format of an axis of numbers must take one number; others are strftime(3)'s or durations.
fn check_axis_format(format: &str, formatter: AxisFormatter) -> Result<(), SettingsError> {
    if format.is_empty() || formatter != AxisFormatter::Numeric {
        return Ok(());
    }
    let rest = format.replace("%%", "");
    let is_number = |text: &str| {
        let text = text.strip_prefix(['-', '+', ' ', '0', '#']).unwrap_or(text);
        let text = text.trim_start_matches(|digit: char| digit.is_ascii_digit());
        let text = match text.strip_prefix('.') {
            Some(text) if text.starts_with(|digit: char| digit.is_ascii_digit()) => {
                text.trim_start_matches(|digit: char| digit.is_ascii_digit())
            }
            Some(_) => return false,
            None => text,
        };
        let mut letters = text.chars();
        letters.next() == Some('l')
            && letters.next().is_some_and(|letter| "eEfFgG".contains(letter))
    };
    match rest.split_once('%') {
        Some((_, after)) if !after.contains('%') && is_number(after) => Ok(()),
        _ => {
            let pattern = "^(?:[^%]+|%%)*%[-+ 0#]?[0-9]*(?:[.][0-9]+)?l[eEfFgG](?:[^%]+|%%)*$";
            fail(format!("invalid format string '{format}' (should match '{pattern}')"))
        }
    }
}

/// As atol(3): the digits that the text begins with, else 0.
pub(crate) fn leading_integer(text: &str) -> i64 {
    let text = text.trim_start();
    let sign = usize::from(text.starts_with(['+', '-']));
    let digits = text[sign..].bytes().take_while(u8::is_ascii_digit).count();
    let number = text[..sign + digits].trim_start_matches('+');
    match number.parse() {
        Ok(number) => number,
        Err(_) if digits > 0 && number.starts_with('-') => i64::MIN,
        Err(_) if digits > 0 => i64::MAX,
        Err(_) => 0,
    }
}

fn clamp(number: i64) -> i32 {
    i32::try_from(number).unwrap_or(if number < 0 { i32::MIN } else { i32::MAX })
}

/// How many bytes the text begins with that a number may have; at most 40.
fn number_length(text: &str) -> usize {
    let may = |byte: &u8| byte.is_ascii_digit() || b".e+-".contains(byte);
    text.bytes().take(40).take_while(|byte| may(byte)).count()
}

/// The number that a text begins with, and what follows it.
fn prefix_float(text: &str) -> Option<(f64, &str)> {
    let text = text.trim_start();
    let sign = usize::from(text.starts_with(['+', '-']));
    for (word, value) in [("infinity", f64::INFINITY), ("inf", f64::INFINITY), ("nan", f64::NAN)] {
        let length = word.len();
        if text[sign..].get(..length).is_some_and(|start| start.eq_ignore_ascii_case(word)) {
            let value = if text.starts_with('-') { -value } else { value };
            return Some((value, &text[sign + length..]));
        }
    }
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let mut end = sign + digits(sign);
    let mut count = end - sign;
    if text[end..].starts_with('.') {
        let fraction = digits(end + 1);
        count += fraction;
        end += 1 + fraction;
    }
    if count == 0 {
        return None;
    }
    let mantissa_end = end;
    if text[end..].starts_with(['e', 'E']) {
        let signed = end + 1 + usize::from(text[end + 1..].starts_with(['+', '-']));
        let exponent = digits(signed);
        // RRDtool reads `1e` as 1.
        end = signed + exponent;
        if exponent == 0 {
            return Some((text[..mantissa_end].parse().ok()?, &text[end..]));
        }
    }
    Some((text[..end].parse().ok()?, &text[end..]))
}

fn float(text: &str, option: &str) -> Result<f64, SettingsError> {
    match prefix_float(text) {
        None => fail(format!("option {option} - Cannot convert '{text}' to float")),
        Some((number, "")) => Ok(number),
        Some((number, rest)) => fail(format!(
            "option {option} - Converted '{text}' to {number:.6}, but cannot convert '{rest}'"
        )),
    }
}

/// `a:b`.
fn two_floats(text: &str) -> Option<(f64, f64)> {
    let (first, second) = text.split_at(number_length(text));
    let second = second.strip_prefix(':')?;
    let second = &second[..number_length(second)];
    let whole =
        |text| prefix_float(text).filter(|(_, rest)| rest.is_empty()).map(|(number, _)| number);
    Some((whole(first)?, whole(second)?))
}
