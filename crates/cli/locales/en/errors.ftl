### Errors, with what to do next. One section per library.

error-with-cause = { $error }: { $cause }

## The log

error-log-address = invalid log URL "{ $url }"; use a file path, sqlite:FILE or postgres://user@host/database
error-log-open = cannot open { $name }: { $cause }; check the path or URL and your permissions
error-log-foreign = { $name } is not a waterline log; choose a new file, and read this one with `waterline sessions import`
error-log-newer = { $name } has format { $found }, but this version supports formats up to { $known }; use a newer waterline
error-log-read-only = { $name } is read-only; grant write permission (on its directory too), or work on a copy
error-log-full = no space left on the disk of { $name }; this write was not stored, earlier data is intact: free some space and retry
error-log-locked = { $name } is locked by another process; wait for it to finish, or stop it
error-log-busy = all { $connections } connections to { $name } were in use for { $wait }; retry, or raise the connection limit
error-log-flush = a write to { $name } failed ({ $cause }) and no more writes are accepted; check the disk and restart: every acknowledged write is stored
error-log-deleted = the file { $name } was deleted or replaced while it was in use; this write is lost, and no more writes are accepted: restore the file and restart
error-log-damaged = { $name } is damaged ({ $cause }); `waterline sessions verify` lists the damage, `waterline sessions export` saves what is readable; restore the rest from a backup
error-log-connection = no connection to { $name } ({ $cause }); check that the server is running, then retry
error-log-conflict = session { $session } was changed by another process; reload it and retry, or fork it
error-log-leased = session { $session } is in use by another process; wait for it, stop it, or fork the session
error-log-lease-lost = another process took over session { $session }; this write was not stored: resume the session to continue
error-log-race = write conflict in { $name }; retry
error-log-no-session = session "{ $id }" not found; list the sessions with `waterline sessions list`
error-log-ambiguous = "{ $prefix }" matches several sessions: { $matches }; type more of the id
error-log-exists = session "{ $id }" already exists; choose another id
error-log-missing = { $kind ->
   *[other] { $what }
} { $id } not found
error-log-no-id = invalid message id "{ $id }"; expected 64 hexadecimal digits
error-log-line = line { $line }: { $cause }
error-log-file = cannot write { $path }: { $cause }
error-log-nothing-to-redo = nothing to redo in session { $session }
error-log-not-folded = nothing to undo: session { $session } has not been folded
error-log-not-cleared = session { $session } is not cleared
error-log-not-in-session = cannot rewind session { $session }: message { $message } is not in it
error-log-too-far-back = cannot rewind session { $session } that far: it has { $count ->
    [one] 1 message
   *[other] { $count } messages
}
error-log-too-few-turns = this session has { $count ->
    [0] no turns
    [one] only 1 turn
   *[other] only { $count } turns
}; cannot undo { $asked }
error-log-fork = cannot fork session { $session } at message { $at }: it has { $count ->
    [one] 1 message
   *[other] { $count } messages
}
error-log-session-id = invalid session id "{ $id }": use 1 to 400 bytes without control characters
error-log-backup-of-itself = cannot back up to { $path }: it is the log itself; choose another file

## Settings

error-config-file = invalid config file { $path }
error-config-range = { $key } is { $value }; it must be { $allowed }
error-config-server = mcp.{ $name } must set either `command` or `url`
error-config-project = { $file } sets { $key }, which { $why }; that belongs in your user config
error-config-variable = invalid { $name }={ $value }: { $why }
error-config-preference = { $name } is not a preference; preferences are policy, model, the keys of a policy (see `waterline policy keys`), and names such as max_message_history
error-config-seed-variable = invalid value { $value } for { $name }
error-config-no-home = cannot expand { $path }: HOME is not set; use an absolute path
error-config-no-data-directory = no data directory: HOME is not set; set HOME, or name a log with --db
error-config-policy-file = cannot load the policy
error-config-foreign-policy = invalid policy file { $name }; its content is not shown, because a project or a session names it. `waterline policy show { $name }` shows what is wrong
error-config-policy-setting = invalid { $key } in { $origin }
error-config-policy-text = invalid policy file { $name }
error-config-key-file = cannot read the API key file { $path }
error-config-key-variable = no API key for { $model }: ${ $variable } is not set
error-config-unknown-model = unknown model "{ $model }"; describe it under [models."{ $model }"] in the config, or give the URL of its server with --base-url. If it is a model of OpenAI, set ${ $variable }
error-config-no-key = no API key for { $model }: set ${ $variable }; for your own server, give its URL with --base-url
error-config-no-model = { $base } does not list its models; name one with --model
error-config-directory = cannot work in { $path }: { $cause }; name another directory with --workspace
error-config-no-encoder = recall.encoder is "{ $name }", and no encoder of this name was added; `waterline models list` shows the names, `waterline models add` adds one
error-config-no-encoder-model = recall.encoder is a server; set recall.model to the name of its embedding model
error-config-summarizer = cannot use the model that `summariser` names
error-config-approvals = cannot save the approved addresses in { $path }

## Policies

error-policy-syntax = invalid policy: { $cause }
error-policy-preset = unknown preset "{ $name }"; known presets: { $known } (or give a TOML file)
error-policy-stage = unknown stage "{ $name }"; known stages: { $known }
error-policy-key = unknown key { $key }; known keys: { $known }
error-policy-missing-key = missing key { $key }; expected { $allowed }
error-policy-value = invalid value { $key } = { $value }; expected { $allowed }

## Calls to a model

