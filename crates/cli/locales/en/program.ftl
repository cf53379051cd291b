### `run`, `plan`, `policy`, `convert`, `tokens`, `check`, `config` and what all commands share.

## Files and input

cannot-read = cannot read { $path }
cannot-read-because = cannot read { $path }: { $why }
cannot-open = cannot open { $path }
cannot-write = cannot write { $path }
cannot-create = cannot create { $path }
directory-missing = the directory does not exist
input-missing = { $name } is neither a file nor a session in the log; `waterline sessions list` shows the sessions
file-exists = { $path } already exists; overwrite it with --force
file-is-input = { $path } is an input file and cannot be overwritten; choose another file
standard-input = standard input
reading = reading
db-missing = no log at { $path }; `waterline chat --db { $path }` starts one, `waterline sessions import FILE --db { $path }` fills it with sessions of other programs
db-empty = --db is empty; give a file or a URL
sessions-none-named = no input; give session files or directories, or stored sessions with --db
sessions-none-below = { $path }: no session files in this directory ({ $extensions })
sessions-none-readable = none of the files is a session file in a supported format
skipped = { $what }; skipped
skipped-files =
    { $count ->
        [one] 1 more file is not a session file; skipped
       *[other] { $count } more files are not session files; skipped
    }
skipped-in-file = { $file }: { $what }; skipped
skipped-lines =
    { $file }: { $count ->
        [one] 1 more line skipped
       *[other] { $count } more lines skipped
    }
argument-size = invalid number of tokens "{ $value }"; write it as 8000, 8k or 1m
argument-size-too-small = invalid number of tokens "{ $value }"; it must be at least 1, such as 8000, 8k or 1m
argument-log-filter = "{ $value }" is not a filter; write a level such as info, or TARGET=LEVEL
argument-setting = "{ $value }" is not of the form key=value
model-unknown = unknown model "{ $name }": using conservative estimates, and a window of { $window } tokens unless one is given
model-not-named = no model given: using conservative estimates, and a window of { $window } tokens unless one is given
labeled = { $label }: { $text }
with-detail = { $text } ({ $detail })
setting-changed = { $key }: { $before } → { $after }
at-message = message { $number }: { $what }
at-system-prompt = system prompt: { $what }
count-messages =
    { $count ->
        [one] 1 message
       *[other] { $count } messages
    }
part-thinking = (thinking)
part-image = (image)

## Notices about settings

