//! Signals that end a turn or the program.

use tokio::signal::unix::{SignalKind, signal};

/// Exits on SIGTERM or SIGHUP, after `last` has run, and restores the terminal. Nothing is lost:
/// every message is in the log already.
pub fn exit_on_signal(last: impl FnOnce() + Send + 'static) {
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
        // The signal must end the program even if the last work fails.
        drop(tokio::task::spawn_blocking(last).await);
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