error-call-connect = could not connect to { $url }: { $cause }; is the server running at that address?
error-call-no-tls = { $url }: the server does not speak TLS; use http:// in the address
error-call-expects-tls = { $url }: the server expects TLS; use https:// in the address
error-call-certificate = { $url }: the certificate of the server is not accepted: { $cause }
error-call-secret-in-url = the base URL must not contain a user name, password, query or fragment; pass the API key with --key-file or in the environment
error-call-url = invalid base URL "{ $url }"; it must start with http:// or https://
error-call-key = invalid API key: it must be one line of ASCII without spaces
error-call-timeout = { $url }: timed out after { $seconds } s waiting for a response; set first_token_timeout or silence_timeout in the config to wait longer
error-call-refused =
    { $kind ->
        [authentication] authentication failed
        [access] access denied
        [not-found] not found
        [timeout] request timed out
        [rate-limit] rate limited
        [overflow] context window exceeded
        [overloaded] server overloaded
        [server] server error
        [request] invalid request
       *[other] request failed
    } ({ $status })
error-call-refused-hint =
    { $kind ->
        [authentication] ; check the API key
        [access] ; check the API key's permissions
        [not-found] ; check the model name and the base URL
       *[other] { "" }
    }
error-call-not-found-hint = { " " }at { $url }; check the model name and the base URL; if the server speaks another wire, name it: --wire openai-chat
error-call-malformed = { $url }: expected an event stream, got { $start }; check the base URL
error-call-no-vectors = { $url } returned no vectors: { $start }; check the address in recall.encoder, and that recall.model is an embedding model
error-call-no-logprobs = { $url } returned no log-probabilities for the prompt: { $start }; use vLLM, SGLang, or llama-cpp-python with logits_all (see docs/replay.md)
error-call-failed = the provider reported an error: { $reason }
error-call-interrupted = stream interrupted: { $cause }

## Sessions

error-session-empty = nothing to send; write a message first
error-session-crowded = too many concurrent callers of the same session; retry
error-session-ending = cancelled: the program is shutting down

## The agent

error-agent-state = session { $session }: invalid stored { $field } ({ $why }); if a newer version of the program wrote it, use that version, otherwise restore an earlier checkpoint
error-agent-in-use = session { $session } is in use by another process; wait for it to finish, stop it, or fork the session
error-agent-other-user = session { $session } belongs to another user; open it with that user's --user
resume-model-missing = the interrupted turn began with { $model }, which is not available now; name a model with --model and --base-url, or pass --model offline to continue with the offline model
resume-none-here = no session has worked in { $path } yet; `waterline sessions list` lists all sessions, and --resume ID resumes one of them
resume-none-private = no session has worked in a private workspace yet; `waterline sessions list` lists all sessions, and --resume ID resumes one of them
error-agent-no-session = no session to resume; start one with `waterline chat`
error-agent-finished = nothing to resume: the last turn is finished; send a message with --session instead
error-agent-duplicate-tool = duplicate tool name "{ $name }"; the second tool is ignored
error-agent-no-tool = no tool matches "{ $pattern }"; available tools: { $known }
error-agent-unknown-role = unknown role "{ $name }"; expected one of { $known }

## The sandbox

error-unknown-wire = unknown wire "{ $name }"; expected one of { $known }
error-invalid-host = invalid host "{ $name }"; expected a name such as crates.io, *.pypi.org or HOST:PORT
error-no-directory = missing directory; expected DIR or DIR:ro
error-sandbox-workspace = cannot open the workspace { $path }: { $why }
error-sandbox-grant = cannot grant access to { $path }: { $why }
error-sandbox-outside = { $path } is outside the directories that may be accessed: { $allowed }; grant more with --allow-dir
error-sandbox-not-found = { $path } does not exist
error-sandbox-is-directory = { $path } is a directory
error-sandbox-not-directory = { $path } is a file
error-sandbox-not-regular = { $path } is not a regular file
error-sandbox-too-large = { $path } is too large to read: { $bytes } bytes, and the limit is { $limit }
error-sandbox-not-text = { $path } is not a text file ({ $bytes } bytes)
error-sandbox-path = invalid path "{ $path }": { $why }
error-sandbox-read-only = { $path } is read-only: you granted read access only
error-sandbox-protected = { $path } records which session owns this workspace and cannot be changed
error-sandbox-protected-link = { $path } leads to { $target }, which is protected; use that path instead of the link
error-sandbox-permissions = permission denied for { $path } or a directory above it; chmod can change that
path-invalid-owner = its { $file } cannot be read
path-owner-not-regular = its { $file } is not a regular file
path-other-session = it belongs to session { $session }
path-inside-writable = a read-only directory cannot be inside { $outer }, which is writable
path-not-directory = it is not a directory
path-not-granted = it is not in a granted directory
path-nul-byte = it contains a NUL byte
path-no-file-name = it has no file name
path-through-link = it leads through a symbolic link
path-denied-or-link = permission denied, or a link that leads out of its directory
path-not-regular = not a regular file
path-too-large = larger than { $megabytes } MB
path-not-utf8 = not valid UTF-8
sandbox-not-linux = Landlock is available on Linux only
sandbox-no-landlock = Landlock: the kernel does not support ABI 3 or later, or Landlock is disabled
sandbox-no-host-list = Landlock: a list of hosts needs ABI 4 (Linux 6.7); allow the whole network or none
sandbox-not-checked = the check for Landlock failed

## Session files of other programs

error-transcript-not-json = { $name } is not a session file in a supported format (line { $line }: not JSON); supported formats: { $known }
error-transcript-database = { $name } is an SQLite database without OpenAI Agents sessions; docs/replay.md lists the formats that can be read
