### Texts of the libraries (`phrase!`): warnings, broken rules, errors of parsers, allowed values.

## Warnings about irregular conversations.

warning-mid-system = a system message in the middle of the conversation
warning-empty-message = an empty message is not sent
warning-early-result = the result of { $name } comes before the call
warning-repeated-id = the call id "{ $given }" is used twice; sent as "{ $id }"
warning-missing-id = a call has no id; sent as "{ $id }"
warning-repeated-user = two user messages in a row; joined if the wire requires it
warning-late-result = a late result; sent right after its call
warning-result-of-earlier-step = the result of "{ $given }" belongs to an earlier step than the other results in this message; it is not sent
warning-second-result = a second result for call "{ $given }"; it is not sent
warning-orphan-result = a result for "{ $given }", but there is no such call; it is not sent
warning-unanswered-call = the call to { $name } has no result; answered as interrupted
warning-dangling-thought = thinking without an answer is not sent
warning-misplaced-part = removed a part that { $role ->
    [assistant] an assistant
   *[other] a { $role }
} message cannot have
warning-blank-text = removed a blank text part
warning-lone-surrogate = replaced half of a UTF-16 surrogate pair
warning-missing-tool-name = a call without a tool name; sent as "unknown"
warning-bad-arguments = the arguments of { $name } are not a JSON object; sent as {"{"}"input": …{"}"}
warning-internal = the plan breaks a rule: { $violation }
warning-over-window = the context has { $tokens ->
    [one] 1 token
   *[other] { $tokens } tokens
}, more than the { $window } available for the prompt
warning-newest-truncated = the newest messages do not fit into the window; they were truncated in the middle
warning-unknown-model = unknown model "{ $name }": using conservative estimates
warning-high-below-window = fold.high ({ $high }) is below window.tokens ({ $keep }): a fold may free nothing
warning-half-pair = half of a UTF-16 pair was replaced
warning-not-a-string = { $name } is not a string
warning-missing-content = missing content
warning-odd-content = content is neither a string nor a list; sent as text
warning-block-omitted = a block that is not an object was omitted
warning-text-block-omitted = an empty text block was omitted
warning-no-input = a call without input
warning-missing-role = a turn without a role; assumed "{ $guess }"
warning-missing-parts = missing parts
warning-null-text = a null text part was omitted
warning-empty-text = an empty text was omitted
warning-response-name = a response without a tool name
warning-text-part-omitted = an empty text part was omitted
warning-stored-elsewhere = the request continues a conversation stored by the provider; its earlier messages are not available here

## Rules of the wires that a list of messages breaks.

violation-at = message { $number }: { $text } ({ $rule })
violation-empty-message = an empty message
violation-blank-text = a blank text part
violation-no-open-call = a result for "{ $id }", but there is no open call with this id
violation-call-id = the call id "{ $id }" is empty or used twice
violation-unanswered = calls without a result: { $ids }
violation-not-an-object = not a message object
violation-no-call-id = a call without an id
violation-repeated-call-id = the call id "{ $id }" is used twice
violation-result-without-call = a result for "{ $id }" without a call right before it
violation-no-messages = no messages
violation-first-message = the first message is not from the user
violation-breakpoints = { $breakpoints } cache breakpoints; the limit is { $limit }
violation-input = the input of a call is not an object
violation-no-signature = thinking without a signature
violation-failed-result = a failed result without content
violation-role = the role "{ $role }" is not allowed here
violation-two-in-a-row = two { $role } messages in a row
violation-blank-text-block = a blank text block
violation-result-order = a tool_result must come before other blocks
violation-no-parts = a turn without parts
violation-first-turn = the first turn is not from the user
violation-unknown-role = unknown role "{ $role }"
violation-two-turns = two { $role } turns in a row
violation-response = a response from "{ $name }", which the previous turn does not call
violation-no-response = calls without a response: { $names }
violation-empty-role = { $role ->
    [assistant] an empty assistant message
   *[other] an empty { $role } message
}
violation-reasoning = reasoning without the item it produced

