//! Input sources: arguments, files and streams, combined into records and packed into work.
