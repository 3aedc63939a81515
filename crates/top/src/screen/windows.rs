//! Windows over the list: help, sort column, signal, and its confirmation.

use terminal::{Canvas, choice, keys_help, name as put_name};

use crate::app::{App, Prompt};
use crate::columns::Column;
use crate::keys::HELP;
use crate::kill::{SIGNALS, Target};

/// Draws the open window, if there is one.
pub(super) fn draw(app: &App, canvas: &mut Canvas<'_>) {
    match &app.prompt {
        Prompt::Help { first } => help(app, canvas, *first),
        Prompt::Sort { chosen } => {
            let lines: Vec<String> = Column::ALL
                .iter()
                .map(|column| {
                    let (name, about) = column.named();
                    format!("{name:<7}{about}")
                })
                .collect();
            choice(canvas, "Sort by: Up, Down, Enter", &lines, *chosen);
        }
        Prompt::Signal { targets, chosen } => {
            let title = target("Signal to", targets, canvas);
            let lines: Vec<String> =
                SIGNALS.iter().map(|(name, number)| format!("{number:>3} {name}")).collect();
            choice(canvas, &title, &lines, *chosen);
        }
        Prompt::Confirm { targets, chosen } => {
            let title = target(&format!("Send {} to", SIGNALS[*chosen].0), targets, canvas);
            choice(canvas, &title, &["y: yes".to_owned(), "any other key: no".to_owned()], 9);
        }
        Prompt::Setup { lines, chosen } => {
            let line = |(column, shown): &(Column, bool)| {
                let (name, about) = column.named();
                format!("[{}] {name:<8}{about}", if *shown { 'x' } else { ' ' })
            };
            let lines: Vec<String> = lines.iter().map(line).collect();
            let title = "Columns: Space shows, + - move, 0 usual, Enter keeps";
            choice(canvas, title, &lines, *chosen);
        }
        _ => {}
    }
}

fn target(what: &str, targets: &[Target], canvas: &mut Canvas<'_>) -> String {
    let [Target { pid, command, .. }] = targets else {
        return format!("{what} {} tagged processes", targets.len());
    };
    let mut text = format!("{what} {pid} ");
    let short = &command[..command.len().min(40)];
    put_name(&mut text, short, &mut canvas.bytes, canvas.theme.ascii);
    text
}

fn help(app: &App, canvas: &mut Canvas<'_>, first: usize) {
    let recorded = app.is_recorded();
    let is_here = |only: &Option<bool>| only.is_none_or(|only| only == recorded);
    let keys = HELP.iter().filter(|(_, _, only)| is_here(only));
    let keys: Vec<(&str, &str)> = keys.map(|(keys, about, _)| (*keys, *about)).collect();
    let title = "whit top: watch everything, weigh nothing (Up, Down; any key closes)";
    keys_help(canvas, title, &keys, first);
}
