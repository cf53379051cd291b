### The commands of `waterline chat` and what they answer.

## Descriptions of the commands, in the order of /help

command-help = List the commands and keys, or explain one command
command-status = Show the status of the session
command-current = Show the session, its messages, its workspace and its sub-agents
command-context = Show what is in the context; summary: the summaries of folded messages; why N: why message N is in it or not; pin N: keep message N in every fold; clear: empty it; undo: undo the last fold or clear
command-compact = Fold the context now: shows what would change, then asks; FOCUS names what to keep, as in /compact the open bugs: the messages that match it best stay whole, and a summary by a model covers it
command-config = Show the settings, or change one for this session
command-sessions = List the sessions
command-load = Switch to another session
command-resume = Resume an interrupted turn
command-fork = Continue in a fork of the session, from here or from after message N
command-undo = Undo the last turn, or the last N, with the files they changed; /redo restores them
command-redo = Reverse the last /undo or /restore; repeat to go further
command-branches = List the branches of this session; with an ID, switch to one
command-checkpoints = List the checkpoints of this session
command-restore = Restore the messages, the state and the files of checkpoint N; /redo reverses this
command-memory = List, search or change what later sessions remember
command-recall = Search all messages of this session
command-skill = List the skills, turn one on, or turn it off
command-tools = List the tools and whether the model can use them
command-allow-dir = Let the agent access this directory too, in this session; DIR:ro for read-only access
command-allow-host = Allow commands to reach this host, in this session: crates.io, *.pypi.org, localhost:8080
command-todos = Show the task list
command-unfold = Show call N, or the last one, in full (Ctrl-O)
command-artifact = List the long outputs of this session, or show one, from LINE or all of it
command-clean = Delete workspaces and sessions that have not been used for a long time; asks first
command-clear = Start with an empty context; nothing is deleted (/context undo restores it)
command-reset = Start a new session
command-cancel = Stop the running turn, or cancel a pending question or approval
command-steer = Send a message to the running turn; between turns it is sent as usual
command-model = Show the model and the available ones; with a NAME, switch to it; prefer NAME uses it in new sessions, prefer session NAME whenever this session is opened
command-cost = Show the tokens and the price of this session and its sub-agents
command-export = Write this session to a file: JSON lines, or Markdown if it is FILE.md
command-quit = Quit; the session is kept

## chat/commands/mod.rs

usage = Usage: { $synopsis }
unknown-command = Unknown command /{ $name }; /help lists the commands
unknown-command-suggestion = Unknown command /{ $name }; did you mean /{ $suggestion }?

## chat/commands/branches.rs

branches-no-match = { $prefix } matches no branch, or more than one; /branches lists them
branches-size = { $count ->
    [one] { $count } message
   *[other] { $count } messages
} ({ $shared } shared)
branches-interrupted = interrupted answer: { $message }

## chat/commands/cancel.rs

cancel-done = Cancelled
cancel-nothing = Nothing is running

## chat/commands/checkpoints.rs, command/sessions/checkpoints.rs

checkpoints-none = No checkpoints

## chat/commands/clean.rs

chat-clean-nothing = Nothing to clean
chat-clean-question = Delete { $what }?
chat-clean-workspaces = { $count ->
    [one] 1 workspace
   *[other] { $count } workspaces
} unused for { $days ->
    [one] 1 day
   *[other] { $days } days
}
chat-clean-sessions = { $count ->
    [one] 1 session
   *[other] { $count } sessions
} unused for { $days ->
    [one] 1 day
   *[other] { $days } days
}
chat-clean-both = { $workspaces } and { $sessions }
chat-clean-done = Deleted
chat-clean-declined = Nothing was deleted

## chat/old_sessions.rs

old-sessions = { $count ->
        [one] 1 session has
       *[other] { $count } sessions have
    } not been used for { $days } days; delete them with /clean or `waterline sessions clean`
