//! Fault tests: killed writers, full disks, damaged files. Writers run in separate processes: this
//! program, started again with a task in its environment.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tests panic to fail; clippy exempts only `#[test]` functions, and these are not"
)]

mod damage;
mod disk;
mod flips;
mod formats;
mod killed;
mod reads;
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
    let mut add = |name: &str, enabled: bool, case: fn()| {
        let trial = Trial::test(name, move || {
            case();
            Ok(())
        });
        trials.push(trial.with_ignored_flag(!enabled));
    };
    add(
        "every_acknowledged_append_survives_kills",
        true,
        killed::every_acknowledged_append_survives_kills,
    );
    add("several_processes_write_at_once", true, killed::several_processes_write_at_once);
    add(
        "a_torn_write_ahead_log_loses_no_complete_append",
        true,
        damage::a_torn_write_ahead_log_loses_no_complete_append,
    );
    add(
        "a_damaged_page_is_reported_and_the_rest_is_readable",
        true,
        damage::a_damaged_page_is_reported_and_the_rest_is_readable,
    );
    add("a_flipped_bit_in_a_message_is_found", true, damage::a_flipped_bit_in_a_message_is_found);
    add(
        "a_flipped_bit_in_the_search_index_is_found",
        true,
        flips::a_flipped_bit_in_the_search_index_is_found,
    );
    add("a_damaged_definition_is_found", true, flips::a_damaged_definition_is_found);
    add(
        "every_flipped_bit_that_matters_is_found",
        true,
        flips::every_flipped_bit_that_matters_is_found,
    );
    add(
        "a_flipped_bit_in_any_value_is_found_or_has_no_effect",
        true,
        flips::a_flipped_bit_in_any_value_is_found_or_has_no_effect,
    );
    add(
        "a_damaged_row_does_not_stop_an_export",
        true,
        flips::a_damaged_row_does_not_stop_an_export,
    );
    add(
        "damage_costs_no_more_than_what_it_hits",
        true,
        flips::damage_costs_no_more_than_what_it_hits,
    );
    add(
        "a_damaged_format_is_named_and_the_log_exported",
        true,
        flips::a_damaged_format_is_named_and_the_log_exported,
    );
    add(
        "a_damaged_record_of_changed_files_is_refused",
        true,
        damage::a_damaged_record_of_changed_files_is_refused,
    );
    add("erased_text_is_gone_from_the_files", true, damage::erased_text_is_gone_from_the_files);
    add(
        "no_writes_are_accepted_after_a_failed_write",
        cfg!(unix),
        disk::no_writes_are_accepted_after_a_failed_write,
    );
    add(
        "a_full_disk_is_reported_and_survived",
        disk::can_mount(),
        disk::a_full_disk_is_reported_and_survived,
    );
    add("a_read_only_file_opens_for_reading", cfg!(unix), disk::a_read_only_file_opens_for_reading);
    add("a_locked_file_is_reported", true, disk::a_locked_file_is_reported);
    add("a_deleted_file_is_reported", cfg!(unix), disk::a_deleted_file_is_reported);
    add("a_fifo_is_refused", cfg!(unix), disk::a_fifo_is_refused);
    add("files_that_are_not_logs_are_refused", true, formats::files_that_are_not_logs_are_refused);
    add("a_newer_format_is_refused", true, formats::a_newer_format_is_refused);
    add("a_file_of_every_format_opens", true, formats::a_file_of_every_format_opens);
    add("a_very_long_session_works", true, size::a_very_long_session_works);
    add(
        "connecting_to_a_hanging_server_times_out",
        true,
        server::connecting_to_a_hanging_server_times_out,
    );
    add("an_unreachable_server_is_reported", true, server::an_unreachable_server_is_reported);
    add(
        "a_lost_connection_is_reported_and_recovers",
        server.is_some(),
        server::a_lost_connection_is_reported_and_recovers,
    );
    add(
        "a_newer_format_on_a_server_is_refused",
        server.is_some(),
        server::a_newer_format_on_a_server_is_refused,
    );
    add(
        "a_damaged_index_on_a_server_is_found",
        server.is_some(),
        server::a_damaged_index_on_a_server_is_found,
    );
    add(
        "a_changed_value_on_a_server_is_found",
        server.is_some(),
        server::a_changed_value_on_a_server_is_found,
    );
    add("a_schema_of_every_format_opens", server.is_some(), server::a_schema_of_every_format_opens);
    libtest_mimic::run(&arguments, trials).exit();
}
