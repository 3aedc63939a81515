//! The comments of a page that programs read: `<!-- maxin d 1234 -->`.
//!
//! The next run reads them too, for the periods whose pictures it does not draw again.

use super::{PagePeriod, Summary};

/// Lines of a page that are looked at; the comments stand near its beginning.
const LINES_MAX: usize = 200;

/// The comments of a period.
pub(super) fn write(out: &mut String, period: PagePeriod, summary: &Summary) {
    let letter = period.letter();
    let mut put = |name: &str, value: i64| {
        out.push_str(&format!("<!-- {name} {letter} {value} -->\n"));
    };
    let percent = summary.percent;
    put("maxin", summary.max[0]);
    put("maxout", summary.max[1]);
    if let Some(percent) = percent {
        put("maxpercent", percent[0]);
    }
    put("avin", summary.mean[0]);
    put("avout", summary.mean[1]);
    if let Some(percent) = percent {
        put("avpercent", percent[1]);
    }
    put("cuin", summary.current[0]);
    put("cuout", summary.current[1]);
    if let Some(percent) = percent.filter(|percent| percent[2] != 0) {
        put("cupercent", percent[2]);
    }
    if summary.mean_max[0] != 0 && summary.mean_max[1] != 0 {
        put("avmxin", summary.mean_max[0]);
        put("avmxout", summary.mean_max[1]);
    }
}

/// What an earlier page says about each period; what it leaves out of one is zero.
pub(super) fn read(page: &str) -> [Option<Summary>; 4] {
    let mut all = [None; 4];
    for line in page.lines().take(LINES_MAX) {
        let Some((name, letter, value)) = comment(line) else { continue };
        let Some(period) = PagePeriod::ALL.iter().position(|one| one.letter() == letter) else {
            continue;
        };
        let summary: &mut Summary = all[period].get_or_insert_default();
        match name {
            "maxin" => summary.max[0] = value,
            "maxout" => summary.max[1] = value,
            "avin" => summary.mean[0] = value,
            "avout" => summary.mean[1] = value,
            "cuin" => summary.current[0] = value,
            "cuout" => summary.current[1] = value,
            "avmxin" => summary.mean_max[0] = value,
            "avmxout" => summary.mean_max[1] = value,
            "maxpercent" => summary.percent.get_or_insert_default()[0] = value,
            "avpercent" => summary.percent.get_or_insert_default()[1] = value,
            "cupercent" => summary.percent.get_or_insert_default()[2] = value,
            _ => {}
        }
    }
    all
}

fn comment(line: &str) -> Option<(&str, char, i64)> {
    let rest = &line[line.find("<!-- ")? + 5..];
    let mut words = rest.split(' ');
    let (name, letter) = (words.next()?, words.next()?);
    let value = words.next()?.parse().ok().filter(|&value: &i64| value >= 0)?;
    Some((name, letter.chars().next()?, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let summary = Summary {
            max: [1, 2],
            mean: [3, 4],
            current: [5, 6],
            mean_max: [7, 8],
            percent: Some([9, 10, 11]),
        };
        let mut page = "<html>\n".to_owned();
        write(&mut page, PagePeriod::Month, &summary);
        page.push_str("<!-- maxin d -->\n<!-- maxout x 7 -->\n<!-- avin d -5 -->\n<!-- \n");
        let mut expected = [None; 4];
        expected[2] = Some(summary);
        assert_eq!(read(&page), expected);
    }
}