old-sessions-more = { "  " }and { $count } more
old-sessions-question = { $count ->
        [one] 1 session has
       *[other] { $count } sessions have
    } not been used for { $days } days. Delete? [y/N/never]

## chat/commands/clear.rs

clear-done = The context is empty; all messages are kept, and /recall finds them

## chat/commands/compact.rs

compact-nothing = Nothing to fold
compact-too-little = Nothing worth folding: it would free only { $freed } of { $before } tokens. /compact FOCUS folds anyway and keeps what is about FOCUS
compact-declined = Nothing was folded
compact-question = Fold?
compact-totals = { $before } → { $after } tokens: { $kept ->
    [one] { $kept } message is unchanged
   *[other] { $kept } messages are unchanged
}{ $shortened ->
    [0] {""}
   *[other] , { $shortened } shortened
}{ $omitted ->
    [0] {""}
   *[other] , { $omitted } omitted
}; nothing is deleted
compact-row = { $messages }: { $treatment } – { $reason }
compact-more-slots = … { $count } more
compact-replacement = The model will read instead:
compact-summary-by-model = A model will write the summary
compact-more-lines = … { $count ->
    [one] { $count } more line
   *[other] { $count } more lines
}; after the fold, /context summary shows all, and /context why N where message N went

## chat/commands/config.rs

setting-policy-keys = Any key of the policy can be set too: `waterline policy show NAME` lists them
setting-other-policy = { $key } belongs to the policy { $preset }, but { $policy } is in use; switch with /config policy { $preset }
setting-not-set = not set
setting-unknown = No setting is named { $key }; the settings are { $settings }, and the keys of the policy
setting-steps-invalid = agent.steps = { $value } is invalid; it must be a whole number from 1 to 1000
setting-conflict = this conflicts with the flags or the config
setting-adjusted = { $key } is now { $value }: it must be lower than fold.high

## chat/commands/policy_keys.rs

policy-key-unknown = No key is named { $key }; `waterline policy keys` lists them
policy-key-suggestions = No key is named { $key }; similar keys: { $keys }

## chat/commands/context.rs

context-no-summary = No summary
context-not-folded = No summary: nothing has been folded yet
context-cleared = This message was cleared from the context; /context undo restores it
context-no-message = There is no message { $number }; /context shows the numbers
context-next-call = It will be sent unchanged with the next call
context-unchanged = unchanged
context-why = { $treatment } ({ $tokens ->
    [one] { $tokens } token
   *[other] { $tokens } tokens
}): { $reason }
context-pinned = Pinned message { $number }
context-fold-undone = Undid the last fold
context-clear-undone = Undid the last clear
context-nothing-to-undo = Nothing to undo: nothing was folded or cleared

## chat/commands/window.rs

context-messages = { $count ->
    [one] { $count } message
   *[other] { $count } messages
}: user { $user }, assistant { $assistant }, tool { $tool }{ $system ->
    [0] {""}
   *[other] , system { $system }
}; { $characters ->
    [one] { $characters } character
   *[other] { $characters } characters
}
context-tools = tool definitions
context-system-prompt = system prompt
context-instructions = With instructions from { $files }
context-verbatim = messages
context-free = free
context-answer = reserved for the answer
context-older-turns = … { $count ->
    [one] { $count } older turn
   *[other] { $count } older turns
}
context-turn = turn { $turn } [{ $message }] { $text }
context-limit-messages = { $count ->
    [one] 1 message
   *[other] { $count } messages
} in the context; the oldest are dropped above { $max }
context-limit-turns = { $count ->
    [one] 1 turn
   *[other] { $count } turns
} in the context; the oldest are dropped above { $max }
context-total = { $used } tokens; a fold starts at { $high }; window: { $window } for the prompt and { $answer } for the answer

## chat/commands/cost.rs

