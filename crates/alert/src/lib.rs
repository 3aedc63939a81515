//! Alerts: rules over recorded series, their states, and messages to people.
//!
//! A rule is a condition of PromQL ([`AlertRule`]).  An [`AlertBook`] has the states of all rules and the
//! messages that are not delivered yet; a step takes the newest samples in, and reads no clock.  Missing
//! samples neither begin nor end an alert.  [`AlertRun`] takes steps, keeps the book in a file, and
//! delivers: by mail, to a web hook, to a command, to syslog.
//!
//! Uses `promql`, `archive` for the heaviest processes, `log_store` for log records, `graph` for pictures,
//! `connection` and `http_client`.  Begin with
//! `rule.rs` and `book.rs`, then `run.rs` and `deliver.rs`.
#![forbid(unsafe_code)]

mod book;
mod clock;
mod command;
mod deliver;
mod delivery;
mod heaviest;
mod log_lines;
mod mail;
mod message;
mod parts;
mod picture;
mod receiver;
mod replay;
mod rule;
mod rule_state;
mod run;
mod shown;
mod silence;
mod state;
mod surroundings;
mod syslog;
mod value_picture;
mod webhook;

pub use book::{AlertBook, AlertDelivery};
pub use clock::now_ms;
pub use deliver::AlertDeliverer;
pub use delivery::{DeliveryError, MailEncryption, MailSettings, WebhookSettings};
pub use heaviest::heaviest_lines;
pub use log_lines::log_lines;
pub use message::AlertMessage;
pub use picture::AlertPicture;
pub use receiver::{AlertReceiver, SyslogPlace};
pub use replay::{recorded_period, replay, replay_text};
pub use rule::{AlertRule, AlertUntil, default_rules};
pub use run::{AlertRun, AlertRunError, AlertRunSettings};
pub use shown::{firing_alerts, firing_text, shown_alerts};
pub use silence::SilenceTime;
pub use state::STATE_FILE;
pub use surroundings::AlertSurroundings;
