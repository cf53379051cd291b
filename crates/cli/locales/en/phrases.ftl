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
warning-blank-text = removed a blank text
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
warning-null-text = a null text was omitted
warning-empty-text = an empty text was omitted
warning-response-name = a response without a tool name
warning-text-part-omitted = an empty text part was omitted
warning-stored-elsewhere = the request continues a conversation stored by the provider; its earlier messages are not available here

## Rules of the wires that a list of messages breaks.

violation-at = message { $number }: { $text } ({ $rule })
violation-empty-message = an empty message
violation-blank-text = a blank text
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
transcript-invalid-json = invalid JSON: { $cause }
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
allowed-text = a text
allowed-texts = a list of texts
allowed-message-numbers = a list of message numbers, from 1
allowed-stages = a list of stage names, each once
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
variable-share = it must be a number from 0.0 to 1.0
variable-flag = it must be true or false
variable-whole = expected a whole number
variable-lang = unsupported language "{ $name }"; expected en or zh
variable-tokenizer = unknown token counting method "{ $name }"; known methods: { $known }, tiktoken

## Parsers and the operating system.

error-toml-at = TOML parse error at line { $line }, column { $column }
error-toml-unknown-key = unknown key `{ $key }`, expected { $known }
error-toml-missing-key = missing key `{ $key }`
error-toml-type = invalid type: { $found }, expected { $expected }
error-toml-duplicate = duplicate key
error-toml-other = { $reason }
error-config-json = not a JSON object of settings: { $cause }
error-json = { $kind ->
   *[other] { $text }
}
error-system = { $kind ->
   *[other] { $text }
}

## Why a connection failed.

connection-refused = connection refused
connection-closed = the server closed the connection
connection-unreachable = host not reachable
connection-timed-out = timed out
connection-no-name = name not found
connection-tls = TLS: { $cause }
connection-unknown = unknown cause

## Skills and notices.

skill-no-front-matter = SKILL.md does not start with front matter between two --- lines
skill-name = the name of its directory is invalid or longer than { $most } characters
notice-env-file = { $why }
notice-other = { $why }

## Damage in a log, and lines of an export that cannot be imported.

damage-of = { $what }: { $cause }
damage-error = { $text }
damage-database = { $text }
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
damage-order = the next message does not follow it
damage-gap = a message is missing
damage-after = session { $session }, after message { $position }: { $problem }
import-line = invalid export line: { $text }
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