cost-calls = Calls: { $count }
cost-prompt-tokens = Prompt tokens: { $tokens } ({ $share }% from the cache)
cost-prompt-tokens-uncached = Prompt tokens: { $tokens }
cost-answer-tokens = Answer tokens: { $tokens }
cost-price = Price: { $price }
cost-price-unknown = Price: unknown for { $model }; set `price` under [models."{ $model }"] in the config, or add the model to prices.toml
cost-price-date = (price of { $model } as of { $date })
cost-sub-agents = Of these, sub-agents: { $count ->
    [one] { $count } call
   *[other] { $count } calls
}, { $prompt } prompt tokens, { $answers } answer tokens
cost-sub-agents-price = Of these, sub-agents: { $count ->
    [one] { $count } call
   *[other] { $count } calls
}, { $prompt } prompt tokens, { $answers } answer tokens, price { $price }

## chat/commands/current.rs

current-id = Session: { $id }
current-messages = Messages: { $count }
current-messages-limit = Messages: { $count } / { $limit }
current-near-limit = Messages: { $count } / { $limit } (near the limit)
current-trimming = Messages: { $count } / { $limit } (trimming active, { $sent } sent)
current-workspace = Workspace: { $path }
current-sub-agent = { $id } ({ $messages ->
    [one] { $messages } message
   *[other] { $messages } messages
}, { $loops ->
    [one] { $loops } model call
   *[other] { $loops } model calls
}) { $title }

## chat/commands/export.rs

chat-export-exists = { $path } exists; choose another name
chat-export-done = { $path }: { $count ->
    [one] { $count } message
   *[other] { $count } messages
}

## chat/commands/fork.rs

fork-done = Now in the fork { $id } (after message { $position })

## chat/commands/help.rs

help-keys = Keys
help-key-tab = Complete commands, @names and #files
help-key-alt-enter = Insert a line break; so does \ at the end of a line
help-key-history = Recall earlier lines; search them
help-key-ctrl-o = Show the last call in full
help-key-ctrl-c = Stop the turn; at the prompt, discard the line
help-key-ctrl-d = Quit; the session is kept
help-mentions = @name mentions a tool, a skill or a role; #file, #"a file", #directory/ and #**/*.md attach files

## chat/commands/load.rs

allow-dir-which = Which directory? For example /allow-dir ~/data, or /allow-dir ~/data:ro to read it only
allow-dir-write = In this session the agent may read and change files in { $path }
allow-dir-read = In this session the agent may read { $path }
allow-host-which = Which host? For example /allow-host crates.io
allow-host-any = Commands may already reach every host
allow-host-done = In this session commands may reach { $host }
load-which = Which session? /sessions lists them
load-ambiguous = Several sessions match; give more of the id:
load-unknown = There is no session { $id }; /sessions lists them
resume-elsewhere = This session works in { $path }, where it worked before; --workspace here moves it to the current directory
resume-remembered = Continuing with { $model } at { $address }, which this session used before; --model or --base-url chooses another
resume-offline-question = The interrupted turn began with { $model }, which is not available now. Let the offline model continue it?
resume-kept-open = The turn stays interrupted. /model NAME chooses a model; /resume continues the turn
resume-gone = { $path }, where this session worked, no longer exists
chat-also-open = Another chat has this session open. Only one of them can work at a time
load-done = Loaded session: { $id }

## chat/commands/memory.rs

memory-off = Memory is off. Turn it on with --memory DIR, or with `memory = true` in the config
memory-empty = The memory is empty. /memory add TEXT adds a fact
memory-no-match = No matches in the memory
memory-added = Added. Later sessions will know it
memory-known = This is already in the memory
memory-replaced = Replaced: { $earlier }
memory-forgotten = Forgotten: { $fact }
memory-secret = Not written to memory: the text seems to contain a key or a password
memory-not-regular = memory file { $path } is not a regular file; move it away to create a new one
memory-too-large = memory file { $path } is larger than 4 MB; shorten it
memory-busy = another program keeps changing { $path }; try again later
memory-nothing = Nothing to remember: write the fact after /memory add
memory-no-such =
    { $count ->
        [0] There is no fact { $number }; the memory is empty
        [one] There is no fact { $number }; the memory has only one
       *[other] There is no fact { $number }; the numbers go from 1 to { $count }
    }
