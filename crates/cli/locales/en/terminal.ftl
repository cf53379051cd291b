### The screen: approvals, calls, the footer, what the agent is doing.

## terminal/activity.rs

activity-retrying = retrying
activity-reading = reading { $tokens } tokens
activity-thinking = thinking
activity-thinking-count = thinking, { $count ->
    [one] { $count } character
   *[other] { $count } characters
}
activity-writing = writing { $tool }
activity-writing-count = writing { $tool }, { $count ->
    [one] { $count } character
   *[other] { $count } characters
}
activity-table = writing a table

## terminal/arguments.rs

call-todos = { $count ->
    [one] { $count } task
   *[other] { $count } tasks
}
call-changed = Changed: { $files }
call-more-files = { $count ->
    [one] { $count } more file
   *[other] { $count } more files
}
diff-more-lines = … { $count ->
    [one] { $count } more line
   *[other] { $count } more lines
}, /unfold { $number } shows all
call-more-lines = … { $count ->
    [one] { $count } more line
   *[other] { $count } more lines
}

## terminal/asking.rs

approval-more-lines = … { $count ->
    [one] { $count } more line; v shows it
   *[other] { $count } more lines; v shows them
}
approval-question = [y]es, [n]o, or type what to do instead
approval-question-command = [y]es, [n]o, [a]lways allow this command, or type what to do instead
approval-question-tool = [y]es, [n]o, [a]lways allow this tool, or type what to do instead
approval-question-protected = [y]es, [n]o, [a]lways allow it for this file, or type what to do instead
approval-question-directory = [y]es for this session, [n]o, [a]lways in this directory, or type what to do instead
question-prompt = Answer (leave empty to answer later):

## terminal/command_menu.rs

menu-more = … { $count } more

## terminal/footer.rs

footer-in = in { $time }
footer-seconds = { $seconds } s
footer-minutes = { $minutes } min { $seconds } s
footer-more = … { $count } more

## terminal/front_end.rs

call-cancelled = cancelled
hook-failed = { $middleware }: { $hook } failed: { $why }

## terminal/line.rs

input-not-text = standard input is not UTF-8 text

## terminal/screen.rs

approval-too-late = Too late: the call was already refused
queued-command = { $command } waits until the turn ends
