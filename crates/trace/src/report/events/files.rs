//! Lines to a file for each task: `-ff`.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};

use super::writer::EventWriter;
use crate::engine::LiveDescriptors;
use crate::report::ReportError;
use crate::{EventKind, LineOptions, Memory, Printer, TraceEvent};

/// Most files that are open; a task beyond them makes all be closed, and each is opened again by
/// its next line.  Well below the usual limit of 1024 descriptors.
const OPEN_MAX: usize = 256;

/// The file of one task, and the printer of its lines.
struct TaskFile {
    printer: Printer,
    file: Option<BufWriter<File>>,
}

/// A file for each task: `NAME.NUMBER`.
pub struct TaskFileWriter {
    options: LineOptions,
    name: String,
    append: bool,
    descriptors: LiveDescriptors,
    files: HashMap<i32, TaskFile>,
    open: usize,
    is_hidden: bool,
}

impl TaskFileWriter {
    /// Opens no file yet, but checks that the first can be created.
    ///
    /// # Errors
    /// When no file can be created in the folder.
    pub fn new(options: LineOptions, name: &str, append: bool) -> Result<Self, ReportError> {
        let folder =
            std::path::Path::new(name).parent().filter(|path| path != &std::path::Path::new(""));
        let folder = folder.unwrap_or(std::path::Path::new("."));
        let what = format!("-o {name}: cannot write files in {}", folder.display());
        rustix::fs::access(folder, rustix::fs::Access::WRITE_OK)
            .map_err(|error| ReportError::system(what)(error.into()))?;
        Ok(TaskFileWriter {
            options,
            name: name.to_owned(),
            append,
            descriptors: LiveDescriptors { are_stopped: true },
            files: HashMap::new(),
            open: 0,
            is_hidden: false,
        })
    }

    /// Writes the lines of an event to the file of its task.
    fn write(&mut self, event: &TraceEvent, memory: &dyn Memory) -> io::Result<()> {
        let is_new = !self.files.contains_key(&event.thread);
        let has_file = self.files.get(&event.thread).is_some_and(|own| own.file.is_some());
        if !has_file {
            if self.open >= OPEN_MAX {
                self.close_files()?;
            }
            let file = self.file(event.thread, self.append || !is_new)?;
            self.open += 1;
            let options = &self.options;
            let own = self.files.entry(event.thread);
            let new = || TaskFile { printer: Printer::new(options.clone()), file: None };
            own.or_insert_with(new).file = Some(BufWriter::new(file));
        }
        let Some(own) = self.files.get_mut(&event.thread) else { return Ok(()) };
        let Some(file) = &mut own.file else { return Ok(()) };
        let written = own.printer.event(event, memory, &self.descriptors, file);
        self.is_hidden = own.printer.hid_call();
        written
    }

    fn file(&self, thread: i32, append: bool) -> io::Result<File> {
        let name = format!("{}.{thread}", self.name);
        let mut options = OpenOptions::new();
        options.create(true).append(append).write(true).truncate(!append);
        let failed = |error: io::Error| {
            io::Error::new(error.kind(), format!("-o {name}: cannot be written: {error}"))
        };
        options.open(&name).map_err(failed)
    }

    fn close_files(&mut self) -> io::Result<()> {
        for own in self.files.values_mut() {
            if let Some(mut file) = own.file.take() {
                file.flush()?;
            }
        }
        self.open = 0;
        Ok(())
    }

    /// A thread other than the first has called `execve`, and has the number of its process from
    /// now on: its file continues under that number.
    fn supersede(
        &mut self,
        event: &TraceEvent,
        former: i32,
        memory: &dyn Memory,
    ) -> io::Result<()> {
        self.write(event, memory)?;
        self.forget(event.thread)?;
        let Some(mut own) = self.files.remove(&former) else { return Ok(()) };
        let mut text = Vec::new();
        own.printer.event(event, memory, &self.descriptors, &mut text)?;
        if let Some(file) = &mut own.file {
            // The message about it is in the file of the process.
            let broken = text.split_inclusive(|byte| *byte == b'\n').next();
            let broken = broken.filter(|line| line.ends_with(b"<unfinished ...>\n"));
            file.write_all(broken.unwrap_or_default())?;
        }
        self.files.insert(event.thread, own);
        Ok(())
    }

    fn forget(&mut self, thread: i32) -> io::Result<()> {
        if let Some(TaskFile { file: Some(mut file), .. }) = self.files.remove(&thread) {
            self.open -= 1;
            file.flush()?;
        }
        Ok(())
    }
}

impl EventWriter for TaskFileWriter {
    fn event(&mut self, event: &TraceEvent, memory: &dyn Memory) -> io::Result<()> {
        match event.what {
            EventKind::Superseded { former } => self.supersede(event, former, memory),
            EventKind::Ended(_) | EventKind::Detached => {
                self.write(event, memory)?;
                self.forget(event.thread)
            }
            // The file is created with the first line.
            EventKind::Began { .. } => Ok(()),
            _ => self.write(event, memory),
        }
    }

    fn hid_call(&mut self) -> bool {
        self.is_hidden
    }

    fn set_exact(&mut self, is_exact: bool) {
        self.descriptors = LiveDescriptors { are_stopped: is_exact };
    }

    fn attached(&mut self, _thread: i32) {}

    fn give_up(&mut self, thread: i32) {
        if let Some(own) = self.files.get_mut(&thread) {
            own.printer.give_up(thread);
        }
    }

    fn idle(&mut self) -> io::Result<()> {
        self.files.values_mut().filter_map(|own| own.file.as_mut()).try_for_each(Write::flush)
    }

    fn detach(&mut self) -> io::Result<()> {
        for own in self.files.values_mut() {
            if let Some(file) = &mut own.file {
                own.printer.detach(file)?;
            }
        }
        Ok(())
    }

    fn output(&mut self) -> Option<&mut dyn Write> {
        None
    }

    fn close(mut self: Box<Self>) -> Result<(), ReportError> {
        Ok(self.close_files()?)
    }
}