## Input that is not a conversation.

parse-at = line { $line }, column { $column }: { $text }
parse-not-json = not JSON: { $cause }
parse-no-object = expected a message object
parse-missing-role = missing role
parse-unknown-role = unknown role "{ $role }"
parse-no-type = neither a known type nor a role
parse-no-list = not a conversation: expected a list of messages
parse-no-conversation = not a conversation: expected a list of messages or a request body
parse-no-field = not a conversation: no field "messages", "input" or "contents"
parse-no-field-of-wire = not a conversation: no field "{ $name }", which holds the messages of { $wire }
parse-field-no-list = not a conversation: "{ $name }" is not a list of messages
parse-message = not a conversation: message { $number }: { $cause }

## Session files of other programs.

transcript-line = line { $line }: { $text }
transcript-not-atif = not an ATIF trajectory
transcript-row = row { $id } of agent_messages: { $cause }
transcript-database-stream = cannot read an SQLite database from a stream; pass its path
transcript-empty = the file is empty
transcript-not-utf8 = not valid UTF-8
transcript-none = no conversation found
transcript-none-because = no conversation found ({ $cause })
transcript-unknown-format = unknown format (looked at { $count ->
    [one] 1 line
   *[other] { $count } lines
}); supported formats: { $known }

## Settings: allowed values, and what a project's file may not do.

allowed-whole-from = a whole number from { $least }
allowed-whole = a whole number from { $least } to { $most }
allowed-size = a number of tokens, or a share from "0%" to "100%"
allowed-threshold = a number of tokens, a share from "0%" to "100%", or "high" for the high mark
allowed-flag = true or false
allowed-one-of = one of { $names }
allowed-text = a string
allowed-texts = a list of strings
allowed-message-numbers = a list of message numbers, from 1
allowed-stages = a list of stage names, each at most once
allowed-at-least = at least { $least }
allowed-hosts = a list of names such as crates.io, *.pypi.org or HOST:PORT
allowed-protected = a list of protected paths: { $names }
allowed-absolute = an absolute path or start with ~/
policy-unused-section = section [{ $name }] is set, but "{ $name }" is not among the stages
policy-is-section = { $key } is a section; set one of its keys: { $key }.KEY
policy-low-not-below-high = fold.low ({ $low }) must be lower than fold.high ({ $high })
project-names-key = names an API key
project-writes-files = decides where files are written
project-sends-messages = decides where messages are sent
project-decides-permissions = decides what the agent may do
project-starts-server = starts or contacts a server
project-uses-resources = decides how much memory is used
variable-share = it must be a number from 0.0 to 1.0
variable-flag = it must be true or false
variable-whole = expected a whole number
variable-lang = unsupported language "{ $name }"; expected en or zh
variable-tokenizer = unknown token counting method "{ $name }"; known methods: { $known }, tiktoken
unknown-token-method = unknown token counting method "{ $name }"; known methods: { $known }
unknown-output-format = unsupported output format "{ $name }"; expected one of { $known }
unknown-approval-mode = unknown approval mode "{ $name }"; expected all, selective, custom or none
empty-workspace = expected here, private or a directory
answer-not-json = it is not valid JSON ({ $error })

## Parsers and the operating system.

error-toml-at = TOML parse error at line { $line }, column { $column }
error-toml-unknown-key = unknown key `{ $key }`, expected { $known }
error-toml-missing-key = missing key `{ $key }`
error-toml-type = invalid type: { $found }, expected { $expected }
error-toml-duplicate = duplicate key
error-toml-other = { $reason }
error-system = { $kind ->
   *[other] { $text }
}
input-line-too-large = a line is larger than { $megabytes } MB
input-too-large = the input is larger than { $megabytes } MB
error-config-json = not a JSON object of settings: { $cause }

## Why a connection failed.

