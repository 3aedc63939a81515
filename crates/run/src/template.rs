//! The command line as a template: replacement strings, and what they become for each job.