memory-instructions = Instructions
memory-preferences = Preferences
memory-facts = Facts
memory-superseded = Superseded
memory-found-superseded = superseded, { $day }
memory-newest = Newest lines of the daily files
memory-day = ({ $day })
memory-source = { $message ->
    [0] ({ $day }, session { $session })
   *[other] ({ $day }, session { $session }, message { $message })
}
memory-recognized = Remembered for later sessions (/memory forget removes it): { $text }
memory-recognized-replaced = Remembered for later sessions (/memory forget removes it): { $text } – instead of: { $earlier }
memory-rule-left-out = Too many standing instructions: this one is no longer sent to the model (/memory forget N removes one): { $text }
memory-template = No longer remembered, because you sent it in more than three sessions, as a template does (write it into MEMORY.md to keep it): { $text }
memory-recognized-session = Kept for this session: { $text }
memory-review =
    { $count ->
        [one] Learned in this session (/memory forget N removes it):
       *[other] Learned in this session (/memory forget N removes one):
    }

## chat/commands/model.rs

model-changed = Now using { $name }
model-current = { $name } ({ $window } tokens)
model-not-listed = { $address } does not list the model { $model }; in a chat /model lists those it has
model-list-server = At { $url }: { $names }
model-list-config = In the config: { $names }
model-preferred = New sessions use { $name }, unless --model names another
model-preferred-none = No preferred model; /model prefer NAME sets one
model-preferred-set = New sessions now use { $name }, unless --model names another
model-preferred-removed = The preferred model is removed
model-preferred-here = This session uses { $name } when it is opened, unless --model names another
model-preferred-here-none = This session prefers no model; /model prefer session NAME sets one
model-preferred-here-unknown = no model { $name } under [models] in the config; a session can prefer only a model that is described there

## chat/commands/recall.rs

recall-no-match = No matches in this session
recall-words = matches: { $words }
recall-neighbor = next to a matching message
recall-session = in a matching session
recall-speaker = written by the person you named
recall-date = from the date you named
recall-instruction = a standing instruction
recall-preference = a preference
recall-meaning = similar in meaning

## chat/commands/redo.rs

redo-nothing = Nothing to redo

## chat/commands/reset.rs

reset-done = New session { $id }

## chat/commands/resume.rs

resume-nothing = Nothing to resume: the last turn is finished

## chat/commands/sessions.rs

chat-sessions-session = session
chat-sessions-messages = messages
chat-sessions-used = used
chat-sessions-model = model
chat-sessions-title = title
chat-sessions-more = … and { $count } more; `waterline sessions list --all` lists them
chat-sessions-elsewhere = In other directories:
chat-sessions-here = Here:

## chat/commands/skill.rs

skill-none = There are no skills; put directories with a SKILL.md into .waterline/skills
skill-not-active = No skill is on
skill-off = The skill { $id } is off
skill-unknown = There is no skill { $name }; /skill lists them
skill-on = The skill { $id } is on: the model is reminded of it with each message; /skill off turns it off

## chat/commands/status.rs

status-session = session
status-model = model
model-origin-fallback = fallback
model-origin-role = set by the role
model-origin-flag = set with --model
model-origin-command = chosen with /model
model-origin-preferred = preferred
model-origin-automatic = chosen automatically
status-policy = policy
status-role = role
status-skill = skill
status-turn = last turn
status-run = run id
status-mentions = mentions
status-uploads = uploads
status-turn-question = waiting for your answer: { $question }
status-turn-approval = waiting for your approval of { $tool }
status-turn-interrupted = interrupted; /resume continues it
status-turn-finished = finished
status-context = context
status-context-tokens = { $used } tokens; a fold starts at { $high } ({ $level })
status-window = window
status-window-tokens = { $prompt } tokens for the prompt, { $answer } for the answer ({ $source })
window-source-setting = configured
window-source-server = reported by the server
window-source-learned = learned from a refusal by the server at { $address }; --window sets another
window-source-guess = a guess; set it with --window
status-folds = folds
status-approval = approval
status-commands = commands
status-commands-sandboxed = confined by the kernel
status-commands-unconfined = not confined ({ $why })
status-network = network
status-network-on = allowed for commands
status-network-unconfined = allowed for commands: they are not confined
status-network-off = blocked for commands
status-directory = directory
status-network-hosts = commands may reach { $hosts }
status-workspace = workspace
status-grants = granted
status-failed-hooks = failed hooks
status-violations = provider rules violated
level-normal = normal
level-info = info
level-warning = warning
level-critical = critical

