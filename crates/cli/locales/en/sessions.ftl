### `waterline sessions` and the Markdown export.

session-relation = { $name }
ago-seconds = { $count } s ago
ago-minutes = { $count } min ago
ago-hours = { $count } h ago
ago-days = { $count } d ago

list-empty = no sessions
list-more = … and { $count } more; `waterline sessions list --all` lists them
list-session = session
list-messages = messages
list-used = used
list-model = model
list-directory = directory
list-title = title

show-too-few =
    session { $session } has only { $count ->
        [one] 1 message
       *[other] { $count } messages
    }; cannot show it at message { $at }
show-no-message = session { $session } has no message { $number }
show-at = as of message { $count }
show-policy = policy { $name }
show-user = user { $name }
show-times = created { $created }, last used { $used }
show-parent = { $relation } of { $parent } ({ $context })
show-branch =
    branch at message { $shared }: { $count ->
        [one] 1 message
       *[other] { $count } messages
    }, up to { $last }
show-fold = fold { $number } after message { $position }: { $before } → { $after } tokens ({ $reason })
show-in-use = { " " }(in use)
show-summary = summary { $version } of messages { $start }–{ $end }: { $tokens } tokens
show-cleared = cleared after message { $position }: earlier messages are kept but not sent
show-workspace = workspace { $path }
show-uploads = uploaded: { $paths }
show-mentions = mentioned: { $names }
show-todos =
    { $count ->
        [one] 1 task
       *[other] { $count } tasks
    }
show-question = waiting for your answer: { $question }
show-earlier =
    … { $count ->
        [one] 1 earlier message
       *[other] { $count } earlier messages
    } (show all with -n 0)

diff-more = … { $count } more; --limit 0 shows all
diff-nothing-shared = the sessions share no messages
diff-shared =
    { $count ->
        [one] 1 message
       *[other] { $count } messages
    } shared, the last one:{ " " }
diff-own =
    { $id }: { $count ->
        [one] 1 other message
       *[other] { $count } other messages
    }

rewind-done = { $id }: { $before } → { $after ->
    [one] { $after } message
   *[other] { $after } messages
}
checkpoint-line = { $count ->
        [one] 1 message
       *[other] { $count } messages
    }, after { $after ->
        [model] a model call
        [tools] tool calls
        [turn] the turn
        [restore] a /restore
       *[other] { $after }
    }, step { $step }
checkpoint-unknown = no checkpoint { $id } in this session; list them with `waterline sessions checkpoints` or /checkpoints
rewind-no-message = session { $session } has no message { $prefix }; `waterline sessions show --json` lists the ids
rewind-ambiguous = { $prefix } matches { $count } messages; type more of the id

search-empty = nothing found
search-abandoned = (abandoned)

export-done =
    { $sessions ->
        [one] 1 session
       *[other] { $sessions } sessions
    }, { $messages ->
        [one] 1 message
       *[other] { $messages } messages
    } written
export-damaged = damaged and skipped: { $what }
backup-database = { $path }: a database; open it with --db
backup-lines = { $path }: JSON lines; read them with `waterline sessions import`

import-is-log = { $path } is a log itself; import its sessions with `waterline sessions export --db { $path } | waterline sessions import -`
import-progress =
    { $sessions ->
        [one] 1 session
       *[other] { $sessions } sessions
    }, { $messages ->
        [one] 1 message
       *[other] { $messages } messages
    }
import-total =
    { $sessions ->
        [one] 1 new session
       *[other] { $sessions } new sessions
    }, { $messages ->
        [one] 1 new message
       *[other] { $messages } new messages
    } (system prompts included) from { $files ->
        [one] 1 file
       *[other] { $files } files
    }
import-continued =
    { $count ->
        [one] 1 session was extended
       *[other] { $count } sessions were extended
    }
import-forked = session { $id } has other messages here; the imported ones were stored as a fork of it