connection-refused = connection refused
connection-closed = the server closed the connection
connection-unreachable = host not reachable
connection-timed-out = timed out
connection-no-name = name not found
connection-tls = TLS: { $cause }
certificate-unknown-issuer = the system does not trust its issuer; SSL_CERT_FILE can name a file of certificates to trust
connection-unknown = unknown cause

## Skills and notices.

skill-no-front-matter = SKILL.md does not start with front matter between two --- lines
skill-name = the name of its directory is invalid or longer than { $most } characters
notice-env-file = { $why }
notice-other = { $why }

## Damage in a log, and lines of an export that cannot be imported.

damage-of = { $what }: { $cause }
damage-messages = messages
damage-sessions = sessions
damage-artifacts = artifacts
damage-tool-definitions = tool definitions
damage-tools = tools
damage-index = search index
damage-branch = branch { $key }
damage-branch-unused = { $branch } is not used by any session
damage-branch-session = { $branch } is used by session { $id }
damage-branch-sessions = { $branch } is used by sessions { $ids }
damage-branch-end = { $branch }: ends at message { $position }, expected message { $last }
damage-message-missing = { $branch }: message { $position } is missing
damage-message-id = message { $position } ({ $id }): content does not match its id
damage-session-incomplete = session { $id }: a message or its stored request context is missing
damage-artifact-hash = artifact { $hash }: content does not match its hash
damage-index-terms = search index: the terms of { $text } are damaged
damage-index-more = search index: the terms of { $more } more are damaged
damage-index-message = message { $position } ({ $id })
damage-index-entry = entry { $key }, which belongs to nothing,
damage-artifact = artifact { $hash }
damage-row = { $kind } { $keys }: its values do not match its checksum
damage-definition = the definition of { $name } is damaged
damage-table-definition = the definition of table { $name }
damage-id = the id of message { $position }
damage-message = message { $position }, id { $id }
damage-session = session { $id }
damage-toolset = the tool definitions { $name }
damage-file-changes = a record of changed files
damage-checkpoint-message = the message of a checkpoint is missing
damage-checkpoint = checkpoint { $id }
damage-context = a request context cannot be read
damage-context-missing = the request context of session { $id } is missing
damage-tip = the tip of a session is missing
damage-in-session = session { $session }: { $text }
damage-session-row = its title, state, settings or last message are damaged
damage-table = table { $name }: { $cause }
damage-branch-row = { $branch }: its row is damaged or missing
damage-path = its messages cannot be found
damage-format = the number of its format is damaged
damage-order = the next message does not follow it
damage-gap = a message is missing
damage-after = session { $session }, after message { $position }: { $problem }
import-truncated = the export is truncated: it has no end line; the lines so far were imported
import-newer = unsupported export version { $found }; this version of waterline reads up to { $known }: use a newer waterline
import-foreign = not a waterline export: its first line must be {"{"}"waterline": VERSION{"}"}
damage-kind = { $table ->
    [branch] branch
    [toolset] tool definitions
    [session] session
    [move] move of session
    [cut] clear mark of session
    [generation] fold
    [frozen] request context
    [summary] summary
    [snapshot] checkpoint state of session
    [checkpoint] checkpoint of session
    [artifact] artifact
    [artifact_use] artifact of session
    [artifact_text] indexed artifact
    [usage] model call of session
    [job] job
    [preference] preference of user
    [lease] lease of session
    [conversation] conversation
    [vector] vector of encoder
    [note_vector] vector of a memory's line, of encoder
    [message] message
    [content] content
   *[other] { $what }
}
## Why a log cannot be opened or written.

log-old-server = PostgreSQL { $version } is unsupported; version 15 is required
log-thread-panicked = the connecting thread panicked
log-closed = the log was closed
log-timed-out = timed out after { $wait }
log-not-regular = it is not a regular file
log-writer-stopped = the writer thread has stopped
log-file-deleted = the file was deleted
log-transaction-ended = the transaction has already ended
log-in-transaction = this operation is not possible inside a transaction
log-no-result = the transaction ended without a result
log-operation-dropped = the operation panicked or was dropped before it finished
log-open-panicked = the thread that opens the log panicked
log-parser-panicked = a message could not be prepared: its parser panicked
log-request-context = cannot store the request context: { $cause }
log-fold-position = cannot store a fold after message { $position } of session { $id }: it has { $count }
log-summary-messages = session { $id } has no messages { $start } to { $end }

