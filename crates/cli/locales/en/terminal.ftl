### The screen: approvals, calls, the footer, what the agent is doing.

## terminal/activity.rs

activity-retrying = retrying
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
    [one] { $count } todo
   *[other] { $count } todos
}
call-more-lines = … { $count ->
    [one] { $count } more line
   *[other] { $count } more lines
}

## terminal/asking.rs

approval-question = [y]es, [n]o, or type what to do instead
approval-question-command = [y]es, [n]o, [a]lways allow this command, or type what to do instead
approval-question-tool = [y]es, [n]o, [a]lways allow this tool, or type what to do instead
question-prompt = Answer (leave empty to answer later):

## terminal/footer.rs

footer-in = in { $time }
footer-seconds = { $seconds } s
footer-minutes = { $minutes } min { $seconds } s
footer-more = … { $count } more

## terminal/front_end.rs

approval-no-reply = no one available to approve it
hook-failed = { $middleware }: { $hook } failed: { $why }

## terminal/line.rs

input-not-text = standard input is not UTF-8 text

## terminal/screen.rs

approval-too-late = Too late: the call was already refused
queued-command = { $command } waits until the turn ends
