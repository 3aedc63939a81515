//! Words of a description that pictures of whit's own share: colours, texts of legends, bands, sums.

/// Colours that the colour-blind tell apart (Okabe and Ito, 2008).
pub const COLOURS: [&str; 7] =
    ["0072B2", "D55E00", "009E73", "CC79A7", "E69F00", "56B4E9", "999999"];

/// A text of a legend: none of its characters means something to a description.
#[must_use]
pub fn legend_text(text: &str) -> String {
    text.replace('\\', "\\\\").replace(':', "\\:")
}

/// The words for a band from the smallest to the largest value of the column `s{place}`.
pub fn push_band(words: &mut Vec<String>, (at, place): (usize, usize), colour: &str) {
    words.extend([
        format!("DEF:a{at}=:s{place}:MIN"),
        format!("DEF:b{at}=:s{place}:MAX"),
        format!("CDEF:d{at}=b{at},a{at},-"),
        format!("AREA:a{at}"),
        format!("AREA:d{at}#{colour}40::STACK"),
    ]);
}

/// The words for what the legend says of the values of `v{at}`.
pub fn push_sums(words: &mut Vec<String>, at: usize) {
    for (function, label) in [("MINIMUM", "least"), ("AVERAGE", "mean"), ("MAXIMUM", "most")] {
        words.push(format!("VDEF:{function}{at}=v{at},{function}"));
        words.push(format!("GPRINT:{function}{at}:{label} %6.2lf%s"));
    }
    words.push(format!("VDEF:LAST{at}=v{at},LAST"));
    words.push(format!("GPRINT:LAST{at}:last %6.2lf%s\\l"));
}