## chat/commands/steer.rs

steer-empty = Nothing to send. While a turn runs, any line you type steers it

## chat/commands/tools.rs

tier-discovered = discovered
tier-enabled = enabled
tier-visible = visible
tiers-legend = discovered: off until mentioned; enabled: reachable through call_tool; visible: in the model's list
tool-ask-human = asks you a question and waits for the answer
tool-call-subagent = delegates a task to a sub-agent with a context of its own
tool-call-tool = calls a tool that is not in the model's list
tool-compact-context = folds the context before the next call
tool-describe-tool = describes a tool that the prompt lists only by name
tool-edit-file = replaces text in a file
tool-fetch-url = fetches a web page as plain text
tool-find-files = finds files by a glob
tool-hand-off = hands the work over to another role
tool-list-files = lists a directory
tool-now = returns the date and time
tool-read-artifact = reads a long output that was truncated
tool-read-file = reads a text file or an image
tool-recall = searches the session and the memory
tool-run-bash-command = runs a bash command in the sandbox
tool-search-files = searches files for a regular expression
tool-todo-read = returns the task list
tool-todo-write = writes the task list
tool-write-file = creates or overwrites a file

## chat/commands/todos.rs

todos-none = No open tasks

## chat/commands/undo.rs

undo-count = { $before } → { $after ->
    [one] { $after } message
   *[other] { $after } messages
}
undo-turn = Undone: { $message }
undo-turns = Undone from here on: { $message }
undo-note = /redo restores the messages and the files

## chat/files.rs, moved_files.rs

files-overwrite = You changed { $path } after the agent did. Overwrite your change?
files-delete = You changed { $path } after the agent created it. Delete it with your change?
files-overwrite-all = You changed { $paths } after the agent did. Overwrite your changes?
files-unreachable = cannot do that: this chat may not change { $paths }. Nothing was changed. Grant the directory with /allow-dir, or start the chat there
files-not-moved = The files were not changed; to restore them too, use --files
files-no-workspace = session { $id } has no workspace on this machine, so its files cannot be restored
files-restored = Restored { $paths }
files-removed = Removed { $paths }
files-in-part = Restored up to your own change: { $paths }
files-kept = Kept as changed outside this session: { $paths }
files-too-large = Not restored, because the change was too large to record: { $paths }
files-not-recorded = Not restored, because ignored and generated files are not recorded: { $paths }
files-repository = Not undone: what commands did in { $paths }, such as commits
files-links = Not restored, because symbolic links are not recorded: { $paths }
files-failed = Not restored: { $path }: { $why }

## chat/commands/artifact.rs

artifact-none = No artifacts: no output of this session was too long for the context
artifact-unknown = { $id } matches no artifact of this session, or more than one; /artifact lists them
artifact-size = { $bytes ->
    [one] 1 byte
   *[other] { $bytes } bytes
}
artifact-more = … { $count ->
    [one] { $count } more line
   *[other] { $count } more lines
}; /artifact { $id } { $next } continues, /artifact { $id } all shows everything

## chat/commands/unfold.rs

unfold-none = No calls yet
unfold-no-such = There is no call { $number }; each call ends with its number, such as [3]

## chat/ending.rs

ending-limit = Ended early: { $why } ({ $setting }). To continue, send a message; /config { $setting } shows the limit
ending-limit-question = Ended early: { $why } ({ $setting }). Continue?
ending-continue = Continue.
ending-question = Your next message is the answer.

