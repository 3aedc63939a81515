//! The table of ACS: what was published, and the same for a component, which was left blank.

/// Where the text of the records goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// Lines with time, level and names to standard output.
    Stdout,
    /// Lines with time, level and names to a file.
    File,
    /// The messages alone to standard output.
    PlainStdout,
    /// The messages alone to a file.
    PlainFile,
    /// Nowhere: records are read and counted.
    NoOp,
}

impl Output {
    const ALL: [Output; 5] =
        [Output::Stdout, Output::File, Output::PlainStdout, Output::PlainFile, Output::NoOp];

    /// The name of the row in the tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Output::Stdout => "stdout",
            Output::File => "file",
            Output::PlainStdout => "plain stdout",
            Output::PlainFile => "plain file",
            Output::NoOp => "no-op",
        }
    }

    /// The row of a name.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|output| output.name() == name)
    }
}

/// What ACS was measured to need, in µs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Published {
    pub(crate) total_us: f64,
    pub(crate) mean_us: f64,
    pub(crate) min_us: f64,
    pub(crate) max_us: f64,
}

/// A line of the table.  Some numbers of rows stand for two lines, as published: without the proxy,
/// and with it but without the central logger.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Row {
    /// 1 to 36.
    pub(crate) number: u8,
    /// A container with many loggers, instead of a client.
    pub(crate) is_component: bool,
    /// Whether ten threads log (or as many as the plan says), instead of one.
    pub(crate) has_threads: bool,
    pub(crate) output: Output,
    pub(crate) has_proxy: bool,
    pub(crate) has_central: bool,
    /// Nobody waits for an acknowledgement.
    pub(crate) is_oneway: bool,
    /// `None`: left blank.
    pub(crate) published: Option<Published>,
}

/// Rows of a client; those of a component have numbers that are larger by this.
const CLIENT_ROWS: u8 = 18;

/// How records leave the process: proxy, central logger, oneway.
const LOCAL: [bool; 3] = [false, false, false];
const PROXY: [bool; 3] = [true, false, false];
const CENTRAL: [bool; 3] = [true, true, false];
const ONEWAY: [bool; 3] = [true, true, true];

/// Row, ten threads, output, way; total, mean, min and max in µs, for 10,000 logs.
type PublishedRow = (u8, bool, Output, [bool; 3], [f64; 4]);

/// What was published.
const PUBLISHED: [PublishedRow; 22] = [
    (1, false, Output::Stdout, LOCAL, [18_380.0, 1.8, 1.6, 308.0]),
    (1, false, Output::Stdout, PROXY, [601_893.0, 60.1, 5.9, 525.8]),
    (2, false, Output::Stdout, CENTRAL, [681_522.0, 68.1, 52.8, 531.7]),
    (3, false, Output::Stdout, ONEWAY, [337_458.0, 33.7, 19.2, 353.4]),
    (4, false, Output::File, LOCAL, [18_639.0, 1.8, 1.6, 295.0]),
    (4, false, Output::File, PROXY, [548_046.0, 54.8, 6.3, 783.2]),
    (5, false, Output::File, CENTRAL, [619_841.0, 61.9, 52.5, 946.9]),
    (6, false, Output::File, ONEWAY, [320_333.0, 32.0, 16.8, 393.5]),
    (7, false, Output::PlainStdout, LOCAL, [18_841.0, 1.8, 0.8, 447.9]),
    (8, false, Output::PlainFile, LOCAL, [21_358.0, 2.1, 1.4, 332.8]),
    (9, false, Output::NoOp, LOCAL, [834.0, 0.1, 0.02, 95.2]),
    (10, true, Output::Stdout, LOCAL, [64_520.0, 6.4, 1.7, 610.9]),
    (10, true, Output::Stdout, PROXY, [1_415_860.0, 141.5, 4.9, 12_617.4]),
    (11, true, Output::Stdout, CENTRAL, [2_950_060.0, 294.9, 66.3, 5_005.3]),
    (12, true, Output::Stdout, ONEWAY, [958_351.0, 95.8, 16.7, 65_872.4]),
    (13, true, Output::File, LOCAL, [63_096.0, 6.3, 1.7, 1_007.8]),
    (13, true, Output::File, PROXY, [930_486.0, 93.0, 6.8, 15_150.4]),
    (14, true, Output::File, CENTRAL, [2_319_040.0, 231.8, 54.7, 5_164.8]),
    (15, true, Output::File, ONEWAY, [660_748.0, 66.0, 15.3, 67_563.6]),
    (16, true, Output::PlainStdout, LOCAL, [301_182.0, 30.1, 0.8, 1_655.3]),
    (17, true, Output::PlainFile, LOCAL, [210_906.0, 21.1, 1.5, 285.3]),
    (18, true, Output::NoOp, LOCAL, [2_409.0, 0.2, 0.02, 257.8]),
];

/// All lines: those that were published, and the same for a component.
pub(crate) fn all() -> Vec<Row> {
    let row = |(number, has_threads, output, way, times): PublishedRow| {
        let [has_proxy, has_central, is_oneway] = way;
        let [total_us, mean_us, min_us, max_us] = times;
        Row {
            number,
            is_component: false,
            has_threads,
            output,
            has_proxy,
            has_central,
            is_oneway,
            published: Some(Published { total_us, mean_us, min_us, max_us }),
        }
    };
    let client: Vec<Row> = PUBLISHED.map(row).into();
    let component = client.iter().map(|row| Row {
        number: row.number + CLIENT_ROWS,
        is_component: true,
        published: None,
        ..*row
    });
    let component: Vec<Row> = component.collect();
    [client, component].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_as_published() {
        let rows = all();
        let numbers: std::collections::BTreeSet<u8> = rows.iter().map(|row| row.number).collect();
        assert!(numbers.into_iter().eq(1..=36));
        for row in &rows {
            assert!(row.has_proxy || !row.has_central, "{row:?}");
            assert!(row.has_central || !row.is_oneway, "{row:?}");
            assert_eq!(row.is_component, row.number > 18, "{row:?}");
            assert_eq!(Output::of_name(row.output.name()), Some(row.output));
            let Some(published) = row.published else { continue };
            // The mean was published as the total divided by 10,000 logs.
            assert!((published.total_us / 10_000.0 - published.mean_us).abs() < 0.15, "{row:?}");
            assert!(published.min_us <= published.mean_us && published.mean_us < published.max_us);
        }
    }
}
