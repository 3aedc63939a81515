//! File descriptors, and what they point to (`-y`).

use super::{DecodeContext, put, text};

impl DecodeContext<'_> {
    /// Writes a descriptor and, if asked for, what it points to.
    pub(crate) fn descriptor(&mut self, descriptor: i32) {
        self.signed_number(descriptor.into());
        // The number of the working directory means it only where a directory is asked for.
        if descriptor >= 0 {
            self.target_of(descriptor);
        }
    }

    /// Writes what a descriptor points to, if `-y` asks for it.
    pub(crate) fn target_of(&mut self, descriptor: i32) {
        if self.style.descriptors > 0
            && let Some(target) = self.lookup.target(descriptor)
        {
            self.put("<");
            // A target that is no path is text of the kernel or ours, and may have arrows in it.
            let is_path = target.path.starts_with(b"/");
            let is_plain = target.path.iter().all(|byte| matches!(byte, 0x20..0x7f));
            let deleted = target.path.strip_suffix(b" (deleted)").filter(|_| is_path);
            // What the link in `/proc` names is a string to strace.
            let links = [&b"/"[..], b"pipe:", b"anon_inode:", b"socket:"];
            let is_hex = self.style.hex_texts == 2
                && links.iter().any(|start| target.path.starts_with(start));
            if is_path || !is_plain || is_hex {
                let path = deleted.unwrap_or(&target.path);
                let quote = if is_hex { text::Quote::Hex } else { text::Quote::Angle };
                text::escape(path, quote, self.out);
            } else {
                self.out.extend_from_slice(&target.path);
            }
            if let Some(details) = target.details {
                put!(self, "<{details}>");
            }
            self.put(if deleted.is_some() { ">(deleted)" } else { ">" });
        }
    }
}
