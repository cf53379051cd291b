//! What happens when things break: killed writers, full disks, damaged files. Writers run in
//! processes of their own: this program started again with a task in its environment.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test fails by panicking; the cases are no `#[test]` functions, so the lints do not know"
)]

mod damage;
mod disk;
mod formats;
mod killed;
mod server;
mod size;
mod writer;

use libtest_mimic::{Arguments, Trial};

fn main() {
    if let Ok(task) = std::env::var(writer::TASK) {
        return writer::run(&task);
    }
    let arguments = Arguments::from_args();
    let server = std::env::var("WATERLINE_TEST_POSTGRES").ok();
    let mut trials = Vec::new();
    let mut add = |name: &str, there: bool, case: fn()| {
        let trial = Trial::test(name, move || {
            case();
            Ok(())
        });
        trials.push(trial.with_ignored_flag(!there));
    };
    add(
        "every_acknowledged_append_survives_kills",
        true,
        killed::every_acknowledged_append_survives_kills,
    );
    add("several_processes_write_at_once", true, killed::several_processes_write_at_once);
    add(
        "a_torn_write_ahead_log_loses_no_whole_append",
        true,
        damage::a_torn_write_ahead_log_loses_no_whole_append,
    );
    add(
        "a_damaged_page_is_told_and_the_rest_stays_readable",
        true,
        damage::a_damaged_page_is_told_and_the_rest_stays_readable,
    );
    add("a_flipped_bit_in_a_message_is_found", true, damage::a_flipped_bit_in_a_message_is_found);
    add(
        "erased_words_are_nowhere_in_the_files",
        true,
        damage::erased_words_are_nowhere_in_the_files,
    );
    add(
        "after_a_failed_write_nothing_more_is_written",
        cfg!(unix),
        disk::after_a_failed_write_nothing_more_is_written,
    );
    add(
        "a_full_disk_is_told_and_survived",
        disk::can_mount(),
        disk::a_full_disk_is_told_and_survived,
    );
    add(
        "a_file_without_permission_is_read_and_not_written",
        cfg!(unix),
        disk::a_file_without_permission_is_read_and_not_written,
    );
    add("a_locked_file_is_told", true, disk::a_locked_file_is_told);
    add("files_that_are_no_logs_are_refused", true, formats::files_that_are_no_logs_are_refused);
    add("a_newer_format_is_refused", true, formats::a_newer_format_is_refused);
    add("a_file_of_every_format_opens", true, formats::a_file_of_every_format_opens);
    add("a_very_long_session", true, size::a_very_long_session);
    add("a_server_that_hangs_is_given_up", true, server::a_server_that_hangs_is_given_up);
    add("a_server_that_is_not_there_is_told", true, server::a_server_that_is_not_there_is_told);
    add(
        "a_lost_connection_is_told_and_comes_back",
        server.is_some(),
        server::a_lost_connection_is_told_and_comes_back,
    );
    add(
        "a_newer_format_on_a_server_is_refused",
        server.is_some(),
        server::a_newer_format_on_a_server_is_refused,
    );
    add("a_schema_of_every_format_opens", server.is_some(), server::a_schema_of_every_format_opens);
    libtest_mimic::run(&arguments, trials).exit();
}
