//! Jobs that fail, what becomes of the others, and going on after a joblog.

use super::Line;

const CODES: &[&str] = &["0", "0", "1", "2", "3", "7", "101", "255"];

impl Line<'_> {
    /// What changes nothing to be seen, but has to be understood.
    pub(super) fn harmless(&mut self) {
        if self.random.percent(12) {
            let text = self.random.one_of(&[
                "--delay 0.001",
                "--timeout 20",
                "--nice 1",
                "--retries 1",
                "--no-notice",
                "--will-cite",
                "--halt never",
                "--noswap",
                "--term-seq TERM,50,KILL,25",
                "--shuf-not",
            ]);
            if text != "--shuf-not" {
                self.option(text);
            }
        }
        if self.random.percent(8) {
            let text = self.random.one_of(&["--trim l", "--trim r", "--trim lr", "--trim n"]);
            self.option(text);
        }
        if self.random.percent(5) {
            self.option("-r");
        }
    }

    /// Jobs that fail, and what becomes of the others.
    pub(super) fn failing(&mut self) {
        self.serial = true;
        let values: Vec<&str> =
            (0..2 + self.random.index(5)).map(|_| self.random.one_of(CODES)).collect();
        self.source(&[":::"]);
        self.source(&values);
        let text = self.random.one_of(&[
            "exit {}",
            "echo {}; exit {}",
            "test {} = 0",
            "if [ {} = 3 ]; then kill -9 $$; fi; echo {}",
            "if [ {} = 2 ]; then kill -TERM $$; fi; exit {}",
            "sh -c 'exit {}'",
            "false",
        ]);
        self.command = vec![text.to_owned()];
        if self.random.percent(75) {
            let when = self.random.one_of(&["now", "soon"]);
            let what = self.random.one_of(&["fail", "success", "done"]);
            let limit = self.random.one_of(&["1", "2", "3", "30%", "50%", "100%"]);
            let halt = format!("{when},{what}={limit}");
            let old = self.random.one_of(&["0", "1", "2", "-1", "-2", "40%"]);
            let text = if self.random.percent(20) { old.to_owned() } else { halt };
            self.options.extend(["--halt".to_owned(), text]);
        } else {
            self.serial = self.random.percent(50);
        }
        if self.random.percent(20) {
            let option = self.random.one_of(&["--retries 2", "--retries 3"]);
            self.option(option);
            self.output();
            // What parallel shows of an attempt that failed is what it saw before its end: this
            // depends on the time it took.
            self.options.retain(|option| option != "--lb");
        } else {
            self.output();
        }
    }

    /// Going on after a joblog.
    pub(super) fn going_on(&mut self) {
        self.serial = true;
        let option =
            self.random.one_of(&["--resume", "--resume-failed", "--retry-failed", "--joblog +log"]);
        self.option(option);
        if option != "--joblog +log" {
            self.option("--joblog log");
        }
        self.source(&[":::", "1", "2", "3", "4"]);
        let text = self.random.one_of(&["echo {}", "exit {}", "echo", "echo {} {#}"]);
        self.command = vec![text.to_owned()];
    }
}
