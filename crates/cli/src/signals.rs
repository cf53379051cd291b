//! Signals that end a turn or the program.

use tokio::signal::unix::{SignalKind, signal};

/// Exits on SIGTERM or SIGHUP and restores the terminal. Nothing is lost: every message is in the
/// log already.
pub fn end_when_told() {
    let stdin = std::io::stdin();
    let before = rustix::termios::tcgetattr(&stdin).ok();
    tokio::spawn(async move {
        let (Ok(mut terminate), Ok(mut hangup)) =
            (signal(SignalKind::terminate()), signal(SignalKind::hangup()))
        else {
            return;
        };
        let number = tokio::select! {
            _ = terminate.recv() => 15,
            _ = hangup.recv() => 1,
        };
        if let Some(before) = before {
            let _ =
                rustix::termios::tcsetattr(&stdin, rustix::termios::OptionalActions::Now, &before);
        }
        std::process::exit(128 + number);
    });
}

/// Waits for Ctrl-C.
pub async fn interrupted() {
    drop(tokio::signal::ctrl_c().await);
}

/// Waits for Ctrl-C, SIGTERM or SIGHUP.
pub async fn stopped() {
    let (Ok(mut terminate), Ok(mut hangup)) =
        (signal(SignalKind::terminate()), signal(SignalKind::hangup()))
    else {
        return drop(tokio::signal::ctrl_c().await);
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
}