## chat/gauge.rs

gauge-fill = { $used } of { $high }
gauge-fill-window = { $used } of { $high } ({ $window })
gauge-cache = cache { $share }%

## chat/greeting.rs

greeting = Session { $id }, model { $model }. /help lists the commands, Ctrl-C stops a turn, Ctrl-D quits.
list-comma = {", "}
list-or = { $first } or { $last }
greeting-offline = No language model is connected. Set { $keys }, or start a local server; docs/models.md has more, and waterline doctor checks the setup.
greeting-private = The agent works in a private directory. Type #name to attach a file; start with --workspace here to let it work in this directory.
greeting-instructions = Instructions: { $files }
greeting-here = The agent works in { $path }. Start with --workspace private to give it a directory of its own.
greeting-write = The agent works in { $path }. It may also change files in { $write }.
greeting-read = The agent works in { $path }. It may also read { $read }.
greeting-write-read = The agent works in { $path }. It may also change files in { $write }, and read { $read }.
greeting-memory =
    { $count ->
        [one] 1 remembered fact; /memory shows it.
       *[other] { $count } remembered facts; /memory lists them.
    }
replay-calls = { $count ->
    [one] { $count } call
   *[other] { $count } calls
}; /unfold N shows call N in full
replay-more-lines = … { $count ->
    [one] { $count } more line
   *[other] { $count } more lines
}
greeting-resume = Resume with: { $command }
greeting-cost = This session cost { $price }.
window-learned = { $model }: { $window } tokens for the prompt, learned from a refusal by the server at { $address }. This is forgotten after a day; --window sets another number at once.
window-guess = { $model }: the context window is unknown, so { $window } tokens for the prompt are a guess. Set the real number with --window, or with `window` under [models."{ $model }"] in the config.

## chat/mod.rs

chat-resuming = Resuming the interrupted turn
reply-all = all
chat-answer-hint = Answer y or n. The arrow keys recall the line that was not an answer.
chat-how-to-quit = Press Ctrl-C again to quit, or use Ctrl-D or /quit
chat-session-changed = Another process continued this session; its messages are loaded
chat-stopped = Stopped; all messages and results so far are kept
chat-retry = /resume tries again

## mentions.rs

mention-tool = The tool { $name } is allowed in this session; /tools lists them
mention-skill = The skill { $id } is on for this message only; /skill { $id } keeps it on
mention-unknown = No tool, skill or role is named @{ $name }
mention-is-file = @{ $name } is a file, not a tool, a skill or a role; #{ $name } attaches it
mention-attached = Attached: { $files }
mention-attached-more = Attached: { $files }, { $more } more
mention-not-found = #{ $name }: file not found
mention-too-many = #{ $name }: more than { $most } files; the first { $most } are attached
mention-link = { $path }: not attached: it is a link to { $target }; to attach that file, name it directly
mention-not-regular = { $path }: not attached: it is not a regular file
mention-send-without = Send the message without the file?
mention-not-sent = The message was not sent, because the file cannot be attached
mention-too-large = { $path }: file too large: { $size }, the limit is { $most }
mention-no-images = { $path }: the model does not accept images; only the name is sent

## trust.rs

trust-not-approved = not approved; start in a terminal to be asked, or approve it for this run with --trust-project
trust-refused = not approved; remove the address from waterline.toml, or start in another directory
trust-not-stored = { $error }; you will be asked again next time
trust-question =
    Everything you write and everything the agent reads is sent there.
    Approve this for this directory from now on? [y/n]
answer-yes-or-no = Answer y or n
trust-unreadable = cannot read the answer
place-question =
    The agent can work in { $path }: it reads files there, and asks before it changes any.
    Let it work in this directory from now on? [y/n]

## input.rs

input-empty = { $name }: line 1, column 1: the input is empty
input-not-utf8 = { $name }: line { $line }, column { $column }: not UTF-8
