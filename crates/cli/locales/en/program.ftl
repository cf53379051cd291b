### `run`, `plan`, `policy`, `convert`, `tokens`, `check`, `config` and what all commands share.

## Files and input

cannot-read = cannot read { $path }
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
argument-setting = "{ $value }" is not of the form key=value
model-unknown = unknown model "{ $name }": using conservative estimates, and a window of { $window } tokens unless one is given
model-not-named = no model given: using conservative estimates, and a window of { $window } tokens unless one is given
at-message = message { $number }: { $what }
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
kept-prompt = --system is for new sessions; this session keeps its prompt
kept-role = this session keeps the role { $own } and its prompt; start a new session for { $asked }
kept-prompt-in-role = this session gets the role { $role }, but keeps its prompt
kept-model = this session used { $before } so far; it continues with { $now }

## `run`

run-session = session { $id }, model { $model }
run-failed = { $name } failed: { $cause }
refused-outside = the sandbox may have refused access to { $path }; to let commands read it, add read_dirs = ["{ $path }"] under [agent] in your config; to let them change it, grant a directory with --allow-dir
refused-read-only = the sandbox may have refused to change { $path }: its directory is granted for reading only; grant it without :ro
refused-protected = { $name } is read-only for commands; to let them change it, add writable_protected = ["{ $name }"] under [agent] in your config
refused-moved = the command created or changed { $path }, which is protected; its version is now { $moved }; to allow it, add writable_protected = ["{ $name }"] under [agent] in your config
refused-restored = the command changed { $path }, which is protected; it was restored; to allow it, add writable_protected = ["{ $name }"] under [agent] in your config
refused-unchecked = protected paths below { $path } could not be checked after the command: it has too many files, or cannot be read; look there for new hooks and settings before you run other programs in it
refused-network = the sandbox may have refused a connection; to allow a host, use --allow-host HOST, or add network = ["HOST"] under [agent] in your config
run-schema-kept = --schema is for new turns; this turn keeps its schema
run-stopped = stopped; everything so far is in session { $session }
run-no-message = no message; give it as an argument or on standard input
run-empty-message = the message is empty; resume an interrupted session with --resume
run-reading-stdin = reading standard input; skip it with < /dev/null
run-stdin-not-text = standard input is not text
run-schema-not-json = { $path } is not JSON
run-schema-null = { $path } contains null, which is not a schema; for any answer, leave out --schema
run-schema-invalid = invalid schema in { $path }
turn-limit = ended early: { $why }
turn-halted = stopped: { $why }
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
       *[other] stage { $name }
    }
plan-fold-report-dropped = { $by } was the last to drop messages ({ $count }) and left { $left } tokens
plan-fold-report-shortened = nothing was dropped, and { $by } left { $left } tokens
plan-fold-report-block = the summary block uses { $used } of { $budget } tokens
plan-fold-report-no-block = there is no summary block
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