## Lines of an export that are refused.

import-line = invalid export line: { $cause }
import-tools-changed = the tool definitions were changed: they do not match their hash
import-context-outside = a request context of session { $id } refers to a message outside the session
import-base64 = invalid Base64
import-encoding = unknown encoding "{ $name }"
import-message-changed = message { $id } was changed: its content does not match its id
import-unknown-session = session "{ $id }" is not in the export before this line
transcript-tools = invalid tool definitions in session { $session }: { $cause }
files-record = a record of changed files cannot be read: { $cause }
damage-missing = { $kind ->
   *[other] { $what }
} { $id } not found

## Settings of the agent.

setting-preserve-system = summarization: preserve_system cannot be false; system messages are always kept
setting-unknown-model = unknown model "{ $name }"
setting-no-middleware = unknown middleware "{ $name }"; expected one of { $names }
setting-no-middleware-preset = unknown middleware preset "{ $name }"; expected one of { $names }
setting-middleware = middleware { $name }
setting-no-tool = tool_selector: unknown tool "{ $name }"; available tools: { $names }
setting-role = invalid role
setting-of-role = role { $name }
setting-schema = invalid answer schema: { $why }; expected a JSON schema, or {"{"}"type": "json_object"{"}"} for any object
schema-missing = the type json_schema requires a schema
schema-not-one = { $shown } is not a JSON schema
setting-approval-pattern = invalid `pattern` in [[agent.rules]]

## Streams and servers that break off.

stream-no-answer = the stream ended without an answer
stream-incomplete = the connection closed before the answer was complete
stream-lost = connection lost: { $cause }
stream-silence = timed out: no data from the server for { $seconds } s
stream-too-long = the response has more than { $limit } bytes
server-request-failed = the request failed
server-exited = the server has exited
server-lost = the server exited or the connection was lost before it answered
server-protocol = the answer violates the protocol

## The page of `replay --html`.

page-title = Waterline replay
page-counted = with { $method }
page-counted-by-model = with each model's tokenizer
page-about = { $conversations ->
        [one] 1 session
       *[other] { $conversations } sessions
    }, { $contexts ->
        [one] 1 model call
       *[other] { $contexts } model calls
    }, { $values ->
        [one] 1 value
       *[other] { $values } values
    } needed by { $calls ->
        [one] 1 tool call
       *[other] { $calls } tool calls
    }. Tokens are counted { $counted }. Price list { $prices }: cache reads cost { $read }, cache writes { $written } times an uncached token.
page-all = All figures
page-key = Each column is a model call:
page-key-read = tokens read from the cache
page-key-fresh = tokens not in the cache
page-key-fold = a fold
page-method = Each policy planned the context of every model call as it would have been sent. A value is an id, path, name or number in the arguments of a tool call that an earlier message had shown. It is retained if it is still in the context, and a call is intact if all its values are. The cost is relative to never folding.
page-chart-retained = Values retained, %
page-chart-intact = Calls intact, %
page-chart-cost = Cost relative to never folding
page-chart-surprise = Surprise, nats per token
page-policy = policy
page-window = window
page-retained = values retained
page-intact = calls intact
page-mean = mean tokens
page-most = max tokens
page-folds = folds
page-cached = cached
page-cost = cost
page-invalid = invalid
page-over = too large
page-surprise = surprise
page-session = The longest session, call by call
page-session-window = Window of { $tokens } tokens
page-caption = folds: { $folds }, cost: { $cost }, values lost: { $lost } of { $values }
page-tokens-per-call = tokens per call, { $policy }
page-fold = folds before message { $last }: { $folds }; prompt: { $tokens } tokens