notice-narrowed = { $file } sets { $key } = { $wanted }, but the limit is { $allowed }; raise it in your user config
notice-untrusted-model = ignoring the { $key } "{ $model }" of waterline.toml; to use it, add [models."{ $model }"] to your user config
notice-project-address = waterline.toml in this directory may send the conversation to { $address }
notice-key-from-env = using { $name } from .env
notice-unused-variable = { $variable } has no effect: it applies to the policy { $preset }, and the policy in use is { $policy }
notice-fallback = ignoring the fallback "{ $model }": { $why }
notice-unconfined = commands cannot be sandboxed here ({ $why }); each one needs your approval
notice-role-taken = ignoring the project's role { $name }: another role has that name
notice-roles = ignoring the project's roles: { $why }
notice-skill-link = skill { $path } of the project is ignored: it is a link
notice-skill-invalid = invalid skill { $path }: { $why }
server-start = MCP server { $server }: cannot start { $program }: { $why }
server-start-in = MCP server { $server }: cannot start { $program } in { $directory }: { $why }
server-header = MCP server { $server }: invalid name or value of the header "{ $name }"
server-connect = MCP server { $server }: cannot connect: { $why }
server-closed = MCP server { $server }: cannot connect: it exited or closed the connection before it answered
server-list = MCP server { $server }: cannot list its tools: { $why }
server-timeout = MCP server { $server }: not ready after { $seconds } s (timeout)
server-endless-list = MCP server { $server }: its list of tools was not read to the end; name the tools that you need in mcp.{ $server }.tools
server-large-tool = MCP server { $server }: the definition of the tool { $tool } is larger than { $kilobytes } KB; name the tools that you need in mcp.{ $server }.tools
server-too-many-tools = MCP server { $server }: at least { $count ->
    [one] 1 tool was
   *[other] { $count } tools were
} left out; a server may have { $most } tools and { $kilobytes } KB of definitions; name the tools that you need in mcp.{ $server }.tools
server-no-tool = MCP server { $server }: it has no tool "{ $name }"; check mcp.{ $server }.tools
notice-other-process = another process continued this session; resuming from its last message
notice-buffer-config = the buffer_config of this session is ignored: the setting summarization overrides it
notice-memory = the memory cannot be used: { $why }
notice-tools-in-short = the tool definitions take more than 1/{ $share } of the window; { $count ->
    [one] 1 tool is
   *[other] { $count } tools are
} described to the model only briefly
notice-token-threshold = summarization: token_threshold { $threshold } is below max_tokens { $max }; between these values there is nothing to drop
notice-instructions = instruction file ignored: { $why }
notice-import = { $file }: @{ $name } is not imported: it does not exist, or is outside the project
notice-instructions-changed = instructions changed; the model is told: { $files }
notice-instructions-truncated = instructions too long, so the end is left out: { $files }
notice-unrecorded-directory = { $path } has more than 20,000 files: what commands change there cannot be undone
notice-unrecorded-files = { $more ->
    [0] { $first }: this change cannot be undone, because it is too large to record
   *[other] { $first } and { $more } more: these changes cannot be undone, because they are too large to record
}
notice-unrecorded-ignored = { $count ->
    [one] 1 file was changed or deleted in { $paths }: ignored and generated files are not recorded, so this cannot be undone
   *[other] { $count } files were changed or deleted in { $paths }: ignored and generated files are not recorded, so this cannot be undone
}
notice-unrecorded-ignored-more = { $count ->
    [one] At least 1 file was changed or deleted in { $paths }: ignored and generated files are not recorded, so this cannot be undone
   *[other] At least { $count } files were changed or deleted in { $paths }: ignored and generated files are not recorded, so this cannot be undone
}
notice-unrecorded-session = this session has reached its limit of { $megabytes } MB of file versions: larger changes cannot be undone; a new session can record more
kept-prompt = --system is for new sessions; this session keeps its prompt
kept-role = this session keeps the role { $own } and its prompt; start a new session for { $asked }
kept-prompt-in-role = this session gets the role { $role }, but keeps its prompt
kept-model = this session used { $before } so far; it continues with { $now }

## `run`