erase-session = deleted session { $id }
erase-would = would delete session { $id }
erase-workspace = deleted workspace { $path }
erase-would-workspace = would delete workspace { $path }
erase-kept = kept { $reason }
erase-would-keep = would keep { $reason }
erase-total =
    { $sessions ->
        [one] 1 session
       *[other] { $sessions } sessions
    }, { $messages ->
        [one] 1 message
       *[other] { $messages } messages
    } (system prompts included; { $bytes ->
        [one] 1 byte
       *[other] { $bytes } bytes
    })
erase-shared =
    { $count ->
        [one] 1 message stays, because other sessions have it too
       *[other] { $count } messages stay, because other sessions have them too
    }
erase-contexts =
    { $count ->
        [one] 1 request context
       *[other] { $count } request contexts
    }
erase-rows =
    { $kind ->
        [move] { $count ->
            [one] 1 move
           *[other] { $count } moves
        }
        [cut] { $count ->
            [one] 1 clear mark
           *[other] { $count } clear marks
        }
        [summary] { $count ->
            [one] 1 summary
           *[other] { $count } summaries
        }
        [checkpoint] { $count ->
            [one] 1 checkpoint
           *[other] { $count } checkpoints
        }
        [snapshot] { $count ->
            [one] 1 snapshot
           *[other] { $count } snapshots
        }
        [artifact_use] { $count ->
            [one] 1 use of an artifact
           *[other] { $count } uses of artifacts
        }
        [usage] { $count ->
            [one] 1 usage record
           *[other] { $count } usage records
        }
        [job] { $count ->
            [one] 1 job
           *[other] { $count } jobs
        }
        [preference] { $count ->
            [one] 1 user setting
           *[other] { $count } user settings
        }
       *[other] { $count } { $kind }
    }
erase-with = with them: { $rows }
erase-not-clean = The log is being read, or the disk is full: deleted data may still be in its files. `waterline sessions clean --yes` removes it
erase-nothing-done = Nothing was deleted. Run again with --yes to delete; this cannot be undone

verify-checked =
    { $messages ->
        [one] 1 message
       *[other] { $messages } messages
    } (system prompts included), { $sessions ->
        [one] 1 session
       *[other] { $sessions } sessions
    }, { $artifacts ->
        [one] 1 artifact
       *[other] { $artifacts } artifacts
    } (versions and records of changed files included)
verify-ok = intact
verify-problems =
    { $count ->
        [one] 1 problem
       *[other] { $count } problems
    }
verify-problem = damaged: { $what }

stats-sessions = sessions
stats-sessions-value = { $users ->
    [0] { $sessions }
    [one] { $sessions }, from 1 user
   *[other] { $sessions }, from { $users } users
}
stats-messages = messages
stats-messages-value = { $messages }, and { $prompts ->
    [one] 1 system prompt
   *[other] { $prompts } system prompts
}; { $unique } unique
stats-branches = branches
stats-tokens = tokens
stats-message-bytes = message bytes
stats-message-bytes-value = { $bytes }, stored as { $stored }
stats-database-bytes = database bytes
stats-bytes = { $bytes }
stats-database-bytes-value = { $bytes } ({ $ratio } per byte of message)
stats-folds = folds
stats-summaries = summaries
stats-checkpoints = checkpoints
stats-artifacts = artifacts
stats-file-versions = file versions
stats-artifacts-value = { $count } ({ $bytes ->
    [one] 1 byte
   *[other] { $bytes } bytes
})
stats-calls = model calls
stats-calls-value = { $calls }; prompt tokens: { $input } uncached, { $read } from the cache, { $written } written to the cache; answer tokens: { $output }
stats-price = price
stats-jobs = jobs
stats-jobs-value = { $waiting } waiting, { $failed } failed

markdown-user = User
markdown-assistant = Assistant
markdown-image = image
markdown-more-lines = … { $count ->
    [one] 1 more line
   *[other] { $count } more lines
}
