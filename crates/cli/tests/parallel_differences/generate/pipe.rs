//! Input in blocks.

use super::Line;
use super::input::{FILE_NAMES, file};

impl Line<'_> {
    /// Input in blocks.
    pub(super) fn piped(&mut self) {
        self.stdin = file(self.random.one_of(FILE_NAMES)).to_owned();
        if self.random.percent(40) {
            self.stdin = (1..=30).map(|number| format!("line {number}\n")).collect();
        }
        self.option("--pipe");
        let text = self.random.one_of(&[
            "--block 10",
            "--block 50",
            "--block 1k",
            "-N 1",
            "-N 3",
            "-N 2 --block 20",
            "--block 1M",
            "--recend ; --block 30",
            "--recstart line --block 40",
            "--rrs -N 2",
            "-L 2 --block 40",
        ]);
        self.option(text);
        let command = self.random.one_of(&["cat", "wc", "echo {#}; cat", "tr a-z A-Z", "wc -l"]);
        self.command = vec![command.to_owned()];
        self.output();
        if self.random.percent(30) {
            let name = self.random.one_of(&["--cat", "--fifo"]);
            self.option(name);
            let commands =
                ["cat {}", "cat", "wc -l <{}", "{ cat {}; echo {#}; }", "cat {}; exit {#}"];
            self.command = vec![self.random.one_of(&commands).to_owned()];
        }
    }
}