run-session = session { $id }, model { $model }, in { $directory }
run-failed = { $name } failed: { $cause }
refused-outside = the sandbox may have refused access to { $paths }; { $grant } grants read access to { $scope }; without :ro, files there may also be changed
refused-outside-write = the sandbox may have refused to change { $paths }; { $grant } lets the agent change files in { $scope }
refused-file = { $grant } would grant read access to { $scope }
refused-file-write = { $grant } would let the agent change files in { $scope }
refused-scope-home = { $directory }, which includes your whole home directory
refused-read-only = the sandbox may have refused to change { $path }: its directory is granted for reading only; grant it without :ro
refused-protected = { $name } is read-only for commands; to let them change it, add writable_protected = ["{ $name }"] under [agent] in your config
refused-moved = the command created or changed { $path }, which is protected; its version is now { $moved }; to allow it, add writable_protected = ["{ $name }"] under [agent] in your config
refused-restored = the command changed { $path }, which is protected; it was restored; to allow it, add writable_protected = ["{ $name }"] under [agent] in your config
refused-unchecked = protected paths below { $path } could not be checked after the command: it has too many files, or cannot be read; look there for new hooks and settings before you run other programs in it
refused-network = the sandbox may have refused a connection; to allow a host, use { $grant }, or add network = ["HOST"] under [agent] in your config
refused-host = the sandbox refused a connection to { $host }; { $grant } allows it, or network = ["{ $host }"] under [agent] in your config
refused-socket = the sandbox may have refused a socket: commands cannot listen on a port or connect to anything themselves, not even on this machine; to allow them the whole network, start with --allow-network, or set network = true under [agent] in your config
refused-offline = { $program } works offline, because commands have no network; { $grant } lets it download packages
run-schema-kept = --schema is for new turns; this turn keeps its schema
run-stopped = stopped; everything so far is in session { $session }
run-no-message = no message; give it as an argument or on standard input
run-empty-message = the message is empty; resume an interrupted session with --resume
run-reading-stdin = reading standard input; skip it with < /dev/null
run-stdin-not-text = standard input is not text
run-schema-null = { $path } contains null, which is not a schema; for any answer, leave out --schema
run-schema-invalid = invalid schema in { $path }
turn-limit = ended early: { $why }
turn-limit-run = ended early: { $why }; { $setting } in your config sets it. Continue with: waterline run --session { $session } "continue"
turn-halted = stopped: { $why }
end-turn-calls = the limit of { $count ->
    [one] 1 model call
   *[other] { $count } model calls
} per turn was reached
end-session-calls = the limit of { $count ->
    [one] 1 model call
   *[other] { $count } model calls
} since the session was opened was reached
end-task-calls = the limit of { $count ->
    [one] 1 model call
   *[other] { $count } model calls
} for this task was reached
end-tool-calls = the limit of { $count ->
    [one] 1 tool call
   *[other] { $count } tool calls
} per turn was reached
end-time = the time limit of { $seconds } s per turn was reached
end-output-tokens = the answer hit the output token limit { $count ->
    [one] 1 time
   *[other] { $count } times
} and is incomplete; increase max_tokens
end-same-call = { $tool } was called { $count ->
    [one] 1 time
   *[other] { $count } times
} in a row with the same arguments
end-unsuccessful = { $tool } failed or was refused { $count ->
    [one] 1 time
   *[other] { $count } times
} in a row
end-refused = the model or a content filter of its provider refused to answer
end-empty-answer = the model returned an empty answer twice; rephrase the message or use another model
end-no-answer-text = the model hit the output token limit twice before any answer text; increase max_tokens
end-schema = the answer does not match the required schema: { $why }
end-not-approved = not approved: { $reason }
end-personal-data = the message contains personal data, which the middleware pii blocks
turn-question =
    The agent asks: { $question }
    Answer with: waterline run --session { $session } "…"
turn-approval = waiting for approval: { $call }
turn-empty = the answer is empty
turn-handed-off = { $role } continues in session { $session }
call-retry = retrying: { $why }
call-retry-in = retrying in { $seconds } s: { $why }
call-model = trying { $model } instead
call-summarizing = summarizing older messages
call-folded = folded from { $before } to { $after } tokens: { $why }
call-window-full = the answer filled the context window
call-prompt-truncated = the provider truncated the prompt
call-over-window = the context has { $tokens } tokens, more than the { $window } available for the prompt
call-full-again = folding does not help: the context is full again right after each fold. A window of { $window } tokens is too small for this work; use a model with a larger window, limit tool output, or start a new session
call-no-summary = no usable summary from the model, so a digest replaces it: { $why }
call-no-schema = { $model } does not support structured output, so only the prompt asks for JSON now: { $why }

## `plan`

plan-column-messages = messages
plan-column-treatment = treatment
plan-column-tokens = tokens
plan-column-content = content and reason
plan-treatment = { $name }
plan-tools = tool definitions
plan-system-prompt = system prompt
plan-calls = assistant calls { $calls }
plan-fits = fits
plan-over-high = over
plan-folded = folded
plan-no-model = no model
plan-facts =
    { $count ->
        [one] 1 message
       *[other] { $count } messages
    } · policy { $policy } · { $model } ({ $method })
plan-tokens = { $before } → { $after } tokens
plan-of-window = { $share }% of { $window }
plan-marks = high { $high } · low { $low }
plan-too-large = nothing can be folded, and the context does not fit
plan-empty = nothing to send
plan-everything-fits = everything fits: nothing was folded
plan-frees-too-little =
    over the high mark, but nothing was folded: a fold would free { $tokens ->
        [0] nothing
        [one] only 1 token
       *[other] only { $tokens } tokens
    }
plan-fold-reason = folded: { $reason }
plan-below-low =
    { $tokens ->
        [0] at the low mark
        [one] 1 token below the low mark
       *[other] { $tokens } tokens below the low mark
    }
plan-above-low =
    { $tokens ->
        [one] 1 token above the low mark, because pins, the newest user message and the newest step stay
       *[other] { $tokens } tokens above the low mark, because pins, the newest user message and the newest step stay
    }
plan-low-not-needed =
    { $tokens ->
        [one] 1 token above the low mark, which only a fold over the high mark must reach
       *[other] { $tokens } tokens above the low mark, which only a fold over the high mark must reach
    }
plan-fold-report = { $place }: { $cause }
plan-fold-report-by =
    { $name ->
        [low-mark] the low mark
        [limit] the limit of the window
        [level] the fold on request
        [arrival] the rules for new messages
       *[other] stage { $name }{ $limits }
    }
plan-fold-report-dropped = { $by } was the last to drop messages, and those that stay have { $left } tokens
plan-fold-report-shortened = nothing was dropped; { $by } freed the most, { $freed } tokens, and { $left } are left
plan-fold-report-block-full = the summary block uses { $used } tokens, all that it may
plan-fold-report-block = the summary block uses { $used } of { $budget } tokens
plan-fold-report-no-block = there is no summary block
method-estimate = estimate, { $ratio } characters per token
plan-no-message = nothing to send to { $wire }: there is no message
plan-invalid = the context breaks a rule of { $wire }: { $what }
plan-warnings =
    { $count ->
        [one] 1 warning
       *[other] { $count } warnings
    }
plan-more-warnings = … and { $count } more of this kind
ledger-empty = The ledger is empty: nothing was folded, or the policy keeps no ledger
ledger-heading = The ledger, ranked by what each value adds for its tokens

## `policy`, `convert`, `check`, `tokens`

policy-warning = warning: { $warning }
policy-ok =
    { $name }: { $count ->
        [one] 1 stage
       *[other] { $count } stages
    }, ok
policy-fold-keys = when a fold starts, and how far it reduces the context
convert-total =
    { $conversations ->
        [one] 1 conversation
       *[other] { $conversations } conversations
    }, { $messages ->
        [one] 1 message
       *[other] { $messages } messages
    }, { $calls ->
        [one] 1 call
       *[other] { $calls } calls
    }, { $results ->
        [one] 1 result
       *[other] { $results } results
    }
check-convert = { $path } is a session file of another program, not a list of messages; convert it first: waterline convert { $path } - | waterline check -
check-total =
    { $count ->
        [one] 1 conversation
       *[other] { $count } conversations
    }, { $invalid } invalid
tokens-total =
    { $count ->
        [one] 1 token
       *[other] { $count } tokens
    } ({ $method })
tokens-calls = calls
tokens-results = results
tokens-thinking = thinking
tokens-images = images
tokens-system = system texts
tokens-assistant = assistant texts
tokens-user = user texts
tokens-framing = message framing
tokens-tools = tool definitions
tokens-other = other

## `config`

config-built-in = built in
config-preference = preference
config-preference-of-session = preference of the session
config-preference-of-user = preference of { $user }
config-built-in-for = built in, for { $model }
config-built-in-for-unknown = built in, for unknown models
config-found = found: { $place }
config-found-on-server = found: the server
config-not-trusted = its server is asked once you trust it
config-unavailable = not available: run `waterline doctor`
config-file-missing = { $path }  (missing)
config-no-user = no user; give --user NAME or set WATERLINE_USER
config-preference-set = { $user }: { $key } = { $value }
config-preference-unset = { $user }: { $key } is no longer set

## show/mod.rs

role-system = system
role-user = user
role-assistant = assistant
role-tool = tool
role-line = { $role }: { $text }
